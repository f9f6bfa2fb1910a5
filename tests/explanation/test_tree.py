"""The tree has the plan's shape, and its figures are consistent."""

from __future__ import annotations

from dataclasses import replace

import pytest
from strategies.explained import PROGRAMS, measured, program

from storel.explanation.tree import Operator, explained, flattened
from storel.plan.printer import render


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_tree_is_the_printed_plan(name: str) -> None:
    plan = program(name).compilation.plan
    this = explained(program(name).compilation)
    lines = [f"{'  ' * (depth + 1)}{each.text}" for depth, each in flattened(this.operators)]
    assert "\n".join([this.destination, *lines]) == render(plan)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_measured_time_is_divided(name: str) -> None:
    planned = program(name)
    profile = replace(measured(planned), seconds=2.0)
    times = [each.attributed for _, each in flattened(explained(planned.compilation, profile).operators)]
    around = planned.compilation.constants.call
    assert sum(time for time in times if time is not None) == pytest.approx(2e9 - around, rel=1e-9)
    assert None not in times


def test_without_a_profile_nothing_is_attributed() -> None:
    for _, each in flattened(explained(program("searched").compilation).operators):
        assert (each.counted, each.attributed, each.factor) == (None, None, None)
        assert each.expected > 0


@pytest.mark.parametrize(
    ("expected", "counted", "factor"), [(8.0, 2, 4.0), (2.0, 8, 4.0), (0.1, 0, 1.0), (0.5, 3, 3.0)]
)
def test_factor(expected: float, counted: int, factor: float) -> None:
    assert Operator("", expected, 0.0, counted, 0.0, ()).factor == factor


def test_what_never_runs_takes_no_time() -> None:
    """The intersection finds nothing, though something was expected."""
    this = explained(program("common").compilation, measured(program("common")))
    *_, (_, accumulate) = flattened(this.operators)
    assert accumulate.expected > 0 and accumulate.counted == 0 and accumulate.attributed == 0
