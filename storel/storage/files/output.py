"""Writing files that are there as a whole or not at all."""

from __future__ import annotations

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
    try:
        target = path.resolve()
        if target.exists() and not target.is_file():
            with target.open("wb") as stream:
                yield stream
            return
        temporary = target.with_name(f".{target.name}.{os.getpid()}.partial")
        try:
            with temporary.open("wb") as stream:
                yield stream
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise DataError(
            f"cannot write {path}: {error.strerror or error}",
            hint=None if path.parent.is_dir() else f"the directory {path.parent} does not exist",
        ) from error
