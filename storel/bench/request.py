"""What a run is asked for: the tasks that it amounts to, and the options that ask for the same again."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from storel.bench.arrays import read_contractions
from storel.bench.data import DENSE, Data
from storel.bench.kernels import data_for
from storel.bench.task import Contest, Task
from storel.errors import DataError


@dataclass(frozen=True, slots=True)
class Request:
    """Kernels on data, contractions that a file lists, and who is timed.

    ``contraction_mib`` is the size of the largest tensor of each contraction; None where no file is given.
    """

    kernels: tuple[str, ...]
    data: tuple[str, ...]
    size: int
    nonzeros: int
    contest: Contest
    contractions: Path | None = None
    contraction_mib: float | None = None

    def tasks(self) -> list[Task]:
        """Return a task for each kernel on each kind of data that suits it, and for each contraction.

        Raises StorelError for names that are not known, for a file that lists no contractions, and where
        nothing is left to be timed.
        """
        found = [
            Task(kernel, Data(name, self.size, self.nonzeros), self.contest)
            for kernel in self.kernels
            for name in data_for(kernel, self.data)
        ] + [
            Task(subscripts, Data(DENSE, self.size, self.nonzeros), self.contest, self.contraction_mib)
            for subscripts in ([] if self.contractions is None else read_contractions(self.contractions))
        ]
        if not found:
            expected = "matrices, or tensors of rank 3, as the kernels have them"
            raise DataError(
                "none of the kernels takes such data", expected=expected, found=",".join(self.data)
            )
        return found

    def as_object(self) -> dict[str, Any]:
        """Return what is written as JSON: the options of ``storel bench`` by name, those not given, too."""
        found: dict[str, Any] = asdict(self)
        contest = found.pop("contest")
        return found | contest | {"contractions": self.contractions and str(self.contractions)}
