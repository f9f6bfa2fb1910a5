"""Which places of a dense result its loops come to in turn, so that nobody need clear them beforehand.

    result <- loop i in 0:m: enter i: …      where ``result`` is  place m, place n

comes to each row once: it is cleared there, while it is in the cache, rather than all rows before. Where
lists are gone through one after the other, each comes to some rows only: for a block of keys all rows are
cleared, and the elements of all lists in it are gone through, before the next one.
"""

from __future__ import annotations

import math

from storel.calculus.nodes import Literal, Symbol, Term, Variable
from storel.plan.nodes import Action, Bind, Enter, Levels, Loop, Place, Plan, Positions
from storel.plan.partition import Split, Stretch
from storel.symbols import ArraySymbol, SizeSymbol, Symbols

LARGEST_ROW = 1 << 18
"""Bytes up to which a row stays in the cache from when it is cleared to when it is filled."""

MOST_ROWS = 8
"""Rows for each element of lists up to which clearing all of them costs no memory that is worth sparing."""


def swept(plan: Plan, symbols: Symbols) -> int:
    """Return how many outer levels of a dense result have all their places entered once, in turn.

    There is none where the rows of the last of them are too large for that to gain anything.
    """
    destination = plan.destination
    if not isinstance(destination, Levels) or destination.leaf.zero is None:
        return 0
    levels = [level for level in destination.levels if isinstance(level, Place)]
    if len(levels) < len(destination.levels):
        return 0
    extents = tuple(level.extent for level in levels)
    count = _swept(plan.action, extents)
    return count if _places(extents[count:], symbols) * destination.leaf.type.itemsize <= LARGEST_ROW else 0


def block(split: Split, symbols: Symbols) -> int:
    """Return for how many keys a part goes through its lists at a time, 0 if for all of them at once.

    Their rows are no larger together than one that is swept. Where lists reach few rows, the others are left
    as they come from the system: memory that is not touched takes nothing.
    """
    match split.plan.destination, split.source:
        case Levels(levels, leaf), Positions(_, extent) if leaf.zero is not None and split.goes_over_lists:
            if _size(extent, symbols) > MOST_ROWS * sum(_length(each, symbols) for each in split.stretches):
                return 0
            inner = tuple(level.extent for level in levels[1:] if isinstance(level, Place))
            return int(LARGEST_ROW // max(1, _places(inner, symbols) * leaf.type.itemsize))
        case _:
            return 0


def _swept(action: Action, extents: tuple[Term, ...]) -> int:
    match action:
        case Bind(body=body):
            return _swept(body, extents)
        case Loop(Positions(Literal(0), high), body) if extents and high == extents[0]:
            return _entered(body, extents, 0)
        case _:
            return 0


def _entered(action: Action, extents: tuple[Term, ...], depth: int) -> int:
    """Do the same for the body of a loop over all places, ``depth`` binders below it."""
    match action:
        case Bind(body=body):
            return _entered(body, extents, depth + 1)
        case Enter(Variable(index), body) if depth <= index <= depth + 1:
            return 1 + _swept(body, extents[1:])
        case _:
            return 0


def _places(extents: tuple[Term, ...], symbols: Symbols) -> float:
    """Return how many places such levels have together."""
    sizes = (_size(extent, symbols) for extent in extents)
    return math.prod(sizes)


def _length(stretch: Stretch, symbols: Symbols) -> int:
    """Return how many elements the list has that a stretch is of."""
    fact = symbols[stretch.source.array]
    assert isinstance(fact, ArraySymbol)
    return fact.length


def _size(extent: Term, symbols: Symbols) -> float:
    match extent:
        case Literal(bool() | int() as size):
            return size
        case Symbol(name) if isinstance(symbol := symbols.get(name), SizeSymbol):
            return symbol.value
        case _:
            return math.inf
