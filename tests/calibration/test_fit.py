"""Constants are found again in the times that they make."""

from __future__ import annotations

from dataclasses import replace

import pytest

from storel.calibration.fit import LARGEST_CHANGE, Measured, fit
from storel.calibration.measure import measure
from storel.calibration.probes import matrix, table, vector
from storel.optimizer.cost.constants import CONSTANTS, Constants
from storel.optimizer.cost.model import Nanoseconds
from storel.optimizer.cost.whole import estimate

SUM = ("CREATE TENSOR s AS sum(<i, v> in x) v", {"x": vector(4_000)})
FUNCTION = ("CREATE TENSOR s AS sum(<i, v> in x) exp(v)", {"x": vector(4_000)})
OF_A_LIBRARY = ("CREATE TENSOR s AS sum(<i, v> in x) cos(v)", {"x": vector(4_000)})
QUOTIENT = ("CREATE TENSOR s AS sum(<i, v> in x, <i, w> in x) v / (w + 1.0)", {"x": vector(4_000)})
ROWS = ("CREATE TENSOR s AS sum(<(i, j), v> in A) {i -> v}", {"A": matrix(500, 60, 2)})
GATHER = (
    "CREATE TENSOR s AS sum(<(i, j), v> in A, <j, w> in x) {i -> v * w}",
    {"A": matrix(300, 3_000, 10), "x": vector(3_000)},
)
DENSE = ("CREATE TENSOR s AS sum(<(i, j), v> in A) {j -> v}", {"A": table(80, 90)})
LITTLE = 0.02

PROGRAMS = (SUM, FUNCTION, OF_A_LIBRARY, QUOTIENT, ROWS, GATHER, DENSE)


@pytest.fixture(scope="module")
def probed() -> list[Measured]:
    return [measure(program, operands) for program, operands in PROGRAMS]


def timed(probed: list[Measured], constants: Constants) -> list[Measured]:
    """Return the probes as if they had run on a machine of which ``constants`` are true."""
    return [
        replace(each, nanoseconds=estimate(each.term, each.symbols, Nanoseconds(constants)).nanoseconds)
        for each in probed
    ]


def test_the_shipped_constants_explain_their_own_times(probed: list[Measured]) -> None:
    found = fit(timed(probed, CONSTANTS))
    for (name, value), (_, shipped) in zip(found.listed(), CONSTANTS.listed(), strict=True):
        assert value == pytest.approx(shipped, rel=1e-3), name


def test_one_constant_that_differs_is_found(probed: list[Measured]) -> None:
    found = fit(timed(probed, replace(CONSTANTS, function=3 * CONSTANTS.function)), doubt=LITTLE)
    assert found.function == pytest.approx(3 * CONSTANTS.function, rel=0.1)
    assert found.library == pytest.approx(CONSTANTS.library, rel=0.1)
    assert found.division == pytest.approx(CONSTANTS.division, rel=0.1)


@pytest.mark.parametrize("factor", [0.4, 2.5])
def test_a_machine_of_another_speed_is_recognized(probed: list[Measured], factor: float) -> None:
    true = CONSTANTS.fitted(factor * value for _, value in CONSTANTS.listed())
    times = timed(probed, true)
    found = fit(times, doubt=LITTLE)
    for each in times:
        estimated = estimate(each.term, each.symbols, Nanoseconds(found)).nanoseconds
        assert estimated == pytest.approx(each.nanoseconds, rel=0.05)


def test_doubt_keeps_constants_near_the_shipped_ones(probed: list[Measured]) -> None:
    times = timed(probed, replace(CONSTANTS, function=3 * CONSTANTS.function))
    much, little = fit(times, doubt=5.0).function, fit(times, doubt=LITTLE).function
    assert CONSTANTS.function < much < 1.5 * CONSTANTS.function < little


def test_what_no_program_depends_on_stays(probed: list[Measured]) -> None:
    found = fit([replace(each, nanoseconds=7 * each.nanoseconds) for each in timed(probed, CONSTANTS)])
    for name in ("hash_build", "search_step", "register", "node"):
        assert getattr(found, name) == pytest.approx(getattr(CONSTANTS, name))
    assert found.gather[3:] == pytest.approx(CONSTANTS.gather[3:])


def test_a_measurement_gone_wrong_moves_a_constant_so_far_only(probed: list[Measured]) -> None:
    found = fit([replace(each, nanoseconds=1e12) for each in probed])
    for (name, value), (_, shipped) in zip(found.listed(), CONSTANTS.listed(), strict=True):
        assert value <= LARGEST_CHANGE * shipped * 1.001, name
