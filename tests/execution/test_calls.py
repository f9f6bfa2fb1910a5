"""Kernels called again, programs run again, from several threads and other processes: what is done again."""

from __future__ import annotations

import gc
import math
import pickle
import subprocess
import sys
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import storel
from storel import kernels
from storel.errors import DataError, EvaluationError, TypeMismatchError, UnknownNameError
from storel.execution import calls
from storel.execution.calls import Operand
from storel.execution.script import Runner
from storel.storage.facts import likeness

MULTIPLY = "CREATE TENSOR y AS sum(<(i, j), a> in A, <j, v> in x) { i -> a * v }"
SCALE = "CREATE TENSOR y AS sum(<i, v> in x) { i -> v * c }"
TRANSPOSED_TRACE = "CREATE TENSOR t AS sum(<(i, j), a> in A, <(j, i), b> in B) a * b"
GENERATOR = np.random.default_rng(7)


@dataclass
class Count:
    """How many programs were planned and run, and how many tensors were converted."""

    runs: int = 0
    conversions: int = 0


@pytest.fixture
def count(monkeypatch: pytest.MonkeyPatch) -> Iterator[Count]:
    counted = Count()
    run, convert = Runner.run, storel.Tensor.stored_as

    def counting_run(self: Runner, source: Any) -> Any:
        counted.runs += 1
        return run(self, source)

    def counting_conversion(self: storel.Tensor, storage: Any) -> storel.Tensor:
        counted.conversions += 1
        return convert(self, storage)

    monkeypatch.setattr(Runner, "run", counting_run)
    monkeypatch.setattr(storel.Tensor, "stored_as", counting_conversion)
    yield counted


def sparse(rows: int = 6, columns: int = 5, kind: str = "csr", seed: int = 1) -> Any:
    entries = np.random.default_rng(seed).random((rows, columns))
    return sp.csr_array(np.where(entries < 0.4, entries, 0.0)).asformat(kind)


def dense(result: Any) -> Any:
    assert isinstance(result, storel.Tensor)
    return result.to_numpy()


def other_values(matrix: Any) -> Any:
    """Return a matrix with the same pattern."""
    other = matrix.copy()
    other.data = GENERATOR.random(len(other.data))
    return other


@pytest.mark.parametrize("wrap", [storel.tensor, copy], ids=["tensors", "foreign"])
@pytest.mark.parametrize("backend", ["c", "numba"])
def test_like_tensors_are_not_planned_for_again(count: Count, wrap: Any, backend: str) -> None:
    matrix, vector = sparse(), np.arange(5.0)
    kernel = storel.compile(MULTIPLY, A=wrap(matrix), x=wrap(vector), backend=backend)
    for each in (matrix, matrix, other_values(matrix), other_values(matrix)):
        found = dense(kernel(A=wrap(each), x=wrap(vector)))
        np.testing.assert_allclose(found, each @ vector)
    assert count.runs == 1


@pytest.mark.parametrize(
    ("matrix", "vector"),
    [
        (sparse(8), np.arange(5.0)),
        (sparse(6, 7), np.arange(7.0)),
        (sparse(kind="csc"), np.arange(5.0)),
        (sparse(seed=2).astype(np.float32), np.arange(5.0)),
        (sparse(), np.arange(5)),
        (sparse(), np.array([1.0, 2.0, math.inf, 4.0, 5.0])),
        (sparse(), sp.csr_array(np.array([[0.0, 1.0, 0.0, 2.0, 0.0]])).reshape(5)),
        (sparse().toarray(), np.arange(5.0)),
    ],
    ids=["rows", "columns", "format", "float32", "integers", "infinite", "sparse", "dense"],
)
def test_other_tensors_are(count: Count, matrix: Any, vector: Any) -> None:
    kernel = storel.compile(MULTIPLY, A=sparse(), x=np.ones(5))
    kernel(A=sparse(), x=np.ones(5))
    assert count.runs == 1
    found = dense(kernel(A=storel.tensor(matrix), x=storel.tensor(vector)))
    assert count.runs == 2
    expected = storel.run(MULTIPLY, A=matrix, x=vector, backend="interpret")
    np.testing.assert_allclose(found, dense(expected), rtol=1e-6)
    kernel(A=storel.tensor(matrix), x=storel.tensor(vector))
    assert count.runs == 3, "the other tensors are remembered, too: only the reference ran"
    np.testing.assert_allclose(dense(kernel(A=sparse(), x=np.ones(5))), sparse() @ np.ones(5))


