"""Upper bounds on the number of entries that an action makes or stores: themselves actions.

``total(action, level)`` adds up to at least the number of times that a key is entered at depth
``level``. Values are forgotten, a loop whose body always enters the same number becomes that number
times its length, and the entries of one parent are at most the extent. So the bound of a matrix
product costs one pass over its left operand. Where nothing better is known the bound is None, and
the caller takes the product of the extents.

A count fills no hash store and no rows. Instead, the variable of such a store is a bound on the number of its
entries, that of a row a bound for the row: what is counted in all rows is counted in the store.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from storel.calculus.binding import free_variables, shift
from storel.calculus.nodes import Apply, Literal, Lookup, Multiply, Symbol, Term, Variable
from storel.calculus.walk import children
from storel.plan.binding import binders, occurs, row_extents, source_extents, store_terms, terms
from storel.plan.nodes import (
    Accumulate,
    Action,
    Bind,
    Elements,
    Enter,
    Entries,
    Guard,
    HashStore,
    Intersection,
    Loop,
    Matches,
    Positions,
    RowsStore,
    ScalarStore,
    Source,
    Store,
    StreamStore,
    Together,
    Unite,
)
from storel.scalars import ScalarType

_Counted = HashStore | RowsStore | StreamStore
"""Stores of which it is counted how many keys arrive, whatever their extents."""

_COUNTER = ScalarStore(ScalarType.INT64, "add", 0)
_ONE = Literal(1, ScalarType.INT64)
_ZERO = Literal(0, ScalarType.INT64)


Extents: TypeAlias = tuple[Term, ...]


Scope: TypeAlias = tuple[Extents, ...]
"""What each binder stands for, the innermost first: a store with such extents, or a scalar."""

_ENTRIES = Symbol("#entries")
"""The extent of each level of a store that is counted: as many keys as its variable, a number here, says."""


def total(action: Action, level: int, extents: Extents | None = None, stores: Scope = ()) -> Action | None:
    """Return an action that counts at least the entries of ``action`` at ``level``, or None.

    ``extents`` (closed terms, one for each level) cap what one parent may hold; without them every
    arrival of a key is counted, repetitions included. ``stores`` are those of the binders around it.
    """
    counted = _entries(action, level, extents, stores)
    if counted is None or extents is None or level > 0:
        return counted
    return _capped(counted, extents[0])


def insertions(action: Action, stores: Scope = ()) -> tuple[Action | None, ...]:
    """Return for each store of hashed keys or of rows, in preorder, a bound on the keys that arrive in it.

    An action accumulates it for each time that the store is filled: their maximum is wanted. ``stores``
    are those of the binders around ``action``.
    """
    return tuple(_insertions(action, stores))


def _insertions(action: Action, stores: Scope) -> Iterator[Action | None]:
    match action:
        case Accumulate():
            return
        case Enter(_, body):
            yield from _insertions(body, stores)
        case Loop(source, body):
            for inner in _insertions(body, source_extents(source, stores) + stores):
                yield None if inner is None else _each(source, inner)
        case Guard(condition, body):
            for inner in _insertions(body, stores):
                yield None if inner is None else _guarded(condition, inner, stores)
        case Bind(store, value, body):
            if isinstance(store, HashStore | RowsStore):
                yield _arrivals(store, value, stores)
            yield from _insertions(value, stores)
            for inner in _insertions(body, (_kept(store), *stores)):
                yield None if inner is None else _within(store, value, inner, stores)
        case Together(parts) | Unite(parts):
            for part in parts:
                yield from _insertions(part, stores)


def _arrivals(store: Store, value: Action, stores: Scope) -> Action | None:
    """Return the count of the keys that arrive in ``store``, as one number."""
    counted = _entries(value, len(store_terms(store)) - 1, None, stores)
    if counted is None or isinstance(counted, Accumulate):
        return counted
    return Bind(_COUNTER, counted, Accumulate(Variable(0)))


def _each(source: Source, inner: Action) -> Action | None:
    """Return ``inner`` once for each element of ``source``, or just once where it is always the same."""
    bound = binders(source)
    if isinstance(source, Entries):
        inner = _without_guards(inner, bound)
    if any(occurs(inner, index) for index in range(bound)):
        return None if isinstance(source, Entries) else Loop(source, inner)
    for _ in range(bound):
        inner = lowered(inner)
    return inner


def _entries(action: Action, level: int, extents: Extents | None, stores: Scope) -> Action | None:
    """Count as ``total`` does, inside the binders ``stores``."""
    match action:
        case Accumulate():
            return Accumulate(_ZERO)
        case Enter(_, body):
            return _below(body, level, extents, stores)
        case Loop(source, body):
            inner = _entries(body, level, extents, source_extents(source, stores) + stores)
            return None if inner is None else _repeated(source, inner, stores)
        case Guard(condition, body):
            inner = _entries(body, level, extents, stores)
            return None if inner is None else _guarded(condition, inner, stores)
        case Bind(store, value, body):
            inner = _entries(body, level, extents, (_kept(store), *stores))
            return None if inner is None else _within(store, value, inner, stores)
        case Together(parts) | Unite(parts):
            counted = [_entries(part, level, extents, stores) for part in parts]
            known = [part for part in counted if part is not None]
            return Together(tuple(known)) if len(known) == len(counted) else None


def _guarded(condition: Term, inner: Action, stores: Scope) -> Action:
    """Return ``inner`` where the condition holds; everywhere if that is simpler, or needs a store."""
    needs_store = any(stores[index] != () for index in free_variables(condition))
    return inner if needs_store or _is_constant(inner) else Guard(condition, inner)


def _within(store: Store, value: Action, inner: Action, stores: Scope) -> Action | None:
    """Return ``inner``, counted inside a bind, outside it: with what it needs of the store."""
    if not occurs(inner, 0):
        return lowered(inner)
    if isinstance(store, _Counted):
        arrivals = None if _is_read(inner) else _arrivals(store, value, stores)
        return None if arrivals is None else Bind(_COUNTER, arrivals, inner)
    is_index = isinstance(store, ScalarStore) and store.type.is_integer
    if is_index and isinstance(value, Accumulate):
        return Bind(store, value, inner)
    inner = _without_guards(inner, 1)
    return None if occurs(inner, 0) else lowered(inner)


def _without_guards(counted: Action, count: int, depth: int = 0) -> Action:
    """Return a bound on a count that asks nothing of the innermost ``count`` binders but for ``depth``."""
    match counted:
        case Guard(condition, body):
            body = _without_guards(body, count, depth)
            is_asked = any(depth <= index < depth + count for index in free_variables(condition))
            return body if is_asked else Guard(condition, body)
        case Loop(source, body):
            return Loop(source, _without_guards(body, count, depth + binders(source)))
        case Bind(store, value, body):
            value = _without_guards(value, count, depth)
            return Bind(store, value, _without_guards(body, count, depth + 1))
        case Together(parts):
            return Together(tuple(_without_guards(part, count, depth) for part in parts))
        case _:
            return counted


def _is_read(action: Action) -> bool:
    """Return whether ``action`` looks keys up in variable 0, instead of using it as a number."""

    def reads(term: Term, index: int) -> bool:
        if isinstance(term, Lookup) and term.mapping == Variable(index):
            return True
        return any(reads(child, index + inner) for child, inner in children(term))

    return any(reads(term, depth) for term, depth in terms(action))


def _kept(store: Store) -> Extents:
    return (_ENTRIES,) * len(store_terms(store)) if isinstance(store, _Counted) else store_terms(store)


def _below(body: Action, level: int, extents: Extents | None, stores: Scope) -> Action | None:
    """Count what one entered key contributes."""
    if level == 0:
        return Accumulate(_ONE)
    inner = _entries(body, level - 1, None if extents is None else extents[1:], stores)
    if inner is None or extents is None or level > 1:
        return inner
    return _capped(inner, extents[1])


def _is_constant(action: Action) -> bool:
    return isinstance(action, Accumulate) and isinstance(action.value, Literal | Symbol)


def _capped(action: Action, extent: Term) -> Action:
    if isinstance(action, Accumulate):
        return Accumulate(Apply("minimum", (action.value, extent)))
    return Bind(_COUNTER, action, Accumulate(Apply("minimum", (Variable(0), extent))))


def _repeated(source: Source, inner: Action, stores: Scope) -> Action | None:
    """Return the count of a loop whose body counts ``inner``."""
    length = _length(source, stores)
    if isinstance(source, Entries):
        inner = _without_guards(inner, binders(source))
    if isinstance(inner, Accumulate) and length is not None:
        holds_rows = source_extents(source, stores)[0][:1] == (_ENTRIES,)
        each = _per_entry(inner.value) if holds_rows and _uses(inner.value, 1) else inner.value
        if each is not None and not _uses(each, binders(source)):
            each = shift(each, -binders(source))
            return Accumulate(length if each == _ONE else Multiply(length, each))
    return None if isinstance(source, Entries) else Loop(source, inner)


def _uses(term: Term, binders: int) -> bool:
    return any(index < binders for index in free_variables(term))


def _per_entry(count: Term) -> Term | None:
    """Return the factor of variable 0, a row's number of entries, in the count of that row."""
    match count:
        case Variable(0):
            return _ONE
        case Multiply(Variable(0), each):
            return each
        case Apply("minimum", (least, _)):
            return _per_entry(least)
        case _:
            return None


