"""What several commands share: their options, FILE:format, and files of text."""

from __future__ import annotations

import os.path
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from storel.compilation.compiler import Backend, FloatingPoint
from storel.errors import DataError, nearest
from storel.execution.loading import format_text
from storel.host.output import replacing
from storel.optimizer.outcome import BINDERS
from storel.syntax.nodes.declarations import FormatReference


def require_known(option: str, name: str, known: Iterable[str]) -> str:
    """Return a name that an option gives; raises BadParameter for one that is not known."""
    expected = list(known)
    if name not in expected:
        hint = nearest(name, expected)
        message = f"'{name}' is none of {', '.join(expected)}"
        raise typer.BadParameter(message if hint is None else f"{message}; {hint}", param_hint=option)
    return name


def _known_binders(name: str) -> str:
    return require_known("--binders", name, BINDERS)


BackendOption = Annotated[Backend, typer.Option(help="auto, c, numba, or interpret.")]
FormatsOption = Annotated[
    Path | None, typer.Option("--formats", help="A directory of further storage formats.")
]
RulesOption = Annotated[Path | None, typer.Option(help="A file of further rewrite rules.")]
MemoryOption = Annotated[int | None, typer.Option(min=0, help="The most bytes that buffers may take.")]
FloatingOption = Annotated[FloatingPoint, typer.Option(help="strict, reassociate, or expand.")]
ThreadsOption = Annotated[
    int | None,
    typer.Option(
        min=1, help="How many threads compute; else $STOREL_NUM_THREADS, $OMP_NUM_THREADS, or all processors."
    ),
]


BindersOption = Annotated[
    str,
    typer.Option(
        help="How the optimizer holds bound variables: named, or debruijn.",
        callback=_known_binders,
    ),
]


def only_file(given: list[Path] | None) -> Path | None:
    """Return the file that -o names; raises BadParameter for several: all but one would not be written."""
    if given is not None and len(given) > 1:
        names = " and ".join(map(str, given))
        hint = "to write several tensors: --output NAME=FILE for each"
        raise typer.BadParameter(f"it takes one file, not {names}; {hint}", param_hint="-o")
    return given[0] if given else None


def path_and_format(text: str) -> tuple[Path, FormatReference | None]:
    """Take ``FILE`` or ``FILE:format`` apart; raises ProgramSyntaxError for what is no format.

    The name of a file may have colons itself: what is there decides. Raises DataError if no format follows.
    """
    if _is_there(text):
        return Path(text), None
    path, colon, storage = text.rpartition(":")
    if not _is_there(path):
        path, colon, storage = text.partition(":")
    if colon and not storage.strip():
        hint = f"the names of formats: storel formats; without one, leave out the colon: {path}"
        raise DataError(f"no format follows '{text}'", expected="FILE or FILE:format", hint=hint)
    return Path(path), format_text(storage) if colon else None


def _is_there(name: str) -> bool:
    return os.path.exists(name)  # noqa: PTH110 (that of Path raises OSError for a name that is too long)


def write_text(path: Path, text: str) -> None:
    """Write a file; raises DataError where the system refuses."""
    with replacing(path) as stream:
        stream.write(text.encode())
