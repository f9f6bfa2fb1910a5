"""The scalar functions that ``Apply`` may name: their types, their zeros, their meaning.

    f(a, …) is computed at the join T of its arguments' types, after ``domain`` has adjusted it:

    numbers     a bool counts as an int64        subtract, negate, power, floor, …
    integers    the same; reals are refused      bit_and, shift_left, popcount, …
    reals       what is not real is a float64    divide, exp, sqrt, …
    truths      any scalar is true or false      and, or, not
    anything    T as it is                       minimum, maximum, comparisons

and gives T, or bool where ``is_predicate``. Addition and multiplication are not here: they belong to
a semiring. The names are those of the loop IR's operators. Zero is 0, that of ``plus_times``.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import numpy as np

from storel.errors import EvaluationError
from storel.scalars import ScalarType
from storel.semiring import OPERATIONS, Scalar


class Domain(Enum):
    """The scalars at which a function is computed."""

    NUMBERS = auto()
    INTEGERS = auto()
    REALS = auto()
    TRUTHS = auto()
    ANYTHING = auto()

    def adjust(self, joined: ScalarType) -> ScalarType | None:
        """Return the type to compute at, None where arguments of type ``joined`` are refused."""
        match self:
            case Domain.ANYTHING:
                return joined
            case Domain.TRUTHS:
                return ScalarType.BOOL
            case Domain.REALS:
                return joined if joined.is_real else ScalarType.FLOAT64
            case Domain.NUMBERS:
                return ScalarType.INT64 if joined is ScalarType.BOOL else joined
            case Domain.INTEGERS:
                return None if joined.is_real else ScalarType.INT64 if joined is ScalarType.BOOL else joined


@dataclass(frozen=True, slots=True)
class Function:
    """A scalar function.

    ``annihilators`` are the arguments any one of which makes the result zero by being zero;
    ``preserves_zero`` says that the result is zero when all arguments are. ``meaning`` computes on
    Python scalars of the domain.
    """

    name: str
    arity: int
    domain: Domain
    meaning: Callable[..., Scalar]
    is_predicate: bool = False
    annihilators: tuple[int, ...] = ()
    preserves_zero: bool = False

    def operand_type(self, arguments: tuple[ScalarType, ...]) -> ScalarType | None:
        """Return the type at which the function is computed, None if it refuses the arguments."""
        joined = arguments[0]
        for argument in arguments[1:]:
            joined = joined.join(argument)
        return self.domain.adjust(joined)

    def result_type(self, arguments: tuple[ScalarType, ...]) -> ScalarType | None:
        """Return the type of the result, None if the function refuses the arguments.

        >>> FUNCTIONS["divide"].result_type((ScalarType.INT64, ScalarType.INT32))
        <ScalarType.FLOAT64: 'float64'>
        """
        operand = self.operand_type(arguments)
        return ScalarType.BOOL if operand is not None and self.is_predicate else operand


def _divide(a: float, b: float) -> float:
    """Return a / b as IEEE 754 has it: 1 / 0 is inf, 0 / 0 is NaN."""
    if b != 0:
        return a / b
    return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1, b)


def _whole_division(divide: Callable[[Any, Any], Scalar], by_zero: Callable[[float, float], float]) -> Any:
    """Return ``divide`` with its meaning at a zero divisor: an error of integers."""

    def total(a: Scalar, b: Scalar) -> Scalar:
        if b != 0:
            return divide(a, b)
        if isinstance(a, float):
            return by_zero(a, float(b))
        raise EvaluationError("integer division by zero")

    return total


def _power(a: Scalar, b: Scalar) -> Scalar:
    if isinstance(a, float):
        with np.errstate(all="ignore"):
            return float(np.power(np.float64(a), np.float64(b)))
    if b < 0:
        raise EvaluationError(f"the integer {a} to the negative power {b}", hint="make one of them a real")
    return int(a) ** int(b)


def _shift_right(a: int, b: int) -> int:
    return a >> (b if 0 <= b < 64 else 63)


def _shift_left(a: int, b: int) -> int:
    return a << b if 0 <= b < 64 else 0


def _relu(a: Scalar) -> Scalar:
    return a if a != a or a > 0 else 0


def _sign(a: Scalar) -> Scalar:
    return a if a != a else (a > 0) - (a < 0)


def _popcount(a: int) -> int:
    return (a & 0xFFFFFFFFFFFFFFFF).bit_count()


def _whole(rounding: Callable[[float], int]) -> Callable[[float], Scalar]:
    return lambda a: rounding(a) if math.isfinite(a) else a


def _real(function: Callable[[np.float64], Any]) -> Callable[[float], float]:
    quiet = np.errstate(all="ignore")(function)
    return lambda a: float(quiet(np.float64(a)))


def _comparison(name: str, meaning: Callable[[Any, Any], bool], *, at_zero: bool) -> Function:
    return Function(name, 2, Domain.ANYTHING, meaning, is_predicate=True, preserves_zero=not at_zero)


def _pointwise(name: str, function: Callable[[np.float64], Any], *, at_zero: bool = False) -> Function:
    zeros = () if at_zero else (0,)
    return Function(name, 1, Domain.REALS, _real(function), annihilators=zeros, preserves_zero=not at_zero)


def _rounding(name: str, meaning: Callable[[float], int]) -> Function:
    return Function(name, 1, Domain.NUMBERS, _whole(meaning), annihilators=(0,), preserves_zero=True)


def _number(name: str, meaning: Callable[[Any], Scalar]) -> Function:
    return Function(name, 1, Domain.NUMBERS, meaning, annihilators=(0,), preserves_zero=True)


def _bits(name: str, arity: int, meaning: Callable[..., int], *annihilators: int) -> Function:
    return Function(name, arity, Domain.INTEGERS, meaning, annihilators=annihilators, preserves_zero=True)


_FUNCTIONS = (
    Function("subtract", 2, Domain.NUMBERS, operator.sub, preserves_zero=True),
    Function("divide", 2, Domain.REALS, _divide),
    Function("floor_divide", 2, Domain.NUMBERS, _whole_division(operator.floordiv, _divide)),
    Function("modulo", 2, Domain.NUMBERS, _whole_division(operator.mod, lambda _a, _b: math.nan)),
    Function("power", 2, Domain.NUMBERS, _power),
    Function("minimum", 2, Domain.ANYTHING, OPERATIONS["minimum"], preserves_zero=True),
    Function("maximum", 2, Domain.ANYTHING, OPERATIONS["maximum"], preserves_zero=True),
    _comparison("equal", operator.eq, at_zero=True),
    _comparison("not_equal", operator.ne, at_zero=False),
    _comparison("less", operator.lt, at_zero=False),
    _comparison("less_equal", operator.le, at_zero=True),
    _comparison("greater", operator.gt, at_zero=False),
    _comparison("greater_equal", operator.ge, at_zero=True),
    Function("and", 2, Domain.TRUTHS, OPERATIONS["and"], True, (0, 1), True),
    Function("or", 2, Domain.TRUTHS, OPERATIONS["or"], True, (), True),
    Function("not", 1, Domain.TRUTHS, operator.not_, True),
    _number("negate", operator.neg),
    _number("abs", abs),
    _number("sign", _sign),
    _number("relu", _relu),
    _rounding("floor", math.floor),
    _rounding("ceil", math.ceil),
    _pointwise("exp", np.exp, at_zero=True),
    _pointwise("log", np.log, at_zero=True),
    _pointwise("sigmoid", lambda a: 1 / (1 + np.exp(-a)), at_zero=True),
    _pointwise("cos", np.cos, at_zero=True),
    _pointwise("sqrt", np.sqrt),
    _pointwise("tanh", np.tanh),
    _pointwise("sin", np.sin),
    _bits("bit_and", 2, operator.and_, 0, 1),
    _bits("bit_or", 2, operator.or_),
    _bits("bit_xor", 2, operator.xor),
    _bits("shift_left", 2, _shift_left, 0),
    _bits("shift_right", 2, _shift_right, 0),
    _bits("popcount", 1, _popcount, 0),
)

FUNCTIONS: dict[str, Function] = {function.name: function for function in _FUNCTIONS}