def _length(source: Source, stores: Scope) -> Term | None:
    """Return the number of iterations, or a bound on it, where that needs no loop."""
    match source:
        case Positions(low, high) | Elements(_, low, high):
            return difference(low, high)
        case Matches(is_unique=True):
            return _ONE
        case Matches():
            return None
        case Entries(store):
            extent = row_extents(store, stores)[0]
            return _root(store) if extent == _ENTRIES else extent
        case Intersection(left, right):
            lengths = (difference(left.low, left.high), difference(right.low, right.high))
            return Apply("minimum", lengths)


def _root(store: Term) -> Term:
    """Return the store that ``store`` is, or is a row of."""
    while isinstance(store, Lookup):
        store = store.mapping
    return store


def difference(low: Term, high: Term) -> Term:
    """Return how many integers there are from ``low`` to ``high``, exclusive: none where that is below."""
    if low == _ZERO and (isinstance(high, Symbol) or (isinstance(high, Literal) and high.value >= 0)):
        return high
    return Apply("maximum", (_ZERO, high if low == _ZERO else Apply("subtract", (high, low))))


def lowered(action: Action) -> Action:
    """Take ``action`` out of a binder that it does not use."""
    match action:
        case Accumulate(value):
            return Accumulate(shift(value, -1))
        case Together(actions):
            return Together(tuple(lowered(part) for part in actions))
        case Enter() | Loop() | Guard() | Bind() | Unite():
            return Bind(_COUNTER, Accumulate(_ZERO), action)