@pytest.mark.parametrize("backend", ["c", "numba"])
def test_numbers_need_not_be_looked_at_where_zero_meets_none_of_them(count: Count, backend: str) -> None:
    matrix = sparse()
    kernel = storel.compile(MULTIPLY, A=matrix, x=np.ones(5), backend=backend)
    for vector in (np.ones(5), np.array([0.0, math.inf, 1.0, math.nan, 0.0]), np.arange(5.0)):
        expected = dense(storel.run(MULTIPLY, A=matrix, x=vector, backend="interpret"))
        runs = count.runs
        np.testing.assert_allclose(dense(kernel(A=matrix, x=vector)), expected)
        assert count.runs == runs
    with_zeros = other_values(matrix)
    with_zeros.data[::2] = 0.0
    for vector in (np.full(5, math.inf), np.ones(5)):
        expected = dense(storel.run(MULTIPLY, A=with_zeros, x=vector, backend="interpret"))
        found = dense(kernel(A=storel.tensor(with_zeros), x=vector))
        np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("compiled_for", [2.0, 0.0])
def test_a_parameter_that_no_zero_was_expected_of_may_be_zero(compiled_for: float) -> None:
    program = "PARAMETER w: real = 1.0\nCREATE TENSOR y AS sum(<i, v> in x) { i -> w * v }"
    vector = np.array([math.inf, 1.0, math.nan])
    kernel = storel.compile(program, x=np.ones(3), w=compiled_for)
    for w, expected in (
        (3.0, [math.inf, 3.0, math.nan]),
        (0.0, [0.0] * 3),
        (-1.0, [-math.inf, -1.0, math.nan]),
    ):
        for x in (vector, storel.tensor(vector)):
            np.testing.assert_array_equal(dense(kernel(x=x, w=w)), expected)


