"""How near estimates are to measured times, and whether the chosen plan is one of the fastest.

python experiments/cost_accuracy/run.py [--calibrate] [--plot FILE] [--small] [--kernels spmv,mmm]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np
import scipy.sparse as sp
from rich.console import Console
from rich.table import Table

import storel
from storel.calibration.measure import calibrate, nanoseconds
from storel.compilation import machine
from storel.compilation.compiled import Compilation
from storel.compilation.expectation import running_time

sys.path += map(str, (Path(__file__).parents[1], Path(__file__).parents[1] / "paper_kernels"))

from cases import Case, Matrix, matrix_cases, tensor_cases
from known_names import require_known
from operands import layouts, random_matrix, random_tensor

NEAR = 2.0
"""The factor of the measured time that an estimate is to be within."""

FAST = 1.2
"""How many times as long as the fastest plan the chosen one may take."""

LONGEST = 1e8
"""Nanoseconds of estimated time beyond which a plan that was not chosen is not run."""

FORMATS = ("dense", "coo", "csr", "csc", "csf")


@dataclass(frozen=True, slots=True)
class Plan:
    """What a plan was considered for, and its estimated and measured nanoseconds, those of a call."""

    origin: str
    estimated: float
    measured: float

    @property
    def ratio(self) -> float:
        return self.estimated / self.measured

    @property
    def is_near(self) -> bool:
        return 1 / NEAR <= self.ratio <= NEAR


@dataclass(frozen=True, slots=True)
class Contest:
    """All plans for a kernel on data in a format, the chosen one first."""

    kernel: str
    data: str
    format: str
    plans: tuple[Plan, ...]

    @property
    def lag(self) -> float:
        """How many times as long as the fastest plan the chosen one takes."""
        return self.plans[0].measured / min(plan.measured for plan in self.plans)

    def __str__(self) -> str:
        times = (f"{p.origin} {p.estimated / 1e3:.1f}/{p.measured / 1e3:.1f}" for p in self.plans)
        return f"{self.kernel} on {self.data} in {self.format} [µs, estimated/measured]: {'; '.join(times)}"


def skewed_matrix(rows: int, columns: int, count: int) -> Matrix:
    """Return a matrix with a few long rows and columns, and many short ones."""
    rng = np.random.default_rng(3)
    row, column = (np.minimum(rng.zipf(1.6, count), extent) - 1 for extent in (rows, columns))
    drawn = sp.coo_array((rng.random(count) + 0.5, (rng.permutation(rows)[row], column)), (rows, columns))
    return sp.csr_array(drawn)


def skewed_tensor(shape: tuple[int, int, int], count: int) -> storel.Tensor:
    rng = np.random.default_rng(4)
    drawn = np.array([np.minimum(rng.zipf(1.6, count), extent) - 1 for extent in shape])
    coordinates = np.unique(drawn, axis=1)
    return storel.tensor((coordinates, rng.random(coordinates.shape[1]) + 0.5), shape=shape)


def cases(*, small: bool) -> Iterator[Case]:
    """Yield every kernel on data of several shapes."""
    if small:
        yield from matrix_cases("uniform 40 x 40", random_matrix(40, 40, 0.1))
        return
    yield from matrix_cases("uniform 2000 x 2000", random_matrix(2000, 2000, 0.01))
    yield from matrix_cases("full 300 x 200", random_matrix(300, 200, 0.6))
    yield from matrix_cases("wide 100 x 100000", random_matrix(100, 100_000, 0.003))
    yield from matrix_cases("skewed 3000 x 3000", skewed_matrix(3000, 3000, 40_000))
    yield from tensor_cases("uniform 60 x 80 x 100", random_tensor((60, 80, 100), 40_000))
    yield from tensor_cases("skewed 500 x 400 x 300", skewed_tensor((500, 400, 300), 100_000))


def considered(compilation: Compilation) -> Iterator[tuple[str, float, Compilation]]:
    """Yield the origin, the estimate and the compilation of each plan, the chosen one first."""
    optimized = compilation.optimized
    around = compilation.constants.call
    yield "chosen", around + running_time(compilation), compilation
    for each in optimized.considered:
        if each.term != optimized.term and each.cost.nanoseconds <= LONGEST:
            priced = replace(optimized, term=each.term, cost=each.cost)
            other = replace(compilation.replanned(each.term), optimized=priced)
            yield each.origin, around + running_time(other), other


def contests(given: Sequence[Case]) -> Iterator[Contest]:
    """Yield what was measured for each case in each format; plans with the same code are run once."""
    for case in given:
        for name, stored in layouts(case):
            if stored is None or name not in FORMATS:
                continue
            kernel = storel.compile(case.script, threads=1, **stored, **case.fixed)
            found: dict[str, Plan] = {}
            for origin, estimated, compilation in considered(kernel.compilation):
                if compilation.source not in found:
                    measured = nanoseconds(compilation, kernel.environment)
                    found[compilation.source] = Plan(origin, estimated, measured)
            yield Contest(case.kernel, case.data, name, tuple(found.values()))


def percent(holds: Sequence[bool]) -> str:
    return f"{100 * sum(holds) / len(holds):.0f} %"


def row(name: str, found: Sequence[Contest]) -> list[str]:
    """Return a row of the table: numbers of data and of plans, and the shares that are near and fast."""
    chosen = [each.plans[0] for each in found]
    plans = [plan for each in found for plan in each.plans]
    return [
        name,
        str(len(found)),
        str(len(plans)),
        percent([plan.is_near for plan in chosen]),
        percent([plan.is_near for plan in plans]),
        f"{median(plan.ratio for plan in chosen):.2f}",
        percent([each.lag <= FAST for each in found]),
        f"{max(each.lag for each in found):.1f}",
    ]


def table(found: Sequence[Contest]) -> Table:
    columns = ("runs", "plans", "near", "near, all plans", "estimated / measured", "fast", "largest lag")
    table = Table("kernel", caption=f"near: within {NEAR:g}x; fast: within {FAST:g}x of the fastest plan")
    for column in columns:
        table.add_column(column, justify="right")
    for kernel in dict.fromkeys(each.kernel for each in found):
        table.add_row(*row(kernel, [each for each in found if each.kernel == kernel]))
    table.add_section()
    table.add_row(*row("all", found))
    return table


def plot(found: Sequence[Contest], path: Path) -> None:
    """Draw estimated over measured times, chosen plans and others."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise SystemExit("--plot needs matplotlib: pip install 'storel[plot]'") from error
    figure = Figure(figsize=(6, 6))
    axes = figure.subplots()
    others = [plan for each in found for plan in each.plans[1:]]
    for label, plans in (("other plans", others), ("chosen plans", [each.plans[0] for each in found])):
        xs, ys = ([getattr(plan, of) / 1e3 for plan in plans] for of in ("measured", "estimated"))
        axes.loglog(xs, ys, "o", label=label, markersize=4, alpha=0.6)
    low, high = axes.get_xlim()
    for factor in (1 / NEAR, 1.0, NEAR):
        axes.plot((low, high), (factor * low, factor * high), color="gray", linewidth=0.7)
    axes.set(xlabel="measured [µs]", ylabel="estimated [µs]", xlim=(low, high))
    axes.legend()
    try:
        figure.savefig(path)
    except (OSError, ValueError) as error:
        raise SystemExit(f"{path} cannot be drawn: {error}") from error


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calibrate", action="store_true", help="first do what storel calibrate does")
    parser.add_argument("--plot", type=Path, help="where to draw estimated over measured times")
    parser.add_argument("--small", action="store_true", help="only small random data")
    parser.add_argument("--kernels", help="only these, separated by commas")
    arguments = parser.parse_args()
    given = list(cases(small=arguments.small))
    if arguments.kernels is not None:
        chosen = arguments.kernels.split(",")
        require_known("kernel", chosen, (case.kernel for case in given))
        given = [case for case in given if case.kernel in chosen]
    if arguments.plot is not None:  # what cannot be drawn is told before minutes of work
        plot([], arguments.plot)
    if arguments.calibrate:
        machine.keep(calibrate())
    found: list[Contest] = []
    for contest in contests(given):
        print(contest, file=sys.stderr, flush=True)
        found.append(contest)
    Console(width=120).print(table(found))
    if arguments.plot is not None:
        plot(found, arguments.plot)


if __name__ == "__main__":
    main()
