"""An upper bound on the number of entries that an action makes: itself an action.

``total(action, level)`` adds up to at least the number of times that a key is entered at depth
``level``. Values are forgotten, a loop whose body always enters the same number becomes that number
times its length, and the entries of one parent are at most the extent. So the bound of a matrix
product costs one pass over its left operand. Where nothing better is known the bound is None, and
the caller takes the product of the extents.
"""

from __future__ import annotations

from typing import TypeAlias

from storel.calculus.binding import free_variables, shift
from storel.calculus.nodes import Apply, Literal, Multiply, Symbol, Term, Variable
from storel.plan.binding import binders, occurs, row_extents, source_extents, store_terms
from storel.plan.nodes import (
    Accumulate,
    Action,
    Bind,
    Elements,
    Enter,
    Entries,
    Guard,
    Intersection,
    Loop,
    Matches,
    Positions,
    ScalarStore,
    Source,
    Together,
    Unite,
)
from storel.scalars import ScalarType

_COUNTER = ScalarStore(ScalarType.INT64, "add", 0)
_ONE = Literal(1, ScalarType.INT64)
_ZERO = Literal(0, ScalarType.INT64)


Extents: TypeAlias = tuple[Term, ...]


def total(action: Action, level: int, extents: Extents | None = None) -> Action | None:
    """Return an action that counts at least the entries of ``action`` at ``level``, or None.

    ``extents`` (closed terms, one for each level) cap what one parent may hold; without them every
    arrival of a key is counted, repetitions included.
    """
    counted = _entries(action, level, extents, ())
    if counted is None or extents is None or level > 0:
        return counted
    return _capped(counted, extents[0])


def _entries(
    action: Action, level: int, extents: Extents | None, stores: tuple[Extents, ...]
) -> Action | None:
    """Count as ``total`` does; ``stores`` are the extents of enclosing binders, empty for scalars."""
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
            return inner if inner is None or _is_constant(inner) else Guard(condition, inner)
        case Bind(store, value, body):
            inner = _entries(body, level, extents, (store_terms(store), *stores))
            if inner is None or not occurs(inner, 0):
                return None if inner is None else _lowered(inner)
            is_index = isinstance(store, ScalarStore) and store.type.is_integer
            return Bind(store, value, inner) if is_index and isinstance(value, Accumulate) else None
        case Together(parts) | Unite(parts):
            counted = [_entries(part, level, extents, stores) for part in parts]
            known = [part for part in counted if part is not None]
            return Together(tuple(known)) if len(known) == len(counted) else None


def _below(body: Action, level: int, extents: Extents | None, stores: tuple[Extents, ...]) -> Action | None:
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


def _repeated(source: Source, inner: Action, stores: tuple[Extents, ...]) -> Action | None:
    """Return the count of a loop whose body counts ``inner``."""
    bound = binders(source)
    length = _length(source, stores)
    if isinstance(inner, Accumulate) and length is not None and not _uses(inner.value, bound):
        each = shift(inner.value, -bound)
        return Accumulate(length if each == _ONE else Multiply(length, each))
    return None if isinstance(source, Entries) else Loop(source, inner)


def _uses(term: Term, binders: int) -> bool:
    return any(index < binders for index in free_variables(term))


def _length(source: Source, stores: tuple[Extents, ...]) -> Term | None:
    """Return the number of iterations, or a bound on it, where that needs no loop."""
    match source:
        case Positions(low, high) | Elements(_, low, high):
            return _difference(low, high)
        case Matches(is_unique=True):
            return _ONE
        case Matches():
            return None
        case Entries(store):
            return row_extents(store, stores)[0]
        case Intersection(left, right):
            lengths = (_difference(left.low, left.high), _difference(right.low, right.high))
            return Apply("minimum", lengths)


def _difference(low: Term, high: Term) -> Term:
    if low == _ZERO:
        return high
    return Apply("maximum", (_ZERO, Apply("subtract", (high, low))))


def _lowered(action: Action) -> Action:
    """Take ``action`` out of a binder that it does not use."""
    match action:
        case Accumulate(value):
            return Accumulate(shift(value, -1))
        case Together(actions):
            return Together(tuple(_lowered(part) for part in actions))
        case Enter() | Loop() | Guard() | Bind() | Unite():
            return Bind(_COUNTER, Accumulate(_ZERO), action)
