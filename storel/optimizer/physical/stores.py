"""What a ``bind`` stores a dictionary in."""

from __future__ import annotations

import math

from storel.calculus.bounds import bounds
from storel.calculus.nodes import Lookup, Sum, Term, Variable
from storel.calculus.verify import Type
from storel.calculus.walk import children
from storel.errors import MemoryLimitError
from storel.optimizer.cost.model import HASHED_PLACES, HASHED_SPARSENESS, SPARSE, is_hashed
from storel.optimizer.estimation.cardinality import appraise
from storel.optimizer.estimation.estimate import Estimate
from storel.optimizer.physical.arrivals import key_intervals
from storel.optimizer.physical.facts import size_term
from storel.optimizer.physical.preferences import StoreKind
from storel.optimizer.physical.scope import Scope
from storel.optimizer.physical.stored_keys import stored_extents
from storel.plan.binding import fills_rows, is_streamed, lists_positions, occurs, scans_rows
from storel.plan.count import total
from storel.plan.nodes import (
    ANY_KEY,
    LARGEST_KEY,
    Action,
    HashStore,
    ListStore,
    RowsStore,
    ScalarStore,
    Store,
    StreamStore,
    TableStore,
)
from storel.scalars import ScalarType
from storel.semiring import Semiring
from storel.symbols import Symbols

SMALL_TABLE = 256
"""Places up to which a table is simply cleared."""

DENSE = 0.5
"""Part of its places from which on a table is cleared and scanned in no more time than a list of them."""

LARGEST_TABLE = 2**31
"""Places beyond which an intermediate result is hashed in any case."""

LARGEST_PREFERRED = 2**24
"""Places up to which a table may be preferred to what the estimates say."""


def reduction_store(monoid: str, scalar_type: ScalarType) -> ScalarStore:
    """Return the store of a comprehension: ``min`` and ``max`` start with their first value."""
    match monoid:
        case "min":
            return ScalarStore(scalar_type, "minimum", None)
        case "max":
            return ScalarStore(scalar_type, "maximum", None)
        case "least":
            return ScalarStore(scalar_type, "minimum", scalar_type.last)
        case "greatest":
            return ScalarStore(scalar_type, "maximum", scalar_type.first)
        case "prod":
            return ScalarStore(scalar_type, "multiply", 1)
        case "any":
            return ScalarStore(ScalarType.BOOL, "or", False)
        case "all":
            return ScalarStore(ScalarType.BOOL, "and", True)
        case _:
            raise AssertionError(f"unknown monoid {monoid}")


def choose_store(
    value: Term,
    filled: Action,
    dictionary: Type,
    ring: Semiring,
    scope: Scope,
    symbols: Symbols,
    preferred: StoreKind | None = None,
    *,
    is_revisited: bool,
) -> Store:
    """Return the store of ``value``, which ``filled`` fills: a table, unless another one is better.

    That is a list where the places are many, few of them filled, and scanned or cleared in a loop; a hash
    table where a dense store is too large, or far larger than its entries: any, or one of several keys that
    is scanned, or cleared in a loop. A ``preferred`` store is taken where it is possible, a table only
    outside of loops, which would clear it. Raises MemoryLimitError where there are several keys that cannot
    be hashed together.
    """
    extents = _extents(filled, dictionary.rank, scope, symbols)
    places = math.prod(extents)
    terms = tuple(size_term(symbols, extent) for extent in extents)
    if places >= LARGEST_KEY:
        return HashStore(dictionary.scalar, ring.plus_name, ring.zero, (ANY_KEY,))
    hashed = HashStore(dictionary.scalar, ring.plus_name, ring.zero, terms)
    listed = ListStore(dictionary.scalar, ring.plus_name, ring.zero, terms[0])
    table = TableStore(dictionary.scalar, ring.plus_name, ring.zero, terms)
    is_passed = scope.loops > 0 or is_revisited
    smallest = SMALL_TABLE if is_passed and dictionary.rank > 1 else HASHED_PLACES
    if places > LARGEST_TABLE:
        return hashed
    match preferred:
        case "hash" if _is_counted(filled, dictionary.rank, scope):
            return hashed
        case "list" if dictionary.rank == 1:
            return listed
        case "table" if scope.loops == 0 and places <= LARGEST_PREFERRED:
            return table
        case _:
            pass
    is_sparse = _is_sparse(places, smallest, value, scope, symbols)
    if is_sparse and _is_counted(filled, dictionary.rank, scope):
        return hashed
    if dictionary.rank > 1 or not is_revisited or places <= SMALL_TABLE:
        return table
    is_dense = appraise(value, symbols, scope.estimates).total > DENSE * places
    return table if is_dense else listed


