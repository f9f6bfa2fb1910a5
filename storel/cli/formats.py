"""``storel formats``: the storage formats, which are texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from storel import report
from storel.cli.options import known_formats


def formats(
    name: Annotated[str | None, typer.Argument(help="Print the text of this format.")] = None,
    directory: Annotated[
        Path | None, typer.Option("--formats", help="A directory of further formats.")
    ] = None,
) -> None:
    """List the storage formats, or show one.

    Example: storel formats csr
    """
    known = known_formats(directory)
    print(report.formats_text(known) if name is None else report.format_file_text(known, name))
