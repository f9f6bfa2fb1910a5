"""The benchmark and the experiment run on tiny data, so that they cannot rot."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def output_of(*arguments: str) -> str:
    completed = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True)
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


def test_benchmark_times_every_kernel_and_finds_it_right() -> None:
    options = ["--size", "200", "--nonzeros", "900", "--repetitions", "1", "--backends", "c", "--json"]
    found = json.loads(output_of("benchmarks/run.py", *options))
    assert set(found) == {"spmv", "batax", "summm", "add", "mttkrp", "mmm"}
    for entries in found.values():
        assert entries["c"]["right"] is True
        assert entries["c"]["min"] > 0
        assert entries["scipy"]["min"] > 0


def test_experiment_keeps_within_the_bounds_of_work() -> None:
    text = output_of("experiments/paper_kernels/run.py", "--backends", "c", "--small")
    assert "WRONG" not in text
    assert "above" not in text
    for kernel in ("spmv", "batax", "mttkrp", "ttm", "triangles"):
        assert kernel in text


def test_encodings_of_binders_find_plans_of_equal_cost() -> None:
    text = output_of("experiments/binders/run.py", "--small", "--kernels", "spmv")
    rows = [line for line in text.splitlines() if "random" in line]
    assert [row.split()[1] for row in rows] == ["spmv"]
    assert all("equal" in row and "saturated" in row for row in rows)


def test_showcase_keeps_within_the_bounds_of_work() -> None:
    text = output_of("experiments/optimizer_showcase/run.py", "--small")
    rows = [line for line in text.splitlines() if line.startswith("│")]
    assert len(rows) >= 19
    assert "NO" not in text
