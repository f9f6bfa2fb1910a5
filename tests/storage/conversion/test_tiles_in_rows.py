"""Which mappings make a matrix of tiles in rows."""

from __future__ import annotations

import pytest

from storel.source import Source
from storel.storage.conversion.tiles_in_rows import TilesInRows, tiles_in_rows
from storel.storage.formats.format import Format
from storel.storage.formats.known import known_formats
from storel.syntax.nodes.statements import CreateFormat
from storel.syntax.parser import parse, parse_format

ROWS = "sum(<a, _> in 0:(m + 1) // 2) sum(<p, b> in idx(pos(a):pos(a + 1))) "
FULL = "sum(<i, _> in 0:min(2, m - a * 2)) sum(<j, _> in 0:min(3, n - b * 3)) "
MADE = {
    "as it should be": ROWS + FULL + "{ (a * 2 + i, b * 3 + j) -> val((p * 2 + i) * 3 + j) }",
    "loops interchanged": ROWS
    + "sum(<j, _> in 0:min(n - 3 * b, 3)) sum(<i, _> in 0:min(2, m - a * 2)) "
    + "{ (i + 2 * a, j + 3 * b) -> val(p * 6 + i * 3 + j) }",
    "tiles by columns": ROWS + FULL + "{ (a * 2 + i, b * 3 + j) -> val((p * 3 + j) * 2 + i) }",
    "another origin": ROWS + FULL + "{ (a * 2 + i, b * 3 + j) -> val((p * 2 + i) * 3 + j + 1) }",
    "keys mirrored": ROWS + FULL + "{ (a * 2 + 1 - i, b * 3 + j) -> val((p * 2 + i) * 3 + j) }",
    "keys apart": ROWS + FULL + "{ (a * 2 + i, b * 4 + j) -> val((p * 2 + i) * 3 + j) }",
    "places in between": ROWS + FULL + "{ (a * 2 + i, b * 3 + j) -> val((p * 2 + i) * 4 + j) }",
    "all but the last": ROWS
    + "sum(<i, _> in 0:min(2, m - a * 2)) sum(<j, _> in 0:min(2, n - b * 3)) "
    + "{ (a * 2 + i, b * 3 + j) -> val((p * 2 + i) * 3 + j) }",
    "all but the last row": ROWS.replace("m + 1", "m - 1")
    + FULL
    + "{ (a * 2 + i, b * 3 + j) -> val((p * 2 + i) * 3 + j) }",
    "a condition": ROWS + FULL + "if (i != j) then { (a * 2 + i, b * 3 + j) -> val((p * 2 + i) * 3 + j) }",
    "twice": ROWS + FULL + "sum(<k, _> in 0:2) { (a * 2 + i, b * 3 + j) -> val((p * 2 + i) * 3 + j) }",
}


def created(mapping: str) -> Format:
    text = f"""
        CREATE FORMAT tiles(T: real[m, n])
          USING pos: int[(m + 1) // 2 + 1] ASCENDING FROM 0 TO z, idx: int[z], val: real[z * 8]
          AS {mapping}
    """
    (statement,) = parse(Source("", text)).statements
    assert isinstance(statement, CreateFormat)
    return Format("tiles", statement)


@pytest.mark.parametrize("what", MADE)
def test_mappings_that_make_tiles_in_rows(what: str) -> None:
    found = tiles_in_rows(created(MADE[what]), (8, 8))
    is_made = what in ("as it should be", "loops interchanged")
    assert found == (TilesInRows((0, 1), "pos", "idx", "val", (2, 3)) if is_made else None)


def test_loops_that_leave_the_matrix_need_extents_that_are_divided() -> None:
    mapping = MADE["as it should be"].replace("min(3, n - b * 3)", "3")
    assert tiles_in_rows(created(mapping), (8, 9)) is not None
    assert tiles_in_rows(created(mapping), (8, 8)) is None


def test_rows_may_be_columns() -> None:
    mapping = MADE["as it should be"].replace("(a * 2 + i, b * 3 + j)", "(b * 3 + j, a * 2 + i)")
    swapped = (
        mapping.replace("m -", "o -").replace("n -", "m -").replace("o -", "n -").replace("0:(m", "0:(n")
    )
    found = tiles_in_rows(created(swapped), (8, 8))
    assert found == TilesInRows((1, 0), "pos", "idx", "val", (2, 3))


@pytest.mark.parametrize(
    ("storage", "sides"),
    [("bcsr(3, 7)", (3, 7)), ("bcsr(1, 4)", (1, 4)), ("csr", (1, 1)), ("sell", None), ("dia", None)],
)
def test_formats(storage: str, sides: tuple[int, int] | None) -> None:
    found = tiles_in_rows(known_formats(None).resolve(parse_format(storage), 2), (10, 10))
    assert (None if found is None else found.sides) == sides
