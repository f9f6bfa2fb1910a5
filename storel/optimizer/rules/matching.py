"""Patterns matched with terms, and terms built of them: rules without an e-graph.

A hole is matched with a subterm under some of the pattern's binders, and built under others. Its variables
follow the binders by their names; where one of them does not stand above the place, there is no match.
``let x = e in b`` on the right is a substitution, as in ``translate.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from storel.calculus.binding import free_mask, free_variables, occurs, substitute
from storel.calculus.intervals import Interval
from storel.calculus.nodes import Add, Empty, Literal, Merge, Multiply, Reduce, Sum, Symbol, Term, Variable
from storel.calculus.verify import Type, zero_literal
from storel.calculus.walk import children
from storel.optimizer.encoding.layouts import (
    ARITHMETIC,
    INDEX,
    LAYOUTS,
    Numbering,
    decode,
    is_index,
    spelled,
    zero,
)
from storel.optimizer.encoding.named import NAMED
from storel.optimizer.estimation.cardinality import shape
from storel.optimizer.rules.patterns import SEMIRING, Bound, Hole, Node, Pattern
from storel.optimizer.terms.occurrences import Binder, Binding, has_loop, intervals_of, reindexed, types_of
from storel.scalars import ScalarType
from storel.semiring import SEMIRINGS
from storel.symbols import Symbols


class MismatchError(Exception):
    """A term is no instance of a pattern, or what was matched cannot stand where it would be built."""


@dataclass(frozen=True, eq=False)
class Place:
    """Where a term stands: the binders around it, the innermost first, and whether it is (part of) a key.

    What is known of the binders, and the places of children, are found once: many rules look at each term.
    """

    symbols: Symbols
    scope: tuple[Binder, ...] = ()
    is_index: bool = False
    bodies: dict[Term, Place] = field(default_factory=dict[Term, "Place"], init=False, repr=False)

    @cached_property
    def types(self) -> tuple[Type, ...]:
        return types_of(self.scope)

    @cached_property
    def intervals(self) -> tuple[Interval, ...]:
        return intervals_of(self.scope)

    def relevant(self, term: Term) -> tuple[tuple[Type, ...], tuple[Interval, ...]]:
        """Return what is known of the binders up to the outermost one that ``term`` mentions."""
        most = free_mask(term).bit_length()
        return (self.types[:most], self.intervals[:most]) if most else ((), ())

    def of_child(self, term: Term, kind: str, binders: int) -> Place:
        """Return where a child of ``term``, which stands here, is, given its kind in ``LAYOUTS``."""
        if not binders:
            return self if is_index(kind, self.is_index) == self.is_index else self._otherwise
        if term not in self.bodies:
            binding = Binding(term, self.symbols, self.scope)
            inner = tuple(Binder(binding, position, ()) for position in range(binders))
            self.bodies[term] = Place(self.symbols, (*inner, *self.scope))
        return self.bodies[term]

    @cached_property
    def _otherwise(self) -> Place:
        """The same place of a key instead of a value, or of a value instead of a key."""
        return Place(self.symbols, self.scope, not self.is_index)


@dataclass(frozen=True, slots=True)
class Captured:
    """The term that a hole stands for, the rule's binders above it (the innermost first), and its place."""

    term: Term
    names: tuple[str, ...]
    place: Place

    def under(self, names: tuple[str, ...]) -> Term:
        """Return the term as it looks below other binders of the rule; raises MismatchError."""
        if names == self.names:
            return self.term
        inside, places = len(self.names), dict[int, int]()
        for index in free_variables(self.term):
            if index >= inside:
                places[index] = index - inside + len(names)
            elif self.names[index] in names:
                places[index] = names.index(self.names[index])
            else:
                raise MismatchError
        return reindexed(self.term, places.__getitem__)


