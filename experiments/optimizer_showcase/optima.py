"""The work of programs written by hand, as the formulas in ``optima.csv`` have it.

Formulas are SDQLite over the quantities of a case: ``nnz_A``, ``rows_A``, and what the case counts itself.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import storel
from storel.loops.interpret import Work


@dataclass(frozen=True)
class Optimum:
    """Formulas of the least work, and how many times that a plan may take; ``reason`` says why it does."""

    multiplications: str
    iterations: str
    within: float
    reason: str

    def ratios(self, work: Work, quantities: Mapping[str, int]) -> tuple[float, float | None]:
        """Return by how much work exceeds both formulas; None where there is none of iterations."""
        multiplications = work.multiplications / value(self.multiplications, quantities)
        if not self.iterations:
            return multiplications, None
        return multiplications, work.iterations / value(self.iterations, quantities)

    def holds(self, work: Work, quantities: Mapping[str, int]) -> bool:
        """Return whether work is within what is allowed."""
        return all(ratio is None or ratio <= self.within for ratio in self.ratios(work, quantities))


def optima() -> dict[str, Optimum]:
    """Return the table, by program."""
    with Path(__file__).with_name("optima.csv").open(newline="") as file:
        return {
            row["program"]: Optimum(
                row["multiplications"], row["iterations"], float(row["within"]), row["why more"]
            )
            for row in csv.DictReader(file)
        }


def value(formula: str, quantities: Mapping[str, int]) -> int:
    """Return the value of a formula."""
    named = {name: count for name, count in quantities.items() if name in formula}
    result = storel.run(f"CREATE TENSOR work AS {formula}", backend="interpret", **named)
    assert isinstance(result, storel.Tensor)
    return int(result.to_numpy())
