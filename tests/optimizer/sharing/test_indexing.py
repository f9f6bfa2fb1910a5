"""Pairs that match are visited in their number, whatever is made of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest
import scipy.sparse as sp
from strategies.terms import Surroundings

import storel
from storel.calculus.interpret import evaluate
from storel.optimizer.sharing.indexing import indexed

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

COUNT = 40
RANDOM = np.random.default_rng(4)
OPERANDS: dict[str, Any] = {
    "g": RANDOM.integers(0, 7, COUNT),
    "h": RANDOM.integers(0, 9, COUNT).astype(np.int32),
    "n": RANDOM.integers(-3, 4, COUNT),
    "b": RANDOM.choice([-(2**63), -(2**32) - 3, -3, 2, 2**32 + 2, 2**63 - 1], COUNT),
    "v": np.where(RANDOM.random(COUNT) < 0.8, RANDOM.random(COUNT), 0),
    "w": RANDOM.random(COUNT),
    "A": sp.random_array((12, 10), density=0.4, rng=RANDOM, format="csr"),
}
PAIRS = "sum(<i, _> in 0:extent(g, 0), <j, _> in 0:extent(h, 0)) if (g(i) == h(j)"
INDEXED = {
    f"{PAIRS} and i < j) then v(i) * w(j)": "",
    f"{PAIRS} and i != j) then v(i) * w(j)": "",
    f"{PAIRS} and v(i) <= w(j)) then 1": "",
    f"{PAIRS}) then {{ i -> abs(v(i) - w(j)) }}": "",
    f"{PAIRS}) then {{ h(i) -> {{ g(j) -> v(i) }} }}": ": real[9, 7]",
    f"{PAIRS} and 2 * h(i) + 1 == g(j)) then exp(v(i) - v(j))": "",
    "sum(<i, _> in 0:extent(g, 0), <j, _> in i + 1:extent(g, 0)) if (g(j) == g(i)) then v(i) * v(j)": "",
    "sum(<i, _> in 0:extent(g, 0), <j, _> in 0:i) if (g(i) == g(j)) then { i -> abs(v(i) - v(j)) }": "",
    "sum(<i, _> in 0:extent(g, 0), <j, _> in 0:i, <k, _> in 0:j + 1) if (g(k) == h(i)) then w(j) / v(k)": "",
    "sum(<i, _> in 0:extent(g, 0), <j, _> in 0:extent(h, 0)) if (h(j) == g(i) and i < j) "
    "then v(i) * w(j)": " OVER min_plus",
    "sum(<i, _> in 0:extent(g, 0), <j, _> in 0:extent(h, 0), <k, _> in 0:extent(w, 0)) "
    "if (g(j) == h(k) and h(i) == g(j)) then { i -> abs(v(i) - w(k) * v(j)) }": "",
    "sum(<i, row> in A, <k, _> in 0:extent(h, 0)) { i -> { k -> row(h(k)) } }": ": real[12, 40]",
    "sum(<i, row> in A, <k, _> in 0:extent(h, 0)) { i -> { 39 - k -> row(h(k) + 2) } }": ": real[12, 40]",
    "sum(<i, _> in 0:extent(n, 0), <j, _> in 0:i) if (n(i) == n(j)) then abs(v(i) - v(j))": "",
    "sum(<i, _> in 0:extent(g, 0), <j, _> in 0:extent(n, 0)) if (g(i) == n(j)) then abs(v(i) - w(j))": "",
    "sum(<i, _> in 0:extent(b, 0), <j, _> in 0:i) if (b(i) == b(j)) then abs(v(i) - v(j))": "",
    "sum(<i, _> in 0:extent(n, 0), <j, _> in 0:extent(b, 0)) if (n(i) == b(j)) then abs(v(i) - w(j))": "",
    f"{PAIRS}) then {{ h(j) -> {{ i -> exp(v(i) - w(j)) }} }}": ": real[9, 40]",
}
LEFT = [
    "sum(<i, _> in 0:extent(v, 0), <j, _> in 0:i) if (v(i) == v(j)) then abs(i - j)",  # no integers
    "sum(<i, _> in 0:extent(v, 0), <j, _> in 0:i) if (w(j) < v(i)) then abs(i - j)",  # not equal
]


def script(program: str) -> str:
    return f"CREATE TENSOR R{INDEXED.get(program, '')} AS {program}"


def operands(program: str, given: dict[str, Any]) -> dict[str, storel.Tensor]:
    named = (each for each in given if re.search(rf"\b{each}\(|\({each},|in {each},", program))
    return {each: storel.tensor(given[each]) for each in named}


@pytest.mark.parametrize("program", [*INDEXED, *LEFT])
def test_every_move_keeps_the_value(program: str) -> None:
    kernel = storel.compile(script(program), backend="interpret", **operands(program, OPERANDS))
    compilation = kernel.compilation
    around = Surroundings(dict(compilation.symbols), kernel.environment.physical_arrays())
    term = compilation.optimized.normalized
    expected = evaluate(term, around.symbols, around.values)
    in_order = indexed(term, around.symbols, reassociates=False)
    assert all(evaluate(moved, around.symbols, around.values) == expected for moved in in_order)
    found = list(indexed(term, around.symbols))
    values = (evaluate(moved, around.symbols, around.values) for moved in found)
    assert all(rounded(value) == rounded(expected) for value in values)
    assert bool(found) is (program in INDEXED)


def rounded(value: Any) -> Any:
    """Return a value of a term without its last bits."""
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    return float(f"{value:.9g}")


@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize("program", [*INDEXED, *LEFT])
def test_answers_are_those_of_the_interpreter(program: str, backend: Any) -> None:
    given = operands(program, OPERANDS)
    wanted: Any = storel.run(script(program), backend="interpret", **given)
    found: Any = storel.run(script(program), backend=backend, **given)
    np.testing.assert_allclose(found.to_numpy(), wanted.to_numpy())


def ordered(i: Array, j: Array, v: Array, w: Array) -> Array:
    return ((v[i] * w[j])[i < j]).sum()


def apart(i: Array, j: Array, v: Array, w: Array) -> Array:
    return np.bincount(i, abs(v[i] - w[j]), len(v))


def by_both(i: Array, j: Array, v: Array, w: Array) -> Array:
    return np.bincount(j % 5 * 4 + i % 4, v[i], 20).reshape(5, 4)


WORKED: dict[str, Callable[[Array, Array, Array, Array], Array]] = {
    f"{PAIRS} and i < j) then v(i) * w(j)": ordered,
    f"{PAIRS}) then {{ i -> abs(v(i) - w(j)) }}": apart,
    f"{PAIRS}) then {{ j % 5 -> {{ i % 4 -> v(i) }} }}": by_both,
}


@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("program", WORKED)
def test_pairs_that_do_not_match_are_not_met(program: str, backend: Any, threads: int) -> None:
    count, random = 3000, np.random.default_rng(5)
    keys = {"g": random.integers(0, 1800, count), "h": random.integers(0, 1900, count, np.int32)}
    values = {name: random.random(count) for name in "vw"}
    given = operands(program, keys | values)
    kernel: Any = storel.compile(script(program), backend=backend, threads=threads, **given)
    assert "rows of bool" in kernel.plan
    i, j = np.nonzero(keys["g"][:, None] == keys["h"])
    assert sum(kernel.compilation.optimized.cost.iterations) < 4 * (count + len(i))
    wanted = WORKED[program](i, j, values["v"], values["w"])
    np.testing.assert_allclose(kernel(**given).to_numpy(), wanted)


def test_an_index_takes_no_memory_for_keys_that_are_not_there() -> None:
    """Numbers of customers may be large, where a row for each would take gigabytes."""
    count, random = 2000, np.random.default_rng(6)
    keys = random.integers(0, 10**9, 300)[random.integers(0, 300, count)]
    values = {name: random.random(count) for name in "vw"}
    (program, wanted), *_ = WORKED.items()
    given = operands(program, {"g": keys, "h": keys} | values)
    kernel: Any = storel.compile(script(program), memory_limit=10**7, **given)
    assert "hash of bool" in kernel.plan
    i, j = np.nonzero(keys[:, None] == keys)
    np.testing.assert_allclose(kernel(**given).to_numpy(), wanted(i, j, values["v"], values["w"]))
