from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies.structured import ALIKE, FITTING, SQUARE

import storel
from storel.errors import FormatError, MemoryLimitError
from storel.source import Source
from storel.storage.formats.format import Format
from storel.storage.formats.known import Formats
from storel.storage.formats.properties import verify_properties
from storel.storage.tensor import Tensor, pack
from storel.syntax.nodes.statements import CreateFormat
from storel.syntax.parser import parse, parse_format

FORMATS = Formats()


def resolved(text: str) -> Format:
    return FORMATS.resolve(parse_format(text), 2)


def created(text: str) -> Format:
    (statement,) = parse(Source("test", f"CREATE FORMAT f(T: real[m, n]) {text}")).statements
    assert isinstance(statement, CreateFormat)
    return Format("f", statement)


def from_dense(storage: Format, dense: Any, semiring: str = "plus_times") -> Tensor:
    """Pack every place, zeros included, in an order that is not sorted."""
    coordinates = np.indices(dense.shape).reshape(dense.ndim, -1)[:, ::-1]
    return pack(storage, coordinates, dense.reshape(-1)[::-1], dense.shape, semiring)


def test_entries_that_differ_in_their_last_bits_have_a_hint() -> None:
    nearly, other = np.array([[1.0, 0.3], [0.1 + 0.2, 2.0]]), np.array([[1.0, 0.3], [0.4, 2.0]])
    for dense, hint in ((nearly, "strict"), (other, None)):
        with pytest.raises(FormatError, match="shares val") as caught:
            from_dense(resolved("symmetric"), dense)
        assert (caught.value.hint is None) if hint is None else (hint in str(caught.value.hint))


def check(storage: Format, dense: Any) -> Tensor:
    tensor = from_dense(storage, dense)
    verify_properties(tensor.storage, tensor.arrays, tensor.sizes)
    np.testing.assert_array_equal(tensor.to_numpy(), dense)
    assert tensor.nnz == np.count_nonzero(dense)
    assert tensor.dtype == dense.dtype
    return tensor


def matrix(text: str) -> Any:
    """Read a matrix as the formats' comments draw it."""
    return np.array([[float(word.replace(".", "0")) for word in row.split()] for row in text.split("/")])


