"""Measurements as a table: a block per kernel and data, storel first, then rivals, the fastest first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Column, Table

from storel.bench.task import Measurement, Timing
from storel.explanation.figures import duration, size

WIDEST = 2**15
"""Places that are enough for any table."""

NUMBERS = ("min", "median", "×\nrival", "×\nlimit", "first", "memory")


def table_of(measurements: Sequence[Measurement]) -> Table:
    """Return one table: ratios are to the fastest rival that is right, and to the machine's limit.

    Where there is little room, names take several lines, numbers never; files stand without directories.
    """
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True)
    for title in ("kernel", "data", "contestant"):
        table.add_column(title, overflow="fold")
    for title in NUMBERS:
        table.add_column(title, justify="right")
    for found in measurements:
        limit, seconds = found.limit
        timings = sorted(found.timings, key=lambda each: (each.is_rival, bool(each.failure), each.minimum))
        for number, timing in enumerate(timings):
            labels = (found.kernel, Path(found.data).name) if number == 0 else ("", "")
            style = None if timing.is_right else "red"
            table.add_row(*labels, timing.name, *_cells(found, timing), style=style)
        cells = ("", "", f"limit: {limit}", duration(1e9 * seconds))
        table.add_row(*cells, style="dim", end_section=True)
    for column in table.columns[-len(NUMBERS) :]:
        column.min_width = _width_of_numbers(column)
    return table


def width_of(table: Table, places: int | None) -> int:
    """Return how wide a table is to be on a terminal of so many places; None where it is not on one."""
    needed = Console(width=WIDEST).measure(table)
    return needed.maximum if places is None else max(places, needed.minimum)


def _width_of_numbers(column: Column) -> int:
    """Return how many places of a terminal the numbers of a column take, and the words of its title."""
    return max(cell_len(str(text)) for text in (*str(column.header).split(), *column.cells))


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
