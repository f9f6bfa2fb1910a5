"""The two encodings of binders on the kernels of the papers: the same plans, at what price.

python experiments/binders/run.py [--small] [--kernels spmv,mmm]
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

import storel
from storel.optimizer.limits import Stop
from storel.optimizer.outcome import BINDERS, Options

sys.path += map(str, (Path(__file__).parents[1], Path(__file__).parents[1] / "paper_kernels"))

from cases import Case, difference
from known_names import require_known
from operands import cases, layouts

TOLERANCE = 1e-10
WIDTH = 180


@dataclass(frozen=True, slots=True)
class Measured:
    """One optimization: e-nodes and milliseconds of both phases, why each ended, and the plan's cost."""

    nodes: int
    milliseconds: float
    stops: tuple[str, ...]
    microseconds: float
    is_right: bool


def measured(case: Case, stored: dict[str, storel.Tensor], binders: str) -> Measured:
    """Compile and run a case under one encoding; the time is the less of two, the first loads the rules."""
    operands = {**stored, **case.fixed}
    search = Options(binders=binders, patience=math.inf)
    kernels = [storel.compile(case.script, search=search, **operands) for _ in range(2)]
    found = [kernel.compilation.optimized for kernel in kernels]
    result = kernels[0](**operands)
    assert isinstance(result, storel.Tensor)
    return Measured(
        sum(phase.nodes for phase in found[0].report),
        min(sum(phase.milliseconds for phase in each.report) for each in found),
        tuple(phase.stop.value for phase in found[0].report),
        found[0].cost.nanoseconds / 1e3,
        difference(result, case.answer()) <= TOLERANCE,
    )


def row(names: list[str], found: list[Measured]) -> list[str]:
    """Return a row of the table: the formats, and what was measured in each with either encoding in turn."""
    halves = [found[index :: len(BINDERS)] for index in range(len(BINDERS))]
    named, *others = halves
    differing = [
        f"{name}: {one.microseconds:.1f} / {other.microseconds:.1f} µs"
        for half in others
        for name, one, other in zip(names, named, half, strict=True)
        if abs(one.microseconds - other.microseconds) > 1e-3 * one.microseconds
    ]
    limited = [
        f"{binders} {name}: {stop}"
        for binders, half in zip(BINDERS, halves, strict=True)
        for name, each in zip(names, half, strict=True)
        for stop in each.stops
        if stop != Stop.SATURATED.value
    ]
    return [
        str(len(names)),
        *(str(sum(each.nodes for each in half) // len(half)) for half in halves),
        *(str(max(each.nodes for each in half)) for half in halves),
        *(f"{sum(each.milliseconds for each in half) / len(half):.0f}" for half in halves),
        "; ".join(differing) or "equal",
        "; ".join(limited) or "saturated",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="only small random data")
    parser.add_argument("--kernels", help="only these, separated by commas")
    arguments = parser.parse_args()
    given = list(cases(None, small=arguments.small))
    if arguments.kernels is not None:
        chosen = arguments.kernels.split(",")
        require_known("kernel", chosen, (case.kernel for case in given))
        given = [case for case in given if case.kernel in chosen]
    table = Table("kernel", "data", "formats")
    for what in ("e-nodes", "most", "ms"):
        for binders in BINDERS:
            table.add_column(f"{what} {binders}", justify="right")
    table.add_column(f"cost of plans, {' / '.join(BINDERS)}")
    table.add_column("ended")
    wrong = 0
    for case in given:
        formats = [(name, stored) for name, stored in layouts(case) if stored is not None]
        found = [measured(case, stored, binders) for _, stored in formats for binders in BINDERS]
        wrong += sum(not each.is_right for each in found)
        table.add_row(case.kernel, case.data, *row([name for name, _ in formats], found))
    Console(width=WIDTH).print(table)
    if wrong:
        raise SystemExit(f"{wrong} wrong answers")


if __name__ == "__main__":
    main()
