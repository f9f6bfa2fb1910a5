"""Operands of several parts that meet: what is compiled first, and where nothing else is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import storel
from storel.compilation import reformat, scheduling
from storel.compilation.compiled import Compilation
from storel.compilation.compiler import NOTHING_CONVERTED, Task
from storel.errors import MemoryLimitError
from storel.optimizer.limits import FEW_E_NODES

SIZE = 60
FORMATS = ["hyb", "bucketed_ell", "symmetric", "band_coo", "bcsr_csr"]
CHAIN = (
    "CREATE TENSOR R AS sum(<(i, j), a> in A, <(j, k), b> in B, <(k, l), c> in C, <(l, m), d> in D) "
    "{ (i, m) -> a * b * c * d }"
)
POWER = "CREATE TENSOR R AS sum(<(i, j), a> in A, <(j, k), b> in A, <(k, l), c> in A) { (i, l) -> a * b * c }"


def matrix(seed: int) -> Any:
    half = sp.random_array((SIZE, SIZE), density=0.03, rng=np.random.default_rng(seed)).tocsr()
    return half + half.T


MATRICES = {name: matrix(seed) for seed, name in enumerate("ABCD")}
DENSE = {name: each.toarray() for name, each in MATRICES.items()}


def stored(storage: str, names: str) -> dict[str, Any]:
    return {name: storel.tensor(MATRICES[name], storage) for name in names}


def dense(result: Any) -> Any:
    assert isinstance(result, storel.Tensor)
    return result.to_numpy()


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The operands that are converted for each compilation."""
    found: list[list[str]] = []
    original = scheduling.compile_as_stored

    def noted(task: Task, converted: Mapping[str, storel.Tensor] = NOTHING_CONVERTED) -> Compilation:
        found.append(sorted(converted))
        return original(task, converted)

    monkeypatch.setattr(scheduling, "compile_as_stored", noted)
    return found


@pytest.mark.parametrize("storage", FORMATS)
@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (CHAIN, DENSE["A"] @ DENSE["B"] @ DENSE["C"] @ DENSE["D"]),
        (POWER, DENSE["A"] @ DENSE["A"] @ DENSE["A"]),
    ],
)
def test_parts_that_meet_are_put_together(
    program: str, expected: Any, storage: str, compiled: list[list[str]]
) -> None:
    """Among all choices of a part of each operand a plan of four symmetric matrices took a minute."""
    operands = stored(storage, "ABCD" if program is CHAIN else "A")
    kernel = storel.compile(program, **operands)
    assert compiled[0] == sorted(operands)
    assert [] not in compiled
    assert max(report.nodes for report in kernel.compilation.optimized.report) < FEW_E_NODES
    np.testing.assert_allclose(dense(kernel(**operands)), expected)


def test_a_program_that_is_worth_it_is_searched_as_it_is_stored(
    compiled: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduling, "NEST", 0.0)
    operands = stored("hyb", "A")
    kernel = storel.compile(POWER, **operands)
    assert compiled[:2] == [["A"], []]
    np.testing.assert_allclose(dense(kernel(**operands)), DENSE["A"] @ DENSE["A"] @ DENSE["A"])


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("CREATE TENSOR R AS A + B + C", DENSE["A"] + DENSE["B"] + DENSE["C"]),
        ("CREATE TENSOR R AS sum(<(i, j), a> in A) { i -> a * B(0, j) }", DENSE["A"] @ DENSE["B"][0]),
        ("CREATE TENSOR R AS sum(<(i, j), a> in A) a * a", (DENSE["A"] ** 2).sum()),
    ],
)
def test_parts_that_do_not_meet_are_read_as_they_are_stored(
    program: str, expected: Any, compiled: list[list[str]]
) -> None:
    used = [name for name in "ABC" if name in program.partition("AS")[2]]
    operands: dict[str, Any] = {
        name: storel.tensor(MATRICES[name], "csr" if name == "B" else "hyb") for name in used
    }
    result = storel.compile(program, **operands)(**operands)
    assert compiled[0] == []
    np.testing.assert_allclose(dense(result), expected)


def test_parts_that_a_program_reads_itself_stay(compiled: list[list[str]]) -> None:
    operands = stored("hyb", "AB")
    width = operands["A"].arrays["rest_val"]
    program = POWER.replace("a * b * c", "a * b * c * A_rest_val(0)").replace("c> in A)", "c> in B)")
    result = storel.compile(program, **operands)(**operands)
    assert compiled[0] == ["B"]
    expected = DENSE["A"] @ DENSE["A"] @ DENSE["B"] * width[0]
    np.testing.assert_allclose(dense(result), expected)


def test_a_mapping_that_is_no_sum_of_loops_is_one_part(compiled: list[list[str]], tmp_path: Path) -> None:
    row = "sum(<j, v> in (sum(<j, _> in 0:n) { j -> val(i * n + j) })) { j -> v }"
    text = f"CREATE FORMAT odd(T: real[m, n]) USING val: real[m * n] AS sum(<i, _> in 0:m) {{ i -> {row} }}"
    (tmp_path / "odd.sdql").write_text(text, encoding="utf-8")
    operand = storel.tensor({"val": DENSE["A"].ravel()}, "odd", shape=(SIZE, SIZE), formats=tmp_path)
    kernel = storel.compile(POWER, formats=tmp_path, A=operand)
    assert compiled[0] == []
    np.testing.assert_allclose(dense(kernel(A=operand)), DENSE["A"] @ DENSE["A"] @ DENSE["A"])


def test_parts_stay_apart_where_there_is_no_room(
    compiled: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> Iterator[storel.Tensor]:
        raise MemoryLimitError("no room")
        yield

    monkeypatch.setattr(scheduling, "forms", refused)
    monkeypatch.setattr(reformat, "WORTHWHILE", math.inf)
    monkeypatch.setattr(scheduling, "MOST_USES", 0)
    operands = stored("hyb", "A")
    kernel = storel.compile(POWER, **operands)
    assert compiled == [[]]
    np.testing.assert_allclose(dense(kernel(**operands)), DENSE["A"] @ DENSE["A"] @ DENSE["A"])
