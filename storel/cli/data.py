"""``storel stats`` and ``storel convert``: the tensor in a file, counted or stored otherwise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from storel.cli import report
from storel.cli.options import FormatsOption, path_and_format
from storel.execution.loading import as_tensor, format_text, load_tensor
from storel.storage.files.kinds import keeps_format, require_savable
from storel.storage.formats.known import known_formats

FileArgument = Annotated[str, typer.Argument(metavar="FILE[:FORMAT]", help="A file that holds a tensor.")]


def stats(
    file: FileArgument,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for explain --stats.")] = False,
    formats: FormatsOption = None,
) -> None:
    """Show the statistics of the tensor in a file: degrees per dimension, distinct prefixes, bandwidth.

    What --json prints can be edited, and stand for the tensor in storel explain --stats NAME=FILE.json.

    Example: storel stats matrix.mtx:csc
    """
    path, reference = path_and_format(file)
    summary = load_tensor(path, known_formats(formats), reference=reference).summary
    print(json.dumps(summary.as_object(), indent=2) if as_json else report.statistics_text(summary))


def convert(
    file: FileArgument,
    out: Annotated[Path, typer.Argument(help="The file to write, of the kind that its ending says.")],
    storage: Annotated[str | None, typer.Option("--format", help="The format to store it in.")] = None,
    formats: FormatsOption = None,
) -> None:
    """Store the tensor in a file in another format, in another kind of file, or both.

    A .npz file keeps the arrays of the format, the other kinds keep the entries: --format is for a .npz file.

    Example: storel convert matrix.mtx matrix.npz --format band
    """
    require_savable(out)
    if storage is not None and not keeps_format(out):
        message = f"{out} would keep no format: leave it out, or give a name that ends in .npz"
        raise typer.BadParameter(message, param_hint="--format")
    path, reference = path_and_format(file)
    known, wanted = known_formats(formats), format_text(storage)
    tensor = load_tensor(path, known, reference=reference or wanted)
    if reference is not None and wanted is not None:
        tensor = as_tensor(tensor, known, reference=wanted)
    tensor.save(out)
    print(report.saved_text(out, tensor))
