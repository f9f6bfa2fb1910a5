"""What tuning tried as a table for each definition: expected and measured times, a bar, what was chosen."""

from __future__ import annotations

from io import StringIO

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from storel.explanation.figures import duration
from storel.tuning.rows import Row, Tuned, Tuning

BAR_WIDTH = 16
TABLE_WIDTH = 110
CHOSEN = "*"


def tuning_text(tuning: Tuning) -> str:
    """Return a table for each definition, the fastest way to compute it first."""
    return "\n\n".join(map(_definition_text, tuning.definitions))


def _definition_text(tuned: Tuned) -> str:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(tuned.name)
    for title in ("expected", "measured"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("")
    slowest = max(row.measured or 0.0 for row in tuned.rows)
    for row in sorted(tuned.rows, key=_order):
        table.add_row(*_cells(row, slowest))
    console = Console(file=StringIO(), width=TABLE_WIDTH, color_system=None)
    with console.capture() as captured:
        console.print(table)
    lines = [line.rstrip() for line in captured.get().strip().splitlines()]
    return "\n".join((*lines, *_remarks(tuned)))


def _order(row: Row) -> tuple[bool, float, str]:
    return row.measured is None, row.measured or row.expected, row.description


def _cells(row: Row, slowest: float) -> tuple[str, str, str, str]:
    name = f"{row.description} {CHOSEN}" if row.is_chosen else row.description
    if row.measured is None:
        return name, duration(row.expected), "", row.objection or ""
    bar = "█" * max(1, round(BAR_WIDTH * row.measured / slowest)) if slowest else ""
    return name, duration(row.expected), duration(row.measured), bar


def _remarks(tuned: Tuned) -> list[str]:
    """Return what was not tried, and what the next run does."""
    skipped = f"not tried, too slow by the estimates or for want of time: {tuned.skipped}"
    if not tuned.is_remembered and tuned.chosen is tuned.rows[0]:
        kept = "nothing is remembered"
    elif tuned.chosen is tuned.rows[0]:
        kept = "nothing that was tried is worthwhile: the estimates decide"
    else:
        taken = "is taken from now on" if tuned.is_remembered else "cannot be remembered"
        kept = f"{CHOSEN} {taken}: {tuned.speedup:.2f} times as fast as estimated"
    return [*([skipped] if tuned.skipped else []), kept]
