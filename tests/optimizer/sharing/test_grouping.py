"""What loops look for by key is grouped by key first: one pass over the data for all keys."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from strategies.terms import Surroundings

import storel
from storel.calculus.interpret import evaluate
from storel.optimizer.rules.rewriting import Rewriter
from storel.optimizer.rules.rulefile import shipped
from storel.optimizer.sharing.grouping import grouped

COUNT = 60
RANDOM = np.random.default_rng(3)
OPERANDS: dict[str, Any] = {
    "g": RANDOM.integers(0, 7, COUNT),  # 0 is no entry
    "h": RANDOM.integers(0, 4, COUNT),
    "s": RANDOM.integers(0, 4, COUNT).astype(np.int32),
    "n": RANDOM.integers(-3, 4, COUNT),
    "b": RANDOM.choice([-(2**63), -1, 2, 2**63 - 1], COUNT),
    "v": np.where(RANDOM.random(COUNT) < 0.8, RANDOM.random(COUNT), 0),
    "w": RANDOM.random(9),
}

GROUPED = [
    "sum(<i, e> in g) { i -> v(i) - (sum(<j, f> in g) if (e == f) then v(j)) }",
    "sum(<i, e> in g) { i -> v(i) / sum(<l, f> in g) if (f == e) then 1 }",
    "sum(<k, s> in w) { k -> sqrt(sum(<i, e> in g) (e == k) * v(i)) }",
    "sum(<k, s> in w) { k -> s / (1 + sum(<i, e> in g) (e == k)) }",
    "sum(<i, e> in g, <i, f> in h) { i -> 1 / sum(<l, d> in g, <l, c> in h) if (d == e and c == f) then 1 }",
    "sum(<i, e> in s) { i -> exp(sum(<l, d> in s) if (d == e) then v(l)) }",
    "sum(<i, e> in g) if (all(<j, f> in h) (f != e)) then { i -> 1 }",
    "sum(<i, e> in g) if (not any(<j, f> in h) (f == e)) then { i -> 1 }",
    "sum(<k, s> in w) if (0.4 < s) then { k -> sum(<i, e> in h, <i, x> in v) if (2 * e == k) then x }",
    "sum(<i, e> in n) { i -> v(i) - (sum(<j, f> in n) if (e == f) then v(j)) }",  # keys may be negative
    "sum(<i, e> in g, <i, f> in n) { i -> 1 / sum(<l, d> in g, <l, c> in n) if (d == e and c == f) then 1 }",
    "sum(<i, e> in g) { i -> exp(sum(<l, d> in n) if (d == e) then v(l)) }",  # what is looked up is not
]
JOINED = {
    "sum(<i, e> in g, <j, f> in h) if (e == f) then v(i) * w(f)": "",
    "sum(<i, e> in g, <j, f> in h) if (e == f) then v(i)": "",
    "sum(<i, e> in g, <j, f> in h) if (f == e) then (v(i) + v(j))": "",
    "sum(<i, e> in g, <j, f> in h) if (e == f) then { i -> v(i) * v(j) }": "",
    "sum(<i, e> in g, <j, f> in h) if (e == f) then { s(i) -> v(j) }": ": real[4]",
    "sum(<i, e> in g, <j, f> in h) if (e == f and h(i) == g(j)) then v(i) * v(j)": "",
    "sum(<i, e> in g, <j, f> in h, <l, d> in g) if (e == f and h(j) == d) then v(i) * v(j) * v(l)": "",
}
LEFT = [
    "sum(<i, e> in g) { i -> exp(sum(<l, d> in g) if (d == e and v(l) < v(i)) then v(l)) }",  # needs i itself
    "sum(<i, e> in b) { i -> v(i) - (sum(<j, f> in b) if (e == f) then v(j)) }",  # keys have all 64 bits
]


def script(program: str) -> str:
    return f"CREATE TENSOR R{JOINED.get(program, '')} AS {program}"


def operands(program: str) -> dict[str, storel.Tensor]:
    names = [each for each in OPERANDS if f"in {each})" in program or f"in {each}," in program]
    names += [each for each in "ghsvw" if f"{each}(" in program and each not in names]
    return {each: storel.tensor(OPERANDS[each]) for each in names}


@pytest.mark.filterwarnings("ignore:the value")
@pytest.mark.parametrize("program", [*GROUPED, *JOINED, *LEFT])
def test_every_move_keeps_the_value(program: str) -> None:
    kernel = storel.compile(script(program), backend="interpret", **operands(program))
    compilation = kernel.compilation
    around = Surroundings(dict(compilation.symbols), kernel.environment.physical_arrays())
    term = Rewriter(shipped(), around.symbols).normal(compilation.term)
    if program in JOINED:  # where loops are over ranges
        term = compilation.optimized.normalized
    expected = evaluate(compilation.term, around.symbols, around.values)
    found = list(grouped(term, around.symbols))
    for moved in found:
        value = evaluate(moved, around.symbols, around.values)
        assert value == expected if program in GROUPED else is_close(value, expected)
    assert bool(found) is (program not in LEFT)


def is_close(one: Any, other: Any) -> bool:
    """Return whether two values of terms are equal up to their last bits."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(is_close(one[key], other[key]) for key in one)
    return one == pytest.approx(other, rel=1e-12)


def test_strict_sums_are_not_multiplied_as_a_whole() -> None:
    _, program, *_ = JOINED
    kernel = storel.compile(script(program), backend="interpret", **operands(program))
    symbols = kernel.compilation.symbols
    term = kernel.compilation.optimized.normalized
    assert list(grouped(term, symbols)) and not list(grouped(term, symbols, reassociates=False))


@pytest.mark.filterwarnings("ignore:the value")
@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize("program", [*GROUPED, *JOINED, *LEFT])
def test_answers_are_those_of_the_interpreter(program: str, backend: Any) -> None:
    wanted: Any = storel.run(script(program), backend="interpret", **operands(program))
    found: Any = storel.run(script(program), backend=backend, **operands(program))
    np.testing.assert_allclose(found.to_numpy(), wanted.to_numpy())


@pytest.mark.filterwarnings("ignore:the value")
@pytest.mark.parametrize("program", [*GROUPED[:5], *JOINED])
def test_work_grows_with_the_data_alone(program: str) -> None:
    """Each entry is met a few times, however many there are."""
    count = 3000
    given = {
        "g": RANDOM.integers(1, 50, count),
        "h": RANDOM.integers(1, 9, count),
        "s": RANDOM.integers(1, 4, count),
        "v": RANDOM.random(count) + 0.1,
        "w": RANDOM.random(64),
    }
    given = {each: given[each] for each in operands(program)}
    compilation = storel.compile(script(program), **given).compilation
    assert compilation.optimized.cost.iterations and sum(compilation.optimized.cost.iterations) < 5 * count
    assert sum(compilation.optimized.cost.iterations) >= count


def test_a_kernel_is_for_integers_of_about_the_same_size() -> None:
    """The table that a kernel makes has room for the keys that it was compiled for, and for few more."""
    program = "CREATE TENSOR R AS sum(<i, e> in g) { i -> (sum(<j, f> in g) if (e == f) then 1) / 2 }"
    few = np.array([1, 3, 3, 1, 2])
    kernel: Any = storel.compile(program, g=few)
    for keys in (few, few + 1, few * 1000, -few, few * 2**40):
        counts = (keys[:, None] == keys).sum(axis=1)
        np.testing.assert_allclose(kernel(g=keys).to_numpy(), counts / 2)