UNALIGNED = np.zeros(41, np.uint8)[1:].view(np.float64)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("backend", ["c", "numba"])
def test_arrays_are_read_as_they_lie(order: Any, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix, vector = np.asarray(GENERATOR.random((4, 5)), order=order), GENERATOR.random(5)
    kernel = storel.compile(MULTIPLY, A=matrix, x=vector, backend=backend)
    expected = matrix @ vector
    monkeypatch.setattr(calls, "as_tensor", None)
    np.testing.assert_allclose(dense(kernel(A=matrix, x=vector)), expected)
    vector *= 2.0  # it is read again, since it may be written to
    np.testing.assert_allclose(dense(kernel(A=matrix, x=vector)), 2.0 * expected)
    np.testing.assert_allclose(dense(kernel(A=storel.tensor(matrix), x=vector[::1])), 2.0 * expected)


@pytest.mark.parametrize(
    "vector",
    [
        np.arange(10.0)[::2],
        np.arange(5.0)[::-1],
        np.arange(5.0).astype(">f8"),
        UNALIGNED,
        np.ma.masked_array(np.arange(5.0), mask=False),
        np.arange(5),
        np.arange(5, dtype=np.float32),
        np.arange(5) > 2,
        np.array([0.0, math.inf, 1.0, math.nan, 0.0]),
        [1.0, 2.0, 3.0, 4.0, 5.0],
    ],
    ids=["step", "backwards", "bytes", "place", "mask", "integers", "float32", "bool", "nan", "list"],
)
def test_other_arrays_are_not(vector: Any) -> None:
    matrix = sparse().toarray()
    kernel = storel.compile(MULTIPLY, A=matrix, x=np.ones(5))
    expected = dense(storel.run(MULTIPLY, A=matrix, x=vector, backend="interpret"))
    np.testing.assert_allclose(dense(kernel(A=matrix, x=vector)), expected)
    np.testing.assert_allclose(dense(kernel(A=matrix, x=np.ones(5))), matrix.sum(axis=1))


@pytest.mark.filterwarnings("ignore:the value 'v' of a tensor is used as a key")
def test_large_integers_are_not_read_by_a_kernel_for_small_ones(count: Count) -> None:
    program = "CREATE TENSOR n: int[1000] AS sum(<_, v> in x) { v -> 1 }"
    kernel = storel.compile(program, x=np.array([1, 2, 2]))
    assert dense(kernel(x=np.array([2, 2, 3])))[2] == 2
    assert count.runs == 1
    assert dense(kernel(x=np.array([2, 900, 900])))[900] == 2
    with pytest.raises(EvaluationError):
        kernel(x=np.array([2, -1, 900]))


def test_numbers_become_what_the_program_declares(count: Count) -> None:
    program = "PARAMETER b: real = 0.5\nCREATE TENSOR y AS sum(<_, v> in x) v * pow(b, -1)"
    kernel = storel.compile(program, x=np.ones(3))
    assert [dense(kernel(x=np.ones(3), b=b)) for b in (2, 4.0, True)] == [1.5, 0.75, 3.0]
    assert count.runs == 1
    for _ in range(2):
        assert dense(storel.run(program, x=np.ones(3), b=2)) == 1.5
    assert count.runs == 2, "the second program is remembered"
    integer = storel.compile("PARAMETER n: int = 1\nCREATE TENSOR y AS sum(<_, v> in x) v * n", x=np.ones(3))
    with pytest.raises(TypeMismatchError, match="parameter 'n'"):
        integer(x=np.ones(3), n=0.5)


def test_other_sizes_are_planned_for(count: Count) -> None:
    program = "PARAMETER n: int = 3\nCREATE TENSOR y AS sum(<i, _> in 0:n) { i -> x(i) * n }"
    kernel = storel.compile(program, x=np.ones(9), n=2)
    given: list[dict[str, Any]] = [{}, {"n": 2}, {"n": 2.0}]
    assert all(dense(kernel(x=np.ones(9), **each)).tolist() == [2.0, 2.0] for each in given)
    assert count.runs == 1
    assert dense(kernel(x=np.ones(9), n=4)).tolist() == [4.0] * 4
    assert count.runs == 2
    assert dense(storel.run(program, x=np.ones(9))).tolist() == [3.0] * 3


def test_formats_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for folder, at in (("rows", "i * n + j"), ("columns", "j * m + i")):
        (tmp_path / folder).mkdir()
        loops = "sum(<i, _> in 0:m) sum(<j, _> in 0:n)"
        text = (
            f"CREATE FORMAT own(T: real[m, n]) USING val: real[m * n] AS {loops} {{ (i, j) -> val({at}) }}\n"
        )
        (tmp_path / folder / "own.sdql").write_text(text)
    matrix = np.arange(6.0).reshape(2, 3)
    by_rows, by_columns = (
        storel.tensor(matrix, "own", formats=tmp_path / folder) for folder in ("rows", "columns")
    )
    assert likeness(by_rows) != likeness(by_columns)
    kernel = storel.compile("CREATE TENSOR y AS sum(<(i, j), a> in A) { i -> a * j }", A=by_rows)
    for each in (by_rows, by_columns):
        np.testing.assert_array_equal(dense(kernel(A=each)), matrix @ np.arange(3.0))


def test_scalars_of_a_call() -> None:
    vector = storel.tensor(np.arange(3.0))
    kernel = storel.compile(SCALE, x=vector, c=2.0)
    for scalar in (3.0, np.float64(4.0), 5, True, math.inf):
        np.testing.assert_array_equal(dense(kernel(x=vector, c=scalar)), [0.0, scalar, 2 * scalar])
    np.testing.assert_array_equal(dense(kernel(x=vector)), [0.0, 2.0, 4.0])
    np.testing.assert_array_equal(dense(kernel(x=storel.tensor(np.arange(4.0)))), [0.0, 2.0, 4.0, 6.0])


@pytest.mark.parametrize("number", [1 << 63, -(1 << 63) - 1, 10**400])
def test_integers_that_are_too_large(number: int) -> None:
    with pytest.raises(TypeMismatchError, match="int64"):
        storel.run(SCALE, x=np.arange(3.0), c=number)


def test_what_is_missing_or_unknown_is_an_error_again() -> None:
    kernel = storel.compile(MULTIPLY, A=sparse(), x=np.ones(5))
    for _ in range(2):
        with pytest.raises(UnknownNameError, match="x"):
            kernel(A=sparse())


def test_numbers_that_the_semiring_has_no_place_for() -> None:
    program = "CREATE TENSOR y OVER max_times AS sum(<i, v> in x) v"
    good, bad = storel.tensor(np.array([1.0, 2.0])), storel.tensor(np.array([1.0, -2.0]))
    kernel = storel.compile(program, x=good)
    assert float(kernel(x=good)) == 2.0  # pyright: ignore[reportArgumentType]
    for _ in range(2):
        with pytest.raises(DataError, match="-2"):
            kernel(x=bad)


def test_programs_run_again_are_not_planned_again(count: Count) -> None:
    matrix, vector = sparse(), np.arange(5.0)
    stored = storel.tensor(matrix), storel.tensor(vector)
    first = storel.run(MULTIPLY, A=stored[0], x=stored[1])
    again = storel.run(MULTIPLY, A=stored[0], x=stored[1])
    like = storel.run(MULTIPLY, A=matrix, x=vector)
    assert count.runs == 1
    for each in (first, again, like):
        np.testing.assert_allclose(dense(each), matrix @ vector)


SEVERAL = """
    CREATE TENSOR total AS sum(<(i, j), a> in A, <j, v> in x) { i -> a * v }
    CREATE TENSOR kept STORED AS coo AS sum(<i, t> in total) { i -> t * c }
    CREATE TENSOR squares AS sum(<i, t> in kept) { i -> t * t }
"""


@pytest.mark.parametrize("saved", [(), ("squares",), ("kept", "squares")], ids=str)
def test_programs_of_several_kernels_are_not_planned_again(count: Count, saved: tuple[str, ...]) -> None:
    """Each kernel reads what those before it have made."""
    program = SEVERAL + "".join(f"SAVE {name} TO '{name}.npz'\n" for name in saved)
    matrix, x = sparse(), np.arange(5.0)
    kernel = storel.compile(program, A=matrix, x=x, c=2.0)
    for scale in (1.0, 2.0, 3.0):
        expected = scale * 2 * (matrix @ x)
        for found in (
            kernel(A=matrix, x=scale * x, c=2.0),
            storel.run(program, A=matrix, x=scale * x, c=2.0),
        ):
            results = found if isinstance(found, dict) else {"squares": found}
            assert tuple(results) == (saved or ("squares",))
            np.testing.assert_allclose(dense(results["squares"]), expected**2)
            if "kept" in results:
                assert results["kept"].format == "coo"
                np.testing.assert_allclose(dense(results["kept"]), expected)
    assert count.runs == 2  # compiled, and run once


@pytest.mark.parametrize(
    "changed",
    [
        {"x": np.arange(6.0)},
        {"x": np.arange(5)},
        {"x": np.array([0.0, 0.0, 0.0, 0.0, 1.0])},
        {"c": 3},
        {"c": math.inf},
        {"format": "coo"},
        {"floating_point": "strict"},
        {"threads": 1},
        {"memory_limit": 1 << 20},
        {"backend": "numba"},
        {"backend": "interpret"},
    ],
    ids=str,
)
def test_programs_are_planned_again_for_other_facts_and_options(
    count: Count, changed: dict[str, Any]
) -> None:
    before: dict[str, Any] = {"x": np.arange(5.0) + 1, "c": 2.0, "threads": 2}
    storel.run(SCALE, **before)
    given = before | changed
    result = storel.run(SCALE, **given)
    assert count.runs == 2
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(dense(result), given["x"] * given["c"])


def test_programs_with_files_are_run_from_them(count: Count, tmp_path: Path) -> None:
    program, included, data = tmp_path / "p.sdql", tmp_path / "i.sdql", tmp_path / "x.npy"
    program.write_text("INCLUDE 'i.sdql'\nCREATE TENSOR s AS sum(<_, v> in x) v * c")
    loading = "LOAD TENSOR x FROM 'x.npy'\nCREATE TENSOR s AS sum(<_, v> in x) v"
    for number in (1.0, 2.0):
        included.write_text(f"PARAMETER c: real = {number}")
        assert float(storel.run(program, x=np.ones(3))) == 3 * number  # pyright: ignore[reportArgumentType]
        np.save(data, np.full(3, number))
        (tmp_path / "l.sdql").write_text(loading)
        assert float(storel.run(tmp_path / "l.sdql")) == 3 * number  # pyright: ignore[reportArgumentType]
    assert count.runs == 4


@pytest.mark.parametrize("numbers", [(2.0, 3.0), (2, 3)], ids=["reals", "sizes"])
def test_numbers_in_files_are_read_again(tmp_path: Path, numbers: tuple[float, float]) -> None:
    program = tmp_path / "p.sdql"
    program.write_text("LOAD ARRAYS FROM 'c.npz'\nCREATE TENSOR y AS sum(<_, v> in x) v * c")
    kernel = None
    for number in numbers:
        np.savez(tmp_path / "c.npz", c=np.array(number))
        kernel = kernel or storel.compile(program, x=np.ones(4))
        for result in (storel.run(program, x=np.ones(4)), kernel(x=np.ones(4))):
            assert dense(result) == 4 * number


def pickled(kernel: storel.Kernel) -> storel.Kernel:
    return pickle.loads(pickle.dumps(kernel))


@pytest.mark.parametrize("move", [copy, pickled])
def test_a_kernel_says_what_it_is_called_with(move: Any) -> None:
    kernel = storel.compile(SCALE, x=np.ones(3), c=2.0)
    assert repr(move(kernel)) == "<storel.Kernel of c, x>"


@pytest.mark.parametrize("move", [copy, pickled])
def test_a_kernel_is_the_program_that_was_compiled(tmp_path: Path, move: Any) -> None:
    script = tmp_path / "p.sdql"
    script.write_text("CREATE TENSOR y AS sum(<_, v> in x) v")
    kernel = move(storel.compile(script, x=np.ones(3)))
    script.write_text("CREATE TENSOR y AS sum(<_, v> in x) v * 2")
    assert [dense(kernel(x=np.ones(size))) for size in (3, 4)] == [3.0, 4.0]
    script.unlink()
    assert dense(kernel(x=np.ones(5))) == 5.0


def test_any_name_may_be_that_of_a_tensor() -> None:
    program = "CREATE TENSOR y AS sum(<_, v> in self, <_, w> in source) v * w"
    given = {"self": np.ones(2), "source": np.ones(3)}
    assert dense(storel.compile(program, **given)(**given)) == dense(storel.run(program, **given)) == 6.0


def test_what_is_saved_as_it_was_given_is_a_result_again() -> None:
    program, x = "CREATE TENSOR y AS x * 2; SAVE x TO 'x.npz'; SAVE y TO 'y.npz'", np.ones(3)
    kernel = storel.compile(program, x=x)
    for result in (storel.run(program, x=x), storel.run(program, x=x), kernel(x=x)):
        assert isinstance(result, dict)
        assert {name: float(each.to_numpy().sum()) for name, each in result.items()} == {"x": 3, "y": 6}
    found = storel.run("SAVE x TO 'x.npz'", x=x, format="coo")
    assert isinstance(found, storel.Tensor) and found.format == "coo"


def test_programs_kept_are_the_last_ones(count: Count, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "REMEMBERED", 2)
    for size, runs in ((1, 1), (2, 2), (1, 2), (3, 3), (1, 3), (2, 4)):
        storel.run("CREATE TENSOR s AS sum(<_, v> in x) v", x=np.ones(size), backend="numba")
        assert count.runs == runs


def test_programs_kept_keep_no_data() -> None:
    stored = storel.tensor(np.arange(5.0))
    storel.run(SCALE, x=stored, c=1.0)
    storel.run(SCALE, x=stored, c=1.0)
    gone = weakref.ref(stored)
    del stored
    gc.collect()
    assert gone() is None


@pytest.mark.usefixtures("converting")
def test_converted_operands_are_converted_once(count: Count) -> None:
    one, two = sparse(40, 40), sparse(40, 40, seed=2)
    a, b = storel.tensor(one), storel.tensor(two)
    expected = (one @ two).trace()
    kernel = storel.compile(TRANSPOSED_TRACE, A=a, B=b)
    assert kernel.compilation.converted
    count.conversions = 0
    for _ in range(3):
        assert float(kernel(A=a, B=b)) == pytest.approx(expected)  # pyright: ignore[reportArgumentType]
    assert (count.runs, count.conversions) == (1, 0)
    other = storel.tensor(other_values(one)), storel.tensor(other_values(two))
    for _ in range(3):
        found = kernel(A=other[0], B=other[1])
        expected = np.trace(other[0].to_numpy() @ other[1].to_numpy())
        assert float(found) == pytest.approx(expected)  # pyright: ignore[reportArgumentType]
    assert (count.runs, count.conversions) == (1, len(kernel.compilation.converted))


@pytest.mark.parametrize("storage", ["csr", "coo"])
def test_uses_are_converted_once(storage: str, count: Count) -> None:
    program = "CREATE TENSOR C AS sum(<(i, k), a> in A, <(j, k), b> in A) { (i, j) -> a * b }"
    matrix = sp.random_array((700, 700), density=0.02, rng=np.random.default_rng(5)).tocsr()
    first, second = storel.tensor(matrix, storage), storel.tensor(other_values(matrix), storage)
    kernel = storel.compile(program, A=first)
    converted = len(kernel.compilation.converted)
    assert "A" not in kernel.compilation.converted
    for each, conversions in ((first, 0), (second, converted), (first, 0)):
        count.conversions = 0
        expected = each.to_numpy() @ each.to_numpy().T
        for run in (kernel, kernel, pickle.loads(pickle.dumps(kernel))):
            np.testing.assert_allclose(dense(run(A=each)), expected)
        assert (count.runs, count.conversions) == (1, conversions)
    narrow = storel.tensor(matrix[:, :300], storage)
    np.testing.assert_allclose(dense(kernel(A=narrow)), narrow.to_numpy() @ narrow.to_numpy().T)
    assert count.runs == 2


def test_conversions_live_as_long_as_the_tensor() -> None:
    tensor = storel.tensor(sparse())
    columns = tensor.to("csc").storage
    gone = weakref.ref(tensor.converted(columns))
    assert tensor.converted(columns) is gone()
    del tensor
    gc.collect()
    assert gone() is None


def test_threads_call_one_kernel() -> None:
    matrix, count = sparse(60, 50), 8
    kernel = storel.compile(MULTIPLY, A=matrix, x=np.ones(50))
    shared, barrier = storel.tensor(matrix), Barrier(count)

    def call(number: int) -> bool:
        vector = np.random.default_rng(number).random(50 if number % 3 else 40)
        mine = shared if number % 3 else storel.tensor(matrix[:, :40])
        barrier.wait()
        return all(
            np.allclose(dense(run(A=mine, x=vector)), mine.to_numpy() @ vector)
            for _ in range(10)
            for run in (kernel, partial(storel.run, MULTIPLY))
        )

    with ThreadPoolExecutor(count) as pool:
        assert all(pool.map(call, range(count)))


@pytest.mark.parametrize("storage", ["dense", "csr", "coo", "ell", "levels(compressed, dense)"])
def test_tensors_are_pickled(storage: str) -> None:
    tensor = storel.tensor(sparse()).to(storage)
    assert tensor.summary.nnz == len(tensor.to_coo()[1])
    size = len(pickle.dumps(tensor))
    again = pickle.loads(pickle.dumps(tensor))
    assert likeness(again) == likeness(tensor)
    np.testing.assert_array_equal(again.to_numpy(), tensor.to_numpy())
    assert len(pickle.dumps(storel.tensor(sparse()).to(storage))) == size, "nothing computed is pickled"
    found = storel.run("CREATE TENSOR y AS sum(<(i, j), a> in A) { i -> a }", A=again)
    np.testing.assert_allclose(dense(found), sparse().toarray().sum(axis=1))


@pytest.mark.usefixtures("converting")
@pytest.mark.parametrize("backend", ["c", "numba"])
def test_kernels_are_pickled(count: Count, backend: str) -> None:
    a, b = storel.tensor(sparse(40, 40)), storel.tensor(sparse(40, 40, seed=2))
    kernel = storel.compile(TRANSPOSED_TRACE, A=a, B=b, backend=backend)
    again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(kernel))))
    expected = float(kernel(A=a, B=b))  # pyright: ignore[reportArgumentType]
    assert float(again(A=a, B=b)) == expected
    assert float(again(A=pickle.loads(pickle.dumps(a)), B=b)) == expected
    assert count.runs == 1
    assert again.explain() == kernel.explain()
    assert (again.plan, again.source) == (kernel.plan, kernel.source)
    with pytest.raises(UnknownNameError, match="unknown stage"):
        again.explain("nothing")
    with pytest.raises(DataError, match="pickled"):
        again.compilation  # noqa: B018
    large = storel.tensor(sparse(60, 60))
    assert float(again(A=large, B=large)) == pytest.approx(float(kernel(A=large, B=large)))  # pyright: ignore[reportArgumentType]


