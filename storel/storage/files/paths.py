"""What callers give as the path of a file or a directory."""

from __future__ import annotations

import os
from pathlib import Path

from storel.errors import TypeMismatchError


def as_path(path: object) -> Path:
    """Return a path; raises TypeMismatchError for what is none, such as an open file."""
    if not isinstance(path, str | os.PathLike):
        raise TypeMismatchError("this is no path", expected="a text or a Path", found=repr(path))
    return Path(path)
