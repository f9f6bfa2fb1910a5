from __future__ import annotations

from pathlib import Path

import pytest

from storel.host.resources import directory
from storel.source import Source
from storel.syntax.listing import render_script
from storel.syntax.parser import parse

SHIPPED = [
    *directory("storage_formats").glob("*.sdql"),
    *(Path(__file__).parents[2] / "experiments" / "paper_kernels").glob("*.sdql"),
    *Path(__file__).parent.glob("*.sdql"),
]

STATEMENTS = [
    "CREATE TENSOR A AS x + 1",
    "CREATE TENSOR A: real[m, n + 1] OVER min_plus STORED AS band(lower=1) AS x",
    "CREATE TENSOR A STORED AS levels(dense, compressed; order=(1, 0)) AS x",
    "CREATE TENSOR A: float32 AS x",
    "CREATE FORMAT f(T: real[n])\n  USING val: real[n]\n  AS sum(<i, _> in 0:n) { i -> val(i) }",
    "CREATE FORMAT f(T: real[m, n]; r: int = 4, c: int)\n"
    "  WHERE r >= 1, m % r == 0 or r == 1, not c > n\n"
    "  USING pos: int[m + 1] ASCENDING FROM 0 TO nnz,\n"
    "        idx: int[nnz] IN 1 - m:n INCREASING WITHIN pos PAD -1,\n"
    "        row: int[nnz] INCREASING (row, idx),\n"
    "        key: int[nnz] INCREASING UNIQUE,\n"
    "        tab: real{m, n},\n"
    "        length: int,\n"
    "        a: ell(width) TAKES <(i, j), _> WHERE rank(j WITHIN i) < r and count(WITHIN i // 2, j) > 1,\n"
    "        b: coo,\n"
    "        c: hyb(2)\n"
    "  AS a + b + c",
    "LOAD TENSOR B: real[m, n, p] OVER max_plus FROM 'it''s.tns.gz' STORED AS csf",
    "LOAD TENSOR B FROM 'b.mtx'",
    "LOAD ARRAY x: int[n] IN 0:m INCREASING FROM 'x.npy'",
    "LOAD ARRAY x: int[n] FROM 0 TO m FROM 'x.npy'",
    "LOAD ARRAY x: int FROM 'x.npy'",
    "LOAD ARRAYS FROM 'c.npz'",
    "SAVE A TO 'a.mtx'",
    "EXPLAIN A",
    "EXPLAIN ANALYZE A",
    "INCLUDE 'lib.sdql'",
    "PARAMETER beta: real = -0.5",
    "PARAMETER beta: int",
]


@pytest.mark.parametrize("text", STATEMENTS)
def test_a_statement_is_printed_as_it_was_written(text: str) -> None:
    assert render_script(parse(Source("test", text))) == f"{text}\n"


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_what_ships_survives_printing(path: Path) -> None:
    script = parse(Source(str(path), path.read_text(encoding="utf-8")))
    assert script.statements
    assert parse(Source("again", render_script(script))) == script


def test_statements_need_no_separator_and_words_either_case() -> None:
    one = parse(
        Source("", "create tensor A as SUM(<i, x> IN v) x -- comment; not a statement\nsave A to 'a.npy'")
    )
    two = parse(Source("", "CREATE TENSOR A AS sum(<i, x> in v) x; SAVE A TO 'a.npy';"))
    assert one == two