DRAWN: list[tuple[str, str, dict[str, list[int]]]] = [
    (
        "band(lower=1, upper=2)",
        "1 . 2 . / . . . . / . 3 4 . / . . 5 .",
        {"val": [0, 1, 0, 2, 0, 0, 0, 0, 3, 4, 0, 0, 5, 0, 0, 0]},
    ),
    ("diagonal", "1 . . . / . . . . / . . 2 . / . . . 3", {"val": [1, 0, 2, 3]}),
    (
        "tridiagonal",
        "1 2 . . / . . 3 . / . 4 . . / . . . 5",
        {"val": [0, 1, 2, 0, 0, 3, 4, 0, 0, 0, 5, 0]},
    ),
    (
        "upper_triangular",
        "1 . 2 . / . 3 . . / . . . 4 / . . . 5",
        {"val": [1, 0, 2, 0, 3, 0, 0, 0, 4, 5]},
    ),
    (
        "lower_triangular",
        "1 . . . / . 2 . . / 3 . . . / . . 4 5",
        {"val": [1, 0, 2, 3, 0, 0, 0, 0, 4, 5]},
    ),
    ("symmetric", "1 . 2 . / . . . 3 / 2 . 4 . / . 3 . 5", {"val": [1, 0, 0, 2, 0, 4, 0, 3, 0, 5]}),
    (
        "dia",
        "1 . 2 . / . . . . / . . 3 . / 4 . . 5",
        {"off": [-3, 0, 2], "val": [0, 0, 0, 4, 1, 0, 3, 5, 2, 0, 0, 0]},
    ),
    (
        "ell(width=2)",
        "1 . 2 . / . . . . / . 3 . . / 4 . . 5",
        {"idx": [0, 2, -1, -1, 1, -1, 0, 3], "val": [1, 2, 0, 0, 3, 0, 4, 5]},
    ),
    (
        "bcsr(r=2, c=2)",
        "1 . 2 . / . . . . / . 3 . . / 4 . . 5",
        {
            "pos": [0, 2, 4],
            "idx": [0, 1, 0, 1],
            "val": [1, 0, 0, 0, 2, 0, 0, 0, 0, 3, 4, 0, 0, 0, 0, 5],
        },
    ),
    (
        "dcsc",
        "1 . 2 . / . . . . / . . 3 . / 4 . . .",
        {"col": [0, 2], "pos": [0, 2, 4], "idx": [0, 3, 0, 2], "val": [1, 4, 2, 3]},
    ),
    (
        "ragged",
        "1 . 2 . / . . . . / . 3 . . / 4 . . 5",
        {"pos": [0, 3, 3, 5, 9], "val": [1, 0, 2, 0, 3, 4, 0, 0, 5]},
    ),
    (
        "skyline",
        "1 . . . / 2 . . . / . . . . / . 3 . 4",
        {"pos": [0, 1, 3, 3, 6], "val": [1, 2, 0, 3, 0, 4]},
    ),
    ("skew", ". . 2 . / . . . 3 / -2 . . -4 / . -3 4 .", {"val": [0, -2, 0, 0, -3, 4]}),
    (
        "tiled(r=2, c=2)",
        "1 . 2 . / . . . . / . 3 . . / 4 . . 5",
        {"val": [1, 0, 0, 0, 2, 0, 0, 0, 0, 3, 4, 0, 0, 0, 0, 5]},
    ),
    (
        "morton",
        "1 . 2 . / . . . . / . 3 . . / 4 . . 5",
        {"val": [1, 0, 0, 0, 2, 0, 0, 0, 0, 3, 4, 0, 0, 0, 0, 5]},
    ),
    (
        "block_diagonal(size=2)",
        "1 2 . . / . 3 . . / . . 4 . / . . . 5",
        {"val": [1, 2, 0, 3, 4, 0, 0, 5]},
    ),
    (
        "sell(c=2)",
        "1 . 2 . / . . . . / . 3 . . / 4 . . 5",
        {"pos": [0, 2, 4], "idx": [0, -1, 2, -1, 1, 0, -1, 3], "val": [1, 0, 2, 0, 3, 4, 0, 5]},
    ),
    ("toeplitz", "1 2 . 3 / . 1 2 . / . . 1 2 / 4 . . 1", {"val": [4, 0, 0, 1, 2, 0, 3]}),
    ("permutation", ". 1 . . / . . . 1 / 1 . . . / . . 1 .", {"idx": [1, 3, 0, 2], "val": [1]}),
    ("one_hot", ". 1 . . / . . . 1 / . 1 . . / 1 . . .", {"idx": [1, 3, 1, 0], "val": [1]}),
    ("constant", "7 7 7 7 / 7 7 7 7 / 7 7 7 7 / 7 7 7 7", {"val": [7]}),
    ("identity", "1 . . . / . 1 . . / . . 1 . / . . . 1", {"val": [1]}),
    (
        "pattern",
        "1 . 1 . / . . . . / . 1 . . / 1 . . 1",
        {"pos": [0, 2, 2, 3, 5], "idx": [0, 2, 1, 0, 3], "val": [1]},
    ),
    (
        "rle",
        "1 1 . 2 / . . . . / 3 3 3 3 / . 4 4 .",
        {"pos": [0, 2, 2, 3, 4], "first": [0, 3, 0, 1], "stop": [2, 4, 4, 3], "val": [1, 2, 3, 4]},
    ),
    (
        "bitmap",
        "1 . 2 . / . . . . / . 3 . . / 4 . . 5",
        {"word": [0b1001_0010_0000_0101], "rank": [0, 5], "val": [1, 2, 3, 4, 5]},
    ),
    (
        "mask",
        "1 . 2 . / . . . . / . 3 . . / 4 . . 5",
        {
            "mark": [1, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 1],
            "val": [1, 0, 2, 0, 0, 0, 0, 0, 0, 3, 0, 0, 4, 0, 0, 5],
        },
    ),
    (
        "hash(buckets=4, inner=2)",
        "1 . 2 . / . . . . / . 3 . . / 4 . . 5",
        {
            "rows": [0, 1, 1, 2, 3],
            "row": [0, 2, 3],
            "pos": [0, 2, 2, 2, 3, 4, 5],
            "col": [0, 2, 1, 0, 3],
            "val": [1, 2, 3, 4, 5],
        },
    ),
    (
        "hyb(width=1)",
        "1 . 2 . / . . . . / . 3 . . / 4 . . 5",
        {
            "near_idx": [0, -1, 1, 0],
            "near_val": [1, 0, 3, 4],
            "rest_row": [0, 3],
            "rest_col": [2, 3],
            "rest_val": [2, 5],
        },
    ),
    (
        "bcsr_csr(r=2, c=2)",
        "1 2 . . / . 3 . . / . . . 4 / 5 . 6 .",
        {
            "blocks_pos": [0, 1, 1],
            "blocks_idx": [0],
            "blocks_val": [1, 2, 0, 3],
            "rest_pos": [0, 0, 0, 1, 3],
            "rest_idx": [3, 0, 2],
            "rest_val": [4, 5, 6],
        },
    ),
    (
        "band_coo(lower=0, upper=1)",
        "1 . 2 . / . . . . / . 3 . 4 / . . . 5",
        {
            "near_val": [1, 0, 0, 0, 0, 4, 5, 0],
            "rest_row": [0, 2],
            "rest_col": [2, 1],
            "rest_val": [2, 3],
        },
    ),
]


