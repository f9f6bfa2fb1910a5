"""``storel formats`` and ``storel check-format``: the storage formats, which are texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from storel.cli import report
from storel.cli.options import FormatsOption, write_text
from storel.drawing.svg import layout_svg
from storel.drawing.text import layout_text
from storel.errors import DataError, FormatError
from storel.execution.inclusion import read_source
from storel.storage.formats.known import SUFFIX, Formats, known_formats
from storel.storage.formats.levels import CONSTRUCTOR
from storel.storage.trials.checking import check
from storel.storage.trials.layout import example, layout
from storel.syntax import format_check
from storel.syntax.nodes.declarations import FormatReference
from storel.syntax.nodes.statements import CreateFormat
from storel.syntax.parser import parse, parse_format

FormatArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME|FILE.sdql", help="With arguments where it takes some: NAME(width=2), levels(dense, …)."
    ),
]

EXAMPLE_EXTENT = 4

formats = typer.Typer(invoke_without_command=True)


@formats.callback()
def list_formats(context: typer.Context, directory: FormatsOption = None) -> None:
    """List the storage formats, or show one.

    Example: storel formats

    Example: storel formats show csr
    """
    if context.invoked_subcommand is None:
        print(report.formats_text(known_formats(directory)))
    elif directory is not None:
        raise typer.BadParameter(f"--formats goes after {context.invoked_subcommand}")


@formats.command()
def show(
    what: FormatArgument,
    svg: Annotated[Path | None, typer.Option(help="Also draw it as an SVG file.")] = None,
    size: Annotated[str, typer.Option(help="The extents of the example, such as 4x6.")] = "",
    directory: FormatsOption = None,
) -> None:
    """Print the text of a format, and where each entry of a small example lies in memory.

    Example: storel formats show csr

    Example: storel formats show "ell(width=2)" --size 4x6 --svg ell.svg
    """
    if svg is not None and svg.suffix.lower() != ".svg":
        raise DataError(f"{svg} is drawn as SVG", expected="a name that ends in .svg")
    known = known_formats(directory)
    references = _references(what, known)
    shape = _shape(size, references)
    reference = next((each for each, rank in references if rank == len(shape)), references[0][0])
    if reference.arguments or reference.keywords:
        known.resolve(reference, len(shape))  # wrong arguments are a mistake, not a format that is not drawn
    try:
        drawn = layout(example(known.resolve(reference, len(shape)), shape))
    except (FormatError, DataError) as error:
        if svg is not None or size:
            raise
        print(f"{_text(what, known)}\n\nnot drawn: {error}")
        return
    print(f"{_text(what, known)}\n")
    Console(highlight=False, soft_wrap=True).print(layout_text(drawn))
    if svg is not None:
        write_text(svg, layout_svg(drawn) + "\n")


def check_format(what: FormatArgument, directory: FormatsOption = None) -> None:
    """Try a format on random tensors: pack them, verify the declared properties, read back, compare.

    Prints what was tried, what of it fits, and the memory that an example takes; a fault is shown with the
    smallest tensor that has it.

    Example: storel check-format mine.sdql

    Example: storel check-format "levels(dense, compressed; order=(1,0))"
    """
    known = known_formats(directory)
    show_progress = report.progress()
    wrong: list[str] = []
    for reference, rank in _references(what, known):
        storage = known.resolve(reference, rank)
        verdict = check(storage, show_progress)
        print(report.verdict_text(verdict))
        if verdict.counterexample is not None:
            wrong.append(storage.text)
    if wrong:
        raise DataError(f"not to be relied on: {', '.join(wrong)}")


def _references(what: str, known: Formats) -> list[tuple[FormatReference, int]]:
    """Return what ``NAME(…)``, ``FILE.sdql(…)`` or ``levels(…)`` stands for, a format and a rank each.

    The formats of a file are added to those that are known.
    """
    file, arguments = _file_and_arguments(what)
    if file is None:
        reference = parse_format(what)
        is_nest = reference.name == CONSTRUCTOR
        ranks = [len(reference.arguments)] if is_nest else sorted(known.overloads(reference.name))
        return [(reference, rank) for rank in ranks]
    statements = parse(read_source(file)).statements
    declarations = [each for each in statements if isinstance(each, CreateFormat)]
    if not declarations:
        raise FormatError(f"{file} creates no format", expected="CREATE FORMAT …")
    for each in declarations:
        format_check.check_format(each)  # as it is written: what is created has no parts
    created = [known.create(each) for each in declarations]
    return [(parse_format(each.name + arguments), each.rank) for each in created]


def _file_and_arguments(what: str) -> tuple[Path | None, str]:
    file, parenthesis, arguments = what.partition("(")
    return Path(file) if file.endswith(SUFFIX) else None, parenthesis + arguments


def _text(what: str, known: Formats) -> str:
    """Return the text of a format as it is written, or as its constructor writes it."""
    file, _ = _file_and_arguments(what)
    if file is not None:
        return read_source(file).text.rstrip()
    reference = parse_format(what)
    if reference.name != CONSTRUCTOR:
        return report.format_file_text(known, reference.name)
    return known.resolve(reference, len(reference.arguments)).declaration.span.text


def _shape(size: str, references: list[tuple[FormatReference, int]]) -> tuple[int, ...]:
    """Return the extents in ``4x6``, or those of a square matrix, or of what else the format stores."""
    if not size:
        ranks = [rank for _, rank in references]
        return (EXAMPLE_EXTENT,) * (2 if 2 in ranks else ranks[0])
    extents = size.split("x")
    if not all(extent.isdecimal() for extent in extents):
        raise typer.BadParameter(f"'{size}' is not a size such as 4x6")
    return tuple(map(int, extents))
