"""How long what was compiled is expected to take: its plan, the storing of its result, and conversions."""

from __future__ import annotations

import math

from storel.compilation.compiled import Compilation
from storel.compilation.reformat import conversion_cost
from storel.optimizer.cost.constants import Constants
from storel.optimizer.physical.forecast import counting, entering
from storel.plan.contraction import Contraction


def expected_time(compilation: Compilation) -> float:
    """Return the estimated nanoseconds of a run, the conversions of operands and of the result included."""
    return running_time(compilation) + sum(map(conversion_cost, compilation.converted.values()))


def running_time(compilation: Compilation) -> float:
    """Return the estimated nanoseconds of a run whose operands are as the plan reads them.

    It begins with bounds on the result's length, and ends when the result is stored as it is wanted. Where
    all that is left of the plan are dense products, they have kernels of their own.
    """
    if has_only_products(compilation):
        products = (phase.contraction for phase in compilation.phases)
        return sum(_product(each, compilation.constants) for each in products if each is not None)
    plan, symbols, constants = compilation.plan, compilation.symbols, compilation.constants
    each = compilation.result.packing(plan.destination)
    packing = each * entering(plan, symbols, constants) if each else 0.0
    return (
        compilation.optimized.cost.nanoseconds
        + counting(plan, compilation.entered_extents, symbols, constants)
        + packing
    )


def _product(contraction: Contraction, constants: Constants) -> float:
    """Return the nanoseconds of a dense product, whose operands are packed in blocks first."""
    shared = (*contraction.batch, *contraction.summed)
    sides = (contraction.rows, contraction.columns)
    packed = sum(contraction.extent((*shared, *side)) for side in sides)
    multiplications = math.prod(contraction.extents)
    return constants.product * multiplications + (constants.sequential + constants.write) * packed


def has_only_products(compilation: Compilation) -> bool:
    """Return whether all that is left of the plan are dense products."""
    found = compilation.phases
    return bool(found) and all(phase.contraction is not None for phase in found)
