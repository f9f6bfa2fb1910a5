"""What rewriting makes of programs whose obvious plan is asymptotically worse.

python experiments/optimizer_showcase/run.py [--only WORD] [--small]

For each program: the multiplications and iterations of the plan as written and of the chosen one, counted
exactly on small data, and beside those of a program written by hand; then, on large data, the times of both
plans, and of NumPy or SciPy, written the best way known.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from optima import optima
from rich.console import Console
from rich.table import Table
from showcase import COUNTED, LARGE, SMALL, Case, cases

import storel
from storel.execution.run import measure
from storel.loops.interpret import Work
from storel.optimizer.outcome import Options

sys.path.append(str(Path(__file__).parents[1]))

from known_names import require_match

TOLERANCE = 1e-9

TIMED = 2e9
"""Nanoseconds up to which plans as written are run; of others is told how long they are expected to take."""

FOR_EVER = Options(patience=math.inf)
"""The search for plans that are counted: for so little data, it would end before it has found them."""


def operands(case: Case) -> dict[str, storel.Tensor]:
    """Return the operands as tensors, packed once."""
    return {
        name: value if isinstance(value, storel.Tensor) else storel.tensor(value)
        for name, value in case.operands.items()
    }


def chosen(case: Case, search: Options | None = None) -> storel.Kernel:
    """Return the chosen plan."""
    return storel.compile(case.program, **operands(case), **case.options, search=search)


def as_written(case: Case) -> storel.Kernel:
    """Return the plan that keeps to the order of operations as written."""
    return storel.compile(case.program, **operands(case), floating_point="strict")


def work(kernel: storel.Kernel) -> Work:
    """Return the work of a plan."""
    return measure(kernel.compilation, kernel.environment)[1]


def as_array(value: Any) -> Any:
    """Return a dense array of what storel or its rival computes."""
    if isinstance(value, storel.Tensor):
        value = value.to_numpy()
    return np.asarray(value.toarray() if hasattr(value, "toarray") else value, dtype=float).squeeze()


def is_right(case: Case, kernel: storel.Kernel) -> bool:
    """Return whether storel and the rival agree."""
    found, expected = kernel(**operands(case)), case.rival()
    return bool(np.allclose(as_array(found), as_array(expected), rtol=TOLERANCE, atol=TOLERANCE))


def milliseconds(run: Callable[[], Any], repetitions: int = 5) -> float:
    """Return the least time of several runs."""
    least = float("inf")
    for _ in range(repetitions):
        start = time.perf_counter()
        run()
        least = min(least, time.perf_counter() - start)
    return least * 1e3


def times(case: Case) -> tuple[str, float, float]:
    """Return the milliseconds of the plan as written, as text, of the chosen one and of the rival."""
    given, naive, kernel = operands(case), as_written(case), chosen(case)
    kernel(**given)
    expected = naive.compilation.optimized.cost.nanoseconds
    written = f"≈ {expected / 1e6:,.0f}"
    if expected <= TIMED:
        written = f"{milliseconds(lambda: naive(**given), repetitions=2):,.2f}"
    return written, milliseconds(lambda: kernel(**given)), milliseconds(case.rival)


def row(small: Case, large: Case) -> tuple[list[str], bool]:
    """Return what is told of a program, and whether its answer is right, with no more work than allowed."""
    kernel, optimum = chosen(small, FOR_EVER), optima()[small.name]
    naive, least = work(as_written(small)), work(kernel)
    by_hand = [each for each in optimum.ratios(least, small.quantities) if each is not None]
    is_good = optimum.holds(least, small.quantities) and is_right(small, kernel)
    written, ours, theirs = times(large)
    cells = [
        small.name,
        f"{naive.multiplications:,} / {naive.iterations:,}",
        f"{least.multiplications:,} / {least.iterations:,}",
        " / ".join(f"{each:.2f}" for each in by_hand),
        "yes" if is_good else "NO",
        written,
        f"{ours:.2f}",
        f"{theirs:.2f}",
        f"{ours / theirs:.2f}",
    ]
    return cells, is_good


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="run the cases whose name contains this")
    parser.add_argument("--small", action="store_true", help="time on small data, too")
    arguments = parser.parse_args()
    counted = list(cases(COUNTED))
    require_match("program", arguments.only, (case.name for case in counted))
    table = Table(
        "program", "as written", "chosen", "× by hand", "good",
        "written [ms]", "storel [ms]", "rival [ms]", "ratio",
        caption="multiplications / iterations on small data; × by hand: of optima.csv; ≈ expected, not run",
    )  # fmt: skip
    failed: list[str] = []
    for small, large in zip(counted, cases(SMALL if arguments.small else LARGE), strict=True):
        if arguments.only in small.name:
            cells, is_good = row(small, large)
            print(f"{small.name}: {cells[-3]} ms, rival {cells[-2]} ms", file=sys.stderr)
            failed += [] if is_good else [small.name]
            table.add_row(*cells)
    Console().print(table)
    if failed:
        raise SystemExit(f"more work than allowed, or wrong: {', '.join(failed)}")


if __name__ == "__main__":
    main()
