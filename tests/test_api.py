"""The Python face: every kind of input, the options and their errors, kernels called again."""

from __future__ import annotations

import io
import json
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

import storel
from storel.errors import (
    DataError,
    FormatError,
    MemoryLimitError,
    ProgramSyntaxError,
    StorelError,
    TypeMismatchError,
    UnknownNameError,
)

MATRIX = np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]])
CSR_ARRAYS = {"pos": np.array([0, 1, 3]), "idx": np.array([1, 0, 2]), "val": np.array([1.0, 2.0, 3.0])}
CYCLE: list[Any] = [1.0]
CYCLE.append(CYCLE)
MASKED = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
ENTRIES = {(0, 1): 1.0, (1, 0): 2.0, (1, 2): 3.0}
DOUBLE = "CREATE TENSOR r AS A * 2"


@pytest.mark.parametrize(
    ("make", "storage"),
    [
        (lambda: storel.tensor(MATRIX), "dense"),
        (lambda: storel.tensor(MATRIX, "csr"), "csr"),
        (lambda: storel.tensor(MATRIX.tolist()), "dense"),
        (lambda: storel.tensor(np.asfortranarray(MATRIX), "coo"), "coo"),
        (lambda: storel.tensor(sp.csr_matrix(MATRIX)), "csr"),
        (lambda: storel.tensor(sp.csc_array(MATRIX)), "csc"),
        (lambda: storel.tensor(sp.coo_array(MATRIX)), "csr"),
        (lambda: storel.tensor(sp.csr_array(MATRIX), "dcsr"), "dcsr"),
        (lambda: storel.tensor((np.array([[0, 1, 1], [1, 0, 2]]), np.array([1.0, 2.0, 3.0]))), "csr"),
        (lambda: storel.tensor(ENTRIES), "csr"),
        (lambda: storel.tensor(ENTRIES, "coo", shape=(2, 3)), "coo"),
        (lambda: storel.tensor(CSR_ARRAYS, "csr", shape=(2, 3)), "csr"),
        (lambda: storel.tensor(storel.tensor(MATRIX, "csr")), "csr"),
        (lambda: storel.tensor(storel.tensor(MATRIX, "csr"), "csc"), "csc"),
    ],
)
def test_inputs(make: Callable[[], storel.Tensor], storage: str) -> None:
    stored = make()
    assert (stored.shape, stored.format) == ((2, 3), storage)
    np.testing.assert_array_equal(stored.to_numpy(), MATRIX)
    result = storel.run(DOUBLE, A=stored)
    assert isinstance(result, storel.Tensor)
    np.testing.assert_array_equal(result.to_numpy(), 2 * MATRIX)


@pytest.mark.parametrize("make", [np.asarray, np.ndarray.tolist, sp.csr_array, storel.tensor])
def test_a_shape_and_a_semiring_may_be_said_again(make: Callable[[Any], Any]) -> None:
    semiring = "plus_times" if make is storel.tensor else "min_plus"
    stored = storel.tensor(make(MATRIX), shape=(2, 3), semiring=semiring)
    assert (stored.shape, stored.semiring) == ((2, 3), semiring)


def test_formats_of_a_directory(tmp_path: Path) -> None:
    columns = "sum(<j, _> in 0:n) sum(<i, _> in 0:m) { (i, j) -> val(j * m + i) }"
    text = f"CREATE FORMAT columns(T: real[m, n]) USING val: real[m * n] AS {columns}"
    (tmp_path / "columns.sdql").write_text(text, encoding="utf-8")
    stored = storel.tensor(MATRIX, "columns", formats=tmp_path)
    np.testing.assert_array_equal(stored.arrays["val"], MATRIX.T.ravel())
    stored.save(tmp_path / "stored.npz")
    for tensor in (
        storel.read(tmp_path / "stored.npz"),
        storel.read(tmp_path / "stored.npz", formats=tmp_path),
        storel.tensor(MATRIX).to("columns", formats=tmp_path),
    ):
        assert tensor.format == "columns"
        np.testing.assert_array_equal(tensor.to_numpy(), MATRIX)
    with pytest.raises(FormatError, match="unknown format 'columns'"):
        storel.tensor(MATRIX, "columns")
    with np.load(tmp_path / "stored.npz") as file:
        description = json.loads(str(file["storel"]))
    old = {"version": 1} | {name: description[name] for name in ("format", "shape", "semiring", "is_closed")}
    np.savez(tmp_path / "stored.npz", storel=np.array(json.dumps(old)), val=stored.arrays["val"])
    read = storel.read(tmp_path / "stored.npz", formats=tmp_path)
    np.testing.assert_array_equal(read.to_numpy(), MATRIX)
    with pytest.raises(FormatError) as caught:
        storel.read(tmp_path / "stored.npz")
    assert "stored.npz: its format 'columns' is not known here" in str(caught.value)
    assert "--formats DIR, from Python formats=…" in str(caught.value)