@dataclass(slots=True)
class Match:
    """What the holes of a pattern stand for, and the semiring, where it is matched with a term."""

    holes: dict[str, Captured] = field(default_factory=dict[str, Captured])
    semiring: str = ""

    def descend(
        self, pattern: Pattern, term: Term, names: tuple[str, ...], place: Place, is_key: bool, *, top: bool
    ) -> None:
        """Match a part of a pattern that stands below ``names``; raises MismatchError.

        ``is_key`` says that the part is about keys, as ``Place.is_index`` says of the term.
        """
        match pattern:
            case Hole(name):
                found = self.holes.setdefault(name, Captured(term, names, place))
                _require(found.under(names) == term)
            case Bound(name):
                _require(isinstance(term, Variable) and name in names and term.index == names.index(name))
            case Node("zero" | "one" as unit, _):
                _require(_is_unit(term, unit, self.semiring))
            case Node(constructor, arguments):
                layout, entered = LAYOUTS[constructor], names
                found, text = head(term, place)
                _require(constructor == found)
                inside = iter(children(term))
                for argument, kind in zip(arguments, layout, strict=True):
                    if kind == "b" and isinstance(argument, Bound):
                        entered = (argument.name, *entered)
                    elif isinstance(argument, str):
                        self._text(argument, constructor, text, is_key, top=top)
                    elif isinstance(argument, int):
                        _require(isinstance(term, Literal) and term.value == argument)
                    else:
                        child, binders = next(inside)
                        below = entered if kind == "B" else names
                        where = place.of_child(term, kind, binders)
                        self.descend(argument, child, below, where, is_index(kind, is_key), top=False)

    def _text(self, pattern: str, constructor: str, found: str, is_key: bool, *, top: bool) -> None:
        """Match a semiring, or the name of a function: keys are added and multiplied over any spelling."""
        if pattern != SEMIRING:
            _require(pattern == found)
        elif is_key and constructor in ARITHMETIC:
            _require(found == INDEX or not top)
        else:
            self.semiring = self.semiring or found
            _require(self.semiring == found)

    def built(
        self, pattern: Pattern, names: tuple[str, ...], is_key: bool, kind: Type, *, repeats: bool = False
    ) -> Term:
        """Return the term that a pattern stands for below ``names``, a zero of the type ``kind``.

        Raises MismatchError where something matched would leave the binders that it depends on and, unless
        ``repeats``, where a loop would be repeated.
        """

        def part(pattern: Pattern, names: tuple[str, ...], is_key: bool) -> Term:
            return self.built(pattern, names, is_key, kind, repeats=repeats)

        match pattern:
            case Hole(name):
                _require(name in self.holes)  # or ``translate`` says what is wrong with the rule
                return self.holes[name].under(names)
            case Bound(name):
                _require(name in names)
                return Variable(names.index(name))
            case Node("zero", _):
                semiring = self.semiring or "plus_times"
                if kind.rank and not is_key:
                    return Empty(kind.rank, kind.scalar)
                return zero(semiring, 0) if is_key else zero_literal(kind, semiring)
            case Node(
                "Let", (Hole() | Bound() | Node() as value, Bound(name), Hole() | Bound() | Node() as body)
            ):
                inside, named = part(body, (name, *names), is_key), part(value, names, is_key)
                _require(repeats or not has_loop(named) or not is_repeated(inside, 0))
                return substitute(inside, named)
            case Node(constructor, arguments):
                values: list[object] = []
                entered = names
                for argument, letter in zip(arguments, LAYOUTS[constructor], strict=True):
                    if letter == "b" and isinstance(argument, Bound):
                        entered = (argument.name, *entered)
                        values.append(0)
                    elif argument == SEMIRING and is_key and constructor in ARITHMETIC:
                        values.append("plus_times")
                    elif isinstance(argument, str | int):
                        values.append(self.semiring if argument == SEMIRING else argument)
                    else:
                        below = entered if letter == "B" else names
                        values.append(part(argument, below, is_index(letter, is_key)))
                return decode((constructor, tuple(values)), _NUMBERING, (), _made)


_NUMBERING = Numbering(NAMED)


def _made(child: Term, _: object) -> Term:
    """Return a child that is built already, as ``decode`` wants it."""
    return child


def matched(pattern: Pattern, term: Term, place: Place, *, is_key: bool) -> Match | None:
    """Return how ``term`` is an instance of a pattern, None if it is not.

    A pattern about keys (``is_key``) is matched with arithmetic of keys only, one about values never.
    """
    found = Match()
    try:
        found.descend(pattern, term, (), place, is_key, top=True)
    except MismatchError:
        return None
    return None if found.semiring == INDEX else found


def head(term: Term, place: Place) -> tuple[str, str]:
    """Return the constructor of a term, "" for leaves that no rule names, and its semiring or function."""
    match term:
        case Literal(bool(), _):
            return "Truth", ""
        case Literal(_, ScalarType.INT64):
            return "Int", ""
        case Variable() | Literal() | Symbol() | Empty():
            return "", ""
        case Add() | Multiply():
            return shape(term)[0], spelled(term.semiring, place.is_index)
        case _:
            return shape(term)


def is_repeated(term: Term, index: int) -> bool:
    """Return whether a variable is written twice, or in the body of a loop."""
    return _uses(term, index) > 1


def _uses(term: Term, index: int) -> int:
    if isinstance(term, Variable) or not occurs(term, index):
        return int(occurs(term, index))
    is_loop = isinstance(term, Sum | Reduce | Merge)
    return sum(
        (2 if is_loop and binders else 1) * _uses(child, index + binders) for child, binders in children(term)
    )


def _is_unit(term: Term, unit: str, semiring: str) -> bool:
    """Return whether a term is the zero or the one of a semiring; the empty dictionary is a zero of all."""
    if isinstance(term, Empty):
        return unit == "zero"
    known = SEMIRINGS["plus_times" if semiring in ("", INDEX) else semiring]
    return isinstance(term, Literal) and term.value == (known.zero if unit == "zero" else known.one)


def _require(condition: bool) -> None:
    if not condition:
        raise MismatchError
