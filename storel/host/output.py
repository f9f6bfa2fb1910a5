"""Writing files that are there as a whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from storel.errors import DataError


@contextmanager
def replacing(path: Path) -> Generator[BinaryIO, None, None]:
    """Open a file that takes the place of ``path`` when the block ends without an error.

    What is no regular file (a device, a pipe) is written to as it is. Raises DataError where the
    system refuses; nothing is left behind then.
    """
    with _refusals(path):
        target = path.resolve()
        if target.exists() and not target.is_file():
            with target.open("wb") as stream:
                yield stream
            return
        temporary = _beside(target)
        try:
            with temporary.open("wb") as stream:
                yield stream
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)


def require_writable(path: Path) -> None:
    """Raise DataError where the system would refuse to write a file, before work is spent on what goes there.

    What is at ``path`` is left as it is: a device or a pipe is not even opened, since that may be heard.
    """
    with _refusals(path):
        target = path.resolve()
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if target.is_file() or not target.exists():
            temporary = _beside(target)
            temporary.touch()
            temporary.unlink()


def _beside(target: Path) -> Path:
    """Return where a file is written before it takes the place of ``target``."""
    return target.with_name(f".{target.name}.{os.getpid()}.partial")


@contextmanager
def _refusals(path: Path) -> Generator[None, None, None]:
    """Turn what the system says against writing a file into a DataError."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or f"not all of it could be written ({error})"  # as NumPy tells it
        raise DataError(
            f"cannot write {path}: {reason}",
            hint=None if path.parent.is_dir() else f"the directory {path.parent} does not exist",
        ) from error
