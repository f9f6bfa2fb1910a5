"""Composed syntax trees → terms of the calculus.

Names become De Bruijn indices. Several generators are nested sums; a key that the same ``sum`` has bound
before is not bound again but looked up:

    sum(<(i,k), v> in A, …) e      with i bound     =  sum(<k, v> in A(i)) e
    sum(<(i,k), v> in A, …) e      with both bound  =  let v = A(i)(k) in if v != 0 then e

where the condition is left out if ``e`` is strict in v. Values are over the program's semiring; keys,
addresses, bounds and conditions are ordinary arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from storel.calculus.binding import shift
from storel.calculus.nodes import (
    Add,
    Apply,
    Empty,
    If,
    Let,
    Literal,
    Lookup,
    Merge,
    Multiply,
    Range,
    Reduce,
    Singleton,
    Slice,
    Sum,
    Symbol,
    Term,
    Unique,
    Variable,
)
from storel.calculus.strictness import strict
from storel.calculus.verify import KEY, Type, element, infer
from storel.scalars import ScalarType
from storel.semiring import SEMIRINGS, Scalar
from storel.symbols import Symbols
from storel.syntax import nodes as syntax
from storel.syntax.nodes import Binder, Expression, Generator

ORDINARY = "plus_times"

_OPERATORS = {
    "/": "divide", "//": "floor_divide", "%": "modulo",
    "==": "equal", "!=": "not_equal", "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal",
    "and": "and", "or": "or", "&": "bit_and", "|": "bit_or", "^": "bit_xor", "<<": "shift_left", ">>": "shift_right",
}  # fmt: skip
_FUNCTIONS = {"min": "minimum", "max": "maximum", "pow": "power"}
_ORDINARY_OPERATORS = frozenset(_OPERATORS) - {"/"}
"""Operators whose operands are keys, conditions or plain numbers, never sums over the semiring."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The enclosing binders, the innermost first; None is one that the text does not name."""

    names: tuple[str | None, ...] = ()
    types: tuple[Type, ...] = ()

    def bind(self, name: str | None, kind: Type) -> Scope:
        return Scope((name, *self.names), (kind, *self.types))


def lower(expression: Expression, symbols: Symbols, semiring: str = ORDINARY) -> Term:
    """Return the term of a composed, well-typed expression whose values are over ``semiring``."""
    return _Lowering(symbols).term(expression, Scope(), semiring)


