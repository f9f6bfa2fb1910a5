"""A plan means what its term means, and a plan that breaks its promise is found out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies.data import densified, tensors
from strategies.kernels import FORMATS, KERNELS, PaperKernel, random_operands
from strategies.plans import ADD, Planned, close, csr_symbols, number, planned, real, upto, var

import storel
from storel.calculus.interpret import evaluate
from storel.calculus.nodes import Symbol
from storel.errors import EvaluationError
from storel.execution.run import execute
from storel.plan.interpret import run
from storel.plan.nodes import (
    Accumulate,
    Action,
    Append,
    Bind,
    Destination,
    Elements,
    Enter,
    Gather,
    Levels,
    Loop,
    Matches,
    Place,
    Plan,
    ScalarStore,
    Together,
    Unite,
)
from storel.plan.verify import IllegalPlanError
from storel.scalars import ScalarType

SIZES = {"i": 4, "j": 3, "k": 5, "l": 2}


def assert_means_its_term(made: Planned) -> None:
    """Compare the plan with the term that it was made of, and with the kernel that it became."""
    compilation = made.compilation
    got = run(compilation.plan, compilation.symbols, made.values)
    assert close(got, evaluate(compilation.optimized.term, compilation.symbols, made.values))
    answer = execute(compilation, made.environment)
    dense = densified(got, answer.shape, answer.semiring)
    np.testing.assert_allclose(answer.to_numpy(), dense, rtol=1e-6, atol=1e-12)


CASES = [
    pytest.param(chosen, number, id=f"{chosen.name}-{number}") for chosen in KERNELS for number in range(2)
]


@pytest.mark.parametrize(("chosen", "number"), CASES)
def test_kernels_of_papers(chosen: PaperKernel, number: int) -> None:
    operands = random_operands(chosen, number, SIZES)
    stored = {
        name: storel.tensor(array, FORMATS[array.ndim][(2 * number + place + 1) % len(FORMATS[array.ndim])])
        for place, (name, array) in enumerate(operands.items())
    }
    assert_means_its_term(planned(chosen.script.read_text(encoding="utf-8"), **stored))


PROGRAMS = [
    "{1} * 2 + {0}",
    "sum(<(i, j), a> in {0}) {{ j -> {{ i -> a * a }} }}",
    "sum(<(i, j), a> in {0}) if (a < {1}(j, i)) then {{ i -> a }}",
    "sum(<(i, j), a> in {0}, <(j, k), b> in {1}) {{ (k, j) -> a * b + 1 }}",
    "sum(<i, r> in {0}) {{ i -> prod(<j, a> in r) a }}",
    "let t = {0} * {1} in sum(<(i, j), v> in t) {{ (j, i) -> v }} + t",
    "sum(<i, r> in {0}) {{ i -> count(<j, a> in r) - sum(<j, a> in {1}(i)) a }}",
    "count(<i, r> in {0} + {1})",
    "prod(<(i, j), a> in {0}) a + any(<(i, j), b> in {1}) (b > 1)",
]


@settings(max_examples=15, deadline=None)
@given(
    st.sampled_from(PROGRAMS),
    tensors(2, ("float64",), finite=True, limit=3),
    st.sampled_from(["dense", "coo", "csr", "csc", "dcsr"]),
    st.sampled_from(["csr", "csc"]),
)
def test_random_programs(text: str, array: Any, first: str, second: str) -> None:
    size = max(array.shape, default=0)
    square = np.zeros((size, size))
    square[: array.shape[0], : array.shape[1]] = array
    stored = {"A": storel.tensor(square, first), "B": storel.tensor(square.T, second)}
    program = text.format("A", "B")
    used = {name: tensor for name, tensor in stored.items() if name in program}
    assert_means_its_term(planned(f"CREATE TENSOR r AS {program}", **used))


N = Symbol("n")
ONE = Accumulate(real(1.0))
BACKWARDS = {"A_idx": np.array([3, 1, 1, 2], np.int32)}
SCAN = Loop(Elements("A_idx", number(0), Symbol("nnz")), Enter(var(0), ONE))


@pytest.mark.parametrize(
    ("message", "destination", "action"),
    [
        ("ascending", Levels((Append(),), ADD), SCAN),
        ("twice", Levels((Append(),), ADD), Loop(upto("n"), Enter(number(0), ONE))),
        ("twice", Levels((Place(N, once=True),), ADD), Loop(upto("n"), Enter(number(0), ONE))),
        ("ascending", Levels((Place(N), Append()), ADD),
         Together((Enter(number(1), Together(())), Enter(number(0), Together(()))))),
        ("twice", Levels((Place(N), Gather(N, by_bitmap=True)), ADD),
         Together((Enter(number(1), Together(())), Enter(number(1), Together(()))))),
        ("do not increase", Levels((Place(N),), ADD), Unite((SCAN,))),
        ("occurs twice", Levels((), ADD),
         Loop(Matches("A_idx", number(0), Symbol("nnz"), number(1), is_unique=True), ONE)),
    ],
)  # fmt: skip
def test_a_broken_promise_is_found_out(message: str, destination: Destination, action: Action) -> None:
    with pytest.raises(IllegalPlanError, match=message):
        run(Plan(destination, action), csr_symbols(), BACKWARDS)


@pytest.mark.parametrize(
    ("destination", "action", "value"),
    [
        (Levels((Gather(N, by_bitmap=True),), ADD), SCAN, {1: 2.0, 2: 1.0, 3: 1.0}),
        (Levels((Place(N),), ADD), SCAN, {1: 2.0, 2: 1.0, 3: 1.0}),
        (Levels((Append(repeats=True), Append()), ADD),
         Loop(upto("n"), Enter(number(2), Enter(var(0), ONE))), {2: dict.fromkeys(range(4), 1.0)}),
        (Levels((Place(N),), ADD), Loop(upto("n"), Enter(var(0), Accumulate(real(0.0)))), {}),
        (Levels((Append(), Append()), ADD), Enter(number(1), Together(())), {}),
        (Levels((), ADD), Together(()), 0.0),
    ],
)  # fmt: skip
def test_results_hold_no_zeros(destination: Destination, action: Action, value: Any) -> None:
    assert run(Plan(destination, action), csr_symbols(), BACKWARDS) == value


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (Bind(ScalarStore(ScalarType.FLOAT64, "minimum", None), Together(()), Accumulate(var(0))),
         "the minimum of no entries"),
        (Loop(Elements("A_idx", number(0), number(5)), ONE), "array A_idx is read at position 4"),
    ],
)  # fmt: skip
def test_a_program_may_fail(action: Action, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        run(Plan(Levels((), ADD), action), csr_symbols(), BACKWARDS)
