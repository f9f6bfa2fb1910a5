"""Random instances of the left sides of rewrite rules.

A pattern is walked from the root with the kind of value that is wanted there; a pattern variable becomes
a small random term over the binders that all its occurrences, on both sides, have in common.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from hypothesis import strategies as st

from storel.calculus.nodes import (
    Add,
    Apply,
    Find,
    If,
    Let,
    Literal,
    Lookup,
    Merge,
    Multiply,
    Range,
    Singleton,
    Slice,
    Sum,
    Symbol,
    Term,
    Unique,
    Variable,
)
from storel.calculus.verify import KEY, Type, element
from storel.functions import FUNCTIONS
from storel.optimizer.encoding.layouts import zero
from storel.optimizer.rules.patterns import Bound, Hole, Node, Pattern
from storel.optimizer.rules.rulefile import Guard, Rule
from storel.optimizer.terms.occurrences import reindexed
from storel.scalars import ScalarType
from storel.semiring import SEMIRINGS
from storel.soundness.data import GROUPS, RANKS, columns, pairs_once
from storel.soundness.growth import (
    ARRAY,
    COMPARISONS,
    OTHERS,
    SHORT,
    SHORTS,
    TRUTH,
    Growth,
    Scope,
    UnfitError,
    convertible,
    integer,
)
from storel.soundness.patterns import has_conversions, holes, is_key, keys_of

LOGICAL = ("and", "or", "not")

Chosen: TypeAlias = tuple[Term, Type, tuple[str, ...]]
"""What a pattern variable stands for, its kind, and the binders that it is a term over."""


@dataclass
class Instance:
    """One instance of a rule's left side, as it is drawn."""

    draw: st.DrawFn
    rule: Rule
    semiring: str
    chosen: dict[str, Chosen] = field(default_factory=dict[str, Chosen])

    def __post_init__(self) -> None:
        self.common: dict[str, frozenset[str]] = {}
        for name, scope in (*holes(self.rule.left), *holes(self.rule.right)):
            self.common[name] = self.common.get(name, scope) & scope
        self.converts = has_conversions(self.rule.left)
        self.guards: dict[str, list[tuple[str, tuple[Pattern, ...]]]] = {}
        for guard in self.rule.guards:
            first = guard.arguments[0]
            if isinstance(first, Hole):
                self.guards.setdefault(first.name, []).append((guard.name, guard.arguments[1:]))
            if guard.name in GROUPS:
                for hole, array in zip(guard.arguments, GROUPS[guard.name], strict=True):
                    assert isinstance(hole, Hole)
                    self.chosen[hole.name] = (Symbol(array), ARRAY, ())
            if guard.name in ("separate", "disjoint") and self.pick(True, True, False):
                self._choose(guard)

    def _choose(self, guard: Guard) -> None:
        """Choose for the two holes of a guard what is known to make no entry twice."""
        first, second = (hole.name for hole in guard.arguments if isinstance(hole, Hole))
        if guard.name == "separate":
            array, entry = pairs_once(self.semiring)
            inside = ("x", "p")
            self.chosen[first], self.chosen[second] = (array, ARRAY, ()), (entry, self.row(2), inside)
        else:
            one, other = columns(self.semiring)
            self.chosen[first], self.chosen[second] = (one, self.row(2), ()), (other, self.row(2), ())

    @property
    def value(self) -> Type:
        return Type(ScalarType.BOOL if self.semiring == "or_and" else ScalarType.FLOAT64)

    def row(self, rank: int) -> Type:
        return Type(self.value.scalar, rank)

    def pick(self, *options: Any) -> Any:
        return options[self.draw(st.integers(0, len(options) - 1))]

    def whole(self) -> Term:
        """Draw the instance; raises UnfitError where kinds do not fit together."""
        left = self.rule.left
        if isinstance(left, Node) and left.constructor.startswith("Apply"):
            function = str(left.arguments[0])
            kinds = (KEY, self.value) if self._takes_values(function) else (KEY,)
            kind = TRUTH if function in (*LOGICAL, *COMPARISONS) else self.pick(*kinds)
        elif "index" in self.rule.tags or is_key(left):
            kind = KEY
        else:
            is_loop = isinstance(left, Node) and left.constructor in ("Sum", "Reduce")
            counts = (KEY,) if (is_loop or self.converts) and self.semiring == "plus_times" else ()
            kind = self.pick(self.value, self.row(1), self.row(2), *counts)
        return self.term(left, kind, ())

    def term(self, pattern: Pattern, kind: Type, scope: Scope) -> Term:
        """Return an instance of ``pattern`` of the given kind."""
        match pattern:
            case Hole(name):
                return self.hole(name, kind, scope)
            case Bound(name):
                index = [binder for binder, _ in scope].index(name)
                return self.fitting(Variable(index), scope[index][1], kind)
            case Node("zero" | "one" as unit, _):
                return self.unit(unit, kind)
            case Node("Int", (int(number),)):
                return self.number(number, kind)
            case Node("Truth", (int(number),)):
                return self.fitting(Literal(bool(number), ScalarType.BOOL), TRUTH, kind)
            case Node("Sum" | "Reduce", (_, source, Bound(key), Bound(element), body)):
                found, below = self.source(source, scope)
                inner = ((element, below), (key, KEY), *scope)
                return Sum(found, self.part(body, kind, inner), self.semiring)
            case Node("Merge", (_, left, right, Bound(p), Bound(q), Bound(x), body)):
                arrays = self.part(left, ARRAY, scope), self.part(right, ARRAY, scope)
                inner = ((x, KEY), (q, KEY), (p, KEY), *scope)
                return Merge(*arrays, self.part(body, kind, inner), self.semiring)
            case Node("Find", (_, source, key, Bound(p), body)):
                array, sought = self.part(source, ARRAY, scope), self.part(key, KEY, scope)
                return Find(array, sought, self.part(body, kind, ((p, KEY), *scope)), self.semiring)
            case Node("Let", (value, Bound(name), body)):
                below = self.pick(KEY, self.value, self.row(1))
                named = self.part(value, below, scope)
                return Let(named, self.part(body, kind, ((name, below), *scope)))
            case Node(constructor, arguments):
                return self.plain(constructor, arguments, kind, scope)

    def plain(
        self, constructor: str, arguments: tuple[str | int | Pattern, ...], kind: Type, scope: Scope
    ) -> Term:
        """Return an instance of a pattern that binds nothing."""
        parts = [part for part in arguments if not isinstance(part, str | int)]

        def both(first: Type, second: Type) -> tuple[Term, Term]:
            return self.part(parts[0], first, scope), self.part(parts[1], second, scope)

        semiring = "plus_times" if kind == KEY else self.semiring
        match constructor:
            case "Single" if kind.rank > 0:
                return Singleton(*both(KEY, self.row(kind.rank - 1)), self.semiring)
            case "Look" if isinstance(parts[0], Node) and parts[0].constructor == "Range":
                return Lookup(*both(ARRAY, self.fitting_type(KEY, kind)), "plus_times")
            case "Look" if kind != TRUTH and kind != KEY:
                return Lookup(*both(self.row(kind.rank + 1), KEY), self.semiring)
            case "Look" if kind == KEY:
                return Lookup(*both(ARRAY, KEY), "plus_times")
            case "Range":
                self._choose_bounds(parts)
                return Range(*both(KEY, KEY))
            case "Slice":
                self._choose_segments(parts)
                self._choose_bounds(parts[1:])
                return Slice(
                    self.part(parts[0], ARRAY, scope), *(self.part(p, KEY, scope) for p in parts[1:])
                )
            case "If":
                return If(*both(TRUTH, kind), semiring)
            case "Add":
                return Add(*both(*(self._operand(part, kind) for part in parts)), semiring)
            case "Mul":
                if kind.rank == 0:
                    return Multiply(*both(*(self._operand(part, kind) for part in parts)), semiring)
                first, second = self.pick((kind, kind), (kind, self.value), (self.value, kind))
                return Multiply(*both(first, second), semiring)
            case "Uniq":
                return Unique(self.part(parts[0], self.fitting_type(KEY, kind), scope))
            case _ if constructor.startswith("Apply"):
                return self.applied(str(arguments[0]), parts, kind, scope)
            case _:
                raise UnfitError(constructor)

    def _operand(self, part: Pattern, kind: Type) -> Type:
        """Return the type of what is added or multiplied: beside what is converted, numbers may be short."""
        is_number = kind == KEY and isinstance(part, Hole)
        return self.pick(KEY, SHORT) if self.converts and is_number else kind

    def _choose_bounds(self, bounds: Sequence[Pattern]) -> None:
        """Let a range be within what is read there, more often than by chance."""
        for part, bound in zip(bounds, (0, self.pick(1, 2, 3)), strict=True):
            if isinstance(part, Hole) and part.name not in self.chosen and self.pick(True, False):
                self.chosen[part.name] = (integer(bound), KEY, ())

    def _choose_segments(self, parts: Sequence[Pattern]) -> None:
        """Let an array and the boundaries that are read for a part of it fit together, half of the time.

        A rule that does not ask them to ascend gets some that do not.
        """
        match parts:
            case (Hole(array), Node("Look", (_, Hole(low), _)), Node("Look", (_, Hole(high), _))):
                if low == high and not {array, low} & self.chosen.keys() and self.pick(True, False):
                    boundaries = "pos" if self.wants(low, "ascending") else self.pick("pos", "pos", "u")
                    self.chosen[array], self.chosen[low] = (
                        (Symbol(n), ARRAY, ()) for n in ("idx", boundaries)
                    )
            case _:
                return

    def applied(self, function: str, parts: Sequence[Pattern], kind: Type, scope: Scope) -> Term:
        if (target := FUNCTIONS[function].conversion) is not None:
            shorter = self.pick(*convertible(target, kind, self.value))
            return Apply(function, (self.part(parts[0], shorter, scope),))
        below = KEY
        if function in LOGICAL:
            below = self.fitting_type(TRUTH, kind)
        elif function in COMPARISONS:
            self.fitting_type(TRUTH, kind)
            is_integer = any(guard[0] == "integer" for found in self.guards.values() for guard in found)
            below = KEY if is_integer or "index" in self.rule.tags else self.pick(KEY, KEY, self.value)
            self._choose_undefined(parts, below)
        elif kind == self.value and self._takes_values(function):
            below = kind
        else:
            below = self.fitting_type(KEY, kind)
        return Apply(function, tuple(self.part(part, below, scope) for part in parts))

    def _takes_values(self, function: str) -> bool:
        """Return whether a function is of numbers that need not be integers, and such are at hand."""
        numbers = self.value.scalar.is_real and "index" not in self.rule.tags
        return numbers and FUNCTIONS[function].domain.adjust(self.value.scalar) is not None

    def _choose_undefined(self, parts: Sequence[Pattern], kind: Type) -> None:
        """Let some of what is compared be NaN, which no comparison orders, nor finds equal to itself."""
        for part in parts if kind.scalar.is_real else ():
            if isinstance(part, Hole) and part.name not in self.chosen and self.pick(False, False, True):
                self.chosen[part.name] = (Literal(math.nan, kind.scalar), kind, ())

    def source(self, pattern: str | int | Pattern, scope: Scope) -> tuple[Term, Type]:
        """Return an instance of what a sum runs over, and the kind of its values."""
        if isinstance(pattern, Node) and pattern.constructor in ("Range", "Slice"):
            return self.part(pattern, ARRAY, scope), KEY
        depth = max(1, keys_of(pattern))
        usual = (depth, depth + 1)
        ranks = next((RANKS[guard.name] for guard in self.rule.guards if guard.name in RANKS), usual)
        options: list[Type] = list(map(self.row, ranks))
        if isinstance(pattern, Hole):
            options = (
                [self.chosen[pattern.name][1]] if pattern.name in self.chosen else [*options, ARRAY, ARRAY]
            )
            if self.wants(pattern.name, "increasing", "ascending"):
                options = [ARRAY]
            elif self.converts and pattern.name not in self.chosen:
                options.append(SHORTS)
        kind = self.pick(*options)
        if isinstance(pattern, Hole) and pattern.name not in self.chosen:
            self._choose_other(pattern.name, kind)
        below = element(kind) if kind.is_array else self.row(kind.rank - 1)
        return self.part(pattern, kind, scope), below

    def _choose_other(self, name: str, kind: Type) -> None:
        """Let a sum run over a dictionary of another semiring now and then: it stores what is zero here."""
        if kind == self.row(1) and self.semiring in OTHERS and self.pick(False, False, False, True):
            term = Growth(self.draw, OTHERS[self.semiring], self.value, ()).term(kind, 1)
            self.chosen[name] = (term, kind, ())

    def wants(self, hole: str, *guards: str) -> bool:
        return any(name in guards for name, _ in self.guards.get(hole, ()))

    def part(self, pattern: str | int | Pattern, kind: Type, scope: Scope) -> Term:
        assert not isinstance(pattern, str | int)
        return self.term(pattern, kind, scope)

    def fitting_type(self, found: Type, kind: Type) -> Type:
        """Return the type of what is found if it may stand where ``kind`` is wanted.

        Integers are reals, and so are the results of comparisons.
        """
        is_number = found in (KEY, TRUTH) and kind == self.value and kind.scalar.is_real
        if found != kind and not is_number:
            raise UnfitError(f"{found} is not {kind}")
        return found

    def fitting(self, term: Term, found: Type, kind: Type) -> Term:
        self.fitting_type(found, kind)
        return term

    def number(self, number: int, kind: Type) -> Term:
        """Return an integer: a key, or a value as programs write it, over any semiring of numbers."""
        if kind == self.value and kind != TRUTH:
            return integer(number)
        return self.fitting(integer(number), KEY, kind)

    def unit(self, unit: str, kind: Type) -> Term:
        if kind == KEY:
            return integer(int(unit == "one"))
        if unit == "one":
            return Literal(SEMIRINGS[self.semiring].one, self.fitting_type(self.value, kind).scalar)
        if kind.rank == 0:
            return Literal(SEMIRINGS[self.semiring].zero, kind.scalar)
        return zero(self.semiring, kind.rank)

    def hole(self, name: str, kind: Type, scope: Scope) -> Term:
        """Return what a pattern variable stands for, seen from ``scope``."""
        if name not in self.chosen:
            inner = tuple(pair for pair in scope if pair[0] in self.common[name])
            if self.wants(name, "dictionary") and (kind.rank == 0 or kind.is_array):
                raise UnfitError(name)
            if self.wants(name, "scalar") and kind.rank > 0:
                raise UnfitError(name)
            self.chosen[name] = self.shared(name, kind, inner) or self.grown(name, kind, inner)
        term, found, names = self.chosen[name]
        places = [binder for binder, _ in scope]
        return self.fitting(reindexed(term, lambda index: places.index(names[index])), found, kind)

    def grown(self, name: str, kind: Type, inner: Scope) -> Chosen:
        """Draw a term over some binders for a pattern variable."""
        term = Growth(self.draw, self.semiring, self.value, inner).wanted(kind, self.guards.get(name, []))
        return term, kind, tuple(binder for binder, _ in inner)

    def shared(self, name: str, kind: Type, inner: Scope) -> Chosen | None:
        """Return what another pattern variable stands for, or None: now and then two stand for the same.

        Arrays often do, since a rule about several of them may be wrong only where they have keys in common.
        """
        names = {binder for binder, _ in inner}
        others = [found for found in self.chosen.values() if found[1] == kind and names.issuperset(found[2])]
        often = (True, False, False) if kind == ARRAY else (True, False, False, False)
        return self.pick(*others) if others and name not in self.guards and self.pick(*often) else None
