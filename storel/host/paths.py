"""What callers give as the path of a file or a directory."""

from __future__ import annotations

import os
from pathlib import Path

from storel.errors import TypeMismatchError


def as_path(path: object) -> Path:
    """Return a path; raises TypeMismatchError for what is none, such as an open file."""
    if not isinstance(path, str | os.PathLike) or not _is_encodable(Path(path)):
        raise TypeMismatchError("this is no path", expected="a text or a Path", found=repr(path))
    return Path(path)


def _is_encodable(path: Path) -> bool:
    """Return whether the system has a name for a path: one without code points that are no characters."""
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False
