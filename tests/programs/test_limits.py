"""Where programs meet the limits of integers, of nesting, and of what an operand may be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import storel
from storel.host import memory

MATRIX = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
ROWS = "CREATE TENSOR y AS sum(<(i, j), a> in A) { i -> a }"


def dense(program: str, **operands: Any) -> Any:
    result = storel.run(program, **operands)
    assert isinstance(result, storel.Tensor)
    return result.to_numpy()


@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("sum(<i, x> in v) 3000000000 * (4000000000 * x)", 3.6e19),
        ("sum(<i, x> in v, <i, a> in w) x * a * a", 3e20),
        ("sum(<i, x> in v, <j, a> in w, <k, b> in w) x * a * b", 1.2e21),
    ],
)
def test_integers_times_reals_do_not_overflow(text: str, wanted: float, backend: str) -> None:
    v, w = np.array([1.0, 2.0]), np.array([10**10, 10**10])
    given = {"v": v, "w": w} if "w" in text else {"v": v}
    assert dense(f"CREATE TENSOR s AS {text}", backend=backend, **given) == pytest.approx(wanted)


@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("sum(<i, x> in v) { i -> pow(2, x) }", None),
        ("sum(<i, x> in v) { i -> pow(x, 0 - 1) }", None),
        ("sum(<i, x> in v) { i -> pow(x * 1.0, -1) }", [0.5, -1.0]),
        ("sum(<i, x> in v) { i -> pow(x, 1.0 - 2) }", [0.5, -1.0]),
        ("sum(<i, x> in v) { i -> pow(x, i) }", [1, -1]),
        ("sum(<i, x> in v) { i -> if (x > 0) then pow(2, x) }", [4, 0]),
        ("sum(<i, x> in v) { i -> if (x > 0 and pow(2, x) == 4) then 1 }", [1, 0]),
    ],
)
def test_an_integer_to_a_negative_power_is_none(text: str, wanted: list[float] | None, backend: str) -> None:
    program, v = f"CREATE TENSOR s AS {text}", np.array([2, -1])
    if wanted is None:
        with pytest.raises(storel.StorelError, match="an integer to the negative power -1 is no integer"):
            dense(program, backend=backend, v=v)
    else:
        assert dense(program, backend=backend, v=v).tolist() == wanted


def test_bounds_beyond_64_bits_are_not_computed() -> None:
    assert (
        dense("CREATE TENSOR s AS sum(<i, x> in m) if (x - i != 7) then 1", m=np.array([2**62, -(2**63)]))
        == 2
    )


@pytest.mark.parametrize("kind", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
def test_matrices_of_every_kind(kind: str) -> None:
    for matrix in (sp.csr_array(MATRIX), sp.csr_matrix(MATRIX)):
        assert dense(ROWS, A=matrix.asformat(kind)).tolist() == [3.0, 3.0]


@pytest.mark.parametrize("backend", ["interpret", "c", "numba"])
@pytest.mark.parametrize("storage", ["dense", "coo", "hash"])
@pytest.mark.parametrize("shift", [-1, 1])
def test_a_zero_is_no_entry_even_where_there_is_no_place(backend: str, storage: str, shift: int) -> None:
    program = (
        f"CREATE TENSOR y: real[3] STORED AS {storage} AS sum(<i, _> in 0:3) {{ i + d -> max(w(i), 0) }}"
    )
    values = np.array([-1.0, 5.0, -1.0])
    found = dense(program, w=values, d=shift, backend=backend)
    assert found.tolist() == np.roll([0.0, 5.0, 0.0], shift).tolist()
    with pytest.raises(storel.StorelError, match="key"):
        dense(program, w=-values, d=shift, backend=backend)


CANCELLED = [
    "sum(<i, v> in w) { i -> v } - sum(<i, v> in w) { i -> v }",
    "sum(<_, v> in w) { 7 -> if v < 4 then v else -6.0 }",
    "sum(<i, v> in w) { 0 - i -> v } - sum(<i, v> in w) { 0 - i -> v }",
    "sum(<i, v> in w) ({ i + 1 -> v } + { i + 1 -> -v })",
]


@pytest.mark.parametrize("floating_point", ["strict", "reassociate"])
@pytest.mark.parametrize("backend", ["interpret", "c"])
@pytest.mark.parametrize("storage", ["dense", "coo"])
@pytest.mark.parametrize("text", CANCELLED)
def test_what_cancels_beyond_an_extent_is_no_entry_or_an_error(
    text: str, storage: str, backend: str, floating_point: str
) -> None:
    program = f"CREATE TENSOR y: real[3] STORED AS {storage} AS {text}"
    values = np.array([1.0, 2.0, 3.0, 5.0])
    try:
        found = dense(program, w=values, backend=backend, floating_point=floating_point)
    except storel.StorelError as error:
        assert "key" in error.message
    else:
        assert not found.any()


def test_masked_places_have_no_value() -> None:
    masked = np.ma.masked_equal(MATRIX, 3.0)
    with pytest.raises(storel.StorelError, match="masked"):
        storel.run(ROWS, A=masked)
    assert dense(ROWS, A=masked.filled(0)).tolist() == [3.0, 0.0]
    assert dense(ROWS, A=np.ma.array(MATRIX)).tolist() == [3.0, 3.0]


@pytest.mark.parametrize("kind", ["bsr", "coo", "csc", "csr", "dia"])
def test_masked_data_of_matrices_has_no_value(kind: str) -> None:
    matrix = sp.csr_array(MATRIX).asformat(kind)
    matrix.data = np.ma.masked_equal(matrix.data, 3.0)
    with pytest.raises(storel.StorelError, match="A: the matrix is masked"):
        storel.run(ROWS, A=matrix)
    matrix.data = matrix.data.filled(0)
    assert dense(ROWS, A=matrix).tolist() == [3.0, 0.0]


def test_lists_of_different_lengths() -> None:
    with pytest.raises(storel.StorelError, match="no array"):
        storel.run(ROWS, A=[[1.0, 2.0], [3.0]])


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (([[0, 1], [1]], [1.0, 2.0]), "no array"),
        (([[0, 1], [1, 0]], [[1.0], [2.0, 3.0]]), "no array"),
        ((1, 2), "do not fit together"),
    ],
)
def test_lists_that_are_no_entries(entries: Any, message: str) -> None:
    with pytest.raises(storel.StorelError, match=message):
        storel.tensor(entries)


@pytest.mark.parametrize("given", [3, b"csr", ["csr"]])
def test_formats_and_semirings_of_other_types(given: Any) -> None:
    calls = [
        lambda: storel.tensor(MATRIX, given),
        lambda: storel.read("matrix.npy", given),
        lambda: storel.tensor(MATRIX).to(given),
    ]
    for call in calls:
        with pytest.raises(storel.StorelError, match=f"a {type(given).__name__} is no format"):
            call()
    with pytest.raises(storel.StorelError, match="unknown semiring"):
        storel.tensor(MATRIX, semiring=given)


def test_a_view_larger_than_memory_is_not_copied() -> None:
    with pytest.raises(storel.StorelError, match="a copy of an array of shape"):
        storel.tensor(np.broadcast_to(np.float64(2), (2**24, 2**24)))


def test_a_list_of_entries_larger_than_memory_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available", lambda: 10**7)
    with pytest.raises(storel.StorelError, match="a list of the 1,000,000 entries of a dense array"):
        storel.tensor(np.ones((1000, 1000)), "csr")


def test_kernels_keep_their_options() -> None:
    kernel = storel.compile(ROWS, A=MATRIX)
    with pytest.raises(storel.StorelError, match="'threads' is an option") as failure:
        kernel(A=MATRIX, threads=2)
    assert failure.value.hint == "compile it again: storel.compile(…, threads=…)"


def test_hundreds_of_definitions_that_use_each_other() -> None:
    """Written out into the last one they were nested too deeply."""
    lines = [f"CREATE TENSOR t{n + 1} AS t{n} + v" for n in range(250)]
    found = storel.run("\n".join(["CREATE TENSOR t0 AS v + v", *lines]), v=[1.0, 2.0])
    assert isinstance(found, storel.Tensor)
    assert found.to_numpy().tolist() == [252.0, 504.0]


@pytest.mark.parametrize("backend", ["auto", "interpret"])
def test_sources_and_keys_are_nested_too_deeply(backend: str) -> None:
    sources = ", ".join(f"<i, v{n}> in v" for n in range(1000))
    keys = ", ".join(["0"] * 1000)
    for text in (f"sum({sources}) v0", f"count({sources})", f"{{ ({keys}) -> sum(<_, x> in v) x }}"):
        with pytest.raises(
            storel.StorelError, match="y has too many loops or keys inside each other"
        ) as failure:
            storel.run(f"CREATE TENSOR y AS {text}", v=[1.0, 2.0], backend=backend)
        assert failure.value.span is not None


def test_a_script_with_a_byte_order_mark(tmp_path: Any) -> None:
    (tmp_path / "marked.sdql").write_text("CREATE TENSOR y AS 1 + 1", encoding="utf-8-sig")
    assert dense(tmp_path / "marked.sdql") == 2


@pytest.mark.parametrize("text", ["\ufeffCREATE TENSOR y AS 1 + 1", "CREATE TENSOR y AS -- two\r 1 + 1\r\n"])
def test_a_text_is_read_as_from_a_file(text: str) -> None:
    assert dense(text) == 2


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("backend", 3), ("format", 3), ("formats", 3), ("threads", "two"), ("threads", 1.5),
        ("threads", True),
        ("memory_limit", "1GB"), ("floating_point", True), ("rules", 1), ("binders", 0), ("search", "wide"),
    ],
)  # fmt: skip
def test_options_of_other_types(option: str, value: Any) -> None:
    with pytest.raises(storel.StorelError, match=f"the option {option} is of another type"):
        storel.run(ROWS, A=MATRIX, **{option: value})


def test_a_negative_memory_limit_is_refused_before_anything_is_planned() -> None:
    for call in (storel.run, storel.compile, storel.advise):
        with pytest.raises(storel.StorelError, match=r"memory_limit is negative(.|\n)*found: -1"):
            call(ROWS, A=MATRIX, memory_limit=-1)


@pytest.mark.parametrize(
    ("given", "hint"), [("thread", "'threads'"), ("Ab", "'A'"), ("bta", "'beta'"), ("zzz", None)]
)
def test_what_is_given_is_read(given: str, hint: str | None) -> None:
    script = "PARAMETER beta: real = 2\nCREATE TENSOR y AS sum(<(i, j), a> in A) { i -> a * beta }"
    with pytest.raises(storel.StorelError, match=f"the script reads no '{given}'") as failure:
        storel.run(script, A=MATRIX, **{given: 4})
    assert failure.value.expected == "A, beta"
    assert failure.value.hint == (hint and f"did you mean {hint}?")
    kernel = storel.compile(script, A=MATRIX)
    with pytest.raises(storel.StorelError, match=f"the script reads no '{given}'"):
        kernel(A=MATRIX, **{given: MATRIX})


def test_what_is_given_may_be_read_in_part() -> None:
    lines = ["CREATE TENSOR unused AS z", "CREATE TENSOR s AS sum(<i, x> in A_val) x"]
    assert dense("\n".join(lines), A=storel.tensor(MATRIX, "csr"), z=1.0) == 6


@pytest.mark.parametrize("source", [None, b"CREATE TENSOR y AS 1", 3])
def test_what_is_no_program(source: Any) -> None:
    with pytest.raises(storel.StorelError, match="this is no program") as caught:
        storel.run(source)
    assert caught.value.found == type(source).__name__


def test_the_largest_key_has_no_extent() -> None:
    with pytest.raises(storel.StorelError, match="too large"):
        storel.tensor({(2**63 - 1, 0): 1.0})


SHORT: dict[str, Callable[[Any, Any], Any]] = {
    "sum(<i, x> in v) { i -> x + w(i) }": lambda v, w: v + w,
    "sum(<i, x> in v) { i -> max(0, x - w(i)) }": lambda v, w: np.maximum(0, v - w),
    "sum(<i, x> in v) { i -> min(2 * x, x + w(i)) }": lambda v, w: np.minimum(np.int64(2) * v, v + w),
    "sum(<i, x> in v) { i -> abs(x * w(i)) }": lambda v, w: abs(v * w),
    "sum(<i, x> in v) { i -> x + w(i) + (x > 0) }": lambda v, w: v + w + (v > 0),
}


@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize("text", SHORT)
def test_nothing_is_taken_for_granted_of_short_integers_that_wrap(text: str, backend: str) -> None:
    v, w = np.array([[2**31 - 1, 2**30, -(2**31), 5], [1, 2**30, -1, 0]], np.int32)
    found = dense(f"CREATE TENSOR s AS {text}", backend=backend, v=v, w=w)
    np.testing.assert_array_equal(found, SHORT[text](v, w))


@pytest.mark.parametrize("backend", ["c", "interpret"])
def test_computed_keys_that_may_not_fit_are_refused(backend: str) -> None:
    entries = storel.tensor((np.array([[5, 2**62 - 1]]), np.ones(2)), "coo")
    with pytest.raises(storel.StorelError, match="keys of dimension 0 of 's' may not fit into 64 bits"):
        storel.run("CREATE TENSOR s AS sum(<i, v> in A) { 4 * i -> v }", A=entries, backend=backend)
    twice = storel.run("CREATE TENSOR s AS sum(<i, v> in A) { 2 * i -> v }", A=entries, backend=backend)
    assert isinstance(twice, storel.Tensor)
    np.testing.assert_array_equal(twice.to_coo()[0], [[10, 2**63 - 2]])


@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize("key", ["i * 4611686018427387904 // 1152921504606846976", "(i << 62) >> 60"])
def test_keys_that_wrap_do_not_read_out_of_bounds(key: str, backend: str) -> None:
    around = np.append(np.full(100, -1.0), np.ones(100))
    program = f"CREATE TENSOR s: real[4] AS sum(<i, _> in 0:4) {{ i -> y({key}) }}"
    result = storel.run(program, y=around[100:], backend=backend)
    assert isinstance(result, storel.Tensor)
    np.testing.assert_array_equal(result.to_numpy()[:2], 1)
    assert (result.to_numpy()[2:] >= 0).all()


DIFFERENCES = """CREATE TENSOR y AS
  let t = sum(<j, x> in v, <k, z> in v) { j - k -> x * z } in sum(<k, x> in t) { k + 4 -> x * x }"""


@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
def test_a_negative_key_of_an_intermediate_result_is_refused(backend: str) -> None:
    with pytest.raises(storel.StorelError, match=r"a (negative )?key (of the|in a) result"):
        storel.run(DIFFERENCES, v=np.arange(1.0, 5.0), backend=backend)


COUNTED_FROM_BELOW = """CREATE FORMAT f(T: real[m, n])
  USING val: real[2 * ((m + 1) // 2) * n]
  AS sum(<b, _> in 0:(m + 1) // 2) sum(<j, _> in -2:n - 2) sum(<i, _> in 0:min(2, m - b * 2))
       { (b * 2 + i, j + 2) -> val((i * ((m + 1) // 2) + b) * n + j + 2) }"""
SHIFTED = """CREATE FORMAT f(T: real[m, n])
  USING pos: int[m + 1] ASCENDING FROM 0 TO nnz, idx: int[nnz] IN -1:n - 1 INCREASING WITHIN pos,
        val: real[nnz]
  AS sum(<i, _> in 0:m) sum(<p, j> in idx(pos(i):pos(i + 1))) { (i, j + 1) -> val(p) }"""


@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize("text", [COUNTED_FROM_BELOW, SHIFTED])
@pytest.mark.parametrize("side", [1, 7, 40])
def test_loops_that_count_from_below_zero_fill_no_table(
    side: int, text: str, backend: str, tmp_path: Path
) -> None:
    (tmp_path / "f.sdql").write_text(text)
    matrix = np.random.default_rng(side).integers(0, 3, (side, side)).astype(float)
    stored = storel.tensor(matrix, "f", formats=tmp_path)
    gram = "CREATE TENSOR y AS sum(<(i, j), a> in A, <(i, k), b> in A) { (j, k) -> a * b }"
    np.testing.assert_array_equal(dense(gram, A=stored, backend=backend), matrix.T @ matrix)
    triangles = "CREATE TENSOR t AS sum(<(i, j), a> in A, <(j, k), b> in A, <(i, k), c> in A) a * b * c"
    found = dense(triangles, A=stored, backend=backend)
    assert np.isclose(found, np.einsum("ij,jk,ik->", matrix, matrix, matrix))
