"""Expressions whose value is known before there is data: extents, defaults, parameters of formats."""

from __future__ import annotations

from collections.abc import Mapping

from storel.errors import ExtentError
from storel.semiring import Scalar
from storel.syntax.nodes.expressions import Binary, Expression, Name, Number, Truth, Unary
from storel.syntax.spelling import NEGATION, OPERATORS


def constant(expression: Expression, sizes: Mapping[str, Scalar] | None = None) -> Scalar:
    """Return the value of an expression of literals, scalars' names and operators.

    >>> constant(Binary("+", Name("m"), Number(1)), {"m": 3})
    4
    """
    known = sizes or {}
    match expression:
        case Number(value) | Truth(value):
            return value
        case Name(name) if name in known:
            return known[name]
        case Unary("-", operand):
            return NEGATION.meaning(constant(operand, known))
        case Binary("+", left, right):
            return constant(left, known) + constant(right, known)
        case Binary("*", left, right):
            return constant(left, known) * constant(right, known)
        case Binary(operator, left, right):
            return OPERATORS[operator].meaning(constant(left, known), constant(right, known))
        case _:
            raise ExtentError(
                "this is not a constant", expected="literals, sizes and operators", span=expression.span
            )
