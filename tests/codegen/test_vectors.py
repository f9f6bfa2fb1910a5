"""Bits that a loop looks up come eight at a time in C, and never beyond the loop's end."""

from __future__ import annotations

import numpy as np
import pytest
from strategies.loops import INT32, INT64, N, check, index, integer, kernel, plus

from storel.codegen import c_source
from storel.loops.bits import bit_at
from storel.loops.nodes import (
    Allocation,
    Assign,
    Binary,
    Buffer,
    Cast,
    Constant,
    Declare,
    Expression,
    For,
    Kernel,
    Load,
    Local,
    Role,
    Statement,
    Store,
)
from storel.scalars import ScalarType

WORDS, Y = Buffer("words", INT32, Role.INDEX), Buffer("y", INT32)
P = index("p")
FOUND = Local("found", INT32)
EXTENT = 100


def scan(of: ScalarType, low: Expression, high: Expression, operator: str = "bit_or") -> Kernel:
    """Return a kernel that notes whether any of the places that it reads has its bit set."""
    idx = Buffer("idx", of, Role.INDEX)
    bit = bit_at(WORDS, Cast(INT64, Load(idx, P)))
    loop = For(P, low, high, (Assign(FOUND, Binary(operator, FOUND, bit)),))
    body: list[Statement] = [Declare(FOUND, Constant(0, INT32)), loop, Store(Y, integer(0), FOUND)]
    return kernel([idx, WORDS], [(Allocation(Y, 0, is_output=True), integer(1))], body)


def is_vector(made: Kernel) -> bool:
    return "gather_int32(words" in c_source.render(made)


@pytest.mark.parametrize("flags", ["", "-U__AVX2__"], ids=["with instructions for it", "without"])
@pytest.mark.parametrize("of", [INT32, INT64])
def test_any_bit_between_two_places(of: ScalarType, flags: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STOREL_CFLAGS", flags)
    made = scan(of, integer(1), N)
    assert is_vector(made) == (of is INT32)
    random = np.random.default_rng(3)
    for end in (0, 1, 2, 8, 9, 10, 16, 17, 23):
        idx = random.permutation(EXTENT)[: max(end, 1)].astype(of.dtype)
        for marked in (*range(len(idx)), None):
            places = random.permutation(np.setdiff1d(np.arange(EXTENT), idx))[:50]
            places = places if marked is None else np.append(places, idx[marked])
            words = np.zeros(4, np.int64)
            np.bitwise_or.at(words, places // 32, 1 << (places % 32))
            wanted = marked is not None and 1 <= marked < end
            inputs = {"idx": idx, "words": words.astype(np.uint32).view(np.int32)}
            check(made, {"n": end}, inputs, {"y": np.array([wanted], np.int32)})


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (scan(INT32, N, plus(N, integer(8))), True),
        (scan(INT32, N, integer(7)), True),
        (scan(INT32, N, integer(7), "bit_xor"), False),
        (scan(INT64, N, integer(7)), False),
    ],
    ids=["eight of them", "others", "more than whether there is one", "longer integers"],
)
def test_what_becomes_a_vector(made: Kernel, expected: bool) -> None:
    assert is_vector(made) == expected


def test_places_beyond_the_end_exist() -> None:
    """Were 0 no place that is looked up, there might be none."""
    idx = Buffer("idx", INT32, Role.INDEX)
    bit = bit_at(WORDS, Cast(INT64, Binary("subtract", Load(idx, P), Constant(9, INT32))))
    loop = For(P, integer(0), N, (Assign(FOUND, Binary("bit_or", FOUND, bit)),))
    body: list[Statement] = [Declare(FOUND, Constant(0, INT32)), loop, Store(Y, integer(0), FOUND)]
    made = kernel([idx, WORDS], [(Allocation(Y, 0, is_output=True), integer(1))], body)
    assert not is_vector(made)
    inputs = {"idx": np.array([9, 12], np.int32), "words": np.array([8], np.int32)}
    check(made, {"n": 2}, inputs, {"y": np.array([1], np.int32)})


def test_what_is_not_looked_up_is_the_compilers_own() -> None:
    bit = Binary("bit_and", Load(WORDS, P), Constant(1, INT32))
    loop = For(P, integer(0), N, (Assign(FOUND, Binary("bit_or", FOUND, bit)),))
    body: list[Statement] = [Declare(FOUND, Constant(0, INT32)), loop, Store(Y, integer(0), FOUND)]
    made = kernel([WORDS], [(Allocation(Y, 0, is_output=True), integer(1))], body)
    assert "eight_int32" not in c_source.render(made)
    check(made, {"n": 3}, {"words": np.array([2, 5, 4], np.int32)}, {"y": np.array([1], np.int32)})
