"""Lines of numbers: indices that count from 1, then perhaps a value.

NumPy's parser reads them. Only when it fails, or when an index is out of range, are the lines read
again one by one, to find and show the first bad one.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from storel.arrays import Array
from storel.errors import DataError
from storel.host.text import whole_source
from storel.scalars import ScalarType
from storel.source import Source, Span

INTEGER = re.compile(r"[+-]?\d+")
REAL = re.compile(r"[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|inf|infinity|nan)", re.IGNORECASE)
WORD = re.compile(r"\S+")

LONGEST_SHOWN_LINE = 200


@dataclass(frozen=True, slots=True)
class Column:
    """A column of indices; ``extent`` None means that any index of 64 bits fits."""

    name: str
    extent: int | None


@dataclass(frozen=True, slots=True)
class Table:
    """What each line holds; ``value`` None means that there are indices only."""

    indices: tuple[Column, ...]
    value: ScalarType | None
    comment: str

    @property
    def width(self) -> int:
        return len(self.indices) + (self.value is not None)

    @property
    def description(self) -> str:
        names = [column.name for column in self.indices] + ["value"] * (self.value is not None)
        return f"{self.width} number{'s' * (self.width != 1)} per line: {', '.join(names)}"


def is_integer(word: str) -> bool:
    """Return whether a value is written as an integer."""
    return INTEGER.fullmatch(word) is not None


def read_table(
    stream: TextIO, table: Table, path: Path, lines_before: int, *, otherwise: ScalarType | None = None
) -> tuple[Array, Array | None]:
    """Return coordinates from 0 (one row per index column) and values, from the rest of ``stream``.

    ``lines_before`` lines of the file at ``path`` have been read already. Where not all values are of the
    table's type, they are read as ``otherwise``. Raises DataError that shows the first bad line.
    """
    start = stream.tell()
    fields: list[tuple[str, type[Any] | np.dtype[Any]]] = [
        (f"index{number}", np.int64) for number in range(len(table.indices))
    ]
    if table.value is not None:
        fields.append(("value", table.value.dtype))
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "loadtxt: input contained no data")
            rows = np.loadtxt(stream, np.dtype(fields), comments=table.comment, ndmin=1)
    except (ValueError, OverflowError) as error:
        if otherwise not in (None, table.value):
            stream.seek(start)
            return read_table(stream, replace(table, value=otherwise), path, lines_before)
        raise _first_bad_line(path, table, lines_before) or DataError(f"{path}: {error}") from error
    coordinates = np.empty((len(table.indices), len(rows)), dtype=np.int64)
    for number, column in enumerate(table.indices):
        found = rows[f"index{number}"]
        lowest, highest = found.min(initial=1), found.max(initial=0)
        if lowest < 1 or (column.extent is not None and highest > column.extent):
            raise _first_bad_line(path, table, lines_before) or DataError(f"{path}: an index is out of range")
        np.subtract(found, 1, out=coordinates[number])
    values = None if table.value is None else np.ascontiguousarray(rows["value"])
    return coordinates, values


def data_lines(source: Source, comment: str, lines_before: int = 0) -> Iterator[list[Span]]:
    """Yield the words of each line that holds any, without comments."""
    start = 0
    for number, line in enumerate(source.text.split("\n")):
        content = line.partition(comment)[0]
        if number >= lines_before and content.strip():
            yield [Span(source, start + word.start(), start + word.end()) for word in WORD.finditer(content)]
        start += len(line) + 1


def bad_data(path: Path, message: str, span: Span, expected: str | None = None) -> DataError:
    """Return an error that shows the place, unless its line is too long to be shown."""
    number, _, line = span.source.line_at(span.start)
    if len(line) > LONGEST_SHOWN_LINE:
        return DataError(f"{path}, line {number}: {message}", expected=expected)
    return DataError(message, expected=expected, span=span)


def _first_bad_line(path: Path, table: Table, lines_before: int) -> DataError | None:
    for words in data_lines(whole_source(path), table.comment, lines_before):
        if len(words) != table.width:
            count = f"{len(words)} number{'s' * (len(words) != 1)}"
            return bad_data(path, f"a line with {count}", words[0].to(words[-1]), table.description)
        for column, word in zip(table.indices, words, strict=False):
            error = _bad_index(path, column, word)
            if error is not None:
                return error
        if table.value is not None:
            kind, pattern = ("an integer", INTEGER) if table.value.is_integer else ("a number", REAL)
            if not pattern.fullmatch(words[-1].text):
                return bad_data(path, f"'{words[-1].text}' is not {kind}", words[-1])
            if table.value.is_integer and not -(2**63) <= int(words[-1].text) < 2**63:
                return bad_data(path, f"{words[-1].text} does not fit into 64 bits", words[-1])
    return None


def _bad_index(path: Path, column: Column, word: Span) -> DataError | None:
    if not INTEGER.fullmatch(word.text):
        return bad_data(path, f"'{word.text}' is not an index", word, "an integer, counted from 1")
    index, extent = int(word.text), 2**63 - 1 if column.extent is None else column.extent
    if 1 <= index <= extent:
        return None
    allowed = "at least 1" if column.extent is None and index < 1 else f"1 to {extent}"
    return bad_data(path, f"{column.name} {index} is out of range", word, allowed)
