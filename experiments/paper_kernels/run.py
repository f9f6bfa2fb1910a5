"""Every kernel, in every format and on every backend, against SciPy; with the work of its plan.

python experiments/paper_kernels/run.py [--data DIR] [--backends c,numba]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from cases import Case, difference
from operands import cases, layouts
from rich.console import Console
from rich.table import Table

import storel
from storel.compilation.compiler import BACKENDS
from storel.errors import MemoryLimitError
from storel.execution.run import measure

sys.path.append(str(Path(__file__).parents[1]))

from known_names import require_known, require_match

TOLERANCE = 1e-10
COUNTED = 1e7
"""Nanoseconds beyond which the work is not counted, since the interpreter of loops is slow."""

MEMORY = 2**32
"""Bytes that a result and what leads to it may take."""


def compiled(case: Case, stored: dict[str, storel.Tensor], backend: str) -> storel.Kernel:
    return storel.compile(case.script, backend=backend, memory_limit=MEMORY, **stored, **case.fixed)


def outcome(case: Case, stored: dict[str, storel.Tensor], kernel: storel.Kernel) -> tuple[str, bool]:
    """Run one case; return a cell of the table, and whether the answer was right."""
    operands = {**stored, **case.fixed}
    try:
        kernel(**operands)
    except MemoryLimitError:
        return "too large", True
    start = time.perf_counter()
    result = kernel(**operands)
    seconds = time.perf_counter() - start
    assert isinstance(result, storel.Tensor)
    error = difference(result, case.answer())
    return f"{seconds * 1e3:.2f} ms", error <= TOLERANCE


def work_of(case: Case, name: str, kernel: storel.Kernel) -> str:
    """Return the multiplications of the plan, and whether they are within the bound."""
    if kernel.compilation.optimized.cost.nanoseconds > COUNTED:
        return "not counted"
    _, work = measure(kernel.compilation, kernel.environment)
    is_within = name not in case.bounded or case.bound(work)
    return f"{work.multiplications}{'' if is_within else ' (above the bound)'}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a directory of .mtx and .tns files")
    parser.add_argument("--backends", default="c,numba", help="which backends to run, separated by commas")
    parser.add_argument("--small", action="store_true", help="only small random data")
    parser.add_argument("--only", default="", help="only data whose name contains this")
    arguments = parser.parse_args()
    backends = arguments.backends.split(",")
    require_known("backend", backends, BACKENDS)
    if arguments.data is not None and not arguments.data.is_dir():
        parser.error(f"{arguments.data} is no directory")
    table = Table("kernel", "data", "format", *backends, "multiplications")
    wrong = 0
    names: list[str] = []
    for case in cases(arguments.data, small=arguments.small):
        names.append(case.data)
        if arguments.only not in case.data:
            continue
        for name, stored in layouts(case):
            if stored is None:
                table.add_row(case.kernel, case.data, name, *["too large"] * len(backends), "")
                continue
            cells: list[str] = []
            kernels = {backend: compiled(case, stored, backend) for backend in backends}
            for backend, kernel in kernels.items():
                asked = f"{case.kernel} on {case.data} in {name}, {backend}"
                print(asked, end="", file=sys.stderr, flush=True)
                text, is_right = outcome(case, stored, kernel)
                wrong += not is_right
                cells.append(text if is_right else f"WRONG {text}")
                print(f": {cells[-1]}", file=sys.stderr, flush=True)
            table.add_row(case.kernel, case.data, name, *cells, work_of(case, name, kernels[backends[0]]))
    require_match("data", arguments.only, names)  # files are read one after the other, as they are asked
    Console().print(table)
    if wrong:
        raise SystemExit(f"{wrong} wrong answers")


if __name__ == "__main__":
    main()
