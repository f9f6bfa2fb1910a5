"""What tuning found: for each definition a row per way to compute it, and which one is taken from now on."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from storel.advice.named import Named
from storel.compilation.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Row:
    """One way to compute a definition: the nanoseconds estimated and measured, conversions included.

    ``measured`` is the fastest run, None where there is an ``objection``. It ``is_wrong`` if its result is
    another one, an error of storel.
    """

    description: str
    schedule: Schedule
    expected: float
    measured: float | None = None
    objection: str | None = None
    is_wrong: bool = False
    is_chosen: bool = False


@dataclass(frozen=True, slots=True)
class Tuned:
    """The ways to compute one definition, in the order in which they were tried, the compiler's own first.

    ``skipped`` is the number of those that were not tried, for want of time or since they are expected to
    take far longer. ``is_remembered`` says whether the next run takes the chosen one.
    """

    name: str
    rows: tuple[Row, ...]
    skipped: int
    is_remembered: bool

    @property
    def chosen(self) -> Row:
        return next(row for row in self.rows if row.is_chosen)

    @property
    def speedup(self) -> float:
        """How often the chosen way runs in the time of the compiler's own."""
        before, after = self.rows[0].measured, self.chosen.measured
        return before / after if before and after else 1.0


@dataclass(frozen=True, slots=True, repr=False)
class Tuning(Named[Tuned]):
    """What was tried for each definition that a program runs."""

    definitions: tuple[Tuned, ...]

    @property
    def by_name(self) -> dict[str, Tuned]:
        return {each.name: each for each in self.definitions}

    def why_missing(self, name: object) -> str:
        return f"no definition of the name '{name}' was run"

    @property
    def wrong(self) -> tuple[str, ...]:
        """What gave another result, which is an error of storel."""
        return tuple(
            f"{each.name}: {row.description}"
            for each in self.definitions
            for row in each.rows
            if row.is_wrong
        )

    def as_object(self) -> dict[str, Any]:
        """Return what is written as JSON; times are nanoseconds."""
        return {
            each.name: {
                "rows": [asdict(row) for row in each.rows],
                "skipped": each.skipped,
                "speedup": each.speedup,
                "remembered": each.is_remembered,
            }
            for each in self.definitions
        }

    def __repr__(self) -> str:
        lines = [
            f"  {each.name}: {each.chosen.description}, {each.speedup:.2f} times as fast"
            for each in self.definitions
        ]
        return "\n".join(("<storel.Tuning", *lines)) + ">"
