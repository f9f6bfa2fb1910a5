"""Mappings of one's own are solved, or say which part is not understood."""

from __future__ import annotations

import numpy as np
import pytest
from strategies.packing import check, created, from_dense, matrix, resolved

from storel.errors import FormatError
from storel.storage.tensor import pack

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
    # a place for each entry, and marks of those that are none
    "USING hole: bool[m * n], val: real[m * n] AS sum(<i, _> in 0:m) sum(<j, _> in 0:n) "
    "if (not hole(i * n + j)) then { (i, j) -> val(i * n + j) }",
    # rows to and fro
    "USING val: real[m * n] AS sum(<i, _> in 0:m) sum(<j, _> in 0:n) "
    "((if (i % 2 == 0) then { (i, j) -> val(i * n + j) }) "
    "+ if (i % 2 == 1) then { (i, j) -> val(i * n + n - 1 - j) })",
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


NARROW = [
    "USING key: int[nnz] INCREASING, val: real[nnz] "
    "AS sum(<p, e> in key(0:nnz)) { (e // 3, e % 3) -> val(p) }",
    "USING val: real[3 * m] AS sum(<e, _> in 0:3 * m) { (e // 3, e % 3) -> val(e) }",
]


@pytest.mark.parametrize("text", NARROW)
def test_a_key_that_is_a_remainder_is_less_than_the_divisor(text: str) -> None:
    """Else a key beyond it would be carried into the quotient, as an entry of another row."""
    check(created(text), matrix(". 1 2 . / 3 . . ."))
    with pytest.raises(FormatError, match=r"1 of 2 .* the first is \(0, 3\) = 4.0: e % 3 is never 3$"):
        from_dense(created(text), matrix(". 1 . 4 / . . . ."))


def test_what_is_no_part_of_a_number_goes_to_the_next_part() -> None:
    storage = created(
        "USING val: real[3 * m], row: int[nnz], col: int[nnz], rest: real[nnz] "
        "AS (sum(<e, _> in 0:3 * m) { (e // 3, e % 3) -> val(e) }) "
        "+ sum(<p, i> in row(0:nnz)) { (i, col(p)) -> rest(p) }"
    )
    check(storage, matrix(". 1 . 4 / 5 . . ."))


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
    (
        "USING a: bool[m], b: bool[m], val: real[m] "
        "AS sum(<i, _> in 0:m) if (a(i) or b(m - 1 - i)) then { (i, i) -> val(i) }",
        "nothing determines 'a(i) or b(m - 1 - i)'",
    ),
]


@pytest.mark.parametrize(("text", "what"), UNSOLVED)
def test_a_mapping_that_cannot_be_solved_says_which_part(text: str, what: str) -> None:
    with pytest.raises(FormatError) as raised:
        pack(created(text), np.array([[0], [0]]), np.array([1.0]), (2, 2))
    assert str(raised.value).startswith(f"format f cannot be packed: {what}\n")
    assert "hint: give its arrays themselves: storel.tensor({" in str(raised.value)


def test_a_choice_between_addresses_is_two_parts() -> None:
    storage = created(
        "USING val: real[m * n] AS sum(<i, _> in 0:m) sum(<j, _> in 0:n) "
        "{ (i, j) -> val(i * n + (if i % 2 == 0 then j else n - 1 - j)) }"
    )
    with pytest.raises(
        FormatError, match=r"not understood\n(.*\n)+  expected: numbers.*\n  hint: add two parts"
    ):
        from_dense(storage, matrix("1 2 / 3 4"))


def test_coordinates_of_another_width_do_not_overflow() -> None:
    last = np.array([[70_000], [70_000]], dtype=np.int32)
    tensor = pack(resolved("diagonal"), last, np.ones(1), (70_001, 70_001))
    assert tensor.nnz == 1


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
