"""How the time of kernels grows with their data, beside what the machine itself takes for so much of it.

    python benchmarks/growth.py [--nonzeros 100000,1000000,10000000,100000000] [--threads 2] [--json]

Each size is a process of its own, one contest of ``storel bench`` on uniform data, a row for 30 entries. The
``limit`` is measured in it: operands and result through memory once, or scattered reads from as much memory
as the kernel makes them. ``growth`` is the time beside the limit, in that of the best smaller size: 1 where
the time per entry grows as the machine's own does, or less. ``memory`` is that of the operands and what the
first call took, beside that of operands and result.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from storel.bench.data import Data
from storel.bench.run import in_own_process
from storel.bench.task import Contest, Task

KERNELS = "spmv,mttkrp-16,add2"
SIZES = "100000,1000000,10000000,100000000"
ENTRIES_OF_A_ROW = 30


@dataclass(frozen=True)
class Size:
    """One kernel on one size of data: nanoseconds per entry, of the kernel and of the limit that binds."""

    kernel: str
    nonzeros: int
    nanoseconds: float
    limit: float
    binding: str
    memory: float | None

    @property
    def times_limit(self) -> float:
        return self.nanoseconds / self.limit


def measured(kernel: str, nonzeros: int, contest: Contest) -> Size | str:
    """Measure a kernel; return why there is nothing to say of it where it fails or its answer is wrong."""
    data = Data("uniform", max(16, nonzeros // ENTRIES_OF_A_ROW), nonzeros)
    found = in_own_process(Task(kernel, data, contest))
    (timing,) = found.timings
    if not timing.is_right:
        return f"{kernel} with {nonzeros:,} entries: {timing.failure or 'the answer is wrong'}"
    binding, seconds = found.limit
    memory = None if timing.peak is None else (found.moved - found.made + timing.peak) / found.moved
    return Size(kernel, nonzeros, 1e9 * timing.minimum / nonzeros, 1e9 * seconds / nonzeros, binding, memory)


def growth(kernels: list[str], sizes: list[int], contest: Contest) -> Iterator[Size | str]:
    """Yield the sizes of each kernel in turn, or why there is nothing to say of one."""
    for kernel in kernels:
        for nonzeros in sizes:
            yield measured(kernel, nonzeros, contest)


def as_table(found: list[Size]) -> Table:
    """Return what was found, a row for each size."""
    table = Table("kernel", "entries")
    for heading in ("ns per entry", "limit", "× limit", "growth", "memory"):
        table.add_column(heading, justify="right")
    for each in found:
        smaller = [
            other for other in found if other.kernel == each.kernel and other.nonzeros <= each.nonzeros
        ]
        least = min(other.times_limit for other in smaller)
        table.add_row(
            each.kernel,
            f"{each.nonzeros:,}",
            f"{each.nanoseconds:.3f}",
            f"{each.limit:.3f} ({each.binding})",
            f"{each.times_limit:.2f}",
            f"{each.times_limit / least:.2f}",
            "" if each.memory is None else f"{each.memory:.2f}",
        )
    return table


def main() -> None:
    """Measure what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kernels", default=KERNELS, help="names of storel bench, commas between")
    parser.add_argument("--nonzeros", default=SIZES, help="the sizes, commas between")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--backend", default="c")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    contest = Contest.of([arguments.backend], [], arguments.repetitions, arguments.threads)
    sizes = [int(text) for text in arguments.nonzeros.split(",")]
    made = list(growth(arguments.kernels.split(","), sizes, contest))
    found = [each for each in made if isinstance(each, Size)]
    failures = [each for each in made if isinstance(each, str)]
    if arguments.json:
        print(json.dumps([dataclasses.asdict(each) | {"times_limit": each.times_limit} for each in found]))
    else:
        Console().print(as_table(found))
    if failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    main()
