"""What rivals are given is what the problem says; those that are installed agree with SciPy."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from storel.bench.answers import is_same
from storel.bench.data import Data
from storel.bench.kernels import KERNELS, data_for, problem_of
from storel.bench.problem import Einsum
from storel.bench.rivals.relations import query_of
from storel.bench.rivals.table import RIVALS, chosen
from storel.bench.task import Contest, Task
from storel.errors import DataError

CONTEST = Contest(("c",), (), 1)


@pytest.mark.parametrize("kernel", KERNELS)
def test_rivals_agree(kernel: str) -> None:
    (name,) = data_for(kernel, ["uniform"])
    problem = problem_of(Task(kernel, Data(name, 40, 200), CONTEST))
    answer = problem.reference.answer(problem.reference.run())
    compared = 0
    for rival in ("scipy", "numpy"):
        formulation = RIVALS[rival].formulate(kernel, problem)
        if formulation is not None:
            compared += 1
            assert is_same(formulation.answer(formulation.run()), answer)
    assert compared >= 1
    assert problem.flops > 0


def test_einsums_say_what_the_programs_say() -> None:
    """The subscripts, by NumPy on dense operands, are the answer of the kernel."""
    checked = 0
    for kernel in KERNELS:
        (name,) = data_for(kernel, ["uniform"])
        problem = problem_of(Task(kernel, Data(name, 20, 64), CONTEST))
        if problem.einsum is None:
            continue
        operands = [dense(problem.operands[each]) for each in problem.einsum.names]
        expected = np.einsum(problem.einsum.subscripts, *operands, optimize=True)
        assert is_same(problem.reference.answer(problem.reference.run()), expected), kernel
        checked += 1
    assert checked >= 10


def dense(operand: Any) -> Any:
    if hasattr(operand, "coordinates"):
        full = np.zeros(operand.shape)
        full[tuple(operand.coordinates)] = operand.values
        return full
    return operand.toarray() if hasattr(operand, "toarray") else operand


def test_queries_are_those_of_any_database() -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute('CREATE TABLE "A" (d0 INT, d1 INT, v REAL)')
    connection.executemany('INSERT INTO "A" VALUES (?, ?, ?)', [(0, 1, 2.0), (1, 1, 3.0), (1, 0, 5.0)])
    connection.execute('CREATE TABLE "b" (v REAL)')
    connection.execute('INSERT INTO "b" VALUES (10.0)')
    found = connection.execute(query_of(Einsum(",ij,jk->ik", ("b", "A", "A")))).fetchall()
    assert found == [(0, 0, 100.0), (0, 1, 60.0), (1, 0, 150.0), (1, 1, 190.0)]
    assert connection.execute(query_of(Einsum("ij->", ("A",)))).fetchall() == [(10.0,)]


def test_only_what_is_installed_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = replace(RIVALS["scipy"], name="absent", module="no_such_module", distribution="absent")
    monkeypatch.setitem(RIVALS, "absent", absent)
    assert {"scipy", "numpy"} <= set(chosen(None))
    assert "absent" not in chosen(None)
    with pytest.raises(DataError, match="not installed"):
        chosen(["absent"])
