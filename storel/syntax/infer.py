"""The types of expressions: ranks, scalar types, and in which arithmetic each part is computed.

Values are computed in the semiring of the definition, the sources and bodies of ``min``, ``max`` and
``prod`` among them; keys, addresses, bounds, conditions (those of ``any`` and ``all``, too) and the sides of
comparisons always in ordinary arithmetic. So is a ``let`` that names an expression of keys.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from storel.errors import TypeMismatchError
from storel.functions import Function
from storel.scalars import ScalarType
from storel.semiring import PLUS_TIMES, Semiring
from storel.source import Span
from storel.syntax.nodes.expressions import (
    Binary,
    BlankRange,
    Call,
    Comprehension,
    EmptyDictionary,
    Expression,
    Extent,
    Generator,
    If,
    Let,
    Mapped,
    Merge,
    Name,
    Number,
    Range,
    Singleton,
    Sum,
    Text,
    Truth,
    Unary,
    Unique,
    Window,
)
from storel.syntax.roles import (
    CONDITIONS,
    Remark,
    Scope,
    body_semiring,
    is_index,
    rank_error,
    require_inverse,
    require_number,
)
from storel.syntax.spelling import CALLS, NOT, OPERATORS
from storel.syntax.types import (
    INTEGER,
    TRUTH,
    ZERO,
    Role,
    Type,
    Variable,
    by_entry,
    by_number,
    chosen,
    joined,
    multiplied,
    summed,
    with_zero,
)
from storel.syntax.words import A_PART, over_entries


def infer(expression: Expression, scope: Scope, semiring: Semiring = PLUS_TIMES) -> Type:
    """Return the type of a resolved expression; raises ``TypeMismatchError``.

    >>> from storel.source import Source
    >>> from storel.syntax.parser import parse_expression
    >>> scope = {"A": Variable(Type(ScalarType.FLOAT32, 2))}
    >>> str(infer(parse_expression(Source("", "sum(<i, row> in A) row(0)")), scope))
    'a scalar of float32'
    """
    return Inference().of(expression, scope, semiring)


@dataclass(slots=True)
class Inference:
    """Infers types; on the way collects warnings, and the values of ``let`` that are indices, by identity."""

    indices: set[int] = field(default_factory=set[int])
    remarks: list[Remark] = field(default_factory=list[Remark])

    def of(self, expression: Expression, scope: Scope, ring: Semiring) -> Type:
        """Return the type of ``expression`` computed in ``ring``."""
        match expression:
            case Name(name):
                return scope[name].type
            case Number(value):
                require_number(value, ring, expression.span)
                return Type(ScalarType.INT64 if isinstance(value, int) else ScalarType.FLOAT64)
            case Truth():
                return TRUTH
            case Text() | Window():
                raise TypeMismatchError("a quoted text is no value", span=expression.span)
            case EmptyDictionary():
                return ZERO
            case BlankRange():
                return Type(ScalarType.INT64, 1, is_array=True)
            case Sum(generators, body):
                return summed(self.value(body, self.bind(generators, scope, ring), ring), ring)
            case Comprehension():
                return self.comprehension(expression, scope, ring)
            case Singleton(keys, value):
                for key in keys:
                    self.key(key, scope)
                inner = with_zero(self.value(value, scope, ring), ring)
                return ZERO if inner.is_zero else Type(inner.scalar, inner.rank + len(keys))
            case Call():
                return self.call(expression, scope, ring)
            case Range(low, high):
                self.bound(low, scope)
                self.bound(high, scope)
                return Type(ScalarType.INT64, 1, is_array=True)
            case Let(binder, value, body):
                bound = self.named(value, scope, ring)
                return self.of(body, scope if binder.name is None else {**scope, binder.name: bound}, ring)
            case If(condition, positive, negative):
                self.scalar(condition, scope, PLUS_TIMES)
                return self.conditional(positive, negative, scope, ring)
            case Binary():
                return self.binary(expression, scope, ring)
            case Unary("not", operand):
                return Type(self.apply("not", NOT, (operand,), expression.span, scope, PLUS_TIMES))
            case Unary(_, operand):
                return self.negation(operand, expression.span, scope, ring)
            case Merge():
                return summed(self.value(expression.body, self.merged(expression, scope), ring), ring)
            case Unique(key):
                return self.key(key, scope)
            case Extent(tensor, dimension):
                return self.extent(tensor, dimension, expression.span, scope, ring)
            case Mapped(_, mapping):
                return self.of(mapping, scope, ring)

    def named(self, value: Expression, scope: Scope, ring: Semiring) -> Variable:
        """Return what ``let`` makes of a value: an expression of keys is another key."""
        if is_index(value, scope):
            self.indices.add(id(value))
            return Variable(self.of(value, scope, PLUS_TIMES), Role.KEY)
        return Variable(self.of(value, scope, ring))

    def bind(self, generators: tuple[Generator, ...], scope: Scope, ring: Semiring) -> Scope:
        """Return ``scope`` with what the generators of a loop bind."""
        for generator in generators:
            source = self.of(generator.source, scope, ring)
            depth = len(generator.keys)
            if not source.is_zero and source.rank < depth:
                raise rank_error(generator.source, source, depth, scope)
            role = Role.ENTRY
            if source.is_array:
                role = Role.KEY if source.scalar.is_integer else Role.OTHER
            bound = {key.name: Variable(INTEGER, Role.KEY) for key in generator.keys if key.name}
            if generator.value.name:
                bound[generator.value.name] = Variable(source.element(depth), role)
            scope = {**scope, **bound}
        return scope

    def merged(self, node: Merge, scope: Scope) -> Scope:
        """Return ``scope`` with what a merge binds."""
        common = self.integers(node.left, scope)
        self.integers(node.right, scope)
        types = ((node.left_position, INTEGER), (node.right_position, INTEGER), (node.key, common))
        return {**scope, **{each.name: Variable(type_, Role.KEY) for each, type_ in types if each.name}}

    def value(self, expression: Expression, scope: Scope, ring: Semiring) -> Type:
        """Return the type of a scalar or dictionary; an array is neither."""
        kind = self.of(expression, scope, ring)
        if kind.is_array:
            raise TypeMismatchError(
                "an array is no dictionary",
                expected="a scalar or a tensor",
                found=str(kind),
                span=expression.span,
                hint="sum(<p, x> in …) { p -> x } makes a tensor of it",
            )
        return kind

    def scalar(
        self, expression: Expression, scope: Scope, ring: Semiring, *, hint: str | None = None
    ) -> ScalarType:
        """Return the type of a number; if it is none, the message has a hint."""
        kind = self.of(expression, scope, ring)
        if not kind.is_scalar:
            hint = hint or (None if kind.is_array else by_entry(kind.rank))
            raise TypeMismatchError(
                "ranks do not fit", expected="a scalar", found=str(kind), span=expression.span, hint=hint
            )
        return ring.with_zero(kind.scalar) if kind.is_zero else kind.scalar

    def bound(self, expression: Expression, scope: Scope) -> Type:
        """Return the type of an end of a range."""
        hint = None
        if isinstance(expression, Name):
            hint = f"the size of a dimension is extent({expression.span.text or expression.name}, 0)"
        return self.key(expression, scope, hint=hint)

    def key(self, expression: Expression, scope: Scope, *, hint: str | None = None) -> Type:
        """Return the type of what is used as a key, a position or a bound."""
        hint = A_PART if isinstance(expression, Range) else hint
        scalar = self.scalar(expression, scope, PLUS_TIMES, hint=hint)
        is_value = isinstance(expression, Name) and scope[expression.name].role is Role.ENTRY
        if not scalar.is_integer:
            raise TypeMismatchError(
                "a key must be an integer",
                expected="an integer",
                found=f"a scalar of {scalar.value}",
                span=expression.span,
                hint="a value is no key: write the key's name" if is_value else by_number(scalar),
            )
        if isinstance(expression, Name) and is_value:
            message = f"the value '{expression.span.text or expression.name}' of a tensor is used as a key"
            self.remarks.append(
                Remark(f"{message}: entries that are 0 do not occur; load it as an ARRAY", expression.span)
            )
        return Type(scalar)

    def integers(self, expression: Expression, scope: Scope) -> Type:
        """Return the type of the elements of an array of integers."""
        kind = self.of(expression, scope, PLUS_TIMES)
        if not (kind.is_array and kind.scalar.is_integer):
            raise TypeMismatchError(
                "merge takes increasing arrays of integers", found=str(kind), span=expression.span
            )
        return kind.element()

    def comprehension(self, expression: Comprehension, scope: Scope, ring: Semiring) -> Type:
        inner = self.bind(expression.generators, scope, ring)
        if expression.body is None:
            return INTEGER
        kind = Type(self.scalar(expression.body, inner, body_semiring(expression.monoid, ring)))
        if expression.monoid in CONDITIONS:
            return TRUTH
        return summed(kind, PLUS_TIMES) if expression.monoid == "prod" else kind

    def call(self, call: Call, scope: Scope, ring: Semiring) -> Type:
        """Return the type of a pointwise function's value, a sub-array, an element or a lookup."""
        function = call.function
        if isinstance(function, Name) and function.name not in scope:
            applied = CALLS[function.name]
            return Type(self.apply(function.name, applied, call.arguments, call.span, scope, ring))
        kind = self.of(function, scope, ring)
        match call.arguments:
            case (Range(low, high),):
                self.bound(low, scope)
                self.bound(high, scope)
                if not kind.is_array:
                    raise TypeMismatchError(
                        "only an array has sub-arrays",
                        expected="an array",
                        found=str(kind),
                        span=function.span,
                    )
                return kind
            case arguments:
                for argument in arguments:
                    self.key(argument, scope)
        if not kind.is_zero and kind.rank < len(call.arguments):
            raise rank_error(function, kind, len(call.arguments), scope)
        found = kind.element(len(call.arguments))
        return found if kind.is_array else with_zero(found, ring)

    def conditional(
        self, positive: Expression, negative: Expression | None, scope: Scope, ring: Semiring
    ) -> Type:
        kind = self.value(positive, scope, ring)
        if negative is None:
            return with_zero(kind, ring)
        other = self.value(negative, scope, ring)
        self.require_equal_ranks(kind, other, "then", "else", negative.span)
        return chosen(kind, other, ring)

    def binary(self, node: Binary, scope: Scope, ring: Semiring) -> Type:
        if node.operator not in ("+", "-", "*"):
            is_value = node.operator in ("/", "//", "%")
            if is_value:
                require_inverse(ring.has_division, node.operator, ring, node.span)
            inner = ring if is_value else PLUS_TIMES
            function, operands = OPERATORS[node.operator], (node.left, node.right)
            return Type(self.apply(node.operator, function, operands, node.span, scope, inner))
        left, right = self.value(node.left, scope, ring), self.value(node.right, scope, ring)
        if node.operator != "*" or not (left.is_scalar or right.is_scalar):
            self.require_equal_ranks(left, right, "the left side", "the right side", node.span)
        if node.operator == "*":
            return multiplied(left, right, ring)
        if node.operator == "-":
            require_inverse(ring.has_negation, "-", ring, node.span)
        return summed(joined(left, right), ring)

    def negation(self, operand: Expression, span: Span, scope: Scope, ring: Semiring) -> Type:
        kind = self.value(operand, scope, ring)
        if isinstance(operand, Number):  # -1 is a literal in every semiring of negative numbers
            require_number(-operand.value, ring, span)
            return kind
        require_inverse(ring.has_negation, "-", ring, span)
        return summed(kind, ring)

    def apply(
        self,
        spelling: str,
        function: Function,
        arguments: tuple[Expression, ...],
        span: Span,
        scope: Scope,
        ring: Semiring,
    ) -> ScalarType:
        """Return the type of a scalar function's value."""
        if len(arguments) != function.arity:
            raise TypeMismatchError(
                f"'{spelling}' takes {function.arity} argument{'s' * (function.arity > 1)}",
                found=str(len(arguments)),
                span=span,
                hint=over_entries(spelling),
            )
        types = [self.scalar(argument, scope, ring) for argument in arguments]
        result = function.result_type(*types)
        if result is None:
            found = ", ".join(scalar.value for scalar in types)
            hint = "a power is written pow(a, b)" if spelling == "^" else None
            raise TypeMismatchError(
                f"'{spelling}' is for integers", expected="integers", found=found, span=span, hint=hint
            )
        return result

    def extent(self, tensor: Expression, dimension: int, span: Span, scope: Scope, ring: Semiring) -> Type:
        kind = self.of(tensor, scope, ring)
        if not 0 <= dimension < kind.rank:
            raise TypeMismatchError(
                f"there is no dimension {dimension}",
                expected=f"less than {max(kind.rank, 0)}",
                found=str(kind),
                span=span,
                hint="dimensions are counted from 0",
            )
        return INTEGER

    def require_equal_ranks(self, one: Type, two: Type, first: str, second: str, span: Span) -> None:
        if not (one.is_zero or two.is_zero or one.rank == two.rank):
            found, hint = f"{first} is {one}, {second} is {two}", by_entry(max(one.rank, two.rank))
            raise TypeMismatchError(
                "ranks do not fit", expected="two of the same rank", found=found, span=span, hint=hint
            )
