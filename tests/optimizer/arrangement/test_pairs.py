"""Dense products of many factors are multiplied two at a time, in the order of least work."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest

import storel
from storel.execution.run import measure
from storel.optimizer.arrangement.pairs import in_pairs

EXTENTS = {"i": 4, "j": 5, "k": 3, "l": 6, "m": 2, "n": 7, "o": 4}

CONTRACTIONS = [
    "klmn,mnij,okl->oij",  # two symbols between the factors
    "ik,jl,kl,mk->ijm",
    "kij,kil,klm->kim",  # a batch
    "ij,jk,kl,lm,mn->in",
    "ij,kl,mn->",  # nothing in common
    "ijk,jl,lmi,in->mn",
    "ij,ij,jk->k",
]


def split(contraction: str) -> tuple[list[str], str]:
    factors, result = contraction.split("->")
    return factors.split(","), result


def operands(contraction: str) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    factors, _ = split(contraction)
    return {
        name: rng.random([EXTENTS[letter] for letter in letters])
        for name, letters in zip("ABCDE", factors, strict=False)
    }


def program(contraction: str) -> str:
    factors, result = split(contraction)
    sources = [
        f"<({', '.join(each)}), {name.lower()}0> in {name}"
        for name, each in zip("ABCDE", factors, strict=False)
    ]
    value = " * ".join(f"{name.lower()}0" for name, _ in zip("ABCDE", factors, strict=False))
    made = f"{{({', '.join(result)}) -> {value}}}" if result else value
    return f"CREATE TENSOR R AS sum({', '.join(sources)}) {made}"


def least_work(contraction: str) -> int:
    """Return the multiplications of the best tree of pairs, by trying all."""
    factors, result = split(contraction)

    @cache
    def least(chosen: frozenset[int]) -> tuple[int, frozenset[str]]:
        known = frozenset("".join(factors[each] for each in chosen))
        if len(chosen) == 1:
            return 0, known
        rest = "".join(each for number, each in enumerate(factors) if number not in chosen)
        found = []
        for mask in range(1, 2 ** len(chosen) - 1):
            left = frozenset(each for place, each in enumerate(sorted(chosen)) if mask >> place & 1)
            (one, some), (other, others) = least(left), least(chosen - left)
            found.append(one + other + math.prod(EXTENTS[letter] for letter in some | others))
        return min(found), known & (frozenset(rest) | frozenset(result))

    return least(frozenset(range(len(factors))))[0]


@pytest.mark.parametrize("contraction", CONTRACTIONS)
@pytest.mark.parametrize("backend", ["c", "numba"])
def test_the_answer_is_that_of_numpy(contraction: str, backend: Any) -> None:
    given = operands(contraction)
    found = storel.run(program(contraction), backend=backend, **given)
    assert isinstance(found, storel.Tensor)
    np.testing.assert_allclose(found.to_numpy(), np.einsum(contraction, *given.values()), rtol=1e-12)


@pytest.mark.parametrize("contraction", CONTRACTIONS)
def test_pairs_are_those_of_least_work(contraction: str) -> None:
    given = operands(contraction)
    kernel = storel.compile(program(contraction), **given)
    compilation = kernel.compilation
    made = in_pairs(compilation.optimized.normalized, compilation.symbols)
    assert made is not None
    _, work = measure(compilation.replanned(made), kernel.environment)
    assert work.multiplications <= least_work(contraction)


@pytest.mark.parametrize("result", ["ij", "ji"])
def test_the_result_of_a_plan_takes_least_work(result: str) -> None:
    """However the factors are named and commuted, two steps of 8 ^ 4 · 5 ^ 4 are not one of 8 ^ 4 · 5 ^ 8."""
    rng = np.random.default_rng(1)
    given = {"V": rng.random((5, 5, 8, 8)), "T": rng.random((8, 8, 5, 5))}
    for first, second, third in (("V", "T", "T"), ("T", "V", "T"), ("T", "T", "V")):
        letters = {"V": ["klcd"], "T": ["cdij", "abkl"]}
        wanted = "abij" if result == "ij" else "jiab"
        sources = [
            f"<({', '.join(letters[name].pop())}), x{at}> in {name}"
            for at, name in enumerate((first, second, third))
        ]
        script = f"CREATE TENSOR R AS sum({', '.join(sources)}) {{({', '.join(wanted)}) -> x0 * x1 * x2}}"
        kernel = storel.compile(script, **given)
        _, work = measure(kernel.compilation, kernel.environment)
        assert work.multiplications <= 1.05 * 2 * 8**4 * 5**2 * 5**2


def test_negative_numbers_are_no_keys_of_tables() -> None:
    rng = np.random.default_rng(2)
    given = {
        "K": rng.random((7, 4)), "X": rng.random((9, 7, 3)), "B": rng.random((3, 5, 7)),
        "C": rng.random((5, 6, 4)),
    }  # fmt: skip
    loops = "<w, _> in -3:4, <i, _> in 0:9, <a, _> in 0:4, <b, _> in 0:3, <c, _> in 0:5, <d, _> in 0:6"
    product = "K(w + 3, a) * X(i, w + 3, b) * B(b, c, w + 3) * C(c, d, a)"
    kernel = storel.compile(f"CREATE TENSOR R: real[9, 6] AS sum({loops}) {{ (i, d) -> {product} }}", **given)
    compilation = kernel.compilation
    assert in_pairs(compilation.optimized.normalized, compilation.symbols) is None
    found = kernel(**given)
    assert isinstance(found, storel.Tensor)
    np.testing.assert_allclose(found.to_numpy(), np.einsum("wa,iwb,bcw,cda->id", *given.values()), rtol=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        "sum(<(i, j), a> in A, <(j, k), b> in B) {(i, k) -> a * b}",  # two factors
        "sum(<(i, j), a> in A, <(j, k), b> in S, <(k, l), c> in B) {(i, l) -> a * b * c}",  # one is sparse
        "sum(<(i, j), a> in A, <(i, j), b> in B) {(i, j) -> a * b * a}",  # nothing is gained
        "sum(<(i, j), a> in A, <(j, k), b> in B, <(k, l), c> in A) if (i < l) then {(i, l) -> a * b * c}",
    ],
)
def test_what_is_no_product_of_many_dense_factors(text: str) -> None:
    rng = np.random.default_rng(0)
    dense = {name: rng.random((6, 6)) for name in "AB"}
    given = {**dense, "S": storel.tensor(np.eye(6), "csr")}
    read = {name: each for name, each in given.items() if f"in {name}" in text}
    compilation = storel.compile(f"CREATE TENSOR R AS {text}", **read).compilation
    assert in_pairs(compilation.optimized.normalized, compilation.symbols) is None
