"""What several threads compute in parts is what one computes, whatever becomes of the parts."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import storel
from storel.host import threads
from storel.plan.nodes import RowsStore
from storel.plan.partition import Parts

pytestmark = pytest.mark.usefixtures("several_threads")

rng = np.random.default_rng(3)
A: Any = sp.random_array((40, 30), density=0.2, format="csr", rng=rng)
B: Any = sp.random_array((30, 50), density=0.2, format="csr", rng=rng)
C: Any = sp.random_array((40, 30), density=0.2, format="csr", rng=rng)
X, Y = rng.random(30), rng.random(40)
DENSE = rng.random((40, 30))
PRODUCT = "sum(<(i, k), a> in A, <(k, j), b> in B) {(i, j) -> a * b}"

WAYS = {
    "rows of a vector": ("sum(<(i, j), a> in A, <j, v> in X) {i -> a * v}", None, Parts.SHARED),
    "rows of a matrix": (PRODUCT, "dense", Parts.SHARED),
    "compressed rows": (PRODUCT, "csr", Parts.APPENDED),
    "twice compressed rows": (PRODUCT, "dcsr", Parts.APPENDED),
    "merged rows": ("A + C", "csr", Parts.APPENDED),
    "a scalar": ("sum(<(i, j), a> in A, <i, y> in Y) a * y", None, Parts.COMBINED),
    "columns": ("sum(<(i, j), a> in A, <i, y> in Y) {j -> a * y}", None, Parts.COMBINED),
    "a least sum": ("OVER min_plus AS sum(<(i, j), a> in A, <i, y> in Y) a * y", None, Parts.COMBINED),
}
"""Programs, the format of the result, and what becomes of the parts of the last phase."""


@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize("name", WAYS)
def test_what_becomes_of_the_parts(name: str, backend: str) -> None:
    expression, storage, parts = WAYS[name]
    operands = {key: value for key, value in globals().items() if key in ("A", "B", "C", "X", "Y")}
    program = f"CREATE TENSOR R {expression if expression.startswith('OVER') else f'AS {expression}'}"
    used = {key: value for key, value in operands.items() if key in expression.replace("AS", "")}
    kernel = storel.compile(program, backend=backend, format=storage, **used)
    splits = [phase.split for phase in kernel.compilation.phases]
    assert splits and splits[-1] is not None and splits[-1].parts is parts
    alone = storel.compile(program, backend=backend, format=storage, threads=1, **used)
    assert alone.compilation.phases == ()
    got, want = kernel(**used), alone(**used)
    assert isinstance(got, storel.Tensor) and isinstance(want, storel.Tensor)
    for (key, one), other in zip(got.arrays.items(), want.arrays.values(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, err_msg=key)


@pytest.mark.parametrize("threads", [2, 5, 64, 300])
@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize(
    "result", ["sum(<(i, j), v> in T) {i -> v * x(j)}", "sum(<(i, j), v> in T) {(i, j) -> v}"]
)
def test_no_run_of_equal_keys_is_cut(result: str, backend: str, threads: int) -> None:
    lengths = np.array([0, 1, 40, 0, 3, 7, 90, 1, 1, 200, *[2] * 60, 0, 5])
    rows = np.repeat(np.arange(len(lengths)), lengths)
    columns = np.concatenate([np.arange(length) for length in lengths])
    values = rng.integers(-9, 9, len(rows)).astype(float) + 0.5
    table = storel.tensor((np.stack([rows, columns]), values), shape=(len(lengths), 200), format="coo")
    given: dict[str, Any] = {"T": table, "x": rng.integers(1, 9, 200).astype(float)}
    given = {name: value for name, value in given.items() if name in result}
    kernel = storel.compile(
        f"CREATE TENSOR R STORED AS dense AS {result}", backend=backend, threads=threads, **given
    )
    (phase,) = kernel.compilation.phases
    assert phase.split is not None and phase.split.parts is Parts.RUNS
    got = kernel(**given)
    assert isinstance(got, storel.Tensor)
    dense = table.to_numpy()
    np.testing.assert_array_equal(got.to_numpy(), dense @ given["x"] if "x" in given else dense)


def test_a_table_is_filled_in_a_phase_of_its_own() -> None:
    program = "CREATE TENSOR s AS sum(<(i, k), a> in A, <(k, j), b> in B) a * b"
    kernel = storel.compile(program, A=A, B=B)
    assert len(kernel.compilation.phases) == 2
    result = kernel(A=A, B=B)
    assert isinstance(result, storel.Tensor)
    assert float(result) == pytest.approx((A @ B).sum())


@pytest.mark.parametrize("threads", [1, 2, 7, 100])
def test_any_number_of_threads(threads: int) -> None:
    program = "CREATE TENSOR R AS " + PRODUCT
    result = storel.run(program, A=A, B=B, format="csr", threads=threads)
    assert isinstance(result, storel.Tensor)
    np.testing.assert_allclose(result.to_numpy(), (A @ B).toarray(), rtol=1e-12)


def test_sums_keep_their_order_where_floating_point_is_strict() -> None:
    program = "CREATE TENSOR s AS sum(<(i, j), a> in A) a"
    kernel = storel.compile(program, A=A, floating_point="strict")
    assert kernel.compilation.phases == ()


def test_the_first_part_that_fails_is_what_is_told() -> None:
    program = "CREATE TENSOR y AS sum(<i, _> in 0:40) {i -> 7 // B(i)}"
    numbers = np.ones(40, np.int64)
    numbers[[5, 39]] = 0
    with pytest.raises(storel.StorelError) as one:
        storel.run(program, B=numbers, threads=1)
    with pytest.raises(storel.StorelError) as several:
        storel.run(program, B=numbers)
    assert str(one.value) == str(several.value)


def test_what_does_not_fit_in_parts_is_computed_by_one_thread() -> None:
    program = "CREATE TENSOR y AS sum(<(i, j), a> in A, <i, y> in Y) {j -> a * y}"
    result = storel.run(program, A=A, Y=Y, memory_limit=30 * 8)
    assert isinstance(result, storel.Tensor)
    np.testing.assert_allclose(result.to_numpy(), A.T @ Y, rtol=1e-12)


def test_there_is_at_least_one_thread() -> None:
    with pytest.raises(storel.StorelError, match="threads"):
        storel.run("CREATE TENSOR y AS A + C", A=A, C=C, threads=0)


@pytest.mark.parametrize("text", ["abc", "0", "-1", "1.5", "2,4"])
def test_an_environment_variable_that_is_no_number_of_threads_is_told(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STOREL_NUM_THREADS", text)
    with pytest.raises(storel.StorelError, match=f"STOREL_NUM_THREADS(?s:.*)found: '{text}'"):
        storel.run("CREATE TENSOR y AS A + C", A=A, C=C)
    storel.run("CREATE TENSOR y AS A + C", A=A, C=C, threads=2)


@pytest.mark.parametrize(
    ("own", "shared", "expected"), [("5", "3", 5), (" 5 ", "3", 5), ("", "3", 3), ("", "3,2", 3)]
)
def test_environment_variables_say_how_many_threads(
    own: str, shared: str, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STOREL_NUM_THREADS", own)
    monkeypatch.setenv("OMP_NUM_THREADS", shared)
    assert threads.count() == expected


def test_work_is_counted_where_the_guards_of_what_it_reads_hold() -> None:
    diagonal, ones = sp.csr_array(np.diag([1.0, 2.0, 3.0])), np.ones(3)
    result = storel.run("CREATE TENSOR s AS sum(<i, v> in v) D(i - 1, i - 1)", D=diagonal, v=ones, threads=3)
    assert isinstance(result, storel.Tensor)
    np.testing.assert_allclose(result.to_numpy(), 3.0)


SEVERAL_NESTS = {
    "rows of a vector": "sum(<(i, j), a> in A, <j, v> in X) {i -> a * v}",
    "columns": "sum(<(i, j), a> in A, <i, y> in Y) {j -> a * y}",
    "a scalar": "sum(<(i, j), a> in A, <i, y> in Y) a * y",
    "a matrix": "sum(<(i, j), a> in A) {(j, i) -> a}",
    "shifted": "sum(<i, y> in Y) {i -> y} + sum(<i, y> in Y) {i + 1 -> y * y}",
    "with a table": "sum(<(i, k), a> in A, <(k, j), b> in B) {i -> a * b} + sum(<i, y> in Y) {2 * i -> y}",
    "a greatest": "OVER max_times AS sum(<(i, j), a> in A, <j, v> in X) {i -> a * v}",
}


@pytest.mark.parametrize(
    ("storage", "backend"),
    [("hyb(width=4)", "c"), ("bucketed_ell", "c"), ("csr", "c"), ("hyb(width=4)", "numba")],
)
@pytest.mark.parametrize("name", SEVERAL_NESTS)
def test_sums_of_several_nests(name: str, storage: str, backend: str) -> None:
    expression = SEVERAL_NESTS[name]
    operands = {"A": storel.tensor(A, storage), "B": B, "X": X, "Y": Y}
    used = {key: value for key, value in operands.items() if f"in {key}" in expression}
    program = f"CREATE TENSOR R {expression if expression.startswith('OVER') else f'AS {expression}'}"
    kernel = storel.compile(program, backend=backend, format="dense", **used)
    got = kernel(**used)
    want = storel.run(program, backend="interpret", format="dense", **used)
    assert isinstance(got, storel.Tensor) and isinstance(want, storel.Tensor)
    np.testing.assert_allclose(got.to_numpy(), want.to_numpy(), rtol=1e-12)
    if storage == "bucketed_ell" and "A" in used:
        splits = [phase.split for phase in kernel.compilation.phases]
        assert splits and splits[0] is not None
        is_cut_at_keys = len(splits[0].stretches) > 1
        assert is_cut_at_keys == (name in ("rows of a vector", "a greatest"))
        continued = [phase for phase in kernel.compilation.phases if phase.continues]
        assert is_cut_at_keys or continued
        assert all(phase.split is not None for phase in continued)


LISTS = {
    "rows of two tables": "sum(<(i, _), t> in T) {i -> t} + sum(<(i, _), u> in U) {i -> u * u}",
    "a table and rows": "sum(<(i, _), t> in T) {i -> t} + sum(<(i, _), v> in V) {i -> v * v}",
    "all": "T + U + V",
}


def numbered(size: int) -> NDArray[np.float64]:
    return np.arange(1.0, size + 1)


@settings(max_examples=10)
@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize("name", LISTS)
@given(data=st.data())
def test_lists_are_cut_at_the_same_keys(name: str, backend: str, data: st.DataObject) -> None:
    rows = data.draw(st.sampled_from([1, 2, 70, 500]), "rows")
    operands = {
        each: storel.tensor(
            sp.random_array(
                (rows, 9),
                density=data.draw(st.sampled_from([0, 0.01, 0.5]), f"density of {each}"),
                rng=data.draw(st.integers(0, 9), f"seed of {each}"),
                data_sampler=numbered,
            ),
            storage,
        )
        for each, storage in {"T": "coo", "U": "coo", "V": "dcsr"}.items()
        if each in LISTS[name]
    }
    program = f"CREATE TENSOR R STORED AS dense AS {LISTS[name]}"
    threads = data.draw(st.sampled_from([2, 3, 7]), "threads")
    at_once = data.draw(st.sampled_from([1, 3, 1000]), "keys at a time")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("storel.plan.sweep.LARGEST_ROW", 8 * 9 * at_once)
        kernel = storel.compile(program, backend=backend, threads=threads, **operands)
    result = kernel(**operands)
    expected = storel.run(program, backend="interpret", **operands)
    assert isinstance(result, storel.Tensor) and isinstance(expected, storel.Tensor)
    np.testing.assert_array_equal(result.to_numpy(), expected.to_numpy())


CHAIN = "sum(<(i, j), a> in A, <(j, k), b> in B, <(k, l), c> in C)"


@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize(
    ("result", "storage"),
    [("{(i, l) -> a * b * c}", "csr"), ("{(i, l) -> 1}", "coo"), ("{(i, l) -> b * c}", "dcsr")],
)
def test_rows_are_stored_in_a_phase_of_their_own(result: str, storage: str, backend: str) -> None:
    operands = {
        name: sp.random_array(shape, density=0.02, format="csr", rng=rng)
        for name, shape in {"A": (3000, 100), "B": (100, 300), "C": (300, 100)}.items()
    }
    program = f"CREATE TENSOR R AS {CHAIN} {result}"
    kernel = storel.compile(program, backend=backend, format=storage, **operands)
    assert any(isinstance(phase.filled, RowsStore) for phase in kernel.compilation.phases)
    assert kernel.compilation.phases[-1].split is not None
    got = kernel(**operands)
    want = storel.run(program, threads=1, format=storage, **operands)
    assert isinstance(got, storel.Tensor) and isinstance(want, storel.Tensor)
    np.testing.assert_allclose(got.to_numpy(), want.to_numpy(), rtol=1e-12)


def test_a_result_that_is_gone_on_with_is_no_more_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    program = "CREATE TENSOR R AS " + SEVERAL_NESTS["rows of a vector"] + " + sum(<i, y> in Y) {i -> y}"
    operands = {"A": storel.tensor(A, "bucketed_ell"), "X": X, "Y": Y}
    want = A @ X + Y
    for limit in (want.nbytes, None):
        free = iter([want.nbytes])  # nothing, once the result is there

        def allowance(_: int, free: Iterator[int] = free) -> int:
            return next(free, 0)

        monkeypatch.setattr("storel.runtime.kernel.memory", SimpleNamespace(allowance=allowance))
        kernel = storel.compile(program, format="dense", memory_limit=limit, **operands)
        assert any(phase.continues for phase in kernel.compilation.phases)
        result = kernel(**operands)
        assert isinstance(result, storel.Tensor)
        np.testing.assert_allclose(result.to_numpy(), want, rtol=1e-12)
