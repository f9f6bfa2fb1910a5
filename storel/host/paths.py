"""What callers and scripts give as the path of a file or a directory."""

from __future__ import annotations

import os
from pathlib import Path

from storel.errors import DataError, TypeMismatchError


def as_path(path: object) -> Path:
    """Return a path; raises TypeMismatchError for what is none, such as an open file."""
    known = _named(Path(path)) if isinstance(path, str | os.PathLike) else None
    if known is None:
        raise TypeMismatchError("this is no path", expected="a text or a Path", found=repr(path))
    return known


def path_in_script(directory: Path, text: str) -> Path:
    """Return the path that a script in a directory writes; raises DataError for what can name no file."""
    path = _named(directory / text)
    if path is None:
        raise DataError("this cannot be the name of a file", found=repr(text))
    return path


def _named(path: Path) -> Path | None:
    """Return a path by a name that the system has for it, None if there is none.

    Where the locale has no code for a character the name is UTF-8, as scripts are. A null character, and
    code points that are no characters, are in no name.
    """
    try:
        name = os.fsencode(path)
    except UnicodeEncodeError:
        try:
            name = str(path).encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            return None
    return None if b"\0" in name else Path(os.fsdecode(name))
