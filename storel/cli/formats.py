"""``storel formats`` and ``storel check-format``: the storage formats, which are texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from storel import report
from storel.cli.options import FormatsOption, known_formats
from storel.errors import DataError, FormatError
from storel.script import read_source
from storel.storage.checking import check
from storel.storage.formats import SUFFIX, Format, Formats
from storel.storage.levels import CONSTRUCTOR
from storel.syntax.nodes.statements import CreateFormat
from storel.syntax.parser import parse, parse_format


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


def check_format(
    what: Annotated[
        str,
        typer.Argument(metavar="FILE.sdql|NAME", help="With arguments where it takes some: NAME(width=2)."),
    ],
    directory: FormatsOption = None,
) -> None:
    """Try a format on random tensors: pack them, verify the declared properties, read back, compare.

    Prints what was tried, what of it fits, and the memory that an example takes; a fault is shown with the
    smallest tensor that has it.

    Example: storel check-format mine.sdql

    Example: storel check-format "levels(dense, compressed; order=(1,0))"
    """
    show_progress = report.progress()
    wrong: list[str] = []
    for storage in _named(what, known_formats(directory)):
        verdict = check(storage, show_progress)
        print(report.verdict_text(verdict))
        if verdict.counterexample is not None:
            wrong.append(storage.text)
    if wrong:
        raise DataError(f"not to be relied on: {', '.join(wrong)}")


def _named(text: str, known: Formats) -> list[Format]:
    """Return the formats that ``FILE.sdql(…)``, ``NAME(…)`` or a list of levels stands for, by rank."""
    file, parenthesis, arguments = text.partition("(")
    if not file.endswith(SUFFIX):
        reference = parse_format(text)
        is_nest = reference.name == CONSTRUCTOR
        ranks = [len(reference.arguments)] if is_nest else sorted(known.overloads(reference.name))
        return [known.resolve(reference, rank) for rank in ranks]
    statements = parse(read_source(Path(file))).statements
    created = [known.create(each) for each in statements if isinstance(each, CreateFormat)]
    if not created:
        raise FormatError(f"{file} creates no format", expected="CREATE FORMAT …")
    return [known.resolve(parse_format(each.name + parenthesis + arguments), each.rank) for each in created]