def in_rows(
    chosen: Store,
    known: Estimate,
    filled: Action,
    body: Action,
    symbols: Symbols,
    preferred: StoreKind | None = None,
) -> Store:
    """Return a store of rows in place of ``chosen`` where rows are all that is made and read, and sparse.

    Not where entries are hashed and rows are so many more, by keys such as numbers of customers, that where
    each of them begins would take more than all that is in them.
    """
    if not isinstance(chosen, TableStore | HashStore) or len(chosen.extents) != 2:
        return chosen
    if preferred == ("hash" if isinstance(chosen, HashStore) else "table"):
        return chosen
    rows, columns = chosen.extents
    if not (fills_rows(filled, rows) or lists_positions(filled)) or not scans_rows(body):
        return chosen
    height, width = (bounds(extent, symbols).high or 0 for extent in chosen.extents)
    if isinstance(chosen, HashStore) and not fills_rows(filled, rows) and is_hashed(height, known.total):
        return chosen
    places = height * width
    if preferred != "rows" and (places <= SMALL_TABLE or known.total > SPARSE * places):
        return chosen
    return RowsStore(chosen.type, chosen.operator, chosen.zero, (rows, columns))


def in_stream(chosen: Store, filled: Action, body: Action, preferred: StoreKind | None = None) -> Store:
    """Return no store in place of a list or a table of one key where entries can be used as they come."""
    if preferred is not None or not is_streamed(filled, body):
        return chosen
    match chosen:
        case ListStore(extent=extent) | TableStore(extents=(extent,)):
            return StreamStore(chosen.type, chosen.operator, chosen.zero, extent)
        case _:
            return chosen


def _extents(filled: Action, rank: int, scope: Scope, symbols: Symbols) -> list[int]:
    """Return the extents of the keys that are entered; that of any key is ``LARGEST_KEY``.

    Where bounds say too little, they are those of stored tensors that have these keys. The kernel checks it.
    """
    limits = [limit.high for limit in key_intervals(filled, rank, scope, symbols)]
    extents = [LARGEST_KEY if high is None else max(0, high + 1) for high in limits]
    if rank > 1 and math.prod(extents) >= LARGEST_KEY:  # a single key may be any
        stored = stored_extents(filled, rank, symbols)
        extents = [
            each if known is None else min(each, known) for each, known in zip(extents, stored, strict=True)
        ]
    if rank == 1 or math.prod(extents) < LARGEST_KEY:
        return extents
    hint = "define it as a tensor of its own, STORED AS a sparse format"
    if max(extents) >= LARGEST_KEY:
        message = "the keys of an intermediate result have no bound that could be proved"
        raise MemoryLimitError(message, hint=hint)
    shape = " x ".join(map(str, extents))
    raise MemoryLimitError(f"the keys of an intermediate result of shape {shape} exceed 64 bits", hint=hint)


def _is_counted(filled: Action, rank: int, scope: Scope) -> bool:
    """Return whether the keys that ``filled`` enters can be counted beforehand, as hashing needs."""
    counted = total(filled, rank - 1, stores=scope.extents)
    return counted is not None and not any(occurs(counted, index) for index in range(len(scope.types)))


def _is_sparse(places: int, smallest: int, value: Term, scope: Scope, symbols: Symbols) -> bool:
    """Return whether hashing is expected to pay above so many places."""
    return places > smallest and (
        places > HASHED_SPARSENESS * appraise(value, symbols, scope.estimates).total
    )


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
