"""What the command line says to bad input: one message, exit code 1, and nothing written.

The messages are the files in ``messages/``; STOREL_UPDATE=1 writes them anew, to be read as a diff.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from strategies.command_line import storel

MESSAGES = Path(__file__).parent / "messages"

MATRIX = """%%MatrixMarket matrix coordinate real general
3 4 5
1 1 1.5
1 3 2.0
2 2 3.0
3 1 4.0
3 4 5.0
"""


@dataclass(frozen=True)
class Case:
    """A script and the files around it; ``arguments`` follow ``run script.sdql``."""

    name: str
    script: str
    files: dict[str, Any] = field(default_factory=dict[str, Any])
    arguments: tuple[str, ...] = ("-o", "result.npz")


def from_arrays(name: str, declarations: str, **arrays: Any) -> Case:
    """Return a case whose raw arrays do not hold what a mapping by hand declares."""
    body = "{ i -> sum(<p, j> in idx(pos(i):pos(i + 1))) val(p) }"
    script = f"{declarations}\nCREATE TENSOR y AS sum(<i, _> in 0:3) {body}"
    return Case(name, script, {f"{key}.npy": np.asarray(value) for key, value in arrays.items()})


CSR = """LOAD ARRAY pos: int[4] ASCENDING FROM 0 TO 4 FROM 'pos.npy'
LOAD ARRAY idx: int[4] IN 0:4 INCREASING WITHIN pos FROM 'idx.npy'
LOAD ARRAY val: real[4] FROM 'val.npy'"""
OUTER_PRODUCT = (
    "LOAD TENSOR x FROM 'x.npy'\nCREATE TENSOR y AS sum(<i, a> in x, <j, b> in x) { (i, j) -> a * b }"
)
LOAD = "LOAD TENSOR A FROM 'a.mtx'\n"
SUM_OF_ROWS = LOAD + "CREATE TENSOR y AS sum(<(i,j), a> in A) { i -> a }"
TWO_SUMS = SUM_OF_ROWS + "\nCREATE TENSOR z AS sum(<(i,j), a> in A) { j -> a }\n"

CASES = (
    Case("syntax", LOAD + "CREATE TENSOR y AS sum(<(i,j), a> in A { i -> a }", {"a.mtx": MATRIX}),
    Case("unclosed", "CREATE TENSOR y AS (1 + 2", {}),
    Case("comparison_chain", "CREATE TENSOR y AS if (1 < 2 < 3) then 1", {}),
    Case(
        "unknown_tensor",
        "LOAD TENSOR Ratings FROM 'a.mtx'\nCREATE TENSOR y AS sum(<(i,j), a> in Rating) a",
        {"a.mtx": MATRIX},
    ),
    Case("tensor_that_is_not_given", "CREATE TENSOR y AS sum(<(i,j), a> in A) { i -> a }", {}),
    Case(
        "unknown_format", "LOAD TENSOR A FROM 'a.mtx' STORED AS crs\nCREATE TENSOR y AS A", {"a.mtx": MATRIX}
    ),
    Case("unknown_result_format", SUM_OF_ROWS.replace("y AS", "y STORED AS dens AS"), {"a.mtx": MATRIX}),
    Case(
        "unknown_semiring",
        LOAD + "CREATE TENSOR y OVER min_pluss AS sum(<(i,j), a> in A) { i -> a }",
        {"a.mtx": MATRIX},
    ),
    Case("unknown_semiring_of_a_file", LOAD.replace("A FROM", "A OVER minplus FROM"), {"a.mtx": MATRIX}),
    Case(
        "format_of_another_rank",
        "LOAD TENSOR x FROM 'x.npy' STORED AS csr\nCREATE TENSOR y AS x",
        {"x.npy": np.ones(3)},
    ),
    Case(
        "extents_disagree",
        LOAD
        + "LOAD TENSOR x FROM 'x.npy'\nCREATE TENSOR y AS sum(<(i,j), a> in A, <j, v> in x) { i -> a * v }",
        {"a.mtx": MATRIX, "x.npy": np.ones(5)},
    ),
    Case(
        "extents_of_a_sum_disagree",
        LOAD + "LOAD TENSOR B FROM 'b.npy'\nCREATE TENSOR y AS A + B",
        {"a.mtx": MATRIX, "b.npy": np.ones((3, 3))},
    ),
    Case(
        "declared_extents_disagree",
        "LOAD TENSOR A: real[3, 5] FROM 'a.mtx'\nCREATE TENSOR y AS A",
        {"a.mtx": MATRIX},
    ),
    Case(
        "dictionary_as_a_value",
        LOAD + "CREATE TENSOR y AS sum(<i, row> in A) { i -> row * { 0 -> { 0 -> 1 } } }",
        {"a.mtx": MATRIX},
    ),
    Case("value_as_a_key", LOAD + "CREATE TENSOR y AS sum(<(i,j), a> in A) { a -> 1 }", {"a.mtx": MATRIX}),
    Case("rank_of_a_key", LOAD + "CREATE TENSOR y AS sum(<(i,j,k), a> in A) { i -> a }", {"a.mtx": MATRIX}),
    Case(
        "rank_of_a_lookup",
        LOAD + "CREATE TENSOR y AS sum(<i, _> in 0:3) { i -> A(i, 0, 0) }",
        {"a.mtx": MATRIX},
    ),
    Case(
        "ranks_of_a_sum",
        LOAD + "LOAD TENSOR x FROM 'x.npy'\nCREATE TENSOR y AS A + x",
        {"a.mtx": MATRIX, "x.npy": np.ones(3)},
    ),
    Case(
        "ranks_of_a_product",
        LOAD + "LOAD TENSOR x FROM 'x.npy'\nCREATE TENSOR y AS A * x",
        {"a.mtx": MATRIX, "x.npy": np.ones(3)},
    ),
    Case("truncated_matrix", SUM_OF_ROWS, {"a.mtx": MATRIX.rsplit("3 4", 1)[0]}),
    Case("malformed_matrix", SUM_OF_ROWS, {"a.mtx": MATRIX.replace("2 2 3.0", "2 two 3.0")}),
    Case("matrix_without_a_header", SUM_OF_ROWS, {"a.mtx": MATRIX.split("\n", 1)[1]}),
    Case("matrix_index_out_of_range", SUM_OF_ROWS, {"a.mtx": MATRIX.replace("3 4 5.0", "3 5 5.0")}),
    Case("matrix_index_is_nan", SUM_OF_ROWS, {"a.mtx": MATRIX.replace("3 4 5.0", "nan 4 5.0")}),
    Case("truncated_tensor", SUM_OF_ROWS.replace(".mtx", ".tns"), {"a.tns": "1 1 1.5\n1 3\n2 2 3.0\n"}),
    Case("malformed_tensor", SUM_OF_ROWS.replace(".mtx", ".tns"), {"a.tns": "1 1 1.5\n1 x 2.0\n"}),
    Case("tensor_index_is_zero", SUM_OF_ROWS.replace(".mtx", ".tns"), {"a.tns": "1 1 1.5\n0 2 2.0\n"}),
    Case("tensor_index_is_nan", SUM_OF_ROWS.replace(".mtx", ".tns"), {"a.tns": "1 1 1.5\nnan 2 2.0\n"}),
    Case("tensor_with_commas", SUM_OF_ROWS.replace(".mtx", ".tns"), {"a.tns": "1,1,1.5\n"}),
    Case("empty_tensor_file", SUM_OF_ROWS.replace(".mtx", ".tns"), {"a.tns": ""}),
    Case("not_a_numpy_file", "LOAD TENSOR x FROM 'x.npy'\nCREATE TENSOR y AS x", {"x.npy": "no array"}),
    Case("unknown_ending", "LOAD TENSOR x FROM 'x.csv'\nCREATE TENSOR y AS x", {"x.csv": "1,2"}),
    from_arrays("raw_index_out_of_range", CSR, pos=[0, 2, 2, 4], idx=[0, 2, 0, 4], val=np.ones(4)),
    from_arrays("raw_index_unsorted", CSR, pos=[0, 2, 2, 4], idx=[2, 0, 0, 3], val=np.ones(4)),
    from_arrays("raw_index_duplicate", CSR, pos=[0, 2, 2, 4], idx=[0, 2, 3, 3], val=np.ones(4)),
    from_arrays("raw_positions_descend", CSR, pos=[0, 3, 2, 4], idx=[0, 1, 2, 3], val=np.ones(4)),
    from_arrays("raw_positions_end", CSR, pos=[0, 2, 2, 3], idx=[0, 1, 2, 3], val=np.ones(4)),
    from_arrays("raw_length", CSR, pos=[0, 2, 2, 4], idx=[0, 2, 0, 3], val=np.ones(3)),
    from_arrays("raw_type", CSR, pos=[0, 2, 2, 4], idx=[0.5, 2, 0, 3], val=np.ones(4)),
    from_arrays("raw_index_is_nan", CSR, pos=[0, 2, 2, 4], idx=[np.nan, 2, 0, 3], val=np.ones(4)),
    from_arrays("raw_rank", CSR, pos=[0, 2, 2, 4], idx=[0, 2, 0, 3], val=np.ones((2, 2))),
    Case("missing_file", SUM_OF_ROWS),
    Case("missing_include", "INCLUDE 'other.sdql'\nCREATE TENSOR y AS 1"),
    Case("included_by_itself", "INCLUDE 'script.sdql'\nCREATE TENSOR y AS 1"),
    Case(
        "included_by_what_it_includes",
        "CREATE TENSOR y AS 1\nINCLUDE 'other.sdql'",
        {
            "other.sdql": "-- what it needs\nINCLUDE 'another.sdql'",
            "another.sdql": "INCLUDE './script.sdql'\n",
        },
    ),
    Case("unwritable_output", SUM_OF_ROWS, {"a.mtx": MATRIX}, ("-o", "nowhere/result.npz")),
    Case("unwritable_save", SUM_OF_ROWS + "\nSAVE y TO 'nowhere/y.npz'", {"a.mtx": MATRIX}, ()),
    Case("output_of_unknown_kind", SUM_OF_ROWS, {"a.mtx": MATRIX}, ("-o", "result.xyz")),
    Case("saved_as_unknown_kind", SUM_OF_ROWS + "\nSAVE y TO 'y.xyz'", {"a.mtx": MATRIX}, ()),
    Case("saved_as_another_rank", SUM_OF_ROWS + "\nSAVE y TO 'y.mtx'", {"a.mtx": MATRIX}, ()),
    Case("saved_to_one_file", f"{TWO_SUMS}SAVE y TO 'o.npy'\nSAVE z TO './o.npy'", {"a.mtx": MATRIX}, ()),
    Case(
        "output_to_a_saved_file", f"{TWO_SUMS}SAVE y TO 'o.npy'", {"a.mtx": MATRIX}, ("--output", "z=o.npy")
    ),
    Case("output_of_unknown_tensor", SUM_OF_ROWS, {"a.mtx": MATRIX}, ("--output", "z=result.npz")),
    Case(
        "too_large_for_memory",
        OUTER_PRODUCT.replace("y AS", "y STORED AS dense AS"),
        {"x.npy": np.ones(1000)},
        ("-o", "result.npz", "--memory-limit", "1000000"),
    ),
    Case(
        "too_large_sparse_for_memory",
        OUTER_PRODUCT.replace("y AS", "y STORED AS csr AS"),
        {"x.npy": np.ones(1000)},
        ("-o", "result.npz", "--memory-limit", "1000000"),
    ),
    Case("empty_script", ""),
    Case("script_of_comments", "-- nothing here\n"),
    Case("script_without_a_tensor", LOAD, {"a.mtx": MATRIX}),
    Case("defined_twice", "CREATE TENSOR y AS 1\nCREATE TENSOR y AS 2"),
    Case("loaded_twice", LOAD + LOAD + "CREATE TENSOR y AS A", {"a.mtx": MATRIX}),
    Case(
        "value_bound_twice",
        LOAD + "CREATE TENSOR y AS sum(<(i,j), a> in A, <(j,k), a> in A) { i -> a }",
        {"a.mtx": MATRIX},
    ),
    Case(
        "array_read_out_of_bounds",
        "LOAD ARRAY x: real[n] FROM 'x.npy'\nCREATE TENSOR y AS sum(<i, _> in 0:5) { i -> x(i) }",
        {"x.npy": np.ones(3)},
    ),
    Case(
        "array_read_out_of_bounds_by_data",
        "LOAD ARRAYS FROM 'x.npz'\nCREATE TENSOR y AS sum(<i, k> in p) { i -> x(k) }",
        {"x.npz": {"x": np.ones(3), "p": np.array([0, 2, 7])}},
    ),
    Case("negative_key", LOAD + "CREATE TENSOR y AS sum(<(i,j), a> in A) { i - j -> a }", {"a.mtx": MATRIX}),
    Case(
        "subtraction_in_a_semiring",
        LOAD + "CREATE TENSOR y OVER min_plus AS sum(<(i,j), a> in A) { i -> a - 1 }",
        {"a.mtx": MATRIX},
    ),
    Case("parameter_without_a_value", "PARAMETER beta: real\nCREATE TENSOR y AS beta"),
    Case(
        "parameter_of_another_type",
        "PARAMETER n: int = 2\nCREATE TENSOR y AS n",
        {},
        ("-b", "n=2.5"),
    ),
    Case("unknown_tensor_to_save", SUM_OF_ROWS + "\nSAVE z TO 'z.npz'", {"a.mtx": MATRIX}),
    Case(
        "integer_divided_by_zero",
        "LOAD TENSOR n FROM 'n.npy'\nCREATE TENSOR y AS sum(<i, v> in n) { i -> v // (v - 2) }",
        {"n.npy": np.array([1, 2, 3])},
    ),
    Case("missing_formats", "CREATE TENSOR y AS 1", {}, ("--formats", "nowhere")),
    Case(
        "missing_formats_of_an_operand",
        LOAD + "CREATE TENSOR y AS A + B",
        {"a.mtx": MATRIX},
        ("--formats", "nowhere", "-b", "B=a.mtx"),
    ),
    Case("missing_rules", "CREATE TENSOR y AS 1", {}, ("--rules", "nowhere.rules")),
    Case("binding_to_a_missing_file", "CREATE TENSOR y AS A", {}, ("-b", "A=nowhere.mtx")),
    Case(
        "binding_without_its_format",
        "CREATE TENSOR y AS sum(<(i, j), a> in A) a",
        {"a.mtx": MATRIX},
        arguments=("-b", "A=a.mtx:"),
    ),
    Case(
        "binding_that_is_no_number", "PARAMETER n: real\nCREATE TENSOR y AS 2 * n", arguments=("-b", "n=1,5")
    ),
    Case("binding_given_twice", "CREATE TENSOR y AS n", arguments=("-b", "n=1", "-b", "n=2")),
    Case("binding_that_is_not_read", LOAD + "CREATE TENSOR y AS A", {"a.mtx": MATRIX}, ("-b", "Z=3")),
    Case(
        "keys_that_are_all_negative",
        LOAD + "CREATE TENSOR y AS sum(<(i,j), a> in A) { i - 5 -> a }",
        {"a.mtx": MATRIX},
    ),
    Case(
        "result_that_does_not_fit",
        LOAD + "CREATE TENSOR y STORED AS diagonal AS sum(<(i, j), a> in A) { (i, j) -> a }",
        {"a.mtx": MATRIX},
    ),
    Case("behind_wide_characters", "CREATE TENSOR y AS 1\nSAVE y TO '結果.npz' AS 'データ'"),
    Case("control_characters", "CREATE TENSOR y AS 1 SAVE y TO '\x1b[31m.npz' \x9b"),
    Case("control_characters_in_data", SUM_OF_ROWS, {"a.mtx": MATRIX.replace("2 2", "2\t\x1b[31m\x07 2")}),
    Case("control_characters_in_a_name", "CREATE TENSOR y AS A", arguments=("-b", "A=\x1b[31m.mtx")),
    Case("name_of_no_file", LOAD.replace("a.mtx", "a\0.mtx") + "CREATE TENSOR y AS A"),
    Case("name_of_no_script", "INCLUDE 'a\0.sdql'"),
    Case("emoji_in_a_name", LOAD.replace("a.mtx", ":car:.mtx") + "CREATE TENSOR y AS A"),
    Case("combining_character", "CREATE TENSOR u\u0308 AS 1"),
    Case("binding_in_an_unknown_format", "CREATE TENSOR y AS A", {"a.mtx": MATRIX}, ("-b", "A=a.mtx:crs")),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_message(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("script.sdql").write_text(case.script, encoding="utf-8")
    for name, content in case.files.items():
        if isinstance(content, str):
            Path(name).write_text(content, encoding="utf-8")
        elif isinstance(content, dict):
            np.savez(name, **content)
        else:
            np.save(name, content)
    before = sorted(tmp_path.rglob("*"))
    result = storel("run", "script.sdql", *case.arguments)
    assert "Traceback" not in result.err
    expected = MESSAGES / f"{case.name}.txt"
    if os.environ.get("STOREL_UPDATE"):
        expected.write_text(result.err, encoding="utf-8")
    assert result.err == expected.read_text(encoding="utf-8")
    assert (result.code, result.out) == (1, "")
    assert sorted(tmp_path.rglob("*")) == before


def test_what_a_terminal_would_obey_is_not_echoed() -> None:
    for arguments in (("--\x1b[31m",), ("\x1b[31m",), ("run", "-", "-b", "\x1b[31m")):
        result = storel(*arguments)
        assert (result.code, result.out) == (2, "")
        assert r"\x1b[31m" in result.err and "\x1b" not in result.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("run",),
        ("run", "script.sdql", "--no-such-option"),
        ("run", "script.sdql", "--backend", "fortran"),
        ("run", "script.sdql", "-b", "novalue"),
        ("run", "script.sdql", "-b", "A="),
        ("run", "script.sdql", "--output", "novalue"),
        ("run", "script.sdql", "--memory-limit", "much"),
        ("run", "script.sdql", "--binders", "lifted"),
        ("run", "script.sdql", "--threads", "0"),
        ("explain", "script.sdql", "--stage", "plans"),
        ("explain", "script.sdql", "--format", "pdf"),
        ("no-such-command",),
    ],
)
def test_malformed_command_line(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("script.sdql").write_text("CREATE TENSOR y AS 1", encoding="utf-8")
    result = storel(*arguments)
    assert result.code == 2
    assert "Traceback" not in result.err


def test_no_snapshot_is_left_over() -> None:
    assert {path.stem for path in MESSAGES.glob("*.txt")} == {case.name for case in CASES}
