"""Declared properties of what levels are packed to: what they do not give by themselves is verified."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import storel
from storel.errors import FormatError
from storel.source import Source
from storel.storage import evident
from storel.storage.build import from_numpy
from storel.storage.formats.format import Format
from storel.storage.formats.known import Formats
from storel.storage.formats.properties import verify_properties
from storel.storage.tensor import pack
from storel.syntax.nodes.statements import CreateFormat
from storel.syntax.parser import parse

FORMATS = Formats()

ROWS = "sum(<i, _> in 0:m) sum(<p, j> in idx(pos(i):pos(i + 1))) { (i, j) -> val(p) }"
POS = "pos: int[m + 1] ASCENDING FROM 0 TO nnz"
LIST = "sum(<p, i> in row(0:nnz)) { (i, col(p)) -> val(p) }"

PROMISES = [
    (f"{POS}, idx: int[nnz] IN 0:3, val: real[nnz]", ROWS, "idx(3) = 3 is outside 0:3"),
    (f"{POS}, idx: int[nnz] IN 1:n, val: real[nnz]", ROWS, "idx(0) = 0 is outside 1:4"),
    (f"{POS}, idx: int[nnz] IN 0:n UNIQUE, val: real[nnz]", ROWS, "idx(0) = idx(4) = 0: not UNIQUE"),
    (f"{POS}, idx: int[nnz] ASCENDING, val: real[nnz]", ROWS, "idx(3) = 3, idx(4) = 0: not ASCENDING"),
    ("pos: int[m + 1] FROM 2 TO nnz, idx: int[nnz], val: real[nnz]", ROWS, "pos(0) is 0"),
    (
        "row: int[nnz] INCREASING, col: int[nnz], val: real[nnz]",
        LIST,
        "row(0) = 0, row(1) = 0: not INCREASING",
    ),
    (
        "row: int[nnz] INCREASING (col, row), col: int[nnz], val: real[nnz]",
        LIST,
        "(col, row) at 3 = (3, 0), at 4 = (0, 1): not INCREASING",
    ),
    (
        "val: real[m * n] INCREASING",
        "sum(<i, _> in 0:m) sum(<j, _> in 0:n) { (i, j) -> val(i * n + j) }",
        "val(0) = 1.0, val(1) = 1.0: not INCREASING",
    ),
    (
        "pos: int[m // 2 + 1], idx: int[nnz] IN 0:1, val: real[nnz * 4]",
        "sum(<i, _> in 0:m // 2) sum(<p, j> in idx(pos(i):pos(i + 1))) sum(<a, _> in 0:2) sum(<b, _> in 0:2) "
        "{ (2 * i + a, 2 * j + b) -> val(4 * p + 2 * a + b) }",
        "idx(1) = 1 is outside 0:1",
    ),
]


COPY = "CREATE TENSOR B STORED AS f AS sum(<(i, j), a> in A) { (i, j) -> a }"


def text_of(declarations: str, mapping: str) -> str:
    return f"CREATE FORMAT f(T: real[m, n]) USING {declarations} AS {mapping}"


def created(text: str) -> Format:
    (statement,) = parse(Source("test", text)).statements
    assert isinstance(statement, CreateFormat)
    return Format("f", statement)


@pytest.mark.parametrize(("declarations", "mapping", "message"), PROMISES)
def test_a_promise_that_the_entries_break_is_named(declarations: str, mapping: str, message: str) -> None:
    text, dense = text_of(declarations, mapping), np.ones((2, 4))
    storage = created(text)
    coordinates, values = np.indices(dense.shape).reshape(2, -1), dense.reshape(-1)
    for store in (
        lambda: pack(storage, coordinates, values, dense.shape),
        lambda: from_numpy(dense, FORMATS, storage),
        lambda: pack(FORMATS.find("csr", 2), coordinates, values, dense.shape).stored_as(storage),
        lambda: storel.run(
            f"{text} CREATE TENSOR B STORED AS f AS sum(<(i, j), a> in A) {{ (i, j) -> a }}", A=dense
        ),
    ):
        with pytest.raises(FormatError, match="f: the entries do not fit what is declared of") as raised:
            store()
        assert raised.value.message.endswith(f": {message}")


def test_what_levels_promise_by_themselves_is_not_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(evident, "verify_made", refuse)
    dense = np.ones((6, 6, 6))
    for name, rank in (("csr", 2), ("csc", 2), ("coo", 2), ("coo", 3), ("dcsr", 2), ("csf", 3), ("bcsr", 2)):
        assert storel.tensor(dense[(0,) * (3 - rank)], name).nnz == 6**rank


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_lists_are_in_the_order_that_they_declare(order: tuple[int, ...]) -> None:
    dense = np.random.default_rng(4).integers(0, 2, (3, 4, 5))
    text = f"levels(compressed, singleton, singleton; order=({','.join(map(str, order))}))"
    tensor = storel.tensor(dense, text)
    verify_properties(tensor.storage, tensor.arrays, tensor.sizes)
    np.testing.assert_array_equal(tensor.to_numpy(), dense)
