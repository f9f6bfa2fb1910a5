"""Unions and intersections of rows of all lengths, with all that floating point has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

import storel
from storel.execution import profile as profiling
from storel.execution.profile import profile
from storel.plan.printer import render

BACKENDS = ["c", "interpret"]
ROWS, COLUMNS = 40, 3000
Matrix: TypeAlias = NDArray[np.float64]


def matrix(seed: int, special: tuple[float, ...] = ()) -> Matrix:
    """Return rows of no, a few, many, or all entries; neighbours cancel each other."""
    rng = np.random.default_rng(seed)
    values = rng.choice([-2.0, -1.0, 1.0, 2.0, *special], (ROWS, COLUMNS))
    density = rng.choice([0.0, 0.001, 0.01, 0.3, 1.0], (ROWS, 1))
    return np.where(rng.random((ROWS, COLUMNS)) < density, values, 0.0)


def stored(array: Matrix) -> storel.Tensor:
    return storel.tensor(array, "csr")


def operands(count: int, special: tuple[float, ...] = ()) -> dict[str, Any]:
    return {name: matrix(seed, special) for seed, name in enumerate("ABCDE"[:count])}


@pytest.mark.parametrize(
    ("count", "backend"),
    [(count, backend) for backend in BACKENDS for count in (2, 3, 4, 5)] + [(3, "numba")],
)
def test_unions(count: int, backend: str) -> None:
    arrays = operands(count, (np.inf, -np.inf, np.nan))
    program = f"CREATE TENSOR r STORED AS csr AS {' + '.join(arrays)}"
    found = storel.run(program, backend=backend, **{name: stored(a) for name, a in arrays.items()})
    assert isinstance(found, storel.Tensor)
    with np.errstate(invalid="ignore"):
        expected = np.sum(list(arrays.values()), axis=0)
    np.testing.assert_array_equal(found.to_numpy(), expected)
    assert found.nnz == np.count_nonzero(expected)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("program", "weights"),
    [
        ("A - B", (1, -1, 0, 0)),
        ("2 * A + A * B", (2, 0, 0, 1)),
        ("A - 3 * B + C", (1, -3, 1, 0)),
        ("A + x(0) * B", (1, 3, 0, 0)),
    ],
)
def test_unions_of_products(program: str, weights: tuple[float, ...], backend: str) -> None:
    arrays: dict[str, Any] = operands(3)
    used = {name: stored(a) for name, a in arrays.items() if name in program}
    if "x" in program:
        used["x"] = storel.tensor(np.array([3.0, 1.0]))
    found = storel.run(f"CREATE TENSOR r STORED AS csr AS {program}", backend=backend, **used)
    assert isinstance(found, storel.Tensor)
    terms = [*arrays.values(), arrays["A"] * arrays["B"]]
    expected = np.sum([weight * term for weight, term in zip(weights, terms, strict=True)], axis=0)
    np.testing.assert_array_equal(found.to_numpy(), expected)
    assert found.nnz == np.count_nonzero(expected)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("operator", ["min_plus", "max_times"])
def test_unions_in_other_semirings(operator: str, backend: str) -> None:
    arrays = {name: np.abs(array) for name, array in operands(3).items()}
    least = operator == "min_plus"
    missing, combine = (np.inf, np.minimum) if least else (0.0, np.maximum)
    entries = {name: np.where(array == 0, missing, array) for name, array in arrays.items()}
    program = f"CREATE TENSOR r OVER {operator} STORED AS csr AS A + B + C"
    inputs = {name: storel.tensor(entries, "csr", semiring=operator) for name, entries in entries.items()}
    found = storel.run(program, backend=backend, **inputs)
    assert isinstance(found, storel.Tensor)
    expected = combine(combine(entries["A"], entries["B"]), entries["C"])
    np.testing.assert_array_equal(found.to_numpy(), expected)


@pytest.mark.parametrize(
    ("count", "backend"),
    [(count, backend) for backend in BACKENDS for count in (2, 3, 4)] + [(2, "numba")],
)
def test_intersections(count: int, backend: str) -> None:
    """Sides of all ratios of lengths; a zero annihilates what is not finite."""
    arrays = operands(count, (np.inf, np.nan))
    program = f"CREATE TENSOR r STORED AS csr AS {' * '.join(arrays)}"
    found = storel.run(program, backend=backend, **{name: stored(a) for name, a in arrays.items()})
    assert isinstance(found, storel.Tensor)
    factors = list(arrays.values())
    with np.errstate(invalid="ignore"):
        expected = np.where(np.all([f != 0 for f in factors], axis=0), np.prod(factors, axis=0), 0.0)
    np.testing.assert_array_equal(found.to_numpy(), expected)


@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ("x, y", 684),  # x and y do not increase
        ("x(1:2), y", 0),
        ("u, v", 945),
        ("u, x", 536),
        ("1:5, 2:9", 999),
        ("u, 0:6", 535),
        ("1:5, u", 553),
        ("u(1:3), 0:5", 535),
    ],
)
def test_merge_of_any_arrays_and_ranges(sources: str, expected: int, backend: str, tmp_path: Path) -> None:
    arrays = {"x": [0, 2, 0, 3], "y": [3, 0, 3], "u": [0, 2, 3, 7], "v": [0, 1, 2, 7, 9]}
    for name, elements in arrays.items():
        np.save(tmp_path / name, np.array(elements))
    loads = [
        f"LOAD ARRAY {name}: int[n_{name}] {'INCREASING' * (name in 'uv')} FROM '{tmp_path / name}.npy'"
        for name in arrays
    ]
    program = f"{' '.join(loads)} CREATE TENSOR r AS merge(<p, q, k> in <{sources}>) (10 * p + q + 100 * k)"
    found = storel.run(program, backend=backend)
    assert isinstance(found, storel.Tensor)
    assert found.item() == expected


def test_increasing_arrays_are_co_iterated(tmp_path: Path) -> None:
    far = 10**12  # no table has so many places
    for increasing, declared in ((True, "INCREASING"), (True, ""), (False, "")):
        step = 1 if increasing else -1
        np.save(tmp_path / "x", far * np.arange(0, 50, 2)[::step])
        np.save(tmp_path / "y", far * np.arange(0, 50, 3)[::step])
        program = f"""
            LOAD ARRAY x: int[m] {declared} FROM '{tmp_path / "x.npy"}'
            LOAD ARRAY y: int[n] {declared} FROM '{tmp_path / "y.npy"}'
            CREATE TENSOR r AS merge(<p, q, k> in <x, y>) p * q
        """
        plan = render(storel.compile(program).compilation.plan)
        assert ("intersection" in plan) is increasing, plan


N = 60
SHIFTED = "sum(<i, _> in 0:n) { (i, i) -> c }"
WITH_KEYS: dict[str, Callable[[Matrix, float], Matrix]] = {
    f"A + {SHIFTED}": lambda a, c: a + c * np.eye(N),
    f"{SHIFTED} - 2 * A": lambda a, c: c * np.eye(N) - 2 * a,
    "A + sum(<i, _> in 0:n) { (i, n - 1 - i) -> c }": lambda a, c: a + c * np.eye(N)[::-1],
    f"A + {SHIFTED} + sum(<i, _> in 1:n) {{ (i, i - 1) -> c * i }}": lambda a, c: (
        a + c * np.eye(N) + np.diag(c * np.arange(1.0, N), -1)
    ),
    f"A + A * A + {SHIFTED}": lambda a, c: a + a * a + c * np.eye(N),
    "sum(<i, row> in A) { i -> row + { i -> sum(<_, v> in row) v * c } }": lambda a, c: (
        a + np.diag(c * a.sum(axis=1))
    ),
}


@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
@pytest.mark.parametrize("c", [2.0, 0.0, -1.0])
@pytest.mark.parametrize("program", WITH_KEYS)
def test_unions_with_single_keys(program: str, c: float, backend: str) -> None:
    array = matrix(3)[:, :N]
    array = np.vstack([array, array[: N - ROWS]])
    array[5, 5], array[6, 6], array[7] = 1.0, -2.0, 0.0
    text = f"CREATE TENSOR r STORED AS csr AS {program}"
    given = {"n": N} if ":n" in program else {}
    found = storel.run(text, backend=backend, A=stored(array), c=c, **given)
    assert isinstance(found, storel.Tensor)
    expected = WITH_KEYS[program](array, c)
    np.testing.assert_array_equal(found.to_numpy(), expected)
    assert found.nnz == np.count_nonzero(expected)


def test_a_key_is_united_with_rows_where_the_result_is_appended() -> None:
    text = f"AS A + {SHIFTED}"
    given: dict[str, Any] = {"A": stored(np.eye(N, k=1)), "c": 2.0, "n": N}
    appended, dense = (
        render(storel.compile(f"CREATE TENSOR r STORED AS {layout} {text}", **given).compilation.plan)
        for layout in ("csr", "dense")
    )
    assert "unite" in appended and "gather" not in appended
    assert "unite" not in dense


@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
@pytest.mark.parametrize("key", [-(2**63), -1, 4, 2**63 - 2, 2**63 - 1])
def test_a_single_key_outside_of_the_result_is_refused(key: int, backend: str) -> None:
    text = "CREATE TENSOR r: real[4, 4] STORED AS csr AS A + sum(<i, _> in 0:4) { (i, k) -> c }"
    rows = stored(np.eye(4))
    with pytest.raises(storel.StorelError, match=str(key)):
        storel.run(text, backend=backend, A=rows, c=2.0, k=key)
    found = storel.run(text, backend=backend, A=rows, c=0.0, k=max(key, 0))
    assert isinstance(found, storel.Tensor)
    np.testing.assert_array_equal(found.to_numpy(), np.eye(4))


@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
@pytest.mark.parametrize("value", ["v(p)", "exp(v(p))"])
def test_the_largest_key_of_a_scan_is_refused(value: str, backend: str, tmp_path: Path) -> None:
    """It stands for the end of a scan, and must not be taken for it."""
    np.save(tmp_path / "x", np.array([1, 5, 2**63 - 1]))
    np.save(tmp_path / "y", np.array([1, 7]))
    program = f"""
        LOAD ARRAY x: int[m] INCREASING FROM '{tmp_path / "x.npy"}'
        LOAD ARRAY y: int[n] INCREASING FROM '{tmp_path / "y.npy"}'
        CREATE TENSOR r: real[9] STORED AS coo AS
            (sum(<p, k> in x) {{ k -> {value} }}) + sum(<p, k> in y) {{ k -> {value} }}
    """
    with pytest.raises(storel.StorelError, match=str(2**63 - 1)):
        storel.run(program, backend=backend, v=np.array([1.0, 2.0, 3.0]))


def test_what_united_keys_did_is_counted_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"CREATE TENSOR r STORED AS csr AS A + {SHIFTED}"
    array = np.eye(N) + np.eye(N, k=3)
    kernel = storel.compile(text, A=stored(array), c=2.0, n=N)
    interpreted = profile(kernel.compilation, kernel.environment).counts
    monkeypatch.setattr(profiling, "INTERPRETED", 0.0)
    assert profile(kernel.compilation, kernel.environment).counts == interpreted


PLACES = f"sum(<i, _> in 0:{ROWS}, <j, _> in 0:{COLUMNS})"
BOTH: dict[str, Callable[[Matrix, Matrix], Matrix]] = {
    f"{PLACES} {{ (i, j) -> max(A(i, j), B(i, j)) }}": np.maximum,
    f"{PLACES} {{ (i, j) -> min(B(i, j), A(i, j)) }}": np.minimum,
    f"{PLACES} {{ (i, j) -> abs(A(i, j) - B(i, j)) }}": lambda a, b: abs(a - b),
    f"{PLACES} {{ (i, j) -> sqrt(A(i, j) * A(i, j) + B(i, j) * B(i, j)) }}": lambda a, b: np.sqrt(
        a * a + b * b
    ),
    f"{PLACES} if (A(i, j) != B(i, j)) then {{ (i, j) -> 1 }}": lambda a, b: (a != b) * 1.0,
    f"{PLACES} if (A(i, j) > B(i, j)) then {{ (i, j) -> j + 1 }}": lambda a, b: (
        (a > b) * np.arange(1.0, COLUMNS + 1)
    ),
    f"{PLACES} if (A(i, j) < B(i, j)) then {{ (i, j) -> A(i, j) + 2 }}": lambda a, b: np.where(
        a < b, a + 2, 0.0
    ),
}


@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
@pytest.mark.parametrize("layout", ["csr", "dense"])
@pytest.mark.parametrize("program", BOTH)
def test_functions_of_two_rows(program: str, layout: str, backend: str) -> None:
    """What is made of both rows is made in one pass, which finds what each row has at the other's keys."""
    arrays = operands(2, (np.inf, -np.inf, np.nan))
    rows = {name: stored(array) for name, array in arrays.items()}
    kernel = storel.compile(f"CREATE TENSOR r STORED AS {layout} AS {program}", backend=backend, **rows)
    plan = render(kernel.compilation.plan)
    assert "unite" in plan and "list" not in plan and "gather" not in plan
    found: Any = kernel(**rows)
    with np.errstate(all="ignore"):
        expected = BOTH[program](*arrays.values())
    np.testing.assert_array_equal(found.to_numpy(), expected)
    assert layout == "dense" or found.nnz == np.count_nonzero(expected)


