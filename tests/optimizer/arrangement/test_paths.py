"""A chain of operands is the same program in whatever order these are named."""

from __future__ import annotations

import random
from itertools import permutations
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import storel
from storel.execution.run import measure
from storel.optimizer.arrangement.paths import along_paths
from storel.syntax.nodes.expressions import Mapped, Sum

SIDE = 40
DENSITIES = {"A": 0.06, "B": 0.03, "C": 0.1, "D": 0.02, "E": 0.05}


def sparse(name: str, storage: str = "csr") -> storel.Tensor:
    made = sp.random(SIDE, SIDE, DENSITIES[name], format="csr", rng=ord(name))
    return storel.tensor(made, storage)


TENSORS: dict[str, Any] = {name: sparse(name) for name in DENSITIES}
TENSORS["x"] = np.random.default_rng(0).random(SIDE)


def in_order(generators: str, body: str) -> str:
    """Return the sources of a sum in the order in which the search begins with them."""
    used = {name: tensor for name, tensor in TENSORS.items() if f"in {name}" in generators}
    compilation = storel.compile(f"CREATE TENSOR s AS sum({generators}) {body}", **used).compilation
    found = along_paths(compilation.composed.expression)
    assert isinstance(found, Sum)
    sources = [each.source for each in found.generators]
    return " ".join(each.tensor if isinstance(each, Mapped) else type(each).__name__ for each in sources)


CHAIN = {"A": "<(i, j), a> in A", "B": "<(j, k), b> in B", "C": "<(k, l), c> in C"}


@pytest.mark.parametrize("names", ["".join(each) for each in permutations("ABC")])
@pytest.mark.parametrize("body", ["{ (i, l) -> a * b * c }", "{ (l, i) -> c * b * a }", "a * b * c"])
def test_a_chain_goes_from_row_to_column(names: str, body: str) -> None:
    assert in_order(", ".join(CHAIN[name] for name in names), body) == "A B C"


@pytest.mark.parametrize(
    ("generators", "body", "expected"),
    [
        ("<(k, l), c> in C, <(j, i), a> in A, <(j, k), b> in B", "{ i -> a * b * c }", "A B C"),
        ("<(l, k), c> in C, <(k, j), b> in B, <(i, j), a> in A", "a * b * c", "C B A"),
        ("<(k, l), c> in C, <k, v> in x, <(j, k), b> in B", "v * b * c", "C x B"),
        ("<(j, k), b> in B, <j, v> in x, <(i, k), a> in A", "{ i -> v * a * b }", "A B x"),
        ("<(i, j), a> in A, <(i, k), b> in B, <(i, l), c> in C", "a * b * c", "A B C"),
        ("<(k, i), c> in C, <(i, j), a> in A, <(j, k), b> in B", "a * b * c", "C A B"),
        ("<(i, j), c> in C, <(i, j), a> in A, <(j, k), b> in B", "a * b * c", "C A B"),
        ("<(k, l), c> in C, <(i, j), a> in A, <(j, m), b> in B", "a * b * c", "C A B"),
        ("<(k, l), c> in C, <(j, k), b> in B, <i, _> in 0:j, <(i, j), a> in A", "a * b * c", "C B Range A"),
        ("<(k, l), c> in C, <(j, k), b> in B, <(i, i), a> in A", "a * b * c", "C B A"),
        ("<(j, k), b> in B, <(i, j), a> in A", "{ (i, k) -> a * b }", "B A"),
    ],
    ids=[
        "a row that is a column",
        "from the end",
        "three share a key",
        "a vector at the end",
        "a star",
        "a circle",
        "a double link",
        "two pieces",
        "a range that depends",
        "a diagonal",
        "only two",
    ],
)
def test_other_orders(generators: str, body: str, expected: str) -> None:
    assert in_order(generators, body) == expected


def work(order: list[str], result: str, storage: dict[str, str]) -> tuple[float, int, int]:
    """Return the cost of the plan for a chain of generators, its multiplications and its iterations."""
    names = [each.split()[-1] for each in order]
    tensors = {name: TENSORS[name] if name == "x" else sparse(name, storage[name]) for name in names}
    kernel = storel.compile(f"CREATE TENSOR s AS sum({', '.join(order)}) {result}", threads=1, **tensors)
    found = measure(kernel.compilation, kernel.environment)[1]
    return kernel.compilation.optimized.cost.nanoseconds, found.multiplications, found.iterations


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("ends", ["a matrix", "a vector", "a number"])
def test_the_order_of_a_chain_changes_no_plan(ends: str, seed: int) -> None:
    """Renamed, commuted and reordered, it takes the same work; association is not left to the writer."""
    chance = random.Random(seed)
    names = chance.sample(sorted(DENSITIES), 4)
    storage = {name: chance.choice(["csr", "csr", "coo", "dense"]) for name in names}
    generators = [f"<(k{at}, k{at + 1}), v{at}> in {name}" for at, name in enumerate(names)]
    factors = [f"v{at}" for at in range(4)]
    if ends == "a vector":
        generators.append("<k4, y> in x")
        factors.append("y")
    key = {"a matrix": "(k0, k4)", "a vector": "k0"}.get(ends)
    found: set[tuple[float, int, int]] = set()
    for _ in range(4):
        product = " * ".join(factors)
        found.add(work(generators, product if key is None else f"{{ {key} -> {product} }}", storage))
        chance.shuffle(generators)
        chance.shuffle(factors)
    assert len(found) == 1


@pytest.mark.parametrize("order", ["".join(each) for each in permutations("UVW")])
def test_a_product_through_columns_is_associated(order: str) -> None:
    """U Vᵀ W with long U and V and narrow W: V is met by its columns."""
    rng = np.random.default_rng(0)
    tensors = {"U": rng.random((60, 3)), "V": rng.random((50, 3)), "W": rng.random((50, 2))}
    sources = {"U": "<(i, r), u> in U", "V": "<(j, r), v> in V", "W": "<(j, k), w> in W"}
    program = f"CREATE TENSOR y AS sum({', '.join(sources[n] for n in order)}) {{ (i, k) -> u * v * w }}"
    kernel = storel.compile(program, threads=1, **tensors)
    assert measure(kernel.compilation, kernel.environment)[1].multiplications == (60 + 50) * 3 * 2
    expected = tensors["U"] @ (tensors["V"].T @ tensors["W"])
    found = kernel(**tensors)
    assert isinstance(found, storel.Tensor)
    np.testing.assert_allclose(found.to_numpy(), expected)


@pytest.mark.parametrize("order", ["AW", "WA"])
def test_a_factorization_times_a_matrix_is_not_multiplied_out(order: str) -> None:
    rng = np.random.default_rng(0)
    arrays = {"u": rng.random(60 * 3), "v": rng.random(50 * 3)}
    tensors = {"A": storel.tensor(arrays, "low_rank(k=3)", shape=(60, 50)), "W": rng.random((50, 2))}
    sources = {"A": "<(i, j), a> in A", "W": "<(j, k), w> in W"}
    program = f"CREATE TENSOR y AS sum({', '.join(sources[n] for n in order)}) {{ (i, k) -> a * w }}"
    kernel = storel.compile(program, threads=1, **tensors)
    assert measure(kernel.compilation, kernel.environment)[1].multiplications == (60 + 50) * 3 * 2
    found = kernel(**tensors)
    assert isinstance(found, storel.Tensor)
    expected = arrays["u"].reshape(60, 3) @ (arrays["v"].reshape(50, 3).T @ tensors["W"])
    np.testing.assert_allclose(found.to_numpy(), expected)
