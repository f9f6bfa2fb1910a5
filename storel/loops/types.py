"""The type of every loop IR expression.

    arithmetic, minimum, maximum, power   T op T -> T      T a number (minimum, maximum: or bool)
    divide                                T op T -> T      T real
    comparisons                           T op T -> bool
    and, or                               bool op bool -> bool
    bit_and, bit_or, bit_xor              T op T -> T      T an integer
    shift_left, shift_right               T op S -> T      T, S integers
"""

from __future__ import annotations

from storel.loops.nodes import Binary, Cast, Constant, Expression, Load, Local, Select, Unary
from storel.scalars import ScalarType

COMPARISONS = frozenset({"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"})
LOGICAL = frozenset({"and", "or"})
PREDICATES = frozenset({"not", "is_nan"})


def type_of(expression: Expression) -> ScalarType:
    """Return the type of a well-typed expression (``verify`` says whether it is)."""
    match expression:
        case Constant() | Local() | Cast():
            return expression.type
        case Load(buffer):
            return buffer.type
        case Binary(operator, left):
            return ScalarType.BOOL if operator in COMPARISONS | LOGICAL else type_of(left)
        case Unary(operator, operand):
            return ScalarType.BOOL if operator in PREDICATES else type_of(operand)
        case Select(_, positive, _):
            return type_of(positive)
