"""How a text spells the scalar functions: operators, and names that a call may use.

    a // b    floor_divide(a, b)        min(a, b)    minimum(a, b)        not a    not(a)        and so on

``+`` and ``*`` are not here: they belong to the semiring. What a text may say of addresses, terms
write out in shifts and masks; only here it is a function:

    bit(x, i)          the i-th bit of x, counted from the least
    bits(x)            how many bits it takes to write x
    interleave(i, j)   … i1 j1 i0 j0, a position on the Z-order curve, of the 31 and 32 lowest bits
    gather(z, 0)       the bits of i in z = interleave(i, j); gather(z, 1) those of j
"""

from __future__ import annotations

from collections.abc import Callable

from storel.functions import FUNCTIONS, WORD, Domain, Function, shift_right

HALF_WORD = WORD // 2
"""The bits of a number that is interleaved with another; of the first one less, so that none is a sign."""

NEGATION = FUNCTIONS["negate"]
NOT = FUNCTIONS["not"]

OPERATORS: dict[str, Function] = {
    spelling: FUNCTIONS[name]
    for spelling, name in {
        "-": "subtract", "/": "divide", "//": "floor_divide", "%": "modulo",
        "==": "equal", "!=": "not_equal",
        "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal",
        "and": "and", "or": "or",
        "&": "bit_and", "|": "bit_or", "^": "bit_xor", "<<": "shift_left", ">>": "shift_right",
    }.items()
}  # fmt: skip
"""The operators of two scalars but ``+`` and ``*``, which a semiring gives their meaning."""

_SHORTENED = {"min": "minimum", "max": "maximum", "pow": "power", "int": "truncate"}
_IN_FULL = (
    "abs", "sign", "relu", "floor", "ceil", "exp", "log", "sigmoid", "cos", "sin", "sqrt", "tanh", "popcount",
)  # fmt: skip


def _bit(a: int, position: int) -> int:
    return shift_right(a, position) & 1


def _bits(a: int) -> int:
    return (a & ((1 << WORD) - 1)).bit_length()


def _spread(a: int, bits: int) -> int:
    """Return the lowest ``bits`` of ``a`` with a zero before each."""
    return sum(((a >> i) & 1) << (2 * i) for i in range(bits))


def _interleave(i: int, j: int) -> int:
    return _spread(i, HALF_WORD - 1) << 1 | _spread(j, HALF_WORD)


def _gather(z: int, which: int) -> int:
    shifted = shift_right(z, 1 - which)
    return sum(((shifted >> (2 * i)) & 1) << i for i in range(HALF_WORD))


def _address(name: str, arity: int, meaning: Callable[..., int]) -> Function:
    return Function(name, arity, Domain.INTEGERS, meaning, preserves_zero=True)


CALLS: dict[str, Function] = {
    **{spelling: FUNCTIONS[name] for spelling, name in _SHORTENED.items()},
    **{name: FUNCTIONS[name] for name in _IN_FULL},
    "bit": _address("bit", 2, _bit),
    "bits": _address("bits", 1, _bits),
    "interleave": _address("interleave", 2, _interleave),
    "gather": _address("gather", 2, _gather),
}
"""The functions that a text may name; a tensor or variable of the same name hides one."""