@pytest.mark.parametrize("value", [MATRIX, sp.csr_matrix(MATRIX), MATRIX.astype(np.float32), ENTRIES])
def test_what_a_name_may_be_bound_to(value: Any) -> None:
    result = storel.run(DOUBLE, A=value)
    assert isinstance(result, storel.Tensor)
    np.testing.assert_array_equal(result.to_numpy(), 2 * MATRIX)


class Foreign:
    """A dense array of another library, as PyTorch and JAX have them."""

    def __init__(self, array: NDArray[Any], refusal: str = "") -> None:
        self.array = array
        self.refusal = refusal

    def __dlpack__(self) -> Any:
        return self.array.__dlpack__()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if self.refusal:
            raise RuntimeError(self.refusal)
        return self.array


def test_arrays_of_other_libraries_are_used_where_they_lie() -> None:
    result = storel.run(DOUBLE, A=Foreign(MATRIX))
    assert isinstance(result, storel.Tensor)
    np.testing.assert_array_equal(result.to_numpy(), 2 * MATRIX)
    assert np.shares_memory(storel.tensor(Foreign(MATRIX)).arrays["val"], MATRIX)
    entries = (Foreign(np.array([[1], [0]])), Foreign(np.array([2.0])))
    assert storel.tensor(entries, shape=(2, 2)).to_numpy().tolist() == [[0, 0], [2, 0]]
    for value in (Foreign(MATRIX, "it is elsewhere"), (np.zeros((1, 1)), Foreign(MATRIX, "it is elsewhere"))):
        with pytest.raises(TypeMismatchError, match=r"Foreign is no array of NumPy: it is elsewhere"):
            storel.tensor(value)