def test_pickled_kernels_hold_no_data() -> None:
    sizes = [
        len(pickle.dumps(storel.compile(MULTIPLY, A=sp.identity(n, format="csr"), x=np.ones(n))))
        for n in (100, 10_000)
    ]
    assert sizes[1] < 1.1 * sizes[0]


def test_kernels_are_unpickled_in_another_process(tmp_path: Path) -> None:
    vector = storel.tensor(np.arange(3.0))
    kernel = storel.compile(SCALE, x=vector, c=2.0)
    (tmp_path / "kernel").write_bytes(pickle.dumps((kernel, vector)))
    program = (
        "import pickle, sys; k, x = pickle.load(open(sys.argv[1], 'rb')); print(k(x=x).to_numpy().tolist())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "kernel")], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[0.0, 2.0, 4.0]"


def test_operands_without_a_step_are_copied() -> None:
    arrays = {
        "pos": np.array([0, 9, 1, 9, 3])[::2],
        "idx": np.array([1, 0, 2]),
        "val": np.array([1.0, 2.0, 3.0]),
    }
    stored = storel.tensor(arrays, "csr", shape=(2, 3))
    np.testing.assert_array_equal(
        dense(storel.run("CREATE TENSOR y AS A * 2", A=stored)), [[0, 2, 0], [4, 0, 6]]
    )


def test_an_operand_refers_to_no_tensor() -> None:
    tensor = storel.tensor(np.ones(3))
    operand = Operand("x", likeness(tensor), {}, None, frozenset())
    definition = storel.compile(SCALE, x=tensor, c=1.0).compilation.definition
    found = operand.inputs(tensor, definition, {})
    assert found is not None and found is operand.inputs(tensor, definition, {})
    assert operand.inputs(storel.tensor(np.ones(4)), definition, {}) is None
