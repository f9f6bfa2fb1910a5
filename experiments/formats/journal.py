"""What became of each question, kept in a file, so that a run can go on where another one ended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from worker import Cell, Outcome


class Journal:
    """A file with a line for each answer; without a path nothing is kept."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.lines: dict[str, str] = {}
        if path is None:
            return
        try:
            with path.open("a+") as file:  # what cannot be written is told before anything is asked
                file.seek(0)
                self.lines = {json.loads(line)["cell"]: line for line in file}
        except OSError as error:
            raise SystemExit(f"{path} cannot be written: {error.strerror}") from error
        except (KeyError, TypeError, ValueError) as error:
            raise SystemExit(f"{path} is no journal of answers") from error

    def find(self, cell: Cell) -> Outcome | None:
        """Return what became of a question; one whose answer was a problem is asked again."""
        line = self.lines.get(str(cell))
        found: Any = json.loads(line) if line is not None else {"problem": "not asked yet"}
        if found["problem"]:
            return None
        (own, base), seconds = found["sizes"], found["seconds"]
        return Outcome(cell, "", found["skipped"], seconds and (seconds[0], seconds[1]), (own, base))

    def add(self, outcome: Outcome) -> None:
        if self.path is None:
            return
        fields = ("problem", "skipped", "seconds", "sizes")
        line = json.dumps({"cell": str(outcome.cell)} | {name: getattr(outcome, name) for name in fields})
        with self.path.open("a") as file:
            file.write(f"{line}\n")
