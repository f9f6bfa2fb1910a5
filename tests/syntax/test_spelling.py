from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storel.functions import FUNCTIONS
from storel.syntax.spelling import CALLS, NEGATION, NOT, OPERATORS

ADDRESSES = ("bit", "bits", "interleave", "gather")


def test_every_function_but_conversions_has_one_spelling() -> None:
    spelled = [*OPERATORS.values(), *CALLS.values(), NEGATION, NOT]
    names = sorted(function.name for function in spelled)
    others = [name for name, function in FUNCTIONS.items() if function.conversion is None]
    assert names == sorted([*others, *ADDRESSES])


@pytest.mark.parametrize("name", ADDRESSES)
def test_addresses_of_zeros_are_zero(name: str) -> None:
    function = CALLS[name]
    assert function.meaning(*[0] * function.arity) == 0
    assert function.preserves_zero


@given(st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1))
def test_gather_undoes_interleave(i: int, j: int) -> None:
    z = CALLS["interleave"].meaning(i, j)
    assert (CALLS["gather"].meaning(z, 0), CALLS["gather"].meaning(z, 1)) == (i, j)


@given(st.integers(0, 2**62))
def test_the_bits_of_an_integer(x: int) -> None:
    length = int(CALLS["bits"].meaning(x))
    bits = [int(CALLS["bit"].meaning(x, i)) for i in range(length)]
    assert sum(bit << i for i, bit in enumerate(bits)) == x
    assert CALLS["popcount"].meaning(x) == sum(bits)
