"""Composed syntax trees → terms of the calculus.

Names become De Bruijn indices, generators nested sums (``generators.py``), comprehensions such sums where
they are (``comprehensions.py``). Values are over the program's semiring; keys, addresses, bounds, conditions
and comparisons are ordinary arithmetic. A stored tensor is seen over the semiring of what reads it
(``views.py``) unless it is the source of a sum (``mixed.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from storel.calculus.binding import shift, substitute
from storel.calculus.bounds import bounds
from storel.calculus.comprehensions import Loops
from storel.calculus.entries import doubtful, entry, unless_zero, where_counted_up
from storel.calculus.generators import Total
from storel.calculus.interpret import computed
from storel.calculus.mixed import separate
from storel.calculus.nodes import (
    Add,
    Apply,
    Empty,
    If,
    Let,
    Literal,
    Lookup,
    Multiply,
    Range,
    Slice,
    Sum,
    Term,
    Unique,
    Variable,
)
from storel.calculus.scope import NOTHING, Scope
from storel.calculus.verify import Type, element, infer, zero_literal
from storel.calculus.views import seen_over, truths
from storel.scalars import ScalarType
from storel.semiring import SEMIRINGS
from storel.symbols import Symbols
from storel.syntax.nodes import expressions as syntax
from storel.syntax.nodes.expressions import Expression
from storel.syntax.spelling import CALLS, OPERATORS

ORDINARY = "plus_times"

_QUOTIENTS = frozenset({"/", "//", "%"})


def lower(
    expression: Expression, symbols: Symbols, semiring: str = ORDINARY, total: type[Total] = Total
) -> Term:
    """Return the term of a composed, well-typed expression whose values are over ``semiring``.

    ``total`` makes its sums.
    """
    term = _Lowering(symbols, total=total).term(expression, Scope(), semiring)
    if term == NOTHING:
        return Empty(1)
    return separate(term, symbols) if total is Total else term


def lower_mapping(mapped: syntax.Mapped, symbols: Symbols) -> Term:
    """Return the term that a stored tensor is where it is read, over its own semiring."""
    return _Lowering(symbols, drops_zeros=True).term(mapped, Scope(), mapped.semiring)


@dataclass(frozen=True, slots=True)
class _Lowering:
    """``drops_zeros`` in a dictionary that is only read: its zeros are no entries, whatever their keys are.

    Its readers may rely on keys that are not negative. Code that stores a result checks each value itself.
    One that ``is_natural`` is known to have no negative keys. Where a loop counts keys up, a condition says
    so: it costs nothing, since it becomes a bound of the loop, and proves that reads there are in bounds.
    ``mapped`` are the terms of stored tensors, of which one may be read several times.
    """

    symbols: Symbols
    drops_zeros: bool = False
    is_natural: bool = False
    total: type[Total] = Total
    mapped: dict[tuple[syntax.Mapped, bool, bool], Term] = field(
        default_factory=dict[tuple[syntax.Mapped, bool, bool], Term]
    )

    def term(self, node: Expression, scope: Scope, semiring: str) -> Term:
        """Lower any expression; its values are over ``semiring``."""
        match node:
            case syntax.Name(name):
                return scope.find(name)
            case syntax.Number(value):
                return Literal(value, ScalarType.FLOAT64 if isinstance(value, float) else ScalarType.INT64)
            case syntax.Truth(value):
                return Literal(value, ScalarType.BOOL)
            case syntax.Mapped():
                return self._seen(node, semiring)
            case syntax.Sum(generators, body):
                return self._loops(semiring).sum(
                    generators, scope, lambda inner: self.term(body, inner, semiring), semiring
                )
            case syntax.Comprehension():
                return self._comprehension(node, scope, semiring)
            case syntax.Singleton(keys, value):
                lowered = self.term(value, scope, semiring)
                if lowered == NOTHING:
                    return NOTHING
                return self._entry([self._ordinary(key, scope) for key in keys], lowered, scope, semiring)
            case syntax.EmptyDictionary():
                return NOTHING
            case syntax.Call(function, arguments):
                return self._call(function, arguments, scope, semiring)
            case syntax.Range(low, high):
                return Range(self._ordinary(low, scope), self._ordinary(high, scope))
            case syntax.Let():
                return self._let(node, scope, semiring)
            case syntax.If(condition, positive, negative):
                return self._conditional(condition, positive, negative, scope, semiring)
            case syntax.Binary(operator, left, right):
                return self._binary(operator, left, right, scope, semiring)
            case syntax.Unary("not", operand):
                return Apply("not", (self._truth(operand, scope),))
            case syntax.Unary(_, operand):
                return self._negative(self.term(operand, scope, semiring), scope)
            case syntax.Merge():
                return self._merge(node, scope, semiring)
            case syntax.Unique(key):
                return Unique(self._ordinary(key, scope))
            case syntax.Extent() | syntax.BlankRange() | syntax.Text() | syntax.Window():
                raise AssertionError(f"{type(node).__name__} is resolved before lowering")

    def _read(self) -> _Lowering:
        """Return what lowers a dictionary that is read, not stored."""
        return replace(self, drops_zeros=True, is_natural=False)

    def _entry(self, keys: list[Term], value: Term, scope: Scope, semiring: str) -> Term:
        """Return an entry; where a dictionary is read, none if its value is zero and a key may be negative.

        A row without entries is not looked at, whatever its key is.
        """
        made, unproved = entry(keys, value, semiring), doubtful(keys, self.symbols, scope)
        if self.is_natural:
            return where_counted_up(made, unproved, self.symbols, scope, semiring)
        if not self.drops_zeros or not unproved:
            return made
        kind = self._type(value, scope)
        return made if kind.rank > 0 else unless_zero(made, unproved, value, kind, semiring)

    def _seen(self, node: syntax.Mapped, semiring: str, *, as_truths: bool = False) -> Term:
        return seen_over(self._mapped(node), node.semiring, semiring, self.symbols, as_truths=as_truths)

    def _mapped(self, node: syntax.Mapped) -> Term:
        asked = node, self.drops_zeros, self.is_natural
        if asked not in self.mapped:
            is_natural = node.has_natural_keys
            lowering = _Lowering(self.symbols, is_natural=self.drops_zeros) if is_natural else self
            made = lowering.term(node.mapping, Scope(), node.semiring)
            self.mapped[asked] = separate(made, self.symbols)
        return self.mapped[asked]

    def _scalar(self, node: Expression, scope: Scope, semiring: str) -> Term:
        """Lower a scalar; ``{}`` is its zero."""
        term = self.term(node, scope, semiring)
        return zero_literal(Type(ScalarType.BOOL), semiring) if term == NOTHING else term

    def _ordinary(self, node: Expression, scope: Scope) -> Term:
        """Lower a key, an address, a bound or a condition."""
        return self._scalar(node, scope, ORDINARY)

    def _truth(self, node: Expression, scope: Scope) -> Term:
        """Lower an operand of ``and``, ``or`` or ``not``: to rules it is true or false, and no number."""
        term = self._ordinary(node, scope)
        is_truth = self._type(term, scope).scalar is ScalarType.BOOL
        return term if is_truth else Apply("not_equal", (term, Literal(0, ScalarType.INT64)))

    def _type(self, term: Term, scope: Scope) -> Type:
        return infer(term, self.symbols, scope.types)

    def _loops(self, semiring: str) -> Loops:
        """Return what lowers loops over sources that are computed over ``semiring``."""

        def source(node: Expression, scope: Scope) -> tuple[Term, str]:
            if isinstance(node, syntax.Mapped):
                return self._read()._mapped(node), node.semiring
            return self._read().term(node, scope, semiring), semiring

        return Loops(self.symbols, self.total, source)

    def _comprehension(self, node: syntax.Comprehension, scope: Scope, semiring: str) -> Term:
        def body(inner: Scope) -> Term:
            assert node.body is not None
            if node.monoid in ("any", "all"):
                return self._truth(node.body, inner)
            return self._scalar(node.body, inner, semiring)

        return self._loops(semiring).comprehension(node.monoid, node.generators, scope, body)

    def _let(self, node: syntax.Let, scope: Scope, semiring: str) -> Term:
        """Lower a ``let``; an array is no value to be stored, so that its name is replaced."""
        named = self._read().term(node.value, scope, ORDINARY if node.is_index else semiring)
        if named == NOTHING:
            return self.term(node.body, scope.name_nothing(node.binder.name), semiring)
        kind = self._type(named, scope)
        within = bounds(named, self.symbols, scope.intervals)
        inner = self.term(node.body, scope.bind(node.binder.name, kind, within), semiring)
        if inner == NOTHING:
            return NOTHING
        return substitute(inner, named) if kind.is_array else Let(named, inner)

    def _call(
        self, function: Expression, arguments: tuple[Expression, ...], scope: Scope, semiring: str
    ) -> Term:
        if isinstance(function, syntax.Name) and not self._is_bound(function.name, scope):
            operands = tuple(self._scalar(argument, scope, semiring) for argument in arguments)
            return self._application(function.name, operands, scope)
        reading = self._read()
        match function:
            case syntax.Mapped():
                mapping = reading._seen(function, semiring, as_truths=True)
            case _:
                mapping = reading.term(function, scope, semiring)
        match arguments:
            case (syntax.Range(low, high),):
                return Slice(mapping, self._ordinary(low, scope), self._ordinary(high, scope))
            case _ if mapping == NOTHING:
                return NOTHING
            case _:
                for argument in arguments:
                    mapping = Lookup(mapping, self._ordinary(argument, scope), semiring)
                return mapping

    def _is_bound(self, name: str, scope: Scope) -> bool:
        return name in scope.names or name in scope.empty or name in self.symbols

    def _application(self, name: str, operands: tuple[Term, ...], scope: Scope) -> Term:
        if name in ("floor", "ceil", "int") and self._type(operands[0], scope).scalar.is_integer:
            return operands[0]
        return computed(Apply(CALLS[name].name, operands))

    def _conditional(
        self,
        condition: Expression,
        positive: Expression,
        negative: Expression | None,
        scope: Scope,
        semiring: str,
    ) -> Term:
        test = self._ordinary(condition, scope)
        within = scope.where(test, self.symbols)
        chosen = self._guarded(test, self.term(positive, within, semiring), semiring)
        if negative is None:
            return chosen
        other = self._guarded(Apply("not", (test,)), self.term(negative, scope, semiring), semiring)
        if NOTHING in (chosen, other):
            return chosen if other == NOTHING else other
        truth = Type(ScalarType.BOOL)
        if self._type(chosen, scope) == truth and self._type(other, scope) == truth:
            return Apply("or", (chosen, other))
        return Add(chosen, other, semiring)

    def _guarded(self, condition: Term, body: Term, semiring: str) -> Term:
        return NOTHING if body == NOTHING else If(condition, body, semiring)

    def _binary(
        self, operator: str, left: Expression, right: Expression, scope: Scope, semiring: str
    ) -> Term:
        if operator in ("and", "or"):
            return Apply(operator, (self._truth(left, scope), self._truth(right, scope)))
        if operator not in ("+", "-", "*"):
            inner = semiring if operator in _QUOTIENTS else ORDINARY
            operands = self._scalar(left, scope, inner), self._scalar(right, scope, inner)
            return computed(Apply(OPERATORS[operator].name, operands))
        one, two = self.term(left, scope, semiring), self.term(right, scope, semiring)
        if operator == "*":
            if NOTHING in (one, two):
                return NOTHING
            if not self.drops_zeros and all(self._type(each, scope).rank > 0 for each in (one, two)):
                return self._read()._binary(operator, left, right, scope, semiring)  # the keys of both
            return Multiply(one, two, semiring)
        if operator == "-" and NOTHING not in (one, two) and self._type(one, scope).rank == 0:
            return Apply("subtract", (one, two))
        two = self._negative(two, scope) if operator == "-" else two
        if NOTHING in (one, two):
            return self._alone(one if two == NOTHING else two, scope, semiring)
        return Add(one, two, semiring)

    def _alone(self, term: Term, scope: Scope, semiring: str) -> Term:
        """Return a sum of a dictionary and nothing: truths where sums of numbers are."""
        if term == NOTHING or not SEMIRINGS[semiring].has_truths:
            return term
        kind = self._type(term, scope)
        return term if kind.scalar is ScalarType.BOOL else truths(term, kind, ORDINARY, semiring)

    def _negative(self, term: Term, scope: Scope) -> Term:
        if term == NOTHING:
            return term
        if isinstance(term, Literal) and not isinstance(term.value, bool):
            return Literal(-term.value, term.type)
        if self._type(term, scope).rank == 0:
            return Apply("negate", (term,))
        return Multiply(Literal(-1, ScalarType.INT64), term)

    def _merge(self, node: syntax.Merge, scope: Scope, semiring: str) -> Term:
        """Return two loops and a condition: a rule, ``merge-join``, asks whether the sources increase."""
        left, right = self._ordinary(node.left, scope), self._ordinary(node.right, scope)
        inner = scope.bind(node.left_position.name).bind(node.key.name, element(self._type(left, scope)))
        inner = inner.bind(node.right_position.name).bind(None, element(self._type(right, scope)))
        body = self.term(node.body, inner, semiring)
        if body == NOTHING:
            return NOTHING
        same = Apply("equal", (Variable(2), Variable(0)))
        return Sum(left, Sum(shift(right, 2), If(same, body, semiring), semiring), semiring)
