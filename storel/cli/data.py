"""``storel stats``: what there is to know of the tensor in a file."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from storel import report
from storel.cli.options import FormatsOption, known_formats, path_and_format
from storel.loading import load_tensor


def stats(
    file: Annotated[str, typer.Argument(help="FILE or FILE:format.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for explain --stats.")] = False,
    formats: FormatsOption = None,
) -> None:
    """Show the statistics of the tensor in a file: degrees per dimension, distinct prefixes, bandwidth.

    What --json prints can be edited, and stand for the tensor in storel explain --stats NAME=FILE.json.

    Example: storel stats matrix.mtx:csc
    """
    path, reference = path_and_format(file)
    tensor = load_tensor(path, known_formats(formats), reference=reference)
    summary = tensor.summary
    print(json.dumps(summary.as_object(), indent=2) if as_json else report.statistics_text(summary))
