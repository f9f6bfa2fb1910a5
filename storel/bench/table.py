"""Measurements as a table: a block per kernel and data, storel first, then rivals, the fastest first."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table

from storel.bench.task import Measurement, Timing
from storel.explanation.figures import duration, size

NUMBERS = ("min", "median", "× rival", "× limit", "first", "memory")


def table_of(measurements: Sequence[Measurement]) -> Table:
    """Return one table: ratios are to the fastest rival that is right, and to the machine's limit."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for title in ("kernel", "data", "contestant"):
        table.add_column(title, no_wrap=True)
    for title in NUMBERS:
        table.add_column(title, justify="right", no_wrap=True)
    for found in measurements:
        limit, seconds = found.limit
        timings = sorted(found.timings, key=lambda each: (each.is_rival, bool(each.failure), each.minimum))
        for number, timing in enumerate(timings):
            labels = (found.kernel, found.data) if number == 0 else ("", "")
            style = None if timing.is_right else "red"
            table.add_row(*labels, timing.name, *_cells(found, timing), style=style)
        cells = ("", "", f"limit: {limit}", duration(1e9 * seconds))
        table.add_row(*cells, style="dim", end_section=True)
    return table


def failures(measurements: Sequence[Measurement]) -> list[str]:
    """Return a line for each way in which a contestant failed or was wrong, and where it first did."""
    places: dict[tuple[str, str], list[str]] = {}
    for found in measurements:
        for timing in found.timings:
            if not timing.is_right:
                reason = timing.failure or "the answer is wrong"
                places.setdefault((timing.name, reason), []).append(f"{found.kernel}, {found.data}")
    return [
        f"{name} on {where[0]}{f' and {len(where) - 1} more' if len(where) > 1 else ''}: {reason}"
        for (name, reason), where in places.items()
    ]


def _cells(found: Measurement, timing: Timing) -> tuple[str, ...]:
    if timing.failure:
        return ("failed",)
    times = (duration(1e9 * timing.minimum), duration(1e9 * timing.median))
    ratio = found.ratio(timing)
    beside = "" if ratio is None else f"{ratio:.2f}"
    ratios = (beside, f"{timing.minimum / found.limit[1]:.2f}") if timing.is_right else ("WRONG", "")
    return *times, *ratios, duration(1e9 * timing.first), "" if timing.peak is None else size(timing.peak)