@dataclass(frozen=True, slots=True)
class _Lowering:
    symbols: Symbols

    def term(self, node: Expression, scope: Scope, semiring: str) -> Term:
        """Lower any expression; its values are over ``semiring``."""
        match node:
            case syntax.Name(name):
                return self._name(name, scope)
            case syntax.Number(value):
                return Literal(value, ScalarType.FLOAT64 if isinstance(value, float) else ScalarType.INT64)
            case syntax.Truth(value):
                return Literal(value, ScalarType.BOOL)
            case syntax.Mapped(_, mapping, own):
                return self._mapped(mapping, own, semiring)
            case syntax.Sum(generators, body):
                return self._generators(
                    generators, scope, semiring, lambda inner: self.term(body, inner, semiring)
                )
            case syntax.Comprehension(monoid, generators, body):
                return self._comprehension(monoid, generators, body, scope)
            case syntax.Singleton(keys, value):
                lowered = self.term(value, scope, semiring)
                for key in reversed(keys):
                    lowered = Singleton(self.ordinary(key, scope), lowered, semiring)
                return lowered
            case syntax.EmptyDictionary():
                return Empty(1)
            case syntax.Call(function, arguments):
                return self._call(function, arguments, scope, semiring)
            case syntax.Range(low, high):
                return Range(self.ordinary(low, scope), self.ordinary(high, scope))
            case syntax.Let(binder, value, body):
                lowered = self.term(value, scope, semiring)
                inner = scope.bind(binder.name, self.type_of(lowered, scope))
                return Let(lowered, self.term(body, inner, semiring))
            case syntax.If(condition, positive, negative):
                return self._conditional(condition, positive, negative, scope, semiring)
            case syntax.Binary(operator, left, right):
                return self._binary(operator, left, right, scope, semiring)
            case syntax.Unary("not", operand):
                return Apply("not", (self.ordinary(operand, scope),))
            case syntax.Unary(_, operand):
                return self._negative(self.term(operand, scope, semiring), scope)
            case syntax.Merge():
                return self._merge(node, scope, semiring)
            case syntax.Unique(key):
                return Unique(self.ordinary(key, scope))
            case syntax.Extent() | syntax.BlankRange() | syntax.Text():
                raise AssertionError(f"{type(node).__name__} is resolved before lowering")

    def ordinary(self, node: Expression, scope: Scope) -> Term:
        """Lower a key, an address, a bound or a condition."""
        return self.term(node, scope, ORDINARY)

    def type_of(self, term: Term, scope: Scope) -> Type:
        return infer(term, self.symbols, scope.types)

    def _name(self, name: str, scope: Scope) -> Term:
        if name in scope.names:
            return Variable(scope.names.index(name))
        return Symbol(name)

    def _mapped(self, mapping: Expression, own: str, semiring: str) -> Term:
        """Lower a mapping; over another semiring, what its own semiring counts as missing stays missing."""
        if own == semiring:
            return self.term(mapping, Scope(), semiring)
        lowered = self.term(mapping, Scope(), own)
        return self._reread(lowered, Scope(), own, semiring)

    def _reread(self, term: Term, scope: Scope, own: str, semiring: str) -> Term:
        """Return the dictionary ``term`` over ``own`` as one over ``semiring``, with the same entries."""
        match term:
            case Sum(source, body, _):
                kind = self.type_of(source, scope)
                inner = scope.bind(None, KEY).bind(None, element(kind))
                return Sum(source, self._reread(body, inner, own, semiring), semiring)
            case Singleton(key, value, _):
                return Singleton(key, self._reread(value, scope, own, semiring), semiring)
            case If(condition, body, _):
                return If(condition, self._reread(body, scope, own, semiring), semiring)
            case Let(value, body):
                inner = scope.bind(None, self.type_of(value, scope))
                return Let(value, self._reread(body, inner, own, semiring))
            case _ if self.type_of(term, scope).rank > 0:
                entry = Singleton(Variable(1), Variable(0), semiring)
                kind = element(self.type_of(term, scope))
                inner = scope.bind(None, KEY).bind(None, kind)
                return Sum(term, self._reread(entry, inner, own, semiring), semiring)
            case _:
                zero = self._zero(self.type_of(term, scope), own)
                return Let(term, If(Apply("not_equal", (Variable(0), zero)), Variable(0), semiring))

    def _zero(self, kind: Type, semiring: str) -> Literal:
        """Return the zero of a scalar type in ``semiring``."""
        zero: Scalar = SEMIRINGS[semiring].zero
        if kind.scalar is ScalarType.BOOL:
            return Literal(bool(zero), ScalarType.BOOL)
        if kind.scalar.is_real or isinstance(zero, float):
            return Literal(float(zero), kind.scalar if kind.scalar.is_real else ScalarType.FLOAT64)
        return Literal(int(zero), kind.scalar)

    def _generators(
        self,
        generators: tuple[Generator, ...],
        scope: Scope,
        semiring: str,
        body: Callable[[Scope], Term],
        bound: frozenset[str] = frozenset(),
    ) -> Term:
        """Lower nested sums; ``bound`` are the keys that generators to the left have bound."""
        if not generators:
            return body(scope)
        first, rest = generators[0], generators[1:]
        # The source is one of values only if it is a dictionary: ranges and arrays are addresses.
        source = self.term(first.source, scope, semiring)
        names = {key.name for key in first.keys if key.name is not None}

        def inside(inner: Scope) -> Term:
            return self._generators(rest, inner, semiring, body, bound | frozenset(names))

        return self._keys(source, first.keys, first.value, scope, semiring, inside, bound)

    def _keys(
        self,
        source: Term,
        keys: tuple[Binder, ...],
        value: Binder,
        scope: Scope,
        semiring: str,
        body: Callable[[Scope], Term],
        bound: frozenset[str],
    ) -> Term:
        """Lower one generator: a sum, or a lookup, for each of its keys."""
        key, rest = keys[0], keys[1:]
        kind = self.type_of(source, scope)
        name = value.name if not rest else None
        known = bound if key.name is None else bound | {key.name}
        if key.name is not None and key.name in bound:
            position = Variable(scope.names.index(key.name))
            return self._join(
                source,
                position,
                kind,
                name,
                scope,
                semiring,
                self._deeper(rest, value, semiring, body, known),
            )
        inner = scope.bind(key.name, KEY).bind(name, element(kind))
        return Sum(source, self._deeper(rest, value, semiring, body, known)(inner), semiring)

    def _deeper(
        self,
        keys: tuple[Binder, ...],
        value: Binder,
        semiring: str,
        body: Callable[[Scope], Term],
        bound: frozenset[str],
    ) -> Callable[[Scope], Term]:
        """Return what goes on inside a binder whose variable 0 is the entry: further keys, or the body."""
        if not keys:
            return body
        return lambda inner: self._keys(Variable(0), keys, value, inner, semiring, body, bound)

    def _join(
        self,
        source: Term,
        position: Variable,
        kind: Type,
        name: str | None,
        scope: Scope,
        semiring: str,
        body: Callable[[Scope], Term],
    ) -> Term:
        """Lower a key that is bound already: the entry at ``position``, if there is one."""
        entry = scope.bind(name, element(kind))
        inner = body(entry)
        is_strict = not kind.is_array and strict(inner, 0, semiring)
        if is_strict:
            return Let(Lookup(source, position, semiring), inner)
        if not kind.is_array and kind.rank == 1:
            zero = self._zero(element(kind), semiring)
            guarded = If(Apply("not_equal", (Variable(0), zero)), inner, semiring)
            return Let(Lookup(source, position, semiring), guarded)
        # An array has no missing entries, and a row none that a scalar shows: compare the keys.
        compared = scope.bind(None, KEY).bind(name, element(kind))
        same = Apply("equal", (Variable(1), shift(position, 2)))
        return Sum(source, If(same, body(compared), semiring), semiring)

    def _comprehension(
        self, monoid: str, generators: tuple[Generator, ...], body: Expression | None, scope: Scope
    ) -> Term:
        """Lower a sum in another monoid; only min and max need one of their own, for they may fail."""
        match monoid:
            case "count":
                one = Literal(1, ScalarType.INT64)
                return self._generators(generators, scope, ORDINARY, lambda _: one)
            case "any":
                assert body is not None
                return self._generators(
                    generators, scope, "or_and", lambda inner: self._truth(self.ordinary(body, inner))
                )
            case "all":
                assert body is not None
                fails = self._generators(
                    generators, scope, "or_and", lambda inner: Apply("not", (self.ordinary(body, inner),))
                )
                return Apply("not", (fails,))
            case _:
                assert body is not None
                first, rest = generators[0], generators[1:]
                return self._reduction(monoid, first, rest, body, scope)

    def _truth(self, term: Term) -> Term:
        return Apply("and", (term, Literal(True, ScalarType.BOOL)))

    def _reduction(
        self, monoid: str, first: Generator, rest: tuple[Generator, ...], body: Expression, scope: Scope
    ) -> Term:
        """Lower min, max or prod: the outermost loop reduces, those inside add over a fitting semiring."""
        source = self.ordinary(first.source, scope)
        kind = self.type_of(source, scope)
        key, more = first.keys[0], first.keys[1:]
        name = first.value.name if not more else None
        inner = scope.bind(key.name, KEY).bind(name, element(kind))
        if not more and not rest:
            return Reduce(monoid, source, self.ordinary(body, inner))
        if more:
            nested = Generator(more, first.value, syntax.Name(_ENTRY))
            inner = scope.bind(key.name, KEY).bind(_ENTRY, element(kind))
            rest = (nested, *rest)
        return Reduce(monoid, source, self._reduction(monoid, rest[0], rest[1:], body, inner))

    def _call(
        self, function: Expression, arguments: tuple[Expression, ...], scope: Scope, semiring: str
    ) -> Term:
        if isinstance(function, syntax.Name) and not self._is_bound(function.name, scope):
            name = _FUNCTIONS.get(function.name, function.name)
            return Apply(name, tuple(self.term(argument, scope, semiring) for argument in arguments))
        mapping = self.term(function, scope, semiring)
        match arguments:
            case (syntax.Range(low, high),):
                return Slice(mapping, self.ordinary(low, scope), self.ordinary(high, scope))
            case _:
                for argument in arguments:
                    mapping = Lookup(mapping, self.ordinary(argument, scope), semiring)
                return mapping

    def _is_bound(self, name: str, scope: Scope) -> bool:
        return name in scope.names or name in self.symbols

    def _conditional(
        self,
        condition: Expression,
        positive: Expression,
        negative: Expression | None,
        scope: Scope,
        semiring: str,
    ) -> Term:
        test = self.ordinary(condition, scope)
        chosen = If(test, self.term(positive, scope, semiring), semiring)
        if negative is None:
            return chosen
        other = If(Apply("not", (test,)), self.term(negative, scope, semiring), semiring)
        return Add(chosen, other, semiring)

    def _binary(
        self, operator: str, left: Expression, right: Expression, scope: Scope, semiring: str
    ) -> Term:
        if operator in _ORDINARY_OPERATORS:
            operands = self.ordinary(left, scope), self.ordinary(right, scope)
            return Apply(_OPERATORS[operator], operands)
        if operator == "+" and isinstance(left, syntax.EmptyDictionary):
            return self.term(right, scope, semiring)
        if operator in "+-" and isinstance(right, syntax.EmptyDictionary):
            return self.term(left, scope, semiring)
        one, two = self.term(left, scope, semiring), self.term(right, scope, semiring)
        match operator:
            case "+":
                return Add(one, two, semiring)
            case "*":
                return Multiply(one, two, semiring)
            case "/":
                return self._quotient(one, two, scope)
            case _:
                if self.type_of(one, scope).rank == 0:
                    return Apply("subtract", (one, two))
                return Add(one, self._negative(two, scope))

    def _quotient(self, one: Term, two: Term, scope: Scope) -> Term:
        """Return a quotient; a dictionary is divided entry by entry by a scalar."""
        if self.type_of(one, scope).rank == 0:
            return Apply("divide", (one, two))
        inverse = Apply("divide", (Literal(1.0, ScalarType.FLOAT64), two))
        return Multiply(one, inverse)

    def _negative(self, term: Term, scope: Scope) -> Term:
        if isinstance(term, Literal) and not isinstance(term.value, bool):
            return Literal(-term.value, term.type)
        if self.type_of(term, scope).rank == 0:
            return Apply("negate", (term,))
        return Multiply(Literal(-1, ScalarType.INT64), term)

    def _merge(self, node: syntax.Merge, scope: Scope, semiring: str) -> Term:
        left, right = self.ordinary(node.left, scope), self.ordinary(node.right, scope)
        inner = scope.bind(node.left_position.name, KEY).bind(node.right_position.name, KEY)
        inner = inner.bind(node.key.name, element(self.type_of(left, scope)))
        return Merge(left, right, self.term(node.body, inner, semiring), semiring)


_ENTRY = "<entry>"
"""The name of a sub-dictionary between two keys of one generator; no text can say it."""
