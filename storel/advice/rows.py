"""What advice is made of: for each operand of a program a row per format, and what is best for all."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from storel.advice.named import Named
from storel.candidates.candidates import Dropped


@dataclass(frozen=True, slots=True)
class Row:
    """One format of an operand: the bytes it takes, and the nanoseconds of the program with it.

    ``expected`` is the optimizer's estimate; ``measured`` is the fastest of several runs, None where nothing
    is run; ``conversion`` is what storing the operand so took. ``pays_after`` is the number of runs that save
    as much as the conversion takes, None where no number does.
    """

    format: str
    bytes: int
    expected: float
    measured: float | None
    conversion: float
    is_present: bool
    pays_after: int | None = None

    @property
    def nanoseconds(self) -> float:
        """The time by which formats are compared: measured, else expected."""
        return self.expected if self.measured is None else self.measured


@dataclass(frozen=True, slots=True)
class OperandAdvice:
    """The formats that hold one operand, the others left as they are: the fastest program first."""

    name: str
    description: str
    rows: tuple[Row, ...]
    dropped: tuple[Dropped, ...]

    @property
    def best(self) -> Row:
        return self.rows[0]


@dataclass(frozen=True, slots=True)
class Together:
    """Formats of several operands at once that are faster than any change of a single one."""

    formats: Mapping[str, str]
    expected: float
    measured: float | None


@dataclass(frozen=True, slots=True, repr=False)
class Advice(Named[OperandAdvice]):
    """Formats for the operands of a program; ``together`` is None where one change is as good."""

    operands: tuple[OperandAdvice, ...]
    together: Together | None = None

    @property
    def formats(self) -> dict[str, str]:
        """The best format of each operand: those that are best together, if that pays."""
        best = {operand.name: operand.best.format for operand in self.operands}
        return best if self.together is None else best | dict(self.together.formats)

    @property
    def by_name(self) -> dict[str, OperandAdvice]:
        return {operand.name: operand for operand in self.operands}

    def why_missing(self, name: object) -> str:
        return f"there is no advice on '{name}'"

    def as_object(self) -> dict[str, Any]:
        """Return what is written as JSON; times are nanoseconds."""
        operands = {
            operand.name: {
                "rows": [asdict(row) for row in operand.rows],
                "dropped": {each.format: each.reason for each in operand.dropped},
            }
            for operand in self.operands
        }
        return {"operands": operands, "together": None if self.together is None else asdict(self.together)}

    def __repr__(self) -> str:
        lines = [
            f"  {operand.name} in {row.format}{' (present)' if row.is_present else ''}: "
            f"{row.bytes:,} bytes, {row.nanoseconds / 1e6:.3g} ms"
            for operand in self.operands
            for row in operand.rows
        ]
        return "\n".join(("<storel.Advice, the fastest first:", *lines)) + ">"


def compared(row: Row, present: Row) -> int | None:
    """Return how many runs with ``row`` save as much time as the conversion takes; None if none do.

    >>> slow, fast = Row("one", 0, 50.0, None, 0.0, True), Row("other", 0, 30.0, None, 90.0, False)
    >>> compared(fast, slow), compared(slow, fast)
    (5, None)
    """
    saved = present.nanoseconds - row.nanoseconds
    if row.is_present or saved <= 0:
        return None
    return max(1, math.ceil(row.conversion / saved))
