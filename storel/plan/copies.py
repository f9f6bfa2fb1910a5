"""Tables that are filled to be copied: the order in which a copy enters the keys of what it copies.

    bind t <- A in loop j: enter j: enter i: loop k, v in entries of t(j): enter k: accumulate v

enters the first key of ``t``, a variable from outside, and the second key of ``t``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from storel.calculus.nodes import Literal, Lookup, Term, Variable
from storel.plan.nodes import Accumulate, Action, Enter, Entries, Loop, Positions


@dataclass(frozen=True, slots=True)
class Key:
    """A key that a copy enters: that of this level of the table, or an outer variable of this index."""

    index: int
    is_of_table: bool


@dataclass(frozen=True, slots=True)
class _Counter:
    """The variable of one of the copy's own loops, up to ``high`` if that is not by the table itself."""

    number: int
    high: Term | None


@dataclass(frozen=True, slots=True)
class _Entry:
    """The table, or what is in it at some keys."""

    keys: tuple[_Counter, ...]


Binders: TypeAlias = "tuple[_Counter | _Entry, ...]"


def copied_keys(action: Action, extents: tuple[Term, ...]) -> tuple[Key, ...] | None:
    """Return the keys that ``action`` enters if it copies the table of variable 0, None if it does not.

    Outer variables are counted from around the table's bind; ``extents`` are the table's.
    """
    binders: Binders = (_Entry(()),)
    entered: list[_Counter | int] = []
    loops = 0
    while True:
        match action:
            case Loop(Positions(Literal(0), high), body):
                counter = _Counter(loops, high)
                binders = (counter, counter, *binders)
            case Loop(Entries(row), body):
                entry = _entry(row, binders)
                if entry is None:
                    return None
                counter = _Counter(loops, None)
                binders = (_Entry((*entry.keys, counter)), counter, *binders)
            case Enter(Variable(index), body):
                key = binders[index] if index < len(binders) else index - len(binders)
                if isinstance(key, _Entry):
                    return None
                entered.append(key)
            case Accumulate(value):
                copied = _entry(value, binders)
                return None if copied is None else _keys(entered, copied, extents, loops)
            case _:
                return None
        loops += isinstance(action, Loop)
        action = body


def _entry(term: Term, binders: Binders) -> _Entry | None:
    match term:
        case Variable(index) if index < len(binders):
            found = binders[index]
            return found if isinstance(found, _Entry) else None
        case Lookup(mapping, Variable(index)) if index < len(binders):
            entry, key = _entry(mapping, binders), binders[index]
            return None if entry is None or isinstance(key, _Entry) else _Entry((*entry.keys, key))
        case _:
            return None


def _keys(
    entered: list[_Counter | int], copied: _Entry, extents: tuple[Term, ...], loops: int
) -> tuple[Key, ...] | None:
    """Return what is entered, if each loop goes through one level of the table and is entered once."""
    rank = len(extents)
    own = [key for key in entered if isinstance(key, _Counter)]
    if not (len(copied.keys) == loops == len(own) == rank and set(own) == set(copied.keys)):
        return None
    if any(key.high not in (None, extent) for key, extent in zip(copied.keys, extents, strict=True)):
        return None
    return tuple(
        Key(copied.keys.index(key), True) if isinstance(key, _Counter) else Key(key, False) for key in entered
    )
