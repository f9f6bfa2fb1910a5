"""Operations on values, each below the checks that it needs."""

from __future__ import annotations

from storel.calculus.intervals import Interval
from storel.errors import Cause
from storel.functions import FUNCTIONS, LEAST_BEYOND, NEGATIVE_POWER, NO_INTEGER
from storel.loops.emitter import INDEX, Emitter, arithmetic, convert, holding_zero, index
from storel.loops.nodes import (
    Binary,
    Constant,
    Expression,
    Failure,
    Local,
    Role,
    Select,
    Unary,
)
from storel.loops.types import BINARY_OPERATORS, UNARY_OPERATORS, type_of
from storel.scalars import ScalarType
from storel.semiring import SEMIRINGS


def product(
    emitter: Emitter, semiring: str, left: Expression, right: Expression, role: Role, *, is_unguarded: bool
) -> Expression:
    """Return a product over ``semiring``: zero where a factor is, by a guard unless ``is_unguarded``."""
    ring = SEMIRINGS[semiring]
    left = holding_zero(left, semiring)
    plain = arithmetic(ring.times_name, left, right, role)
    if is_unguarded or not type_of(plain).is_real:
        return plain
    joined = type_of(plain)
    zero = convert(Constant(ring.zero, joined), joined)
    first = emitter.declare("a", left, joined)
    second = emitter.declare("b", right, joined)
    annihilated = Binary("or", Binary("equal", first, zero), Binary("equal", second, zero))
    return Select(annihilated, zero, Binary(ring.times_name, first, second, role))


def apply(emitter: Emitter, function: str, operands: list[Expression], role: Role) -> Expression:
    """Return what a function makes of operands of the type that it takes, below what it may not be given."""
    joined = FUNCTIONS[function].operand_type(*(type_of(operand) for operand in operands))
    assert joined is not None
    if role is Role.INDEX and joined is ScalarType.INT32:
        joined = INDEX
    operands = [convert(operand, joined) for operand in operands]
    if FUNCTIONS[function].conversion is not None:
        return operands[0]
    if function in ("floor_divide", "modulo") and joined.is_integer:
        _check_divisor(emitter, operands[1])
    if function == "truncate":
        return _truncated(emitter, operands[0])
    if function in UNARY_OPERATORS:
        return Unary(function, operands[0], role)
    assert function in BINARY_OPERATORS, function
    return Binary(function, operands[0], operands[1], role)


def remainder(
    emitter: Emitter, number: Expression, divisor: Expression, interval: Interval, role: Role
) -> Expression:
    """Return the remainder of an index in an ``interval`` that exceeds 0:divisor by one divisor at most."""
    number = emitter.declare("turned", convert(number, INDEX))
    divisor = divisor if isinstance(divisor, Constant | Local) else emitter.declare("turn", divisor)
    divisor, zero = convert(divisor, INDEX), index(0)
    is_below = Binary("less", number, divisor, role)
    found: Expression = Select(is_below, number, Binary("subtract", number, divisor, role))
    if interval.is_natural:
        return found
    return Select(Binary("less", number, zero, role), Binary("add", number, divisor, role), found)


def check_exponent(emitter: Emitter, base: Expression, exponent: Expression) -> None:
    """Emit a check that no integer is raised to a negative power."""
    if not (type_of(base).is_real or type_of(exponent).is_real):
        exponent = emitter.declare("exponent", convert(exponent, INDEX))
        failure = Failure(Cause.POWER, NEGATIVE_POWER)
        emitter.fail_unless(Binary("greater_equal", exponent, index(0)), failure, exponent)


def _truncated(emitter: Emitter, operand: Expression) -> Expression:
    """Return the integer part of a number, below a check that there is one."""
    if not type_of(operand).is_real:
        return operand
    number = emitter.declare("number", operand)
    low, high = (Constant(value, type_of(number)) for value in (-LEAST_BEYOND, LEAST_BEYOND))
    within = Binary("and", Binary("less_equal", low, number), Binary("less", number, high))
    emitter.fail_unless(within, Failure(Cause.CONVERSION, NO_INTEGER), index(0))
    return convert(number, INDEX)


def _check_divisor(emitter: Emitter, divisor: Expression) -> None:
    if not (isinstance(divisor, Constant) and divisor.value != 0):
        nonzero = Binary("not_equal", divisor, convert(index(0), type_of(divisor)))
        emitter.fail_unless(nonzero, Failure(Cause.DIVISION, "integer division by zero"), index(0))
