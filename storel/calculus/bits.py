"""Functions of bits, written out in shifts and masks.

    bit(x, i)          the i-th bit of x              bits(x)        how many bits it takes to write x
    interleave(i, j)   … i1 j1 i0 j0                  gather(z, 0)   the bits of i in it; gather(z, 1) of j

Spreading and gathering halve the distance of the moved bits five times: Warren, "Hacker's Delight", 7-2.
"""

from __future__ import annotations

from collections.abc import Callable

from storel.calculus.nodes import Apply, Let, Literal, Term, Variable
from storel.scalars import ScalarType

_MASKS = (
    0x00000000FFFFFFFF, 0x0000FFFF0000FFFF, 0x00FF00FF00FF00FF,
    0x0F0F0F0F0F0F0F0F, 0x3333333333333333, 0x5555555555555555,
)  # fmt: skip
_DISTANCES = (16, 8, 4, 2, 1)


def _number(value: int) -> Literal:
    return Literal(value, ScalarType.INT64)


def _operator(name: str) -> Callable[[Term, Term], Term]:
    return lambda left, right: Apply(name, (left, right))


_and, _or = _operator("bit_and"), _operator("bit_or")
_left, _right = _operator("shift_left"), _operator("shift_right")


def bit(number: Term, position: Term) -> Term:
    """Return the term of one bit, 0 or 1."""
    return _and(_right(number, position), _number(1))


def bits(number: Term) -> Term:
    """Return the number of bits up to the highest one: all below it are set, then counted."""
    smeared = number
    for distance in (1, 2, 4, 8, 16, 32):
        smeared = Let(smeared, _or(Variable(0), _right(Variable(0), _number(distance))))
    return Apply("popcount", (smeared,))


def interleave(high: Term, low: Term) -> Term:
    """Return the position on the Z-order curve."""
    return _or(_left(_spread(high), _number(1)), _spread(low))


def gather(position: Term, which: Term) -> Term:
    """Return the coordinate ``which`` (0 or 1) of a position on the Z-order curve."""
    gathered = _and(_right(position, Apply("subtract", (_number(1), which))), _number(_MASKS[-1]))
    for mask, distance in zip(reversed(_MASKS[:-1]), reversed(_DISTANCES), strict=True):
        moved = _right(Variable(0), _number(distance))
        gathered = Let(gathered, _and(_or(Variable(0), moved), _number(mask)))
    return gathered


def _spread(number: Term) -> Term:
    """Return the lower half of the bits, a zero before each."""
    spread = _and(number, _number(_MASKS[0]))
    for mask, distance in zip(_MASKS[1:], _DISTANCES, strict=True):
        moved = _left(Variable(0), _number(distance))
        spread = Let(spread, _and(_or(Variable(0), moved), _number(mask)))
    return spread
