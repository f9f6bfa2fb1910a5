"""Loops over all keys go through the entries that they search for, whatever is made of these."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from strategies.terms import Surroundings

import storel
from storel.calculus.interpret import evaluate
from storel.optimizer.sharing.visiting import visited

RANDOM = np.random.default_rng(7)
ROWS, COLUMNS = 9, 11


def matrix(density: float) -> Any:
    """Return a matrix with stored zeros, and with empty rows."""
    made = sp.random_array((ROWS, COLUMNS), density=density, rng=RANDOM, format="csr")
    made.data[::3] = 0
    made.data[1::4] *= -1
    return made


OPERANDS: dict[str, Any] = {
    "A": matrix(0.3),
    "B": matrix(0.4),
    "C": matrix(0.2),
    "d": RANDOM.random((ROWS, COLUMNS)) - 0.5,
    "v": RANDOM.random(COLUMNS),
}
OPERANDS["N"] = -OPERANDS["A"]
OPERANDS["N"].data[::2] = 1.5  # the rest of it and A add up to nothing
EVERY = "<i, _> in 0:9, <j, _> in 0:11"
ALL = f"sum({EVERY})"
VISITED = {
    f"{ALL} {{ i -> {{ j -> relu(A(i, j)) }} }}": "",
    f"{ALL} {{ j -> {{ i -> if (A(i, j) != 0) then exp(A(i, j)) * v(j) }} }}": "",
    f"{ALL} {{ i -> {{ j -> max(A(i, j), B(i, j)) }} }}": "",
    f"{ALL} {{ i -> {{ j -> max(B(i, j), A(i, j)) * d(i, j) }} }}": "",
    f"{ALL} if (A(i, j) != B(i, j)) then {{ i -> {{ j -> 1 }} }}": "",
    f"{ALL} if (A(i, j) > B(i, j) or C(i, j) < 0) then {{ i -> {{ j -> j }} }}": "",
    f"{ALL} {{ i -> {{ j -> max(A(i, j), max(B(i, j), C(i, j))) }} }}": "",
    f"{ALL} abs(A(i, j) - B(i, j)) * v(j)": "",
    f"{ALL} {{ i -> relu(A(i, j) + B(i, j) * C(i, j)) }}": "",
    "sum(<i, _> in 0:9, <j, _> in 3:8) { i -> { j -> max(A(i, j), B(i, j)) } }": ": real[9, 11]",
    "sum(<i, _> in 0:9, <j, _> in i:2 * i) { i -> { j -> max(A(i, j), B(i, j)) } }": ": real[9, 11]",
    "sum(<i, a> in A, <j, _> in 0:11) { i -> { j -> max(a(j), B(i, j)) } }": "",
    f"{ALL} {{ i -> {{ j -> relu(A(i, j)) }} }} ": " OVER max_times",
    "sum(<i, a> in A, <j, _> in a + B(i)) { i -> { j -> max(a(j), B(i, j)) } }": "",
    "sum(<i, a> in A, <j, x> in a + N(i)) { i -> { j -> exp(x) + N(i, j) } }": "",
    "sum(<i, a> in A, <j, x> in a + N(i) + B(i)) { i -> { j -> if (x > B(i, j)) then x else 1 } }": "",
    "sum(<i, a> in A, <k, _> in a + B(i)) { i -> { k -> max(a(k), B(i, k)) } }": " OVER max_times",
    f"{ALL} {{ i -> {{ j -> max(A(i, j), A(i + 1, j)) }} }}": "",
    f"{ALL} {{ i -> {{ j -> max(A(i - 1, j), A(i + 1, j)) }} }}": "",
    f"{ALL} {{ i -> {{ j -> abs(A(i - 2, j) - max(B(i - 1, j), B(i + 3, j))) }} }}": "",
    f"{ALL} {{ i -> {{ j -> relu(B(i + 1, j)) + relu(B(2 * i, j)) }} }}": "",
    f"{ALL} {{ i -> {{ j -> (if (i > 2) then exp(A(i - 1, j)) * A(i - 1, j)) - max(A(i - 2, j), 0) }} }}": "",
    f"any({EVERY}) (A(i, j) > B(i, j))": "",
    f"all({EVERY}) (A(i, j) == B(i, j))": "",
    f"all({EVERY}) (A(i, j) <= B(i, j) or A(i, j) > C(i, j))": "",
    "any(<i, a> in A, <j, _> in a + N(i)) (a(j) != N(i, j))": "",
}
LEFT = {
    f"{ALL} {{ i -> {{ j -> cos(A(i, j)) }} }}": "",  # cos(0) = 1
    f"{ALL} if (A(i, j) == B(i, j)) then {{ i -> {{ j -> 1 }} }}": "",
    f"{ALL} {{ i -> {{ j -> max(A(i, j), d(i, j)) }} }}": "",
    f"{ALL} {{ i -> {{ j -> min(abs(d(i, j)), max(B(i, j), A(i, j))) }} }}": "",  # unknown: abs(d) >= 0
    "sum(<i, _> in 0:9, <j, _> in 0:10) { i -> { j -> relu(A(i, j + 1)) } }": "",
    f"{ALL} {{ i -> max(A(i, j), B(i, j)) }}": " OVER min_plus",  # 0 is not its zero
}


def script(program: str) -> str:
    return f"CREATE TENSOR R{(VISITED | LEFT)[program]} AS {program}"


def operands(program: str) -> dict[str, Any]:
    semiring = re.search(r"OVER (\w+)", script(program))
    given = {each: OPERANDS[each] for each in OPERANDS if re.search(rf"\b{each}\b", program)}
    if semiring is None or semiring[1] == "plus_times":
        return given
    # Of other semirings 0 may be a number like any other, or negative numbers may be none.
    return {name: abs(operand) for name, operand in given.items()}


def rounded(value: Any) -> Any:
    """Return a value of a term without its last bits."""
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    return float(f"{value:.9g}")


@pytest.mark.parametrize("program", [*VISITED, *LEFT])
def test_every_move_keeps_the_value(program: str) -> None:
    kernel = storel.compile(script(program), backend="interpret", **operands(program))
    compilation = kernel.compilation
    around = Surroundings(dict(compilation.symbols), kernel.environment.physical_arrays())
    term = compilation.optimized.normalized
    expected = evaluate(term, around.symbols, around.values)
    in_order = visited(term, around.symbols, reassociates=False)
    assert all(evaluate(moved, around.symbols, around.values) == expected for moved in in_order)
    found = list(visited(term, around.symbols))
    values = (evaluate(moved, around.symbols, around.values) for moved in found)
    assert all(rounded(value) == rounded(expected) for value in values)
    assert bool(found) is (program in VISITED)


@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize("program", [*VISITED, *LEFT])
def test_answers_are_those_of_the_interpreter(program: str, backend: Any) -> None:
    given = operands(program)
    wanted: Any = storel.run(script(program), backend="interpret", **given)
    found: Any = storel.run(script(program), backend=backend, **given)
    np.testing.assert_allclose(found.to_numpy(), wanted.to_numpy())


SPARSE: dict[str, Callable[[Any, Any], Any]] = {
    "{ i -> { j -> relu(A(i, j)) } }": lambda a, b: np.maximum(a, 0),
    "{ i -> { j -> max(A(i, j), B(i, j)) } }": np.maximum,
    "if (A(i, j) != B(i, j)) then { i -> { j -> 1 } }": lambda a, b: (a != b).astype(int),
    "if (A(i, j) != 0) then { i -> exp(A(i, j)) }": lambda a, b: np.sum(np.exp(a) * (a != 0), 1),
}


@pytest.mark.parametrize("formats", [("csr", "csr"), ("csc", "csc"), ("coo", "coo"), ("hash", "dcsr")])
@pytest.mark.parametrize("program", SPARSE)
def test_what_has_no_entry_is_not_visited(program: str, formats: tuple[str, str]) -> None:
    size = 600
    given = {
        name: storel.tensor(sp.random_array((size, size), density=3 / size, rng=RANDOM, format="csr")).to(
            format_
        )
        for name, format_ in zip("AB", formats, strict=True)
        if f"{name}(" in program
    }
    text = f"CREATE TENSOR R AS sum(<i, _> in 0:{size}, <j, _> in 0:{size}) {program}"
    kernel: Any = storel.compile(text, backend="c", **given)
    assert sum(kernel.compilation.optimized.cost.iterations) < 20 * size  # of 600 times as many places
    a, b = given["A"].to_numpy(), given["B"].to_numpy() if "B" in given else None
    np.testing.assert_allclose(kernel(**given).to_numpy(), SPARSE[program](a, b))


@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize(
    "program",
    [
        "{ i -> A(i) + B(i) }",
        "{ i -> sum(<j, x> in A(i) + B(i)) abs(x) }",
        "{ i -> (sum(<j, x> in A(i)) exp(x)) + sum(<j, y> in B(i)) cos(y) }",
    ],
)
def test_rows_of_several_operands_are_added_up(program: str, backend: Any) -> None:
    text = f"CREATE TENSOR R AS sum(<i, _> in 0:{ROWS}) {program}"
    given = {name: storel.tensor(OPERANDS[name]).to("dcsr") for name in "AB"}
    wanted: Any = storel.run(text, backend="interpret", **given)
    found: Any = storel.run(text, backend=backend, **given)
    np.testing.assert_allclose(found.to_numpy(), wanted.to_numpy())


@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
def test_what_is_no_number_is_an_entry(backend: Any) -> None:
    a = np.array([[np.nan, np.inf, -np.inf, 0, 0, 1]])
    b = np.array([[1, 0, 0, np.nan, -np.inf, np.inf]])
    places = "if (A(i, j) != B(i, j)) then { i -> { j -> j + 1 } }"
    text = f"CREATE TENSOR R AS sum(<i, _> in 0:1, <j, _> in 0:6) {places}"
    found: Any = storel.run(text, A=sp.csr_array(a), B=sp.csr_array(b), backend=backend)
    np.testing.assert_array_equal(found.to_numpy(), [[1, 2, 3, 4, 5, 6]])
