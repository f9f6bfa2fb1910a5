"""The scalar functions: their types, their zeros, their meaning.

    f(a, …) is computed at the join T of its arguments' types, after ``domain`` has adjusted it:

    numbers     a bool counts as an int64        subtract, negate, power, floor, …
    integers    the same; reals are refused      bit_and, shift_left, popcount, …
    reals       what is not real is a float64    divide, exp, sqrt, …
    truths      any scalar is true or false      and, or, not
    anything    T as it is                       minimum, maximum, comparisons

and gives T, bool where ``is_predicate``, or of reals an int64 where ``is_whole``. The conversions ``int64``,
``float32`` and ``float64`` make a number of that type of a shorter one; no text names them. Addition and
multiplication are not here: they belong to a semiring. The names are those of the calculus and of the
loop IR; how a text spells them is the syntax' affair (``syntax/spelling.py``). Zero is 0, that of
``plus_times``.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from functools import reduce
from typing import Any

import numpy as np

from storel.errors import EvaluationError
from storel.scalars import ScalarType
from storel.semiring import OPERATIONS, Scalar

WORD = 64
"""The number of bits of an integer."""

_ALL_BITS = (1 << WORD) - 1


class Domain(Enum):
    """The scalars at which a function is computed."""

    NUMBERS = auto()
    INTEGERS = auto()
    REALS = auto()
    TRUTHS = auto()
    ANYTHING = auto()

    def adjust(self, joined: ScalarType) -> ScalarType | None:
        """Return the type to compute at, None where arguments of type ``joined`` are refused."""
        counted = ScalarType.INT64 if joined is ScalarType.BOOL else joined
        match self:
            case Domain.NUMBERS:
                return counted
            case Domain.INTEGERS:
                return None if joined.is_real else counted
            case Domain.REALS:
                return joined if joined.is_real else ScalarType.FLOAT64
            case Domain.TRUTHS:
                return ScalarType.BOOL
            case Domain.ANYTHING:
                return joined


@dataclass(frozen=True, slots=True)
class Function:
    """A scalar function.

    ``annihilators`` are the arguments any one of which makes the result zero by being zero;
    ``preserves_zero`` says that the result is zero when all arguments are. ``meaning`` computes on
    Python scalars of the domain. ``conversion`` is the type that it makes a number of, if it does no more.
    """

    name: str
    arity: int
    domain: Domain
    meaning: Callable[..., Scalar]
    is_predicate: bool = False
    annihilators: tuple[int, ...] = ()
    preserves_zero: bool = False
    is_whole: bool = False
    conversion: ScalarType | None = None

    def operand_type(self, *arguments: ScalarType) -> ScalarType | None:
        """Return the type at which the function is computed, None if it refuses the arguments."""
        return self.conversion or self.domain.adjust(reduce(ScalarType.join, arguments))

    def result_type(self, *arguments: ScalarType) -> ScalarType | None:
        """Return the type of the result, None if the function refuses the arguments.

        >>> FUNCTIONS["divide"].result_type(ScalarType.INT64, ScalarType.INT32)
        <ScalarType.FLOAT64: 'float64'>
        """
        operand = self.operand_type(*arguments)
        if operand is not None and self.is_predicate:
            return ScalarType.BOOL
        return ScalarType.INT64 if operand is not None and operand.is_real and self.is_whole else operand


def shift_right(a: int, b: int) -> int:
    """Return ``a`` without its ``b`` lowest bits; the sign fills up.

    As in NumPy, a shift by a negative number moves all bits out.
    """
    return a >> (b if 0 <= b < WORD else WORD - 1)


def _shift_left(a: int, b: int) -> int:
    if a != 0 and b >= WORD:  # not computed, since that takes as long as its digits are many
        raise EvaluationError(f"integer overflow: {a} << {b} does not fit into {WORD} bits")
    return a << b if 0 <= b < WORD else 0


def _popcount(a: int) -> int:
    return (a & _ALL_BITS).bit_count()


ASK_FOR_ZERO = "ask for a divisor that may be zero: if b != 0 then a // b"


def _ieee(ufunc: Callable[..., Any]) -> Callable[..., float]:
    """Return a NumPy function without its warnings: 1 / 0 is inf, log(-1) is NaN."""

    def computed(*arguments: Scalar) -> float:
        with np.errstate(all="ignore"):
            return float(ufunc(*map(np.float64, arguments)))

    return computed


def _whole_or_real(whole: Callable[[Any, Any], Scalar], real: Callable[..., float]) -> Callable[..., Scalar]:
    """Return a division: a zero divisor is an error of integers, and as IEEE 754 has it of reals."""

    def divide(a: Scalar, b: Scalar) -> Scalar:
        if isinstance(a, float):
            return real(a, b)
        if b == 0:
            raise EvaluationError(f"integer division by zero: {a} divided by 0", hint=ASK_FOR_ZERO)
        return whole(a, b)

    return divide


def _floor_division(a: float, b: float) -> float:
    """Return the floor of a / b, which is inf, not NaN, when b is zero and a is not."""
    return _ieee(np.divide)(a, b) if b == 0 else _ieee(np.floor_divide)(a, b)


NEGATIVE_POWER = "an integer to the negative power {} is no integer: make one of them real"
"""What is said of such a power, the exponent being ``{}``."""


def _power(a: Scalar, b: Scalar) -> Scalar:
    if isinstance(a, float):
        try:
            return math.pow(a, b)  # NumPy takes the square root of -inf for its power 0.5, which is inf
        except (OverflowError, ValueError):  # these are right: too large, a pole, a root of a negative number
            return _ieee(np.power)(a, b)
    if b < 0:
        raise EvaluationError(NEGATIVE_POWER.replace("{}", str(b)))
    if abs(a) > 1 and b >= WORD:  # not computed, since that takes as long as its digits are many
        raise EvaluationError(f"integer overflow: {a} to the power {b} does not fit into {WORD} bits")
    return int(a) ** int(b)


NO_INTEGER = "NaN, inf and reals beyond 64 bits are no integers"
"""What is said of what ``truncate`` is asked for."""

LEAST_BEYOND = 2.0 ** (WORD - 1)
"""The least positive real that is no integer of 64 bits; of the negative ones, this is the last that is."""


def _truncate(a: Scalar) -> int:
    if not -LEAST_BEYOND <= a < LEAST_BEYOND:
        raise EvaluationError(f"{NO_INTEGER}: int({a})")
    return int(a)


def _round(rounding: Callable[[float], int]) -> Callable[[float], Scalar]:
    return lambda a: type(a)(rounding(a)) if math.isfinite(a) else a


def _sigmoid(a: np.float64) -> np.float64:
    return 1 / (1 + np.exp(-a))


def _relu(a: Scalar) -> Scalar:
    return a if a != a or a > 0 else 0


def _sign(a: Scalar) -> Scalar:
    return a if a != a else (a > 0) - (a < 0)


def _comparison(name: str, meaning: Callable[[Any, Any], bool], *, at_zero: bool) -> Function:
    return Function(name, 2, Domain.ANYTHING, meaning, is_predicate=True, preserves_zero=not at_zero)


def _connective(name: str, *annihilators: int) -> Function:
    return Function(name, 2, Domain.TRUTHS, OPERATIONS[name], True, annihilators, preserves_zero=True)


def _pointwise(name: str, ufunc: Callable[..., Any], *, at_zero: bool = False) -> Function:
    zeros = () if at_zero else (0,)
    return Function(name, 1, Domain.REALS, _ieee(ufunc), annihilators=zeros, preserves_zero=not at_zero)


def _number(name: str, meaning: Callable[[Any], Scalar]) -> Function:
    return Function(name, 1, Domain.NUMBERS, meaning, annihilators=(0,), preserves_zero=True)


def conversion(scalar: ScalarType) -> str:
    """Return the name of the function that makes a number one of a longer type."""
    return scalar.value


def _itself(a: Scalar) -> Scalar:
    return a


def _conversion(scalar: ScalarType) -> Function:
    name = conversion(scalar)
    return Function(name, 1, Domain.ANYTHING, _itself, False, (0,), preserves_zero=True, conversion=scalar)


def _bits(name: str, arity: int, meaning: Callable[..., int], *annihilators: int) -> Function:
    return Function(name, arity, Domain.INTEGERS, meaning, annihilators=annihilators, preserves_zero=True)


_FUNCTIONS = (
    Function("subtract", 2, Domain.NUMBERS, operator.sub, preserves_zero=True),
    Function("divide", 2, Domain.REALS, _ieee(np.divide)),
    Function("floor_divide", 2, Domain.NUMBERS, _whole_or_real(operator.floordiv, _floor_division)),
    Function("modulo", 2, Domain.NUMBERS, _whole_or_real(operator.mod, _ieee(np.mod))),
    Function("power", 2, Domain.NUMBERS, _power),
    Function("minimum", 2, Domain.ANYTHING, OPERATIONS["minimum"], preserves_zero=True),
    Function("maximum", 2, Domain.ANYTHING, OPERATIONS["maximum"], preserves_zero=True),
    _comparison("equal", operator.eq, at_zero=True),
    _comparison("not_equal", operator.ne, at_zero=False),
    _comparison("less", operator.lt, at_zero=False),
    _comparison("less_equal", operator.le, at_zero=True),
    _comparison("greater", operator.gt, at_zero=False),
    _comparison("greater_equal", operator.ge, at_zero=True),
    _connective("and", 0, 1),
    _connective("or"),
    Function("not", 1, Domain.TRUTHS, operator.not_, is_predicate=True),
    _number("negate", operator.neg),
    _number("abs", abs),
    _number("sign", _sign),
    _number("relu", _relu),
    _number("floor", _round(math.floor)),
    _number("ceil", _round(math.ceil)),
    Function("truncate", 1, Domain.NUMBERS, _truncate, annihilators=(0,), preserves_zero=True, is_whole=True),
    *map(_conversion, (ScalarType.INT64, ScalarType.FLOAT32, ScalarType.FLOAT64)),
    _pointwise("exp", np.exp, at_zero=True),
    _pointwise("log", np.log, at_zero=True),
    _pointwise("sigmoid", _sigmoid, at_zero=True),
    _pointwise("cos", np.cos, at_zero=True),
    _pointwise("sqrt", np.sqrt),
    _pointwise("tanh", np.tanh),
    _pointwise("sin", np.sin),
    _bits("bit_and", 2, operator.and_, 0, 1),
    _bits("bit_or", 2, operator.or_),
    _bits("bit_xor", 2, operator.xor),
    _bits("shift_left", 2, _shift_left, 0),
    _bits("shift_right", 2, shift_right, 0),
    _bits("popcount", 1, _popcount, 0),
)

FUNCTIONS: dict[str, Function] = {function.name: function for function in _FUNCTIONS}
"""The functions that a term may name."""

AS_AN_ADDITION = frozenset(
    function.name
    for function in _FUNCTIONS
    if function.is_predicate
    or function.domain is Domain.INTEGERS
    or function.name in ("subtract", "negate", "minimum", "maximum", "abs", "sign", "relu", "floor", "ceil")
)
"""The functions that take no longer than an addition."""

AS_A_DIVISION = frozenset(("divide", "floor_divide", "modulo", "sqrt", "truncate"))
"""The functions that take about as long as a division."""

ONE_BY_ONE = frozenset(("power", "sin", "cos"))
"""The functions that a library computes, of which compilers make no vector code."""

SMALL_POWERS = (2, 4)
"""The least and the greatest exponent of powers that are products."""

COSTLY = frozenset(
    function.name
    for function in _FUNCTIONS
    if function.conversion is None and function.name not in AS_AN_ADDITION | AS_A_DIVISION
)
"""The functions that take longer than to read what they gave from a table."""
