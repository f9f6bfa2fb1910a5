"""Division by powers of two, which both languages do faster as a shift, and shifts that are their own."""

from __future__ import annotations

from storel.loops.nodes import Binary, Constant
from storel.loops.types import SHIFTS, type_of


def as_shift(operation: Binary) -> Binary:
    """Return an operation that has the same value, without a division of integers where there need be none.

    >>> from storel.loops.nodes import Local
    >>> from storel.scalars import ScalarType
    >>> i, eight = Local("i", ScalarType.INT64), Constant(8, ScalarType.INT64)
    >>> as_shift(Binary("floor_divide", i, eight)) == Binary("shift_right", i, Constant(3, eight.type))
    True
    >>> as_shift(Binary("modulo", i, eight)) == Binary("bit_and", i, Constant(7, eight.type))
    True
    """
    match operation:
        case Binary("floor_divide", left, Constant() as divisor) if _is_power_of_two(divisor):
            exponent = int(divisor.value).bit_length() - 1
            return Binary("shift_right", left, Constant(exponent, divisor.type))
        case Binary("modulo", left, Constant() as divisor) if _is_power_of_two(divisor):
            return Binary("bit_and", left, Constant(int(divisor.value) - 1, divisor.type))
        case _:
            return operation


def is_shift_in_range(operation: Binary) -> bool:
    """Return whether an operation, if it shifts, does so by less than the operand is wide, whatever it is."""
    match operation.right:
        case _ if operation.operator not in SHIFTS:
            return True
        case Constant(int(most)) | Binary("bit_and", _, Constant(int(most))):
            return 0 <= most < 8 * type_of(operation.left).itemsize
        case _:
            return False


def _is_power_of_two(divisor: Constant) -> bool:
    number = int(divisor.value) if divisor.type.is_integer else 0
    return number > 0 and number & (number - 1) == 0
