"""The pointwise functions and the operators of scalars: their types and their meaning.

A function is computed at the join of its arguments' types, after its ``Domain`` has adjusted it, and
gives that type, or bool if it is a predicate. Addition and multiplication are not here: they belong
to the semiring. For addresses:

    bit(x, i)          the i-th bit of x, counted from the least
    bits(x)            how many bits it takes to write x
    popcount(x)        how many bits of x are set
    interleave(i, j)   … i1 j1 i0 j0, a position on the Z-order curve
    gather(z, 0)       the bits of i in z = interleave(i, j); gather(z, 1) those of j
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

    NUMBERS = auto()  # a bool counts as an integer
    INTEGERS = auto()  # the same; reals are refused
    REALS = auto()  # what is not real becomes float64
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
    """A scalar function; ``preserves_zero`` says that it is zero where all its arguments are."""

    name: str
    arity: int
    domain: Domain
    meaning: Callable[..., Scalar]
    is_predicate: bool = False
    preserves_zero: bool = False

    def operand_type(self, *arguments: ScalarType) -> ScalarType | None:
        """Return the type at which the function is computed, None if it refuses the arguments."""
        return self.domain.adjust(reduce(ScalarType.join, arguments))

    def result_type(self, *arguments: ScalarType) -> ScalarType | None:
        """Return the type of the result, None if the function refuses the arguments.

        >>> OPERATORS["/"].result_type(ScalarType.INT64, ScalarType.INT32)
        <ScalarType.FLOAT64: 'float64'>
        """
        operand = self.operand_type(*arguments)
        return ScalarType.BOOL if operand is not None and self.is_predicate else operand


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
            raise EvaluationError(f"integer division by zero: {a} divided by 0")
        return whole(a, b)

    return divide


def _floor_division(a: float, b: float) -> float:
    """Return the floor of a / b, which is inf, not NaN, when b is zero and a is not."""
    return _ieee(np.divide)(a, b) if b == 0 else _ieee(np.floor_divide)(a, b)


def _power(a: Scalar, b: Scalar) -> Scalar:
    if isinstance(a, float):
        return _ieee(np.power)(a, b)
    if b < 0:
        raise EvaluationError(f"{a} to the negative power {b} is no integer", hint="make one of them real")
    return int(a) ** int(b)


def _round(rounding: Callable[[float], int]) -> Callable[[float], Scalar]:
    return lambda a: type(a)(rounding(a)) if math.isfinite(a) else a


def _sigmoid(a: np.float64) -> np.float64:
    return 1 / (1 + np.exp(-a))


def _relu(a: Scalar) -> Scalar:
    return a if a != a or a > 0 else 0


def _sign(a: Scalar) -> Scalar:
    return a if a != a else (a > 0) - (a < 0)


def _shift_left(a: int, b: int) -> int:
    return a << b if 0 <= b < WORD else 0


def _shift_right(a: int, b: int) -> int:
    return a >> (b if 0 <= b < WORD else WORD - 1)


def _bit(a: int, position: int) -> int:
    return _shift_right(a, position) & 1


def _bits(a: int) -> int:
    return (a & _ALL_BITS).bit_length()


def _popcount(a: int) -> int:
    return (a & _ALL_BITS).bit_count()


def _spread(a: int) -> int:
    """Return the bits of ``a`` with a zero before each."""
    return sum(((a >> i) & 1) << (2 * i) for i in range(WORD // 2))


def _interleave(i: int, j: int) -> int:
    return _spread(i) << 1 | _spread(j)


def _gather(z: int, which: int) -> int:
    shifted = z >> (1 - which)
    return sum(((shifted >> (2 * i)) & 1) << i for i in range(WORD // 2))


def _table(*functions: Function) -> dict[str, Function]:
    return {function.name: function for function in functions}


def _compare(name: str, meaning: Callable[[Any, Any], bool], *, at_zero: bool) -> Function:
    return Function(name, 2, Domain.ANYTHING, meaning, is_predicate=True, preserves_zero=not at_zero)


def _real(name: str, meaning: Callable[..., float], *, preserves_zero: bool = False) -> Function:
    return Function(name, 1, Domain.REALS, meaning, preserves_zero=preserves_zero)


def _number(name: str, meaning: Callable[[Any], Scalar]) -> Function:
    return Function(name, 1, Domain.NUMBERS, meaning, preserves_zero=True)


def _whole(name: str, arity: int, meaning: Callable[..., int]) -> Function:
    return Function(name, arity, Domain.INTEGERS, meaning, preserves_zero=True)


NEGATION = _number("-", operator.neg)
NOT = Function("not", 1, Domain.TRUTHS, operator.not_, is_predicate=True)

OPERATORS: dict[str, Function] = _table(
    Function("-", 2, Domain.NUMBERS, operator.sub, preserves_zero=True),
    Function("/", 2, Domain.REALS, _ieee(np.divide)),
    Function("//", 2, Domain.NUMBERS, _whole_or_real(operator.floordiv, _floor_division)),
    Function("%", 2, Domain.NUMBERS, _whole_or_real(operator.mod, _ieee(np.mod))),
    _compare("==", operator.eq, at_zero=True),
    _compare("!=", operator.ne, at_zero=False),
    _compare("<", operator.lt, at_zero=False),
    _compare("<=", operator.le, at_zero=True),
    _compare(">", operator.gt, at_zero=False),
    _compare(">=", operator.ge, at_zero=True),
    Function("and", 2, Domain.TRUTHS, OPERATIONS["and"], is_predicate=True, preserves_zero=True),
    Function("or", 2, Domain.TRUTHS, OPERATIONS["or"], is_predicate=True, preserves_zero=True),
    _whole("&", 2, operator.and_),
    _whole("|", 2, operator.or_),
    _whole("^", 2, operator.xor),
    _whole("<<", 2, _shift_left),
    _whole(">>", 2, _shift_right),
)
"""The operators of two scalars but ``+`` and ``*``, which a semiring gives their meaning."""

FUNCTIONS: dict[str, Function] = _table(
    Function("min", 2, Domain.ANYTHING, OPERATIONS["minimum"], preserves_zero=True),
    Function("max", 2, Domain.ANYTHING, OPERATIONS["maximum"], preserves_zero=True),
    Function("pow", 2, Domain.NUMBERS, _power),
    _number("abs", abs),
    _number("sign", _sign),
    _number("relu", _relu),
    _number("floor", _round(math.floor)),
    _number("ceil", _round(math.ceil)),
    _real("exp", _ieee(np.exp)),
    _real("log", _ieee(np.log)),
    _real("sigmoid", _ieee(_sigmoid)),
    _real("cos", _ieee(np.cos)),
    _real("sin", _ieee(np.sin), preserves_zero=True),
    _real("sqrt", _ieee(np.sqrt), preserves_zero=True),
    _real("tanh", _ieee(np.tanh), preserves_zero=True),
    _whole("bit", 2, _bit),
    _whole("bits", 1, _bits),
    _whole("popcount", 1, _popcount),
    _whole("interleave", 2, _interleave),
    _whole("gather", 2, _gather),
)
"""The functions that a text may name; a tensor or variable of the same name hides one."""
