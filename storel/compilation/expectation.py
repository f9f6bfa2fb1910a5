"""What is expected of what was compiled: how long its plan, the storing of its result and conversions take,
and what the result is.
"""

from __future__ import annotations

import math

from storel.calculus.bounds import bounds
from storel.compilation.compiled import Compilation
from storel.optimizer.cost.constants import Constants
from storel.optimizer.physical.destination import is_dense
from storel.optimizer.physical.forecast import arranging, counting, entering
from storel.plan.contraction import Contraction
from storel.plan.nodes import Coordinates, Place
from storel.plan.passes import iterations
from storel.plan.phases import Phase
from storel.semiring import SEMIRINGS
from storel.storage.formats.known import Formats
from storel.storage.formats.signature import level_signature
from storel.storage.summary import summary_from
from storel.storage.tensor import Tensor, declare


def expected_time(compilation: Compilation) -> float:
    """Return the estimated nanoseconds of a run, the conversions of operands and of the result included."""
    return running_time(compilation) + compilation.converting


def call_time(compilation: Compilation) -> float:
    """Return the estimated nanoseconds of a call, as it is measured: a run, and what is around the kernel."""
    return compilation.constants.call + expected_time(compilation)


def running_time(compilation: Compilation) -> float:
    """Return the estimated nanoseconds of a run whose operands are as the plan reads them.

    It begins with bounds on the result's length, and ends when the result is stored as it is wanted; tables
    that are hashed are sorted in between. Where
    all that is left of the plan are dense products, which have kernels of their own, and passes through what
    they read or make, that is what takes the time.
    """
    if has_only_products(compilation):
        return sum(_phase(each, compilation) for each in compilation.phases) + _packing(compilation)
    plan, symbols, constants = compilation.plan, compilation.symbols, compilation.constants
    return (
        compilation.optimized.cost.nanoseconds
        + counting(plan, compilation.entered_extents, symbols, constants)
        + arranging(plan, symbols, constants)
        + _packing(compilation)
    )


def _packing(compilation: Compilation) -> float:
    """Return the nanoseconds that it takes to store the result as it is wanted, once it is assembled.

    A list has an entry for each time that a key is entered, an array one for each key.
    """
    plan, each = compilation.plan, compilation.result.packing(compilation.plan.destination)
    places = math.prod(compilation.definition.shape)
    if not each:
        return 0.0
    if isinstance(plan.destination, Coordinates):
        return each * entering(plan, compilation.symbols, compilation.constants)
    if all(isinstance(level, Place) for level in plan.destination.levels):
        return each * places
    return each * min(places, entering(plan, compilation.symbols, compilation.constants))


def _phase(phase: Phase, compilation: Compilation) -> float:
    """Return the nanoseconds of a dense product, or of a pass."""
    constants, symbols = compilation.constants, phase.known(compilation.symbols)
    if phase.contraction is not None:
        return _product(phase.contraction, constants)
    extents = phase.extents(compilation.entered_extents)
    places = math.prod(bounds(extent, symbols).high or 0 for extent in extents)
    steps = iterations(phase.plan.action, places, phase.stores, symbols)
    return (constants.sequential + constants.write) * steps


def _product(contraction: Contraction, constants: Constants) -> float:
    """Return the nanoseconds of a dense product, whose operands are packed in blocks first."""
    shared = (*contraction.batch, *contraction.summed)
    sides = (contraction.rows, contraction.columns)
    packed = sum(contraction.extent((*shared, *side)) for side in sides)
    multiplications = math.prod(contraction.extents)
    return constants.product * multiplications + (constants.sequential + constants.write) * packed


def has_only_products(compilation: Compilation) -> bool:
    """Return whether all that is left of the plan are dense products, and passes through dense tables."""
    found, symbols = compilation.phases, compilation.symbols
    others = (phase for phase in found if phase.contraction is None)
    return any(phase.contraction is not None for phase in found) and all(
        math.isfinite(iterations(each.plan.action, 0.0, each.stores, each.known(symbols))) for each in others
    )


def foreseen(compilation: Compilation, formats: Formats) -> Tensor:
    """Return the result as it is expected to be, without data: what reads it can be planned.

    Its entries are as many as was estimated, evenly spread; a format that is no nest of levels is replaced
    by a default one.
    """
    definition, storage = compilation.definition, compilation.result.wanted
    shape = tuple(extent.size for extent in definition.extents)
    places = math.prod(shape)
    estimate = min(compilation.optimized.cost.entries, places)
    summary = summary_from(
        {
            "shape": list(shape),
            "nnz": round(estimate),
            "type": SEMIRINGS[definition.semiring].with_zero(definition.type).value,
            "semiring": definition.semiring,
            "finite": not compilation.reliance.are_guarded,
            "closed": all(extent.is_closed for extent in definition.extents),
        },
        f"the estimates of {definition.name}",
    )
    if level_signature(storage) is None:
        storage = formats.default(len(shape), is_dense=is_dense(estimate, shape))
    return declare(summary, storage)
