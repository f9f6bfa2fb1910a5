"""The work of a loop, in closed form where there is one, and cuts into equal shares of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import storel
from storel.arrays import Array
from storel.calculus.nodes import Add, Apply, Literal, Lookup, Multiply, Symbol, Term, Variable
from storel.loops.lowering.division import BLOCKS
from storel.plan.nodes import (
    Accumulate,
    Action,
    Elements,
    Enter,
    Guard,
    Intersection,
    Loop,
    Positions,
    Together,
)
from storel.plan.partition import WRITING
from storel.plan.work import at_most, steps, without_asking, work_of_iteration, work_until
from storel.runtime import divided as divided_kernels
from storel.runtime.divided import MOST_PIECES, DividedKernel
from storel.runtime.kernel import CompiledKernel, located
from storel.runtime.parallel import ParallelKernel
from storel.scalars import ScalarType


def number(value: int) -> Term:
    return Literal(value, ScalarType.INT64)


END = Symbol("end")
ONE = Accumulate(Symbol("c"))


def row(name: str, position: int, body: Action) -> Loop:
    """Return the loop over a row of a compressed level."""
    bounds = Symbol(f"{name}_pos")
    low, high = Variable(position), Add(Variable(position), number(1))
    return Loop(Elements(f"{name}_idx", Lookup(bounds, low), Lookup(bounds, high)), body)


def rows(body: Action) -> Loop:
    return Loop(Positions(number(0), Symbol("n")), Enter(Variable(0), body))


def between(name: str, low: Term, high: Term) -> Term:
    return Apply("subtract", (Lookup(Symbol(name), high), Lookup(Symbol(name), low)))


LAWS: dict[str, tuple[Loop, Term | None]] = {
    "one step": (rows(ONE), Multiply(END, number(2))),
    "a constant": (rows(Loop(Positions(number(0), number(7)), ONE)), Multiply(END, number(8))),
    "a row": (rows(row("A", 0, ONE)), Add(END, between("A_pos", number(0), END))),
    "rows of rows": (
        rows(row("A", 0, row("B", 1, ONE))),
        Add(
            END,
            Apply(
                "subtract",
                tuple(Lookup(Symbol("B_pos"), Lookup(Symbol("A_pos"), end)) for end in (END, number(0))),
            ),
        ),
    ),
    "nonzero values": (
        rows(Guard(Apply("not_equal", (Lookup(Symbol("v"), Variable(0)), number(0))), row("A", 0, ONE))),
        Add(END, between("A_pos", number(0), END)),
    ),
    "where a condition holds": (
        rows(Guard(Apply("less", (number(0), Variable(0))), row("A", 0, ONE))),
        None,
    ),
    "rows of another matrix": (rows(row("A", 0, row("B", 0, ONE))), None),
    "intersections": (
        rows(
            Loop(
                Intersection(Elements("a", number(0), Variable(0)), Elements("b", number(2), Variable(0))),
                ONE,
            )
        ),
        None,
    ),
}


@pytest.mark.parametrize("name", LAWS)
def test_laws(name: str) -> None:
    loop, until = LAWS[name]
    assert isinstance(loop.source, Positions)
    assert work_until(loop.source, work_of_iteration(loop), END) == until


PROGRAMS = {
    "rows": "sum(<(i, j), a> in A) {i -> a}",
    "products": "sum(<(i, k), a> in A, <(k, j), b> in B) {(i, j) -> a * b}",
}


def divisible(text: str, operands: Mapping[str, Any], **options: Any) -> DividedKernel | None:
    """Return the last kernel of a program that two threads run, None if one does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("storel.compilation.compiled.WORTH_THREADS", 0.0)
        kernel = storel.compile(f"CREATE TENSOR R AS {text}", threads=2, **operands, **options)
        compiled = kernel.compilation.compiled
    if not isinstance(compiled, ParallelKernel):
        return None
    phase = compiled.steps[-1].kernel
    assert isinstance(phase, DividedKernel)
    return phase


def arrays_of(operands: Mapping[str, Any]) -> dict[str, Array]:
    return {
        f"{operand}_{name}": array
        for operand, value in operands.items()
        for name, array in storel.tensor(value).arrays.items()
    }


def divided(
    kernel: CompiledKernel, size: int, operands: Mapping[str, Any], count: int
) -> tuple[list[tuple[int, int]], int]:
    """Return the parts of a kernel all of whose scalars are ``size``, and the work of all of them."""
    assert kernel.kernel.divide is not None
    sizes = {local.name: size for local in kernel.kernel.divide.scalars}
    return kernel.divide(sizes, kernel.addresses(located(arrays_of(operands))), count)


@settings(max_examples=15)
@given(
    st.sampled_from(sorted(PROGRAMS)),
    st.integers(0, 2**16),
    st.integers(1, 6),
    st.integers(0, 12) | st.sampled_from((BLOCKS - 1, BLOCKS, BLOCKS + 1, 3 * BLOCKS - 1, 5000)),
)
def test_shares_are_equal(name: str, seed: int, count: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 12, size) * rng.integers(0, 2, size)
    dense = np.arange(12) < lengths[:, None]
    operands: dict[str, Any] = {"A": sp.csr_array(dense.astype(float))}
    if "B" in PROGRAMS[name]:
        operands["B"] = sp.csr_array((rng.random((12, 12)) < 0.4).astype(float))
    phase = divisible(PROGRAMS[name], operands, format="dense" if name == "rows" else "csr")
    if phase is None:
        return  # nothing to divide: the program is trivial for these data
    parts, total = divided(phase.kernel, size, operands, count)
    assert [low for low, _ in parts[1:]] == [high for _, high in parts[:-1]]
    assert (parts[0][0], parts[-1][1]) == (0, size)
    steps = lengths if name == "rows" else operands["A"] @ np.diff(operands["B"].indptr)
    written = WRITING if name == "rows" else 0  # to the place of each row
    work = 1 + written + np.asarray(steps)
    assert total == work.sum()
    largest = max((work[low:high].sum() for low, high in parts), default=0)
    assert largest <= total / count + work.max(initial=0)


