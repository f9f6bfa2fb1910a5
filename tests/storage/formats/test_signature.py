from __future__ import annotations

import pytest

from storel.source import Source
from storel.storage.formats.format import Format
from storel.storage.formats.known import Formats
from storel.storage.formats.signature import level_signature
from storel.syntax.nodes.statements import CreateFormat
from storel.syntax.parser import parse

FORMATS = Formats()

LEVELS = [
    ("dense", 1, "dense0"),
    ("dense", 3, "dense0 dense1 dense2"),
    ("csr", 2, "dense0 compressed1[pos idx]"),
    ("csc", 2, "dense1 compressed0[pos idx]"),
    ("dcsr", 2, "compressed0[None row] compressed1[pos idx]"),
    ("csf", 1, "compressed0[None idx1]"),
    ("csf", 3, "compressed0[None idx1] compressed1[pos2 idx2] compressed2[pos3 idx3]"),
    ("coo", 1, "compressed0[None row]"),
    ("coo", 3, "compressed0[None row] singleton1[None col] singleton2[None tube]"),
]


def described(storage: Format) -> str | None:
    signature = level_signature(storage)
    if signature is None:
        return None
    assert signature.values == "val"
    return " ".join(
        f"{level.kind.value}{level.dimension}" + (f"[{level.pos} {level.idx}]" if level.idx else "")
        for level in signature.levels
    )


@pytest.mark.parametrize(("name", "rank", "levels"), LEVELS)
def test_levels_are_read_off_the_mapping(name: str, rank: int, levels: str) -> None:
    assert described(FORMATS.find(name, rank)) == levels


NOT_LEVELS = [
    # a half
    "USING val: real[m * m] AS sum(<i, _> in 0:m) sum(<j, _> in 0:i) { (i, j) -> val(i * m + j) }",
    # another place than row-major
    "USING val: real[m * n] AS sum(<i, _> in 0:m) sum(<j, _> in 0:n) { (i, j) -> val(i * n + n - j - 1) }",
    # a computed value
    "USING val: real[m * n] AS sum(<i, _> in 0:m) sum(<j, _> in 0:n) { (i, j) -> 2 * val(i * n + j) }",
    # segments by the wrong parent
    "USING pos: int[m + 2], idx: int[z], val: real[z] "
    "AS sum(<i, _> in 0:m) sum(<p, j> in idx(pos(i + 1):pos(i + 2))) { (i, j) -> val(p) }",
    # a segment that begins elsewhere
    "USING pos: int[m + 1], idx: int[z], val: real[z] "
    "AS sum(<i, _> in 0:m) sum(<p, j> in idx(pos(0):pos(i + 1))) { (i, j) -> val(p) }",
    # a segment of two
    "USING pos: int[m + 2], idx: int[z], val: real[z] "
    "AS sum(<i, _> in 0:m) sum(<p, j> in idx(pos(i):pos(i + 2))) { (i, j) -> val(p) }",
    # a part of the entries
    "USING pos: int[m + 1], idx: int[z], val: real[z] "
    "AS sum(<i, _> in 0:m) sum(<p, j> in idx(pos(i):pos(i + 1))) if (j < i) then { (i, j) -> val(p) }",
    # two parts
    "USING a: real[m * n], b: real[m * n] "
    "AS sum(<i, _> in 0:m) sum(<j, _> in 0:n) { (i, j) -> a(i * n + j) } + "
    "sum(<i, _> in 0:m) sum(<j, _> in 0:n) { (i, j) -> b(i * n + j) }",
    # a diagonal
    "USING val: real[m] AS sum(<i, _> in 0:m) { (i, i) -> val(i) }",
    # places at the end that nothing is read from
    "USING val: real[m * n + 3] AS sum(<i, _> in 0:m) sum(<j, _> in 0:n) { (i, j) -> val(i * n + j) }",
    "USING pos: int[m + 3], idx: int[z], val: real[z] "
    "AS sum(<i, _> in 0:m) sum(<p, j> in idx(pos(i):pos(i + 1))) { (i, j) -> val(p) }",
    # not all rows
    "USING val: real[m * n] AS sum(<i, _> in 1:m) sum(<j, _> in 0:n) { (i, j) -> val(i * n + j) }",
    "USING val: real[m * n] AS sum(<i, _> in 0:min(m, 1000)) sum(<j, _> in 0:n) { (i, j) -> val(i * n + j) }",
    # not the whole list
    "USING row: int[z], col: int[z], val: real[z] AS sum(<p, i> in row(0:n)) { (i, col(p)) -> val(p) }",
]


@pytest.mark.parametrize("text", NOT_LEVELS)
def test_other_mappings_have_none(text: str) -> None:
    (statement,) = parse(Source("test", f"CREATE FORMAT f(T: real[m, n]) {text}")).statements
    assert isinstance(statement, CreateFormat)
    assert level_signature(Format("f", statement)) is None
