"""Parts of arrays, and ranges, that a program reads at a position: positions are those of the whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import storel

BACKENDS = ["interpret", "numba", "c"]

READS = [
    ("q(1:3)(2)", 5),
    ("q(1:3)(0)", "position 0"),
    ("q(1:3)(3)", "position 3"),
    ("q(0:3)(1:3)(1)", 2),
    ("q(1:9)(2)", "position 8"),
    ("q(1:9)(7)", "position 8"),
    ("q(-1:3)(2)", "position -1"),
    ("q(5:5)(2)", "position 2"),
    ("q(0:2)(1:3)(1)", "position 2"),
    ("sum(<p, _> in 0:2) q(0:p + 3)(p)", "position 3"),
    ("sum(<p, _> in 0:2) q(0:p + 2)(p)", 3),
    ("sum(<_, w> in q(1:9)) w", "position 8"),
    ("sum(<_, w> in q(-1:3)) w", "position -1"),
    ("sum(<_, w> in q(0:2)(1:3)) w", "position 2"),
    ("sum(<_, w> in (2:5)(3:6)) w", "position 5"),
    ("sum(<_, w> in q(1:9)(1:3)) w", "position 8"),
    ("sum(<_, w> in q(0:2)(5:5)) w", 0),
    ("sum(<p, _> in 0:3) sum(<_, w> in q(0:p + 1)(p:p + 1)) w", 8),
    ("sum(<p, _> in 0:3) sum(<_, w> in q(0:p)(p:p + 1)) w", "position 0"),
    ("merge(<p, r, w> in <q(0:3), q(0:3)(1:3)>) w", 7),
    ("merge(<p, r, w> in <q, (0:4)(1:6)>) w", "position 5"),
    ("sum(<_, w> in q(9:9)) w", 0),
    ("sum(<p, w> in q(0:3)(1:3)) p * w", 12),
    ("(2:5)(3)", 3),
    ("(2:5)(3:6)(3)", "position 5"),
    ("(2:5)(1)", "position 1"),
    ("(2:5)(5)", "position 5"),
    ("(2:5)(3:5)(4)", 4),
    ("(2:5)(3:5)(2)", "position 2"),
    ("sum(<p, w> in q) (0:9)(w)", 8),
    ("sum(<p, w> in q) (0:5)(w)", "position 5"),
    ("sum(<p, w> in q) if (w < 5) then (0:5)(w)", 3),
    ("sum(<p, _> in 0:n) q(p:n)(p)", 8),
    ("sum(<p, _> in 0:n) q(p + 1:n)(p)", "position 0"),
    ("let r = q(1:3) in r(1) * r(2)", 10),
    ("sum(<p, _> in 1:3) q(count(<_, w> in q) - 2:3)(p)", 7),
    ("q(1:3)(min(<_, w> in q) w)", 2),
    ("1 + q(min(<_, w> in q) w:3)(min(<_, w> in q) (w + 1))", 6),
]


@pytest.mark.parametrize(
    ("expression", "expected", "backend"),
    [
        *((*read, backend) for read in READS for backend in ("interpret", "c")),
        *((*read, "numba") for read in READS[::3]),
    ],
)
def test_parts_are_read_at_positions_of_the_whole(
    expression: str, expected: int | str, backend: str, tmp_path: Path
) -> None:
    np.save(tmp_path / "q.npy", np.array([1, 2, 5]))
    script = tmp_path / "script.sdql"
    script.write_text(f"LOAD ARRAY q: int[n] FROM 'q.npy' CREATE TENSOR y AS {expression}")
    if isinstance(expected, int):
        result = storel.run(script, backend=backend)
        assert isinstance(result, storel.Tensor)
        assert result.item() == expected
        return
    with pytest.raises(storel.StorelError, match=expected):
        storel.run(script, backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_read_outside_of_a_range_shows_its_place(backend: str) -> None:
    with pytest.raises(storel.StorelError, match=r" \^{8}(\n|$)"):
        storel.run("CREATE TENSOR y AS 1 + (2:5)(1)", backend=backend)
