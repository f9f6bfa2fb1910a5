"""The type of every loop IR expression.

add, subtract, multiply, modulo, floor_divide, power    T op T -> T        T a number
divide                                                  T op T -> T        T real
minimum, maximum                                        T op T -> T        any T
lesser, larger                                          T op T -> T        T real, the second no NaN
equal, not_equal, less, less_equal, …                   T op T -> bool     any T
and, or                                                 bool op bool -> bool
bit_and, bit_or, bit_xor                                T op T -> T        T an integer
shift_left, shift_right                                 T op S -> T        T, S integers
negate, abs, relu, sign                                 op T -> T          T a number
exp, log, sqrt, sigmoid, tanh, floor, ceil, sin, cos    op T -> T          T real
popcount, trailing_zeros                                op T -> T          T an integer
not                                                     op bool -> bool
is_nan                                                  op T -> bool       T real
"""

from __future__ import annotations

from storel.loops.nodes import (
    Binary,
    Cast,
    Constant,
    Expression,
    Load,
    Local,
    Select,
    Unary,
)
from storel.scalars import ScalarType

BINARY_OPERATORS: frozenset[str] = frozenset(
    {
        "add", "subtract", "multiply", "divide", "floor_divide", "modulo", "minimum", "maximum", "power",
        "lesser", "larger",
        "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "and", "or",
        "bit_and", "bit_or", "bit_xor", "shift_left", "shift_right",
    }
)  # fmt: skip

UNARY_OPERATORS: frozenset[str] = frozenset(
    {
        "negate", "not", "exp", "log", "sqrt", "abs", "sigmoid", "tanh", "relu", "floor", "ceil",
        "sin", "cos", "sign", "popcount", "trailing_zeros", "is_nan",
    }
)  # fmt: skip

COMPARISONS = frozenset({"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"})
LOGICAL = frozenset({"and", "or", "not"})
PREDICATES = COMPARISONS | LOGICAL | {"is_nan"}
SHIFTS = frozenset({"shift_left", "shift_right"})

ANY = frozenset(ScalarType)
BOOLEAN = frozenset({ScalarType.BOOL})
NUMBERS = ANY - BOOLEAN
INTEGERS = frozenset(member for member in ScalarType if member.is_integer)
REALS = NUMBERS - INTEGERS

_NUMERIC_OPERATORS = frozenset(
    {"add", "subtract", "multiply", "modulo", "floor_divide", "power", "negate", "abs", "relu", "sign"}
)
_INTEGER_OPERATORS = SHIFTS | {"bit_and", "bit_or", "bit_xor", "popcount", "trailing_zeros"}


def _operand_types(operator: str) -> frozenset[ScalarType]:
    if operator in _NUMERIC_OPERATORS:
        return NUMBERS
    if operator in _INTEGER_OPERATORS:
        return INTEGERS
    if operator in LOGICAL:
        return BOOLEAN
    return ANY if operator in COMPARISONS | {"minimum", "maximum"} else REALS


OPERAND_TYPES: dict[str, frozenset[ScalarType]] = {
    operator: _operand_types(operator) for operator in sorted(BINARY_OPERATORS | UNARY_OPERATORS)
}


def type_of(expression: Expression) -> ScalarType:
    """Return the type of a well-typed expression (``verify`` says whether it is)."""
    match expression:
        case Constant() | Local() | Cast():
            return expression.type
        case Load(buffer):
            return buffer.type
        case Binary(operator, operand) | Unary(operator, operand):
            return ScalarType.BOOL if operator in PREDICATES else type_of(operand)
        case Select(_, positive, _):
            return type_of(positive)
