"""Advice as a table for each operand: formats with memory, times, what converting takes, and a bar."""

from __future__ import annotations

from collections import Counter
from io import StringIO

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from storel.advice.rows import Advice, OperandAdvice, Row, Together
from storel.explanation.figures import duration, size

BAR_WIDTH = 16
TABLE_WIDTH = 120
LONGEST_BAR = 10
"""How often the fastest time the longest bar stands for, so that one slow format does not hide the others."""
PRESENT = "*"


def advice_text(advice: Advice, *, lists_dropped: bool = False) -> str:
    """Return a table per operand, what is best together, and which formats are not in the tables."""
    blocks = [_operand_text(each, lists_dropped=lists_dropped) for each in advice.operands]
    if advice.together is not None:
        blocks.append(_together_text(advice.together))
    return "\n\n".join(blocks)


def _operand_text(operand: OperandAdvice, *, lists_dropped: bool) -> str:
    fastest, slowest = operand.rows[0].nanoseconds, operand.rows[-1].nanoseconds
    longest = min(slowest, LONGEST_BAR * fastest) or slowest
    is_measured = operand.best.measured is not None
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(f"{operand.name} in")
    measured = ("measured",) if is_measured else ()
    for title in ("memory", "expected", *measured, "conversion", "pays after"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for row in operand.rows:
        table.add_row(*_cells(row), _bar(row.nanoseconds, longest))
    console = Console(file=StringIO(), width=TABLE_WIDTH, color_system=None)
    with console.capture() as captured:
        console.print(table)
    lines = [line.rstrip() for line in captured.get().rstrip().splitlines()]
    return "\n".join(
        (f"{operand.name}: {operand.description}", *lines, *_dropped_lines(operand, lists_all=lists_dropped))
    )


def _cells(row: Row) -> tuple[str, ...]:
    name = f"{row.format} {PRESENT}" if row.is_present else row.format
    measured = () if row.measured is None else (duration(row.measured),)
    conversion = "present" if row.is_present else duration(row.conversion)
    runs = "" if row.pays_after is None else f"{row.pays_after:,} run{'s' if row.pays_after > 1 else ''}"
    return name, size(row.bytes), duration(row.expected), *measured, conversion, runs


def _bar(time: float, longest: float) -> str:
    """Return a bar as long as the time is beside the one of the longest bar.

    >>> _bar(1.0, 4.0), _bar(0.0, 0.0)
    ('████', '')
    """
    eighths = round(8 * BAR_WIDTH * min(1.0, time / longest)) if longest else 0
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def _dropped_lines(operand: OperandAdvice, *, lists_all: bool) -> list[str]:
    """Return how many formats were dropped and why, or each with its reason."""
    if not operand.dropped:
        return []
    if lists_all:
        return ["not considered:", *(f"  {each.format}: {each.reason}" for each in operand.dropped)]
    counts = Counter(each.why.value for each in operand.dropped)
    reasons = ", ".join(f"{count} {why}" for why, count in sorted(counts.items()))
    return [f"{len(operand.dropped)} formats not considered: {reasons} (--all lists them)"]


def _together_text(together: Together) -> str:
    formats = ", ".join(f"{name} in {each}" for name, each in together.formats.items())
    measured = "" if together.measured is None else f", {duration(together.measured)} measured"
    return f"best together: {formats}: {duration(together.expected)} expected{measured}"