@pytest.mark.parametrize("value", [3, 3.0, np.float64(3), np.int32(3), np.array(3.0)])
def test_scalars(value: Any) -> None:
    assert float(storel.run("CREATE TENSOR r AS s * 2", s=value)) == 6.0  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: storel.tensor("text"), TypeMismatchError, "a str cannot be stored"),
        (lambda: storel.tensor(Path()), TypeMismatchError, "^a pathlib.PosixPath cannot be stored"),
        (lambda: storel.tensor((1.0, 2.0, 3.0)), TypeMismatchError, "hint: make a NumPy array"),
        (lambda: storel.tensor(SimpleNamespace(coords=np.zeros((2, 1)), data=np.ones(1))), TypeMismatchError,
         r"hint: give its entries: storel.tensor\(\(x.coords, x.data\), shape"),
        (lambda: storel.tensor(SimpleNamespace(layout="torch.sparse_csr")), TypeMismatchError,
         "hint: give its entries: .*coalesce"),
        (lambda: storel.tensor(SimpleNamespace(tocoo=list)), TypeMismatchError,
         "hint: make a list of entries .*tocoo"),
        (lambda: storel.tensor((np.zeros((5, 2), dtype=int), np.ones(5))), DataError, "hint: .*transpose"),
        (lambda: storel.tensor(CSR_ARRAYS), FormatError, "need format= and shape="),
        (lambda: storel.tensor({(0, 1): 1.0, (1,): 2.0}), DataError, "same number of coordinates"),
        (lambda: storel.tensor(MATRIX, shape=(3, 2)), DataError, "does not have the shape"),
        (lambda: storel.tensor(MATRIX.tolist(), shape=(2,)), DataError, "does not have the shape"),
        (lambda: storel.tensor(3.0, "auto", shape=(1,)), DataError, "does not have the shape"),
        (lambda: storel.tensor(sp.csr_array(MATRIX), shape=(2, 4)), DataError, "does not have the shape"),
        (lambda: storel.tensor(storel.tensor(MATRIX), shape=(6,)), DataError, "does not have the shape"),
        (lambda: storel.tensor(MATRIX, shape=6), DataError, "made of integers"),  # pyright: ignore
        (lambda: storel.tensor({0: 1.0}, shape=6), DataError, "made of integers"),  # pyright: ignore
        (lambda: storel.tensor(CSR_ARRAYS, "csr", shape=6), DataError, "made of integers"),  # pyright: ignore
        (lambda: storel.tensor(CSR_ARRAYS | {"idx": [0, [1]]}, "csr", shape=(2, 3)), DataError, "no array"),
        (lambda: storel.tensor(CSR_ARRAYS | {"val": MASKED}, "csr", shape=(2, 3)), DataError, "masked"),
        (lambda: storel.read("\0.npy"), TypeMismatchError, "no path"),
        (lambda: storel.read("\ud800.npy"), TypeMismatchError, "no path"),
        (lambda: storel.tensor([1.0]).save("\0.npy"), TypeMismatchError, "no path"),
        (lambda: storel.run(DOUBLE, A=MATRIX, rules="\0"), TypeMismatchError, "no path"),
        (lambda: storel.run(Path("\0")), TypeMismatchError, "no path"),
        (lambda: storel.tensor(CYCLE), DataError, "no array"),
        (lambda: storel.tensor([1.0, np.ma.masked]), DataError, "the array is masked"),
        (lambda: storel.tensor([[[1.0], (MASKED,)]]), DataError, "the array is masked"),
        (lambda: storel.tensor({0: 1.0, 1: np.ma.masked}), DataError, "the array is masked"),
        (lambda: storel.tensor(([[0, 1]], [1.0, np.ma.masked])), DataError, "the array is masked"),
        (lambda: storel.tensor({0: [1.0, 2.0], 1: [3.0]}), DataError, "no array"),
        (lambda: storel.tensor({((0, 1), 2): 1.0}), DataError, "no array"),
        (lambda: storel.tensor({((0, 1),): 1.0}), DataError, "do not fit together"),
        (lambda: storel.tensor(MATRIX, formats=3), TypeMismatchError, "no path"),  # pyright: ignore
        (lambda: storel.tensor(storel.tensor(MATRIX), semiring="min_plus"), TypeMismatchError,
         "keeps its semiring"),
        (lambda: storel.tensor(MATRIX, "crs"), FormatError, "unknown format 'crs'"),
        (lambda: storel.tensor(CSR_ARRAYS | {"idx": np.array([1, 0, 7])}, "csr", shape=(2, 3)),
         StorelError, "idx"),
        (lambda: storel.run(DOUBLE, A=MATRIX, backend="d"), UnknownNameError, "unknown backend 'd'"),
        (lambda: storel.run(DOUBLE, A=MATRIX, floating_point="fast"), UnknownNameError, "floating_point"),
        (lambda: storel.run(DOUBLE, A=MATRIX, rules="/nowhere.rules"), DataError, "nowhere.rules"),
        (lambda: storel.run(DOUBLE, A=MATRIX, memory_limit=8), MemoryLimitError, "memory"),
        (lambda: storel.run(DOUBLE), UnknownNameError, "'A'"),
        (lambda: storel.run(DOUBLE, A=None), TypeMismatchError, "^A: a NoneType cannot be stored"),
        (lambda: storel.compile(DOUBLE, A=MATRIX)(A="x"), TypeMismatchError, "^A: a str cannot be stored"),
        (lambda: storel.compile(DOUBLE, A=MATRIX * 1j), TypeMismatchError, "^A: the array holds complex"),
        (lambda: storel.run(DOUBLE, A=MATRIX, bakend="c"), TypeMismatchError, "bakend: (?s:.*)'backend'"),
        (lambda: storel.run(DOUBLE, A=MATRIX, thread=None), TypeMismatchError, "thread: (?s:.*)'threads'"),
        (lambda: storel.run(DOUBLE, A=MATRIX, backend=None), TypeMismatchError, "option backend"),
        (lambda: storel.run(DOUBLE, A=MATRIX, memory_limit=math.nan), TypeMismatchError, "number of bytes"),
        (lambda: storel.run("PARAMETER c: real\nCREATE TENSOR y AS c", c=np.array([2.0])), TypeMismatchError,
         r"'c' is a tensor(?s:.*)\.item\(\)"),
        (lambda: storel.run("CREATE TENSOR"), ProgramSyntaxError, "expected"),
        (lambda: storel.run(Path("/nowhere.sdql")), ProgramSyntaxError, "nowhere"),
        (lambda: storel.explain(DOUBLE, A=MATRIX, stage="plans"), UnknownNameError, "unknown stage 'plans'"),
        (lambda: storel.explain(DOUBLE, A=MATRIX, stage=3),  # pyright: ignore
         UnknownNameError, "unknown stage '3'"),
    ],
)  # fmt: skip
def test_mistakes(make: Callable[[], Any], error: type[StorelError], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize("backend", ["auto", "c", "numba", "interpret"])
@pytest.mark.parametrize("floating_point", ["strict", "reassociate"])
def test_options(backend: str, floating_point: str) -> None:
    result = storel.run(
        DOUBLE, A=sp.csr_array(MATRIX), backend=backend, floating_point=floating_point, format="coo"
    )
    assert isinstance(result, storel.Tensor)
    assert result.format == "coo"
    np.testing.assert_array_equal(result.to_numpy(), 2 * MATRIX)


@pytest.mark.parametrize("make", [storel.run, storel.compile])
def test_a_value_that_is_used_as_a_key_draws_a_warning(make: Callable[..., Any]) -> None:
    program = "CREATE TENSOR y AS sum(<p, k> in indices) { p -> x(k) }"
    with pytest.warns(UserWarning, match="'k' of a tensor is used as a key") as caught:
        make(program, indices=np.array([0, 2, 1]), x=np.arange(3.0))
    assert caught[0].filename == __file__


def test_a_kernel_is_called_again() -> None:
    kernel = storel.compile(
        "CREATE TENSOR r AS sum(<(i, j), a> in A) { i -> a * x(j) }", A=MATRIX, x=np.ones(3)
    )
    for scale in (1.0, 2.0):
        result = kernel(A=scale * MATRIX, x=np.arange(3.0))
        assert isinstance(result, storel.Tensor)
        np.testing.assert_array_equal(result.to_numpy(), scale * MATRIX @ np.arange(3.0))
    wider = kernel(A=sp.csr_array(np.eye(5)), x=np.arange(5.0))
    assert isinstance(wider, storel.Tensor)
    np.testing.assert_array_equal(wider.to_numpy(), np.arange(5.0))
    assert "result <- " in kernel.plan
    assert kernel.explain("source") == kernel.source


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 2)]),
        ("ij,jk", [(2, 3), (3, 2)]),
        ("ji", [(2, 3)]),
        ("ij->", [(2, 3)]),
        ("ii->i", [(3, 3)]),
        ("i,i", [(3,), (3,)]),
        ("i,j->ji", [(2,), (3,)]),
        (" ij , j -> i ", [(2, 3), (3,)]),
        (",i->i", [(), (3,)]),
    ],
)
def test_einsum(subscripts: str, shapes: list[tuple[int, ...]]) -> None:
    generator = np.random.default_rng(1)
    operands = [generator.random(shape) for shape in shapes]
    np.testing.assert_allclose(
        storel.einsum(subscripts, *operands).to_numpy(), np.einsum(subscripts, *operands)
    )


