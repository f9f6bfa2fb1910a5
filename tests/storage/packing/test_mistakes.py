"""What does not fit a format, and what breaks its arrays, is told by the first entry."""

from __future__ import annotations

import numpy as np
import pytest
from strategies.packing import check, created, from_dense, matrix, resolved

from storel.errors import FormatError, MemoryLimitError
from storel.storage.tensor import pack


def test_entries_that_differ_in_their_last_bits_have_a_hint() -> None:
    nearly, other = np.array([[1.0, 0.3], [0.1 + 0.2, 2.0]]), np.array([[1.0, 0.3], [0.4, 2.0]])
    for dense, hint in ((nearly, "strict"), (other, None)):
        with pytest.raises(FormatError, match="shares val") as caught:
            from_dense(resolved("symmetric"), dense)
        assert (caught.value.hint is None) if hint is None else (hint in str(caught.value.hint))


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
        "one_hot",
        ". 1 1 / 1 . .",
        "one_hot: entry (0, 1) = 1.0 needs idx(0) to be 1, and another entry needs 2",
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
    with pytest.raises(FormatError, match=r"needs pos\(1\) to be 1, and another entry needs 3"):
        from_dense(selfish, np.array([[3.0, 0.0, 0.0], [3.0, 0.0, 0.0], [0.0, 3.0, 0.0]]))


def test_boundaries_without_an_end_are_refused() -> None:
    short = created(
        "USING pos: int[m] ASCENDING FROM 0 TO nnz, val: real[nnz] "
        "AS sum(<i, _> in 0:m) sum(<p, _> in pos(i):pos(i + 1)) { (i, p - pos(i)) -> val(p) }"
    )
    with pytest.raises(FormatError, match=r"declared of pos: pos\(0\) is nothing"):
        from_dense(short, np.ones((0, 0)))


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
