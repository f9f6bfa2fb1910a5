"""The experiments and benchmarks run on tiny data, so that they cannot rot."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from storel.loops.interpret import Work

ROOT = Path(__file__).parents[2]


def output_of(*arguments: str) -> str:
    completed = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True)
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("paper_kernels", "--data", "no-such-folder"), "no-such-folder is no directory"),
        (("rule_ablation", "--only", "no such program"), "no program whose name contains"),
        (("rule_ablation", "--processes", "0"), "'0' is no integer from 1"),
        (("rule_ablation", "--json", "no-such-folder/found.json"), "found.json cannot be written"),
        (("rule_ablation", "--json", "pyproject.toml"), "pyproject.toml cannot be read"),
        (("rule_ablation", "--plot", "no-such-folder/found.svg"), "found.svg cannot be drawn"),
        (("cost_accuracy", "--plot", "no-such-folder/found.svg"), "found.svg cannot be drawn"),
        (("formats", "--data", "no-such-folder"), "no-such-folder is no directory"),
        (("formats", "--journal", "no-such-folder/found"), "found cannot be written"),
        (("formats", "--journal", "README.md"), "README.md is no journal"),
    ],
)
def test_a_mistake_in_the_arguments_is_told(arguments: tuple[str, ...], message: str) -> None:
    name, *others = arguments
    command = (sys.executable, f"experiments/{name}/run.py", *others)
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode != 0 and message in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "name", "hint"),
    [
        (("binders", "--small", "--kernels", "spmv,smpv"), "no kernel is called 'smpv'", "spmv"),
        (("cost_accuracy", "--small", "--kernels", "spmv,smpv"), "no kernel is called 'smpv'", "spmv"),
        (("formats", "--formats", "csr", "crs"), "no format is called 'crs'", "csr"),
        (("formats", "--formats", "csr", "--kernels", "cuont"), "no kernel is called 'cuont'", "count"),
        (("formats", "--formats", "csr", "--backends", "nunba"), "no backend is called 'nunba'", "numba"),
        (("formats", "--formats", "csr", "--only", "19 x 19 boll"), "no data has a name", "19 x 19 bool"),
        (("optimizer_showcase", "--small", "--only", "traingles"), "no program has a name that", "triangles"),
        (("paper_kernels", "--small", "--only", "random 40 x 41"), "no data has a name that", "40 x 40"),
        (("paper_kernels", "--backends", "c,nunba"), "no backend is called 'nunba'", "numba"),
        (("rule_ablation", "--rule", "fuse-smu"), "no rule is called 'fuse-smu'", "fuse-sum"),
    ],
)
def test_an_unknown_name_is_told_with_those_that_are_known(
    arguments: tuple[str, ...], name: str, hint: str
) -> None:
    experiment, *others = arguments
    command = (sys.executable, f"experiments/{experiment}/run.py", *others)
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (1, "")
    first, expected, nearest = ended.stderr.splitlines()
    assert first.startswith(f"error: {name}")
    assert expected.startswith("  expected: ") and hint in expected
    assert nearest.startswith("  hint: did you mean '") and hint in nearest


def test_arguments_that_a_format_does_not_take_are_told() -> None:
    command = (sys.executable, "experiments/formats/run.py", "--formats", "ell(wdith=2)")
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("error: ") and "wdith" in ended.stderr


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
    assert len(rows) >= 33
    assert "NO" not in text


def test_a_plan_that_works_more_than_by_hand_is_told() -> None:
    sys.path.insert(0, str(ROOT / "experiments" / "optimizer_showcase"))
    optimum = importlib.import_module("optima").optima()["sum of a product"]
    sizes = {"columns_A": 10, "rows_A": 1, "nnz_A": 2, "rows_B": 3, "nnz_B": 4}
    assert optimum.ratios(Work(iterations=20, multiplications=10), sizes) == (1.0, 2.0)
    assert optimum.holds(Work(iterations=10, multiplications=10), sizes)
    assert not optimum.holds(Work(iterations=11, multiplications=10), sizes)
    assert not optimum.holds(Work(iterations=10, multiplications=11), sizes)


def test_ablation_tells_rules_that_matter_from_those_that_do_not(tmp_path: Path) -> None:
    found = tmp_path / "found.json"
    arguments = ("experiments/rule_ablation/run.py", "--only", "spmv (c", "--json", str(found))
    output_of(*arguments, "--rule", "fuse-singleton", "--rule", "multiply-commute", "--processes", "2")
    losses = {
        each["rule"]: {loss["program"]: loss for loss in each["losses"]}
        for each in json.loads(found.read_text())["rules"]
    }
    assert losses["fuse-singleton"]["spmv (csc)"]["is_changed"]
    assert losses["fuse-singleton"]["spmv (csc)"]["cost"] > 1
    assert losses["multiply-commute"].keys() <= {"spmv (coo)", "spmv (csr)", "spmv (csc)", "spmv (csf)"}
    assert not any(loss["is_changed"] for loss in losses["multiply-commute"].values())


def test_ablation_goes_on_from_what_was_kept(tmp_path: Path) -> None:
    found = tmp_path / "found.json"
    loss = {"program": "kept", "is_changed": True, "cost": 1234.0, "milliseconds": 2.14}
    kept = {"rule": "fuse-singleton", "theory": "fusion", "losses": [loss]}
    found.write_text(json.dumps({"only": "spmv (csr", "rules": [kept]}))
    arguments = ("experiments/rule_ablation/run.py", "--only", "spmv (csr", "--json", str(found))
    text = output_of(*arguments, "--rule", "fuse-singleton", "--rule", "fuse-triples")
    (row,) = (line.split() for line in text.splitlines() if "1.23e+03" in line)
    assert "2.14" in row and "%" not in text, "a search that takes longer without the rule saves no share"
    rules = json.loads(found.read_text())["rules"]
    assert rules[0] == kept
    assert [rule["rule"] for rule in rules] == ["fuse-singleton", "fuse-triples"]


def test_estimates_are_compared_with_times() -> None:
    options = ["--small", "--kernels", "spmv,summm"]
    text = output_of("experiments/cost_accuracy/run.py", *options)
    rows = {row.split()[1]: row.split()[3::2] for row in text.splitlines() if row.startswith("│")}
    assert set(rows) == {"spmv", "summm", "all"}
    runs, plans = map(int, rows["all"][:2])
    assert runs == 10 and plans >= runs


def test_formats_are_right_with_each_kernel(tmp_path: Path) -> None:
    journal = tmp_path / "answers"
    options = ["--formats", "csr", "low_rank(k=3)", "--only", "13 x 17", "--journal", str(journal)]
    kernels = ("--kernels", "form,count", "--backends", "c,loops")
    output_of("experiments/formats/run.py", *options, *kernels)
    first, *others = map(json.loads, journal.read_text().splitlines())
    wrong = first | {"problem": "wrong"}
    journal.write_text("".join(f"{json.dumps(each)}\n" for each in (wrong, *others)))
    text = output_of("experiments/formats/run.py", *options, *kernels)
    assert len(journal.read_text().splitlines()) == 9, "what was answered, and not wrong, is not asked again"
    rows = [line.strip("│ ").split("│") for line in text.splitlines() if line.startswith("│")]
    assert [[cell.strip() for cell in row] for row in rows] == [
        ["csr", "ok", "ok"],
        ["low_rank(k=3)", "ok", "ok"],
        ["c", "compared, equal", "4"],
        ["loops", "compared, equal", "4"],
    ]


def test_conversions_are_right() -> None:
    arguments = ("--size", "200", "--nonzeros", "4000", "--repetitions", "1", "--json")
    found = json.loads(output_of("benchmarks/packing.py", *arguments))
    assert len(found) >= 40
    assert all(each["right"] for each in found)


def test_structure_changes_no_answer() -> None:
    text = output_of("benchmarks/structure.py", "--scale", "0.01", "--repetitions", "1")
    for name in ("band", "bcsr", "bucketed_ell", "symmetric", "low_rank", "star_join"):
        assert f"│ {name}" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("packing.py", "--size", "200", "--nonzeros", "4000"), "no conversion's name contains 'hyc': "),
        (("structure.py", "--scale", "0.01"), "no comparison's name contains 'hyc': "),
    ],
)
def test_benchmarks_tell_what_they_know(arguments: tuple[str, ...], message: str) -> None:
    script, *others = arguments
    command = [sys.executable, f"benchmarks/{script}", *others, "--only", "hyc"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert message in ended.stderr and "hyb" in ended.stderr


def test_growth_is_measured_for_each_size() -> None:
    arguments = ("--nonzeros", "1000,4000", "--kernels", "spmv,add2", "--repetitions", "1", "--json")
    found = json.loads(output_of("benchmarks/growth.py", *arguments))
    assert [(each["kernel"], each["nonzeros"]) for each in found] == [
        ("spmv", 1000),
        ("spmv", 4000),
        ("add2", 1000),
        ("add2", 4000),
    ]
    for each in found:
        assert each["nanoseconds"] > 0 and each["limit"] > 0 and each["times_limit"] > 0