@pytest.mark.parametrize(
    ("subscripts", "count", "message"),
    [
        ("ij,jk->ik", 1, "expected: 2 operands"),
        ("i->i", 1, "do not fit operand 0"),
        ("ij->k", 1, "the result's index 'k'"),
        ("ij->ii", 1, "the result's index 'i'"),
        ("i1->i", 1, "'1' is not an index"),
    ],
)
def test_einsum_mistakes(subscripts: str, count: int, message: str) -> None:
    with pytest.raises(ProgramSyntaxError, match=message):
        storel.einsum(subscripts, *[MATRIX] * count)


@pytest.mark.parametrize("storage", ["dense", "csr", "coo", "csc"])
def test_tensors_are_pickled(storage: str) -> None:
    stored = storel.tensor(MATRIX, storage)
    copy = pickle.loads(pickle.dumps(stored))
    assert (copy.format, copy.shape, copy.type) == (stored.format, stored.shape, stored.type)
    np.testing.assert_array_equal(copy.to_numpy(), MATRIX)


def test_only_a_scalar_is_a_number() -> None:
    assert float(storel.tensor(np.array(2.5))) == 2.5
    assert int(storel.tensor(np.array(2))) == 2
    for convert in (float, int, bool):
        with pytest.raises(TypeMismatchError, match="only a tensor of rank 0 converts to a number"):
            convert(storel.tensor(MATRIX))