@pytest.mark.parametrize(
    "text",
    [
        "sum(<(i, j), a> in A) {i -> a}",
        "sum(<(i, j), a> in A, <(j, k), b> in B) {(i, k) -> a * b}",
    ],
)
def test_what_is_found_in_a_list_is_part_of_the_work(text: str) -> None:
    """Most entries are in the last rows, and in a list of what does not fit into others."""
    dense = np.eye(1000, 900)
    dense[900:, 0] = 1
    dense[-20:] = 1
    operands = {"A": storel.tensor(dense, "hyb(width=1)"), "B": storel.tensor(np.ones((900, 64)))}
    used = {name: operand for name, operand in operands.items() if f"in {name}" in text}
    phase = divisible(text, used, format="dense")
    assert phase is not None
    sizes = {"A_m": 1000, "A_rest_nnz": len(operands["A"].arrays["rest_row"]), "B_n": 64}
    parts, _ = phase.kernel.divide(sizes, phase.kernel.addresses(located(arrays_of(used))), 2)
    assert 980 < parts[0][1] < 1000


def test_parts_are_found_once_for_arrays_that_do_not_change(monkeypatch: pytest.MonkeyPatch) -> None:
    operands = {"A": sp.csr_array(np.ones((100, 12))), "B": sp.csr_array(np.ones((12, 12)))}
    phase = divisible(PROGRAMS["products"], operands)
    assert phase is not None
    found: list[list[tuple[int, int]]] = []
    divide = phase.kernel.divide

    def noted(*arguments: Any) -> tuple[list[tuple[int, int]], int]:
        parts, work = divide(*arguments)
        found.append(parts)
        return parts, work

    monkeypatch.setattr(phase.kernel, "divide", noted)
    sizes = {local.name: 100 for each in phase.kernel.kernel.procedures for local in each.scalars}
    arrays = {name: array.copy() for name, array in arrays_of(operands).items()}
    inputs = located(arrays)
    for _ in range(2):
        phase.run(sizes, inputs)
    assert found == [[(0, 50), (50, 100)]]
    arrays["A_pos"][1:100] = 0  # all entries are in the last row
    arrays["A_idx"][:] = 0
    phase.run(sizes, inputs)
    assert len(found) == 1
    phase.run(sizes, located(arrays))
    assert found[1:] == [[(0, 100)]]


def test_much_work_is_cut_into_more_parts_than_there_are_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that has done its own goes on with those of others, where parts only write to their places."""
    a, b = np.ones((100, 12)), np.ones((12, 12))
    for storage, expected in [("dense", 2 * MOST_PIECES), ("csr", 2)]:
        operands = {"A": sp.csr_array(a), "B": sp.csr_array(b)}
        phase = divisible(PROGRAMS["products"], operands, format=storage)
        assert phase is not None
        monkeypatch.setattr(divided_kernels, "LEAST_WORK", 0)
        monkeypatch.setattr(divided_kernels, "LEAST_PIECE", 1)
        called: list[int] = []
        compute = phase.kernel.compute_parts

        def noted(parts: Any, *others: Any, compute: Any = compute, called: list[int] = called) -> Any:
            called.append(len(parts))
            return compute(parts, *others)

        monkeypatch.setattr(phase.kernel, "compute_parts", noted)
        sizes = {"A_m": 100, "B_n": 12}
        result = phase.run(sizes, located(arrays_of(operands)))
        assert called == [expected]
        np.testing.assert_array_equal(result["result.val"].reshape(100, 12), a @ b)


def test_conditions_are_dropped_from_bounds_where_sizes_alone_tell_the_work() -> None:
    same, read = Accumulate(Symbol("n")), Accumulate(Lookup(Symbol("pos"), number(0)))
    condition = Apply("less", (Variable(0), Symbol("n")))
    assert at_most(Together((Guard(condition, same), same))) == Accumulate(Add(Symbol("n"), Symbol("n")))
    assert at_most(Guard(condition, read)) == Guard(condition, read)
    assert (steps(same), steps(read)) == (number(1), number(1))
    inner = Loop(Positions(number(0), Symbol("n")), same)
    assert steps(inner) == Symbol("n")
    counted = Loop(Positions(number(0), Symbol("n")), Guard(condition, same))
    assert at_most(counted) == Accumulate(Multiply(Symbol("n"), Symbol("n")))


def test_conditions_inside_of_loops_are_not_asked_to_count_work() -> None:
    padding = Apply("less_equal", (number(0), Variable(0)))
    slots = Elements(
        "idx", Multiply(number(4), Variable(1)), Multiply(number(4), Add(Variable(1), number(1)))
    )
    padded = Loop(slots, Guard(padding, Loop(Positions(number(0), Symbol("k")), ONE)))
    rows = Loop(Elements("row", number(0), Symbol("n")), Enter(Variable(0), padded))
    counted = without_asking(work_of_iteration(rows))
    assert isinstance(counted, Accumulate)
    assert isinstance(rows.source, Elements) and work_until(rows.source, counted, END) is not None
    once = Guard(padding, Accumulate(Symbol("k")))
    assert without_asking(once) == once
    assert without_asking(Together((once, counted))) == Together((once, counted))
