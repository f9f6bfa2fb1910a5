"""Searches: loops that look for those of their elements whose key equals a number of the loops around them.

    sum(<p> in R) … if e(p) == g then …         ``e`` depends on the loop, ``g`` does not

An equality is found wherever it stands among the conditions and names between a loop and what it adds up, in
whatever order a program asks for them. Where the number is one of a loop around, either of the two loops may
be the one that searches. Of integers that may be negative what they are above the least is the key.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from storel.calculus.binders import binder_types
from storel.calculus.binding import free_variables, is_outside, occurs, shift, substitute
from storel.calculus.intervals import EntryBounds, Interval
from storel.calculus.nodes import Add, Apply, Find, If, Let, Literal, Singleton, Sum, Term, Variable
from storel.calculus.safety import is_safe
from storel.calculus.verify import Type, infer
from storel.calculus.walk import children
from storel.optimizer.terms.occurrences import Occurrence, has_loop, occurrences, reindexed, replaced
from storel.scalars import ScalarType
from storel.symbols import Symbols

FAR = 2**62
"""How far from 0 integers may be such that the distance between any two has 64 bits."""


class Search(NamedTuple):
    """What a loop asks for: its ``own`` key is the ``searched`` one; then there is ``rest`` to add up."""

    own: Term
    searched: Term
    rest: Term


def searches(body: Term, semiring: str) -> Iterator[Search]:
    """Yield the equalities that the ``body`` of a loop asks for, each as the first of its conditions."""
    for condition, rest in _asked(body, semiring):
        sides = equated(condition, 2)
        if sides is not None:
            yield Search(*sides, rest)


def _asked(body: Term, semiring: str) -> Iterator[tuple[Term, Term]]:
    """Yield each condition that ``body`` asks for, and what is left of it; names are written out in it."""
    match body:
        case If(condition, guarded, own) if own == semiring:
            yield condition, guarded
            for other, rest in _asked(guarded, semiring):
                yield other, If(condition, rest, semiring)
        case Let(value, inner):
            for condition, rest in _asked(inner, semiring):
                if not (occurs(condition, 0) and has_loop(value)):
                    yield substitute(condition, value), Let(value, rest)
        case Singleton(key, value, own) if own == semiring:
            for condition, rest in _asked(value, semiring):
                yield condition, Singleton(key, rest, semiring)
        case _:
            pass


def equated(condition: Term, depth: int) -> tuple[Term, Term] | None:
    """Return the side of an equality that depends on ``depth`` variables, and the one that does not."""
    match condition:
        case Apply("equal", (left, right)):
            for one, other in ((left, right), (right, left)):
                if not is_outside(one, depth) and is_outside(other, depth):
                    return one, other
        case _:
            pass
    return None


def exchanged(term: Term, symbols: Symbols) -> Iterator[tuple[Term, Occurrence]]:
    """Yield ``term`` with two loops exchanged that look for equal numbers, and the one that is inside now.

    What is between them, conditions, names and keys, is in both of them then.
    """
    for found in occurrences(term, symbols):
        made = _exchanged(found.term, found, symbols) if isinstance(found.term, Sum) else None
        if made is not None:
            other, path = replaced(term, found.path, made), (*found.path, 1)
            yield other, next(each for each in occurrences(other, symbols) if each.path == path)


def _exchanged(loop: Sum, found: Occurrence, symbols: Symbols) -> Sum | None:
    """Return ``loop``, which was ``found``, inside of the one in it if one of them looks for the other."""
    turned = _turned(loop.body, loop.semiring)
    if turned is None or not is_outside(turned[0], 2):
        return None
    inner, entered = shift(turned[0], -2), turned[1]
    if not is_safe(inner, symbols, found.types, found.intervals):
        return None  # it was gone through where the conditions hold
    body = reindexed(entered, lambda index: index ^ 2 if index < 4 else index)
    if not any(free_variables(each.searched) & {2, 3} for each in searches(body, loop.semiring)):
        return None
    return Sum(inner, Sum(shift(loop.source, 2), body, loop.semiring), loop.semiring)


def _turned(body: Term, semiring: str) -> tuple[Term, Term] | None:
    """Return what the loop in ``body`` goes through, and all that ``body`` makes of one of its elements."""
    match body:
        case Sum(source, entered, own) if own == semiring:
            return source, entered
        case Singleton(key, Find(source, searched, value, own)) if own == semiring:
            # The position of the search is that of the loop, which binds the element as well.
            found = reindexed(value, lambda index: index + 1)
            condition = Apply("equal", (Variable(0), shift(searched, 2)))
            return source, If(condition, Singleton(shift(key, 2), found, semiring), semiring)
        case Singleton(key, value):
            turned = _turned(value, semiring)
            return turned and (turned[0], _entered(shift(key, 2), turned[1], semiring))
        case If(condition, guarded, own) if own == semiring:
            turned = _turned(guarded, semiring)
            return turned and (turned[0], If(shift(condition, 2), turned[1], semiring))
        case Let(value, inner):
            turned = _turned(inner, semiring)
            if turned is None or occurs(turned[0], 0):
                return None
            entered = reindexed(turned[1], lambda index: (1, 2, 0)[index] if index < 3 else index)
            return shift(turned[0], -1), Let(shift(value, 2), entered)
        case _:
            return None


def _entered(key: Term, value: Term, semiring: str) -> Term:
    """Return ``value`` as the entry at ``key``, for which the conditions in front of it are asked first."""
    match value:
        case If(condition, guarded, own) if own == semiring:
            return If(condition, _entered(key, guarded, semiring), semiring)
        case Let(named, inner):
            return Let(named, _entered(shift(key, 1), inner, semiring))
        case _:
            return Singleton(key, value, semiring)


def distance_to_zero(own: Interval, searched: Interval) -> int:
    """Return by how much to move a key, and what it is searched for, so that no key is negative.

    It is 0 if none is, or if that is not known. What is moved has 64 bits, and does not wrap around.
    """
    if own.is_natural or own.low is None or own.high is None or searched.high is None:
        return 0
    is_near = own.low >= -FAR and max(own.high, searched.high) < FAR
    return -own.low if is_near else 0


def moved(key: Term, distance: int) -> Term:
    """Return a key so far from what it was."""
    return Add(key, Literal(distance, ScalarType.INT64)) if distance else key


def has_natural_keys(entries: Interval, rank: int) -> bool:
    """Return whether keys of a dictionary, and of those in it, are proved not to be negative."""
    if rank == 0:
        return True
    if not isinstance(entries, EntryBounds) or not entries.keys.is_natural:
        return False
    return has_natural_keys(entries.values, rank - 1)


def has_integer_keys(term: Term, symbols: Symbols, types: tuple[Type, ...]) -> bool:
    """Return whether no key that loops in ``term`` enter is a truth, which equals 0 or 1 but is no key."""
    if isinstance(term, Singleton) and not infer(term.key, symbols, types).scalar.is_integer:
        return False
    if not isinstance(term, Sum | Let | If | Singleton):
        return True
    *_, (body, _) = children(term)
    return has_integer_keys(body, symbols, (*reversed(binder_types(term, symbols, types)), *types))
