"""Each operand of a program in each format that holds it, priced by the plans that result.

Operands are changed one at a time, the others as they are. Then the best few of each are combined, as far as
that takes few plans.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import product

from storel.advice.rows import Advice, OperandAdvice, Row, Together, compared
from storel.advice.trial import Measured, Trial, is_same
from storel.candidates.candidates import Candidate, Candidates, Dropped, Why, candidates
from storel.errors import DataError, StorelError
from storel.execution.script import Progress
from storel.storage.tensor import Tensor

COMBINATIONS = 9
"""The most combinations of operands' formats that are planned for."""


def advise(trial: Trial, *, measures: bool = False, progress: Progress = lambda _: None) -> Advice:
    """Return the formats of each operand of a program with what it takes then; ``measures`` runs it, too.

    Raises DataError if no tensor's storage is left to choose, StorelError where the program itself fails.
    """
    if not trial.operands:
        raise DataError(
            "there is no storage to advise on",
            expected="results that are made of a tensor, not of its arrays by their names",
        )
    advisor = _Advisor(trial, trial.measured({}) if measures else None, progress)
    found = {name: advisor.operand(name, tensor) for name, tensor in trial.operands.items()}
    operands = tuple(advice for advice, _ in found.values())
    return Advice(operands, advisor.together({name: ranked for name, (_, ranked) in found.items()}))


class _Advisor:
    """A program under trial, and what it takes and gives as it stands, if it is run."""

    def __init__(self, trial: Trial, present: Measured | None, progress: Progress) -> None:
        self.trial, self.present, self.progress = trial, present, progress

    def operand(self, name: str, tensor: Tensor) -> tuple[OperandAdvice, list[tuple[Row, Tensor]]]:
        """Return advice on one operand, and its rows with the tensors that they are about."""
        runner = self.trial.runner
        limit = runner.options.memory_limit

        def tell(step: str) -> None:
            self.progress(f"{name}: {step}")

        held = candidates(tensor, runner.environment.formats, limit, tell)
        rows = self._rows(name, held)
        present = next(row for row, _ in rows if row.is_present)
        rows = [(replace(row, pays_after=compared(row, present)), each) for row, each in rows]
        rows.sort(key=lambda each: (each[0].nanoseconds, each[0].bytes, each[0].format))
        dropped = tuple(sorted(held.dropped, key=lambda each: each.format))
        description = f"{tensor.type.value}[{', '.join(map(str, tensor.shape))}], {tensor.nnz} entries"
        return OperandAdvice(name, description, tuple(row for row, _ in rows), dropped), rows

    def _rows(self, name: str, held: Candidates) -> list[tuple[Row, Tensor]]:
        """Price all candidates; those that fail are dropped, unless it is the program as it stands."""
        rows: list[tuple[Row, Tensor]] = []
        for number, candidate in enumerate(held.kept):
            tensor = candidate.tensor
            self.progress(f"{name}: planning for {tensor.format}")
            try:
                row = self._row(name, candidate, is_present=number == 0)
            except StorelError as error:
                if number == 0:
                    raise
                held.dropped.append(Dropped(tensor.format, Why.FAILED, error.message))
                continue
            rows.append((row, tensor))
        return rows

    def _row(self, name: str, candidate: Candidate, *, is_present: bool) -> Row:
        tensors = {} if is_present else {name: candidate.tensor}
        return Row(
            candidate.tensor.format,
            candidate.bytes,
            self.trial.expected(tensors),
            self._measured(tensors),
            1e9 * candidate.seconds,
            is_present,
        )

    def _measured(self, tensors: Mapping[str, Tensor]) -> float | None:
        """Return the time of the program, None if nothing is run; raises DataError for other results."""
        if self.present is None or not tensors:
            return None if self.present is None else self.present.nanoseconds
        found = self.trial.measured(tensors)
        if not is_same(found.results, self.present.results, self.trial.runner.environment.types):
            raise DataError("the results are others; please report this")
        return found.nanoseconds

    def together(self, ranked: Mapping[str, list[tuple[Row, Tensor]]]) -> Together | None:
        """Return the best combination of changes, if it is better than the best change of one operand."""
        single = min(rows[0][0].expected for rows in map(_by_estimate, ranked.values()))
        depth = math.floor(COMBINATIONS ** (1 / len(ranked)) + 1e-9)
        choices = [
            [(name, tensor) for row, tensor in _by_estimate(rows)[:depth] if not row.is_present]
            for name, rows in ranked.items()
        ]
        found: list[tuple[float, str, dict[str, Tensor]]] = []
        for chosen in product(*filter(None, choices)):
            tensors = dict(chosen)
            if len(tensors) > 1:
                self.progress(f"planning for {_text(tensors)}")
                found.append((self.trial.expected(tensors), _text(tensors), tensors))
        best, _, tensors = min(found, key=lambda each: each[:2], default=(single, "", {}))
        if best >= single:
            return None
        formats = {name: tensor.format for name, tensor in tensors.items()}
        return Together(formats, best, self._measured(tensors))


def _by_estimate(rows: list[tuple[Row, Tensor]]) -> list[tuple[Row, Tensor]]:
    """Return the rows, those that are expected to be the fastest first."""
    return sorted(rows, key=lambda each: (each[0].expected, each[0].bytes, each[0].format))


def _text(tensors: Mapping[str, Tensor]) -> str:
    return ", ".join(f"{name} in {tensor.format}" for name, tensor in tensors.items())
