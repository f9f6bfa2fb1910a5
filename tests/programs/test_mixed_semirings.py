"""Programs over one semiring that read tensors over others: what is missing stays so, all else is kept."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import storel

FIRST = np.array([[0, 1, 2], [3, 0, 1], [0, 0, 2]], dtype=float)
SECOND = np.array([[1, 1, 0], [2, 0, 0], [0, 0, 4]], dtype=float)

PAIRS = [
    ("plus_times", "min_plus"),
    ("min_plus", "plus_times"),
    ("max_plus", "max_plus"),
    ("min_plus", "or_and"),
    ("or_and", "max_plus"),
    ("max_times", "min_plus"),
]
PROGRAMS = [
    "A * B",
    "A + B",
    "sum(<i, r> in B) r",
    "sum(<i, r> in A) r * B(i)",
    "sum(<i, r> in B) (let t = r in if (i < 2) then t)",
    "sum(<i, r> in A) { i -> r }",
    "sum(<i, r> in A) { i -> r(0) }",
    "sum(<i, r> in A) { i -> B(i, 1 - i // 2) }",
    "sum(<(i, j), a> in A) B(i, j)",
    "sum(<(i, j), x> in A * B) 1",
    "sum(<i, r> in A * B) { i -> 1 }",
    "sum(<(i, j), a> in A, <(j, k), b> in B) { (i, k) -> a * b }",
    "sum(<i, _> in 0:3) { i -> B(i, i) + A(i, 0) }",
    "sum(<i, _> in 0:3) (if (B(i, 1) == 0) then { i -> 1 })",
    "count(<(i, j), x> in A * B)",
    "A(1, 0) * sum(<i, r> in B) { i -> count(<j, b> in r) }",
]


def stored(matrix: np.ndarray, storage: str, semiring: str) -> storel.Tensor:
    places = np.nonzero(matrix)
    values = matrix[places] != 0 if semiring == "or_and" else matrix[places]
    return storel.tensor((np.array(places), values), storage, shape=matrix.shape, semiring=semiring)


@pytest.mark.parametrize(
    ("storage", "over"),
    [("dense", "or_and"), ("dense", "min_plus"), ("dense", "plus_times"), ("coo", "min_plus")],
)
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_every_backend_reads_the_same(storage: str, first: str, second: str, over: str) -> None:
    tensors = {"A": stored(FIRST, storage, first), "B": stored(SECOND, storage, second)}
    for program in PROGRAMS:
        script = f"CREATE TENSOR R OVER {over} AS {program}"
        given = {name: tensor for name, tensor in tensors.items() if name in program}
        wanted = storel.run(script, backend="interpret", **given)
        found = storel.run(script, backend="c", **given)
        assert isinstance(wanted, storel.Tensor) and isinstance(found, storel.Tensor)
        assert found.type is wanted.type
        np.testing.assert_allclose(found.to_numpy(), wanted.to_numpy(), err_msg=script)


@pytest.mark.parametrize("over", ["plus_times", "max_times", "min_plus"])
@pytest.mark.parametrize("inner", ["min_plus", "max_plus"])
@pytest.mark.parametrize(
    "value",
    [
        "x(i) * s",
        "x(0) * s",
        "s * (if (x(i) > 0) then x(i))",
        "x(i) * s * x(1)",
        "(if (x(i) * s > -1) then 2)",
        "(let t = s in (if (x(i) * t > -1) then t))",
    ],
)
def test_a_zero_annihilates_the_infinite_zero_of_another_semiring(value: str, inner: str, over: str) -> None:
    script = f"""CREATE TENSOR s OVER {inner} AS sum(<i, v> in x) (if (v > 100) then v)
        CREATE TENSOR R OVER {over} AS sum(<i, _> in 0:3) {{ i -> {value} }}"""
    x = np.array([0.0, 1.0, 0.0])
    wanted, *found = (storel.run(script, x=x, backend=each) for each in ("interpret", "c", "numba"))
    assert isinstance(wanted, storel.Tensor)
    for each in found:
        assert isinstance(each, storel.Tensor)
        np.testing.assert_array_equal(each.to_numpy(), wanted.to_numpy(), err_msg=script)


@pytest.mark.parametrize("scalar", [float, int, bool])
@pytest.mark.parametrize("rows", ["<i, x> in f, <j, a> in A(i)", "<i, x> in f, <(i, j), a> in A"])
def test_rows_that_are_looked_up_for_truths_are_gone_through_where_they_lie(scalar: type, rows: str) -> None:
    """The rows at a frontier, as a step of reachability asks for them: no other row is looked at."""
    size = 400
    matrix = sp.random_array((size, size), density=0.01, rng=np.random.default_rng(0), format="csr")
    given = {
        "A": storel.tensor((10 * matrix).astype(scalar)),
        "f": storel.tensor({(row,): 1.0 for row in range(0, size, 40)}, shape=(size,)),
    }
    script = f"CREATE TENSOR R OVER or_and AS sum({rows}) {{ j -> a * x }}"
    kernel = storel.compile(script, backend="c", **given)
    assert sum(kernel.compilation.optimized.cost.iterations) < size
    found, wanted = kernel(**given), storel.run(script, backend="interpret", **given)
    assert isinstance(wanted, storel.Tensor) and isinstance(found, storel.Tensor)
    np.testing.assert_array_equal(found.to_numpy(), wanted.to_numpy())


def test_what_is_looked_up_for_truths_is_one() -> None:
    given = {"A": storel.tensor(np.array([[0, 5.0], [np.nan, 0]]), "csr")}
    script = "CREATE TENSOR R OVER or_and AS sum(<i, _> in 0:2) { i -> any(<j, a> in A(i)) (a == true) }"
    for backend in ("interpret", "c"):
        found = storel.run(script, backend=backend, **given)
        assert isinstance(found, storel.Tensor)
        assert found.to_numpy().tolist() == [True, True]