@pytest.mark.parametrize(("text", "drawing", "arrays"), DRAWN, ids=[text for text, _, _ in DRAWN])
def test_the_arrays_are_those_that_the_format_draws(
    text: str, drawing: str, arrays: dict[str, list[int]]
) -> None:
    dense = matrix(drawing)
    tensor = check(resolved(text), dense)
    assert {name: array.tolist() for name, array in tensor.arrays.items()} == arrays
    comment = FORMATS.files[tensor.storage.name].read_text(encoding="utf-8")
    for row in drawing.split(" / "):
        assert f"--     {row}" in comment


def test_every_format_that_is_no_nest_of_levels_has_data_that_fits() -> None:
    named = {parse_format(text).name for text in FITTING}
    nests = {"column_major", "coo", "csc", "csf", "csr", "dcsc", "dcsr", "dense"}
    given = {"low_rank", "kronecker", "star_join"}
    assert set(FORMATS.files) == named | nests | given


SHAPES = {"square": (6, 6), "oblong": (3, 7), "high": (7, 4), "single": (1, 1), "rowless": (0, 3)}


@pytest.mark.parametrize("dtype", [np.float64, np.int32])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("density", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("text", FITTING)
def test_what_fits_reads_back(text: str, density: float, shape: tuple[int, int], dtype: type) -> None:
    random = np.random.default_rng(3)
    shape = (shape[0], shape[0]) if text in SQUARE else shape
    dense = (random.integers(1, 9, shape) * (random.random(shape) < density)).astype(dtype)
    check(resolved(text), FITTING[text](dense))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_entries_that_fit_read_back(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(sorted(FITTING)))
    rows, columns = data.draw(st.integers(1, 7)), data.draw(st.integers(1, 7))
    columns = rows if text in SQUARE else columns
    keys = st.tuples(st.integers(0, rows - 1), st.integers(0, columns - 1))
    dense = np.zeros((rows, columns), dtype=np.int64)
    for key, value in data.draw(st.dictionaries(keys, st.integers(-3, 3), max_size=20)).items():
        dense[key] = value
    check(resolved(text), FITTING[text](dense))


@pytest.mark.parametrize("text", sorted(FITTING.keys() - ALIKE))
def test_missing_places_hold_the_zero_of_the_semiring(text: str) -> None:
    dense = np.full((3, 3), np.inf)
    dense[1, 1], dense[2, 2] = 3.0, 0.0
    tensor = from_dense(resolved(text), dense, "min_plus")
    np.testing.assert_array_equal(tensor.to_numpy(), dense)


def test_nan_is_an_entry() -> None:
    dense = np.array([[np.nan, 0.0], [1.0, 2.0]])
    np.testing.assert_array_equal(from_dense(resolved("lower_triangular"), dense).to_numpy(), dense)


@pytest.mark.parametrize("layout", ["csr", "coo", "dia"])
def test_foreign_matrices_are_packed(layout: str) -> None:
    foreign = sp.coo_array(np.array([[3.0, 0, 0], [1, 4, 0], [0, 2, 5]])).asformat(layout)
    tensor = storel.tensor(foreign, "band(1, 0)")
    np.testing.assert_array_equal(tensor.to_numpy(), foreign.toarray())
    assert tensor.to("dia").arrays["off"].tolist() == [-1, 0]
    assert tensor.to("csr").arrays["val"].tolist() == [3, 1, 4, 2, 5]


USERS_OWN = [
    # the anti-diagonal band's places, counted from the right
    "USING val: real[m * n] AS sum(<i, _> in 0:m) sum(<k, _> in 0:n) { (i, n - 1 - k) -> val(i * n + k) }",
    # keys that are one number in the array
    "USING key: int[nnz] INCREASING, val: real[nnz] "
    "AS sum(<p, k> in key(0:nnz)) { (k // n, k % n) -> val(p) }",
    # rows of a fixed width, read by place
    "USING idx: int[m * 4] IN 0:n PAD -1, val: real[m * 4] AS sum(<i, _> in 0:m) sum(<q, _> in 0:4) "
    "if (idx(i * 4 + q) >= 0) then { (i, idx(i * 4 + q)) -> val(i * 4 + q) }",
    # one part in places, the rest listed
    "USING diag: real[m], row: int[nnz] INCREASING (row, col), col: int[nnz], val: real[nnz] "
    "AS sum(<i, _> in 0:m) { (i, i) -> diag(i) } + sum(<p, i> in row(0:nnz)) { (i, col(p)) -> val(p) }",
    # the first of each row in places, the rest listed
    "USING idx: int[m] IN 0:n PAD -1, first: real[m], row: int[nnz] INCREASING (row, col), col: int[nnz], "
    "val: real[nnz] "
    "AS (sum(<i, _> in 0:m) sum(<p, j> in idx(i:i + 1)) if (j >= 0) then { (i, j) -> first(p) }) "
    "+ sum(<p, i> in row(0:nnz)) { (i, col(p)) -> val(p) }",
    # tiles, listed by their coordinates
    "USING row: int[b] INCREASING (row, col), col: int[b], val: real[b * 4] "
    "AS sum(<p, bi> in row(0:b)) sum(<ii, _> in 0:min(2, m - bi * 2)) "
    "sum(<jj, _> in 0:min(2, n - col(p) * 2)) { (bi * 2 + ii, col(p) * 2 + jj) -> val(4 * p + 2 * ii + jj) }",
    # blocks of entries with their places in the block
    "USING pos: int[(m + 1) // 2 * ((n + 1) // 2) + 1] ASCENDING FROM 0 TO nnz, "
    "row: int[nnz] IN 0:2, col: int[nnz] IN 0:2, val: real[nnz] "
    "AS sum(<bi, _> in 0:(m + 1) // 2) sum(<bj, _> in 0:(n + 1) // 2) "
    "let b = bi * ((n + 1) // 2) + bj in "
    "sum(<p, i> in row(pos(b):pos(b + 1))) { (bi * 2 + i, bj * 2 + col(p)) -> val(p) }",
    # the same, of which a place is one number
    "USING pos: int[(m + 1) // 2 * ((n + 1) // 2) + 1] ASCENDING FROM 0 TO nnz, "
    "place: int[nnz] IN 0:4 INCREASING WITHIN pos, val: real[nnz] "
    "AS sum(<bi, _> in 0:(m + 1) // 2) sum(<bj, _> in 0:(n + 1) // 2) "
    "let b = bi * ((n + 1) // 2) + bj in "
    "sum(<p, e> in place(pos(b):pos(b + 1))) { (bi * 2 + e // 2, bj * 2 + e % 2) -> val(p) }",
    # blocks with a bit for each place
    "USING pos: int[(m + 1) // 2 + 1] ASCENDING FROM 0 TO blocks, idx: int[blocks] INCREASING WITHIN pos, "
    "word: int[blocks], rank: int[blocks + 1] ASCENDING FROM 0 TO nnz, val: real[nnz] "
    "AS sum(<bi, _> in 0:(m + 1) // 2) sum(<p, bj> in idx(pos(bi):pos(bi + 1))) sum(<b, _> in 0:4) "
    "if (bit(word(p), b) == 1) then "
    "{ (bi * 2 + b // 2, bj * 2 + b % 2) -> val(rank(p) + popcount(word(p) & ((1 << b) - 1))) }",
    # positions on the Z-order curve
    "USING code: int[nnz] INCREASING, val: real[nnz] "
    "AS sum(<p, z> in code(0:nnz)) { (gather(z, 0), gather(z, 1)) -> val(p) }",
    # rows in an order of their own, those without entries, too
    "USING order: int[m] IN 0:m UNIQUE, pos: int[m + 1] ASCENDING FROM 0 TO nnz, idx: int[nnz] IN 0:n, "
    "val: real[nnz] "
    "AS sum(<r, i> in order(0:m)) { i -> sum(<p, j> in idx(pos(r):pos(r + 1))) { j -> val(p) } }",
    # rows that begin anywhere, with their lengths
    "USING first: int[m], length: int[m] IN 0:n + 1, idx: int[nnz] IN 0:n, val: real[nnz] "
    "AS sum(<i, b> in first(0:m)) sum(<p, j> in idx(b:b + length(i))) { (i, j) -> val(p) }",
    # rows that begin anywhere, with their ends, columns from the last row on
    "USING first: int[m], last: int[m], idx: int[nnz] IN 0:n, val: real[nnz] "
    "AS sum(<k, b> in first(0:m)) sum(<p, j> in idx(b:last(k))) { (m - 1 - k, j) -> val(p) }",
    # values that a loop binds
    "USING val: real[m * n] AS sum(<p, v> in val(0:m * n)) { (p // n, p % n) -> v }",
    "USING diag: real[m], val: real[m * n] "
    "AS (sum(<i, v> in diag(0:m)) { (i, i) -> v }) + sum(<p, v> in val(0:m * n)) { (p // n, p % n) -> -v }",
    # the same as a difference
    "USING diag: real[m], val: real[m * n] "
    "AS (sum(<i, v> in diag(0:m)) { (i, i) -> v }) - sum(<p, v> in val(0:m * n)) { (p // n, p % n) -> v }",
]


@pytest.mark.parametrize("text", USERS_OWN)
def test_a_users_mapping_is_solved(text: str) -> None:
    check(created(text), np.array([[0, 1, 0, 2], [0, 0, 0, 0], [3, 5, 0, 4]]))


def test_a_remainder_is_less_than_the_divisor() -> None:
    storage = created(
        "USING at: int[nnz], val: real[nnz] AS sum(<p, e> in at(0:nnz)) { (e // n, e % n + 1) -> val(p) }"
    )
    check(storage, matrix(". 1 / . 2"))
    with pytest.raises(FormatError, match=r"the first is \(0, 0\) = 3.0: not 0 <= e % n and e % n < n$"):
        from_dense(storage, matrix("3 1 / . 2"))


UNFIT: list[tuple[str, str, str]] = [
    (
        "band(lower=0, upper=2)",
        "1 . 2 . / . . . . / . 3 4 . / . . 5 .",
        "band: 2 of 5 entries do not fit; the first is (2, 1) = 3.0: "
        "j = 1 is outside max(0, i - lower):min(n, i + upper + 1), which is 2:4",
    ),
    (
        "diagonal",
        "1 . / . 2 / 3 .",
        "diagonal: 1 of 3 entries does not fit; the first is (2, 0) = 3.0: i is 2 and 0 at once",
    ),
    (
        "ell(width=1)",
        ". 2 / 3 4",
        "ell: 1 of 3 entries does not fit; the first is (1, 1) = 4.0: "
        "p = 2 is outside i * width:(i + 1) * width, which is 1:2",
    ),
    (
        "symmetric",
        "1 9 / 2 .",
        "symmetric: entry (0, 1) = 9.0 shares val(1) with another entry that has 2.0",
    ),
    (
        "symmetric",
        "1 . / 2 .",
        "symmetric: there is no entry (0, 1), but one reads back: 2.0\n"
        "  hint: another entry is stored at the same place",
    ),
    (
        "band(lower=-5, upper=1)",
        "1 2",
        "format band(lower=-5, upper=1) needs lower + upper >= -1\n<format>:1:1\n"
        "   1 | band(lower=-5, upper=1)\n     | ^^^^^^^^^^^^^^^^^^^^^^^\n  found: lower = -5, upper = 1",
    ),
    (
        "symmetric",
        "1 2",
        "format symmetric does not store tensors of this shape\n  expected: extents (n, n)\n"
        "  found: the shape (1, 2)",
    ),
]


@pytest.mark.parametrize(("text", "drawing", "message"), UNFIT)
def test_what_does_not_fit_is_an_error(text: str, drawing: str, message: str) -> None:
    with pytest.raises(FormatError) as raised:
        from_dense(resolved(text), matrix(drawing))
    assert str(raised.value) == message


ROWS = "USING pos: int[m + 1] ASCENDING FROM 0 TO e, idx: int[e] IN 0:n INCREASING WITHIN pos, val: real[e] "
ROWS_BELOW = "AS sum(<i, _> in 0:m) sum(<p, j> in idx(pos(i):pos(i + 1))) "
BEYOND = [
    (
        "USING val: real[m * n] AS sum(<i, _> in 0:m) sum(<j, _> in 0:n) { (i, j) -> val(i * n + j + 1) }",
        "f: 1 of 3 entries does not fit; the first is (1, 1) = 3.0: val(4) is outside 0:4",
    ),
    (
        "USING val: real[m * n] AS sum(<i, _> in 0:m) sum(<j, _> in 0:n) { (i, j) -> val(i * n + j - 1) }",
        "f: 1 of 3 entries does not fit; the first is (0, 0) = 1.0: val(-1) is outside 0:4",
    ),
    (
        ROWS.replace("m + 1", "m") + ROWS_BELOW + "{ (i, n - 1 - j) -> val(p) }",
        "f: 2 of 3 entries do not fit; the first is (1, 0) = 2.0: pos(1) is outside 0:1",
    ),
    (
        ROWS + ROWS_BELOW + "if (j <= i) then { (i, j) -> val(p) } + "
        "sum(<i, _> in 0:m) sum(<p, j> in idx(pos(i):pos(i + 1))) if (j < i) then { (j, i) -> val(p - 9) }",
        "f: the place of (0, 1) = 2.0: val(-8) is outside 0:3",
    ),
    (
        "USING word: int[m], val: real[m * n] AS sum(<i, _> in 0:m) sum(<j, _> in 0:n) "
        "if (bit(word(i + 1), j) == 1) then { (i, j) -> val(i * n + j) }",
        "f: 2 of 3 entries do not fit; the first is (1, 0) = 2.0: word(2) is outside 0:2",
    ),
]


@pytest.mark.parametrize(("text", "message"), BEYOND)
def test_an_address_beyond_its_array_is_an_error(text: str, message: str) -> None:
    symmetric = "(p - 9)" in text
    drawing = "1 2 / 2 3" if symmetric else "1 . / 2 3"
    with pytest.raises(FormatError) as raised:
        from_dense(created(text), matrix(drawing))
    assert str(raised.value) == message


def test_a_key_that_is_written_as_a_number_is_told_as_a_key() -> None:
    one_row = created("USING val: real[n] AS sum(<j, _> in 0:n) { (0, j) -> val(j) }")
    with pytest.raises(FormatError) as raised:
        from_dense(one_row, matrix("1 . / 2 3"))
    assert str(raised.value).endswith("the first is (1, 0) = 2.0: the key is 0, not 1")


def test_a_condition_that_does_not_hold_is_told_as_it_is_written() -> None:
    even = created(
        "USING val: real[m * n] AS sum(<i, _> in 0:m) sum(<j, _> in 0:n) "
        "if ((i + j) % 2 == 0) then { (i, j) -> val(i * n + j) }"
    )
    with pytest.raises(FormatError) as raised:
        from_dense(even, matrix("1 . / 2 3"))
    assert str(raised.value).endswith("the first is (1, 0) = 2.0: (i + j) % 2 is 1, not 0")


@pytest.mark.parametrize("negative", ["-val(i * n + j)", "0 - val(i * n + j)"])
def test_values_may_be_stored_as_their_negatives(negative: str) -> None:
    text = f"USING val: real[m * n] AS sum(<i, _> in 0:m) sum(<j, _> in 0:n) {{ (i, j) -> {negative} }}"
    packed = from_dense(created(text), matrix("1 . / 2 3"))
    assert packed.arrays["val"].tolist() == [-1, 0, -2, -3]
    assert packed.to_numpy().tolist() == [[1, 0], [2, 3]]


UNSOLVED = [
    (
        "USING u: real[m], v: real[n] AS sum(<i, _> in 0:m) sum(<j, _> in 0:n) { (i, j) -> u(i) * v(j) }",
        "its leaf 'u(i) * v(j)' is not one array read",
    ),
    (
        "USING key: int[m], val: real[m] AS sum(<i, _> in 0:m, <q, _> in 0:m) { (i, i) -> val(key(q)) }",
        "nothing determines 'q' of 0:m",
    ),
    (
        "USING key: int[m], val: real[m] AS sum(<i, _> in 0:m) { (key(i) * key(i), 0) -> val(i) }",
        "nothing determines 'i' of 0:m",
    ),
]


@pytest.mark.parametrize(("text", "what"), UNSOLVED)
def test_a_mapping_that_cannot_be_solved_says_which_part(text: str, what: str) -> None:
    with pytest.raises(FormatError) as raised:
        pack(created(text), np.array([[0], [0]]), np.array([1.0]), (2, 2))
    assert str(raised.value).startswith(f"format f cannot be packed: {what}\n")
    assert "hint: give its arrays themselves: storel.tensor({" in str(raised.value)


def test_a_length_that_divides_by_zero_is_an_error() -> None:
    by_rows = created("USING val: real[m * n // (m - 2)] AS sum(<i, _> in 0:m) { (i, i) -> val(i) }")
    with pytest.raises(FormatError, match="a size is divided by 0") as raised:
        from_dense(by_rows, np.eye(2))
    assert raised.value.found == "m - 2 = 0"


def test_what_does_not_fit_takes_no_place() -> None:
    listed = created(
        "USING row: int[z] INCREASING, one: real[z], val: real[m * n] "
        "AS (sum(<p, i> in row(0:z)) if (i > 1) then { (i, i) -> one(p) }) "
        "+ sum(<i, _> in 0:m, <j, _> in 0:n) { (i, j) -> val(i * n + j) }"
    )
    tensor = check(listed, np.diag([1, 2, 3, 4]))
    assert tensor.arrays["row"].tolist() == [2, 3]
    assert tensor.arrays["one"].tolist() == [3, 4]
    assert np.flatnonzero(tensor.arrays["val"]).tolist() == [0, 5]


def test_coordinates_of_another_width_do_not_overflow() -> None:
    last = np.array([[70_000], [70_000]], dtype=np.int32)
    tensor = pack(resolved("diagonal"), last, np.ones(1), (70_001, 70_001))
    assert tensor.nnz == 1


def test_declared_properties_are_verified() -> None:
    unsorted = created(
        "USING idx: int[m] INCREASING, val: real[m] AS sum(<i, j> in idx(0:m)) { (i, j) -> val(i) }"
    )
    with pytest.raises(FormatError, match="not INCREASING"):
        from_dense(unsorted, np.array([[0, 1], [1, 0]]))


def test_what_does_not_fit_into_memory_is_refused() -> None:
    with pytest.raises(MemoryLimitError, match="val would need"):
        pack(resolved("tridiagonal"), np.array([[0], [0]]), np.ones(1), (2**30, 2**30), memory_limit=2**20)


def test_boundaries_that_are_keys_too_must_agree() -> None:
    selfish = created(
        "USING pos: int[m + 1] ASCENDING FROM 0 TO nnz, col: int[nnz] IN 0:n, val: real[nnz] "
        "AS sum(<h, _> in 0:m) sum(<p, i> in pos(pos(h):pos(h + 1))) if (i // m == h) then "
        "{ (i, col(p)) -> val(p) }"
    )
    with pytest.raises(FormatError, match=r"shares pos\(1\) with another entry"):
        from_dense(selfish, np.array([[3.0, 0.0, 0.0], [3.0, 0.0, 0.0], [0.0, 3.0, 0.0]]))


def test_boundaries_without_an_end_are_refused() -> None:
    short = created(
        "USING pos: int[m] ASCENDING FROM 0 TO nnz, val: real[nnz] "
        "AS sum(<i, _> in 0:m) sum(<p, _> in pos(i):pos(i + 1)) { (i, p - pos(i)) -> val(p) }"
    )
    with pytest.raises(FormatError, match=r"declared of pos: pos\(0\) is nothing"):
        from_dense(short, np.ones((0, 0)))


def test_what_is_never_read_need_not_be_there() -> None:
    constant = created(
        "USING row: int[nnz] IN 0:m INCREASING (row, col), col: int[nnz] IN 0:n, val: real[2 * nnz] "
        "AS sum(<p, i> in row(0:nnz)) { (i, col(p)) -> val(0) }"
    )
    assert from_dense(constant, np.zeros((2, 2))).to_coo()[1].tolist() == []


@pytest.mark.filterwarnings("error")
def test_what_a_condition_keeps_from_being_divided_by_zero() -> None:
    divided = created(
        "USING val: real[m * n] "
        "AS sum(<i, _> in 0:m) sum(<j, _> in 0:n) if (i > 0 and j % i == 0) then { (i, j) -> val(i * n + j) }"
    )
    dense = np.diag([0.0, 1.0, 1.0])
    np.testing.assert_array_equal(from_dense(divided, dense).to_numpy(), dense)


@pytest.mark.parametrize("value", [0.0, 5.0])
def test_a_number_is_stored_in_any_format(value: float, tmp_path: Path) -> None:
    (tmp_path / "second.sdql").write_text("CREATE FORMAT second(T: real) USING val: real[2] AS val(1)")
    tensor = storel.tensor(np.array(value), "second", formats=tmp_path)
    assert tensor.arrays["val"].tolist() == [0.0, value]
    assert tensor.item() == value


def test_a_length_that_entries_make_negative_is_refused() -> None:
    shrinking = created(
        "USING row: int[nnz] IN 0:m, col: int[nnz] IN 0:n, val: real[2 - nnz] "
        "AS sum(<p, i> in row(0:nnz)) { (i, col(p)) -> val(p) }"
    )
    with pytest.raises(FormatError, match="gives val a negative length"):
        from_dense(shrinking, np.ones((3, 3)))


def test_truths_that_are_read_twice_are_refused() -> None:
    once = "sum(<i, _> in 0:m) sum(<j, _> in 0:n) { (i, j) -> val(i * n + j) }"
    twice = created(f"USING val: real[m * n] AS ({once}) + ({once})")
    with pytest.raises(FormatError, match="entries are read more than once"):
        from_dense(twice, np.array([[True, True]]))
