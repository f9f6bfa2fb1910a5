"""One format, asked every question: in a process of its own, since it may crash."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
from entries import Array, Entries, first_difference
from given import MEMORY, Random, Real, given_data, ranks, stored
from questions import QUESTIONS, WIDTH

import storel
from storel.errors import MemoryLimitError, StorelError
from storel.execution.run import measure
from storel.storage.tensor import Tensor

PRODUCTS = 1_000_000
"""Entries times columns beyond which no interpreter is asked."""

TOLERANCE = {np.dtype(np.float32): 1e-5}
"""Relative to the largest sum of sizes; 1e-12 for other types."""

COMPARED = 2000
"""Entries below which times say nothing."""

REPEATED = 0.1
"""Seconds within which calls are repeated for the least time."""

TIMED = "c"

INTERPRETERS = ("interpret", "loops")

BACKENDS = (TIMED, "numba", *INTERPRETERS)


@dataclass(frozen=True, slots=True)
class Selection:
    """What to ask: of the data in ``directory`` and of random data; names contain ``only``."""

    directory: Path | None
    questions: tuple[str, ...]
    backends: tuple[str, ...]
    only: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """A question to a backend about data in a format."""

    format: str
    data: Random | Real
    rank: int
    question: str
    backend: str

    def __str__(self) -> str:
        return f"{self.format}: {self.question} of {self.data.name}, {self.backend}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """``problem`` says what was wrong, ``skipped`` why nothing was asked; times are in seconds.

    ``sizes`` and ``seconds`` are of the format and of the default one for sparse data.
    """

    cell: Cell
    problem: str = ""
    skipped: str = ""
    seconds: tuple[float, float] | None = None
    sizes: tuple[int, int] = (0, 0)


def cells(text: str, selection: Selection) -> Iterator[Cell]:
    """Yield what to ask about a format, in order."""
    for rank in ranks(text):
        for data in given_data(text, rank, selection.directory):
            for name in selection.questions if selection.only in data.name else ():
                if rank in QUESTIONS[name].ranks:
                    yield from (Cell(text, data, rank, name, backend) for backend in selection.backends)


def work(connection: Connection, asked: list[Cell]) -> None:
    """Send the outcome of each cell."""
    for cell in asked:
        try:
            connection.send(outcome(cell))
        except (MemoryLimitError, MemoryError):
            connection.send(Outcome(cell, skipped="too large"))
        except StorelError as error:
            connection.send(Outcome(cell, problem=f"refused: {str(error).splitlines()[0]}"))
        except Exception as error:  # whatever it is, it is a finding
            connection.send(Outcome(cell, problem=f"{type(error).__name__}: {error}"))


_stored = lru_cache(1)(stored)


@lru_cache(1)
def _baseline(text: str, data: Random | Real) -> Tensor:
    """Return the entries that the format holds in the default format for sparse data."""
    given, _ = _stored(text, data)
    return storel.tensor((given.keys, given.values), shape=given.shape)


def outcome(cell: Cell) -> Outcome:
    """Ask; raises whatever goes wrong but a wrong answer."""
    question = QUESTIONS[cell.question]
    given, tensor = _stored(cell.format, cell.data)
    if cell.backend in INTERPRETERS and max(len(given.values), _size(tensor) // 8) * WIDTH > PRODUCTS:
        return Outcome(cell, skipped="not interpreted")
    operands = question.operands(given)
    bound = {name: _tensor(each) for name, each in operands.items()}
    text = question.text(cell.rank)
    result = _asked(text, cell.backend, {"A": tensor, **bound})
    found = Entries(result.shape, *result.to_coo())
    tolerance = TOLERANCE.get(tensor.dtype, 1e-12) * question.magnitude(given, operands)
    problem = first_difference(found, question.answer(given, operands), tolerance)
    if problem is not None:
        return Outcome(cell, problem=problem)
    if cell.backend != TIMED or len(given.values) < COMPARED:
        return Outcome(cell)
    baseline = _baseline(cell.format, cell.data)
    own, base = (_seconds(text, cell.backend, {"A": each, **bound}) for each in (tensor, baseline))
    return Outcome(cell, seconds=(own, base), sizes=(_size(tensor), _size(baseline)))


def _size(tensor: Tensor) -> int:
    return sum(array.nbytes for array in tensor.arrays.values())


def _tensor(operand: Array | Entries) -> Tensor:
    if isinstance(operand, Entries):
        return storel.tensor((operand.keys, operand.values), shape=operand.shape)
    return storel.tensor(operand)


def _asked(text: str, backend: str, operands: Mapping[str, Tensor]) -> Tensor:
    """Return the answer; "loops" interprets the kernel."""
    if backend == "loops":
        kernel = storel.compile(text, memory_limit=MEMORY, **operands)
        return measure(kernel.compilation, kernel.environment, MEMORY)[0]
    if backend == "interpret":
        result = storel.run(text, backend=backend, **operands)
        assert isinstance(result, Tensor)
        return result
    result = storel.compile(text, backend=backend, memory_limit=MEMORY, **operands)(**operands)
    assert isinstance(result, Tensor)
    return result


def _seconds(text: str, backend: str, operands: Mapping[str, Tensor]) -> float:
    """Return the least seconds of warm calls within ``REPEATED`` seconds."""
    kernel = storel.compile(text, backend=backend, memory_limit=MEMORY, **operands)
    kernel(**operands)
    end, times = time.perf_counter() + REPEATED, list[float]()
    while not times or time.perf_counter() < end:
        start = time.perf_counter()
        kernel(**operands)
        times.append(time.perf_counter() - start)
    return min(times)