@pytest.mark.parametrize(
    ("value", "truth"), [(0.0, False), (0.5, True), (0, False), (3, True), (False, False)]
)
def test_a_scalar_is_true_or_false(value: float, truth: bool) -> None:
    assert bool(storel.tensor(value)) is truth
    found = storel.run("CREATE TENSOR f AS any(<_, v> in x) (v != 0)", x=np.full(3, value))
    assert bool(found) is truth


@pytest.mark.parametrize(
    ("program", "place"),
    [
        ("PARAMETER threads: int = 4\nCREATE TENSOR y AS threads * 2", "PARAMETER threads: int = 4"),
        ("PARAMETER threads: int\nCREATE TENSOR y AS threads * 2", "PARAMETER threads: int"),
        ("CREATE TENSOR y AS 2 * threads", "threads"),
        ("CREATE TENSOR y: real[threads] AS v", "threads"),
        ("LOAD TENSOR v: real[threads] FROM 'v.npy'\nCREATE TENSOR y AS v", "threads"),
        ("LOAD TENSOR threads FROM 'v.npy'\nCREATE TENSOR y AS v", "LOAD TENSOR threads FROM 'v.npy'"),
        (
            "LOAD ARRAY threads: real[n] FROM 'v.npy'\nCREATE TENSOR y AS v",
            "LOAD ARRAY threads: real[n] FROM 'v.npy'",
        ),
        ("SAVE threads TO 'y.npy'", "threads"),
    ],
)
def test_what_a_program_is_given_is_not_called_as_an_option(program: str, place: str) -> None:
    """The keyword argument is the option: the program would never see it."""
    for call in (storel.run, storel.compile):
        with pytest.raises(UnknownNameError, match="'threads' is an option") as failure:
            call(program, v=np.ones(4), threads=1)
        assert failure.value.span is not None
        assert failure.value.span.text == place


def test_what_a_program_names_itself_may_be_called_as_an_option() -> None:
    program = (
        "CREATE TENSOR rules AS sum(<threads, x> in v) { threads -> x }\nCREATE TENSOR y AS rules + rules"
    )
    result = storel.run(program, v=np.ones(2), threads=1)
    assert isinstance(result, storel.Tensor)
    assert result.to_numpy().tolist() == [2, 2]


@pytest.mark.parametrize(
    ("name", "hint"),
    [("thread", "did you mean 'threads'?"), ("Aa", "did you mean 'A'?"), ("ls", None), ("c_key", None)],
)
def test_an_option_is_suggested_only_for_what_is_nearly_its_name(name: str, hint: str | None) -> None:
    with pytest.raises(UnknownNameError, match=f"the script reads no '{name}'") as raised:
        storel.run(DOUBLE, **{"A": MATRIX, name: 1.0})
    assert raised.value.hint == hint


@pytest.mark.parametrize(
    ("name", "arguments", "options", "message"),
    [
        ("einsum", (3, MATRIX), {}, "no text"),
        ("einsum", ("i...->i", MATRIX), {}, "'.' is not an index"),
        ("einsum", ("ij->i", MATRIX), {"thread": 1}, "did you mean 'threads'?"),
        ("einsum", ("ij->i", MATRIX), {"operand0": MATRIX}, "'operand0' is no option"),
        ("read", (3,), {}, "no path"),
        ("tune", (DOUBLE,), {"seconds": "1", "A": MATRIX}, "seconds, from 0"),
        ("tune", (DOUBLE,), {"seconds": -1, "A": MATRIX}, "seconds, from 0"),
        ("tune", (DOUBLE,), {"seconds": float("nan"), "A": MATRIX}, "seconds, from 0"),
    ],
)
def test_arguments_of_other_types(
    name: str, arguments: tuple[Any, ...], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(StorelError) as raised:
        getattr(storel, name)(*arguments, **options)
    assert message in str(raised.value)


def test_a_tensor_is_saved_under_a_path() -> None:
    stream: Any = io.BytesIO()
    with pytest.raises(TypeMismatchError, match="no path"):
        storel.tensor(MATRIX).save(stream)
