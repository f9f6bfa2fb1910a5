"""What rewriting makes of programs whose obvious plan is asymptotically worse.

python experiments/optimizer_showcase/run.py [--only WORD] [--small]

For each program: the multiplications and iterations of the plan as written and of the chosen one, on small
data, where they are counted exactly; and the times of the chosen plan and of NumPy or SciPy, written the
best way known, on large data.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from showcase import LARGE, SMALL, Case, cases

import storel
from storel.execution.run import measure
from storel.loops.interpret import Work

sys.path.append(str(Path(__file__).parents[1]))

from known_names import require_match

TOLERANCE = 1e-9


def operands(case: Case) -> dict[str, storel.Tensor]:
    """Return the operands as tensors, packed once."""
    return {
        name: value if isinstance(value, storel.Tensor) else storel.tensor(value)
        for name, value in case.operands.items()
    }


def compiled(case: Case) -> storel.Kernel:
    """Return the chosen plan."""
    return storel.compile(case.program, **operands(case), **case.options)


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


def times(case: Case, kernel: storel.Kernel) -> tuple[float, float]:
    """Return the milliseconds of the chosen plan and of the rival."""
    given = operands(case)
    kernel(**given)
    return milliseconds(lambda: kernel(**given)), milliseconds(case.rival)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="run the cases whose name contains this")
    parser.add_argument("--small", action="store_true", help="time on the small data, too")
    arguments = parser.parse_args()
    counted = list(cases(SMALL))
    require_match("program", arguments.only, (case.name for case in counted))
    table = Table(
        "program", "as written", "chosen", "within the bound", "storel [ms]", "rival [ms]", "ratio",
        caption="as written, chosen: multiplications / iterations on small data",
    )  # fmt: skip
    failed: list[str] = []
    for small, large in zip(counted, cases(SMALL if arguments.small else LARGE), strict=True):
        if arguments.only not in small.name:
            continue
        strict = storel.compile(small.program, **operands(small), floating_point="strict")
        kernel = compiled(small)
        naive, chosen = work(strict), work(kernel)
        ours, theirs = times(small, kernel) if arguments.small else times(large, compiled(large))
        print(f"{small.name}: {ours:.2f} ms, rival {theirs:.2f} ms", file=sys.stderr)
        is_good = small.bound(chosen) and is_right(small, kernel)
        failed += [] if is_good else [small.name]
        table.add_row(
            small.name,
            f"{naive.multiplications:,} / {naive.iterations:,}",
            f"{chosen.multiplications:,} / {chosen.iterations:,}",
            "yes" if is_good else "NO",
            f"{ours:.2f}",
            f"{theirs:.2f}",
            f"{ours / theirs:.2f}",
        )
    Console().print(table)
    if failed:
        raise SystemExit(f"not within the bound, or wrong: {', '.join(failed)}")


if __name__ == "__main__":
    main()
