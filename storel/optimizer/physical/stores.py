"""What a ``bind`` stores a dictionary in."""

from __future__ import annotations

import math

from storel.calculus.nodes import Lookup, Sum, Term, Variable, children
from storel.calculus.verify import Type
from storel.errors import MemoryLimitError
from storel.optimizer.physical.arrivals import key_intervals
from storel.optimizer.physical.facts import size_term
from storel.optimizer.physical.scope import Scope
from storel.plan.nodes import Action, ListStore, ScalarStore, Store, TableStore
from storel.scalars import ScalarType
from storel.semiring import Semiring
from storel.symbols import Symbols

SMALL_TABLE = 256
"""Places up to which a table is simply cleared."""

LARGEST_TABLE = 2**31
"""Places beyond which an intermediate result is refused."""


def reduction_store(monoid: str, scalar_type: ScalarType) -> ScalarStore:
    """Return the store of a comprehension: ``min`` and ``max`` start with their first value."""
    match monoid:
        case "min":
            return ScalarStore(scalar_type, "minimum", None)
        case "max":
            return ScalarStore(scalar_type, "maximum", None)
        case "prod":
            return ScalarStore(scalar_type, "multiply", 1)
        case "any":
            return ScalarStore(ScalarType.BOOL, "or", False)
        case "all":
            return ScalarStore(ScalarType.BOOL, "and", True)
        case _:
            raise AssertionError(f"unknown monoid {monoid}")


def choose_store(
    filled: Action,
    dictionary: Type,
    ring: Semiring,
    scope: Scope,
    symbols: Symbols,
    *,
    is_revisited: bool,
) -> Store:
    """Return a table, or a list where the places are many and revisited: scanned, or cleared in a loop.

    Raises MemoryLimitError where the keys are unbounded or too many for a table.
    """
    limits = key_intervals(filled, dictionary.rank, scope, symbols)
    if any(limit.high is None for limit in limits):
        raise MemoryLimitError("the keys of an intermediate result have no bound that could be proved")
    extents = [max(0, (limit.high or 0) + 1) for limit in limits]
    places = math.prod(extents)
    if places > LARGEST_TABLE:
        shape = " x ".join(map(str, extents))
        needed = f"{places * dictionary.scalar.itemsize / 2**30:.1f} GiB"
        raise MemoryLimitError(
            f"an intermediate result of shape {shape} would need {needed}",
            hint="define it as a tensor of its own, STORED AS a sparse format",
        )
    terms = tuple(size_term(symbols, extent) for extent in extents)
    if dictionary.rank == 1 and is_revisited and places > SMALL_TABLE:
        return ListStore(dictionary.scalar, ring.plus_name, ring.zero, terms[0])
    return TableStore(dictionary.scalar, ring.plus_name, ring.zero, terms)


def is_scanned(term: Term, index: int) -> bool:
    """Return whether ``term`` sums over variable ``index`` instead of looking it up."""
    match term:
        case Sum(Variable(position)) if position == index:
            return True
        case Lookup(Variable(position), _) if position == index:
            return any(is_scanned(child, index + binders) for child, binders in children(term)[1:])
        case Variable(position):
            return position == index
        case _:
            return any(is_scanned(child, index + binders) for child, binders in children(term))
