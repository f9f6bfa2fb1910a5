"""Text files: data, compressed or not, as one stream of ASCII, and the texts of formats."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from storel.errors import DataError, FormatError, nearest
from storel.source import Source


@contextmanager
def reading(path: Path) -> Generator[BinaryIO, None, None]:
    """Open ``path`` for reading; what the system says against it becomes a DataError."""
    try:
        with path.open("rb") as stream:
            yield stream
    except FileNotFoundError as error:
        raise DataError(f"there is no file {path}", hint=nearest(path.name, _files_beside(path))) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path} is damaged: its compressed data ends early or is broken") from error
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from error


def _files_beside(path: Path) -> list[str]:
    """Return the names of the files in a path's directory; none if it cannot be listed."""
    try:
        return [each.name for each in path.parent.iterdir() if each.is_file()]
    except OSError:
        return []


@contextmanager
def reading_text(path: Path) -> Generator[TextIO, None, None]:
    """Open a text file, unpacked if its name ends in ``.gz``; bytes that are not ASCII stay visible.

    The mark with which some programs begin what is UTF-8 is passed over: the text need not begin at 0.
    """
    with reading(path) as stream:
        unpacked = gzip.GzipFile(fileobj=stream) if path.suffix == ".gz" else cast(io.BufferedReader, stream)
        if unpacked.peek(len(codecs.BOM_UTF8)).startswith(codecs.BOM_UTF8):
            unpacked.read(len(codecs.BOM_UTF8))
        with io.TextIOWrapper(cast(BinaryIO, unpacked), "ascii", errors="backslashreplace") as text:
            yield text


def whole_source(path: Path) -> Source:
    """Return the text of a file, for messages that point into it."""
    with reading_text(path) as stream:
        return Source(str(path), stream.read())


def format_source(path: Path) -> Source:
    """Return the text of a format's file; raises FormatError if it cannot be read."""
    try:
        return Source(str(path), path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise FormatError(f"the format {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise FormatError(f"the format {path} is no UTF-8 text: {error}") from error
