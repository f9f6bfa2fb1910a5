"""What was computed once, on disk, shared by all processes of a user.

An artifact is a directory named by a hash of all that went into it. It is built under a temporary name
and renamed, so that nobody sees half of one. Whatever is wrong with the cache (no permission, no
space, damaged files) costs time, never an answer: then the artifact is built again, at last in a
directory of this process's own.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import shutil
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from storel.errors import BackendError, DataError

Loaded = TypeVar("Loaded")


class Damaged(Exception):
    """An artifact is not what was built."""


def directory() -> Path:
    """Return where the user's artifacts lie: ``STOREL_CACHE_DIR``, or what the system has for caches."""
    chosen = os.environ.get("STOREL_CACHE_DIR")
    if chosen:
        return Path(chosen)
    import platformdirs

    return Path(platformdirs.user_cache_dir("storel", appauthor=False))


def writable_directory() -> Path | None:
    """Return where artifacts lie, None if nothing can be kept there; that is told if the user chose it."""
    folder = directory()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        _tell(error)
        return None


def _tell(error: OSError) -> None:
    """Warn that nothing can be kept if the user chose where."""
    if os.environ.get("STOREL_CACHE_DIR"):
        _tell_once(directory(), error.strerror or str(error))


@functools.cache
def _tell_once(folder: Path, why: str) -> None:
    warnings.warn(f"nothing is kept on disk: STOREL_CACHE_DIR is {folder}: {why}", stacklevel=3)


def digest(*parts: str) -> str:
    """Return a name for what is determined by ``parts``."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def content_digest(path: str) -> str:
    """Return a name for what a file holds."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def seal(path: Path) -> None:
    """Append the hash of a file to it, which programs and libraries do not mind."""
    content = path.read_bytes()
    path.write_bytes(content + hashlib.sha256(content).digest())


def check_seal(path: Path) -> None:
    """Raise Damaged unless the file is as ``seal`` left it (a library cut short would end the process)."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise Damaged(str(error)) from error
    if len(content) < 32 or hashlib.sha256(content[:-32]).digest() != content[-32:]:
        raise Damaged(f"{path} is damaged")


def obtain(name: str, build: Callable[[Path], None], load: Callable[[Path], Loaded]) -> Loaded:
    """Return ``load(artifact)`` of the artifact ``name``, after ``build(artifact)`` if there is none.

    ``build`` fills a new directory. ``load`` raises Damaged if the directory does not hold what it
    should. Raise BackendError if even in the process's own directory nothing comes of it.
    """
    try:
        return _obtain(directory(), name, build, load)
    except (OSError, Damaged, BackendError) as failure:
        if isinstance(failure, OSError):
            _tell(failure)
        try:
            return _obtain(Path(_own_directory().name), name, build, load)
        except Damaged as error:
            raise BackendError(f"what was just compiled does not load: {error}") from error
        except OSError as error:
            hint = "set STOREL_CACHE_DIR or TMPDIR to a directory with space that can be written"
            raise BackendError(f"what is compiled cannot be kept: {error.strerror}", hint=hint) from error


def _obtain(folder: Path, name: str, build: Callable[[Path], None], load: Callable[[Path], Loaded]) -> Loaded:
    artifact = folder / name
    if artifact.is_dir():
        try:
            return load(artifact)
        except Damaged:
            _remove(artifact)
    folder.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=".building-", dir=folder))
    try:
        build(fresh)
        try:
            fresh.rename(artifact)
        except OSError:
            if not artifact.is_dir():  # otherwise another process was quicker
                raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return load(artifact)


def _remove(artifact: Path) -> None:
    doomed = Path(tempfile.mkdtemp(prefix=".removing-", dir=artifact.parent))
    artifact.rename(doomed / artifact.name)
    shutil.rmtree(doomed, ignore_errors=True)


@functools.cache
def _own_directory() -> tempfile.TemporaryDirectory[str]:
    """Return a directory that goes when the process ends."""
    return tempfile.TemporaryDirectory(prefix="storel-", ignore_cleanup_errors=True)


def kept(
    name: str, build: Callable[[], Loaded], is_worth_it: Callable[[Loaded], bool] = lambda _: True
) -> Loaded:
    """Return the object ``name`` from the cache, or what ``build`` makes, which is kept if it is worth it.

    ``name`` must say all that the object depends on, the code of its classes included.
    """
    path = directory() / name
    try:
        check_seal(path)
        return pickle.loads(path.read_bytes())
    except (Damaged, OSError, pickle.PickleError, AttributeError, EOFError, ImportError, TypeError):
        made = build()
    if not is_worth_it(made):
        return made
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".building-", dir=path.parent) as fresh:
            note = Path(fresh, name)
            note.write_bytes(pickle.dumps(made))
            seal(note)
            note.replace(path)
    except OSError as error:
        _tell(error)
    return made


def recall(name: str) -> str | None:
    """Return the note ``name`` from the cache, None if it cannot be read."""
    try:
        return (directory() / name).read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def remember(name: str, text: str) -> None:
    """Keep a note in the cache, if that is possible."""
    try:
        folder = directory()
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".building-", dir=folder) as fresh:
            note = Path(fresh, name)
            note.write_text(text, "utf-8")
            note.replace(folder / name)
    except OSError as error:
        _tell(error)


def forget(name: str) -> None:
    """Drop the note ``name`` from the cache; raises DataError if the system does not let it go."""
    try:
        (directory() / name).unlink(missing_ok=True)
    except NotADirectoryError:
        return
    except OSError as error:
        raise DataError(f"{directory() / name} cannot be removed: {error.strerror}") from error