@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
@pytest.mark.parametrize(
    "program", ["max(A(i, j), max(B(i, j), C(i, j)))", "max(A(i, j), B(i, j)) + C(i, j)"]
)
def test_functions_of_three_rows(program: str, backend: str) -> None:
    arrays = operands(3)
    rows = {name: stored(array) for name, array in arrays.items()}
    text = f"CREATE TENSOR r STORED AS csr AS {PLACES} {{ (i, j) -> {program} }}"
    found: Any = storel.run(text, backend=backend, **rows)
    a, b, c = arrays.values()
    expected = np.maximum(a, b) + c if "+" in program else np.maximum(a, np.maximum(b, c))
    np.testing.assert_array_equal(found.to_numpy(), expected)


def test_what_a_pass_has_met_is_not_searched_for() -> None:
    given: dict[str, Any] = {name: stored(array) for name, array in operands(2).items()}
    maximum = f"{PLACES} {{ (i, j) -> max(A(i, j), B(i, j)) }}"
    text = storel.explain(f"CREATE TENSOR r STORED AS csr AS {maximum}", **given)
    body = text.partition("--- loops")[2].partition("--- source")[0]
    assert "minimum(k, k_2)" in body and "middle" not in body


def test_a_step_of_a_union_branches_where_it_would_fail() -> None:
    """A read that may be outside of its array is not tried where its condition does not hold."""
    first, second = stored(np.eye(6)), stored(np.eye(6, k=1))
    places = np.array([0, 1, 2, 3, 4, 99])
    text = """
        CREATE TENSOR r STORED AS csr AS
            (sum(<(i, j), a> in A) if (p(j) < 6) then { (i, j) -> a * x(p(j)) })
            + sum(<(i, j), b> in B) { (i, j) -> b }
    """
    given: dict[str, Any] = {"A": first, "B": second, "p": places, "x": np.arange(6.0)}
    expected = np.diag([0.0, 1, 2, 3, 4, 0]) + np.eye(6, k=1)
    for backend in ("c", "numba", "interpret"):
        kernel = storel.compile(text, backend=backend, **given)
        assert "unite" in render(kernel.compilation.plan)
        found: Any = kernel(**given)
        np.testing.assert_array_equal(found.to_numpy(), expected)


def test_what_was_met_is_counted_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {name: stored(array) for name, array in operands(2).items()}
    text = f"CREATE TENSOR r STORED AS csr AS {PLACES} {{ (i, j) -> max(A(i, j), B(i, j)) }}"
    kernel = storel.compile(text, **given)
    interpreted = profile(kernel.compilation, kernel.environment).counts
    monkeypatch.setattr(profiling, "INTERPRETED", 0.0)
    assert profile(kernel.compilation, kernel.environment).counts == interpreted
