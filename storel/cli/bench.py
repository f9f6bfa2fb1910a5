"""``storel bench``: kernels on data, beside other libraries, in one interleaved run."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from storel.bench.data import NAMES
from storel.bench.kernels import KERNELS
from storel.bench.plot import draw
from storel.bench.request import Request
from storel.bench.rivals.table import RIVALS, chosen
from storel.bench.run import run_all
from storel.bench.surroundings import host, versions
from storel.bench.table import failures, table_of, width_of
from storel.bench.task import BACKENDS, Contest, Measurement
from storel.cli import report
from storel.cli.options import require_known, write_text
from storel.host.output import require_writable
from storel.host.threads import MOST_THREADS

MIB, LEAST_MIB = 8.0, 0.001
"""The size of the largest tensor of a contraction where nothing is said, and the least one."""

LARGEST = 2**31 - 1
"""The most rows and columns of matrices, since rivals have indices of 32 bits."""


def bench(
    kernels: Annotated[
        str | None, typer.Option(help=f"Names with commas between: {', '.join(KERNELS)}; all by default.")
    ] = None,
    data: Annotated[
        str,
        typer.Option(help=f"{', '.join(NAMES)}, or files of matrices, or .tns of rank 3; commas between."),
    ] = "uniform",
    rivals: Annotated[
        str | None, typer.Option(help=f"{', '.join(RIVALS)}; all that are installed by default.")
    ] = None,
    backends: Annotated[str, typer.Option(help="storel's backends.")] = ",".join(BACKENDS),
    threads: Annotated[int, typer.Option(min=1, max=MOST_THREADS, help="Threads of each contestant.")] = 1,
    size: Annotated[int, typer.Option(min=16, max=LARGEST, help="Rows and columns of matrices.")] = 100_000,
    nonzeros: Annotated[
        int, typer.Option(min=64, max=2**40, help="Entries of sparse operands, places of dense ones.")
    ] = 3_000_000,
    repetitions: Annotated[
        int, typer.Option(min=1, help="Rounds; in each every contestant runs at least twice.")
    ] = 7,
    contractions: Annotated[
        Path | None, typer.Option(help="Time the dense contractions that this .csv file lists.")
    ] = None,
    contraction_mib: Annotated[
        float | None,
        typer.Option(min=LEAST_MIB, max=2**20, help=f"MiB of the largest tensor of each; else {MIB:g}."),
    ] = None,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", help="Write all figures and plans to this file, and what they depend on."),
    ] = None,
    plot_file: Annotated[Path | None, typer.Option("--plot", help="Draw the ratios in this file.")] = None,
) -> None:
    """Time kernels beside other libraries, and compare all answers.

    × rival is a time beside that of the fastest rival whose answer is right; × limit is beside what this
    machine allows, measured in the same run: operands and result through memory once, scattered reads, or
    arithmetic. first is planning, compiling and the first run with nothing cached, memory what that run
    took. Rivals' operands are made ready before. The exit code is 1 if an answer is wrong.

    Example: storel bench --kernels spmv,mmm --data uniform,power-law --size 30000 --nonzeros 500000
    """
    names = _known("--kernels", kernels, KERNELS) or list(KERNELS if contractions is None else ())
    contestants = chosen(_known("--rivals", rivals, RIVALS) or None)
    contest = Contest.of(_known("--backends", backends, BACKENDS), contestants, repetitions, threads)
    mib = _size_of(contractions, contraction_mib)
    request = Request(tuple(names), tuple(data.split(",")), size, nonzeros, contest, contractions, mib)
    tasks = request.tasks()
    _require_output(json_file, plot_file)
    run = _described(request)
    found = list(run_all(tasks, report.progress()))
    _show(found)
    _write(found, run, json_file, plot_file)
    if not all(each.is_sound for each in found):
        raise typer.Exit(1)


def _size_of(contractions: Path | None, mib: float | None) -> float | None:
    """Return the MiB of contractions, None if there are none; raises BadParameter for a size of nothing."""
    if contractions is None and mib is not None:
        raise typer.BadParameter("--contraction-mib is the size of what --contractions lists")
    return None if contractions is None else mib or MIB


def _described(request: Request) -> dict[str, Any]:
    """Return what a reader needs beside the figures, to measure the same again."""
    return {
        "began": datetime.now(UTC).isoformat(timespec="seconds"),
        "parameters": request.as_object(),
        "versions": versions(request.contest.rivals),
        "host": host(),
    }


def _known(option: str, text: str | None, known: Iterable[str]) -> list[str]:
    """Return the names with commas between that an option gives; raises BadParameter for one not known."""
    return [] if text is None else [require_known(option, name, known) for name in text.split(",")]


def _require_output(json_file: Path | None, plot_file: Path | None) -> None:
    """Raise DataError for what cannot be written, before minutes are spent."""
    if json_file is not None:
        require_writable(json_file)
    if plot_file is not None:
        draw([], plot_file)


def _write(
    found: list[Measurement], run: dict[str, Any], json_file: Path | None, plot_file: Path | None
) -> None:
    """Write what was found to the files that are asked for, as JSON beside what is said of the run."""
    if json_file is not None:
        measurements = [each.as_object() for each in found]
        write_text(json_file, json.dumps(run | {"measurements": measurements}, indent=2))
    if plot_file is not None:
        draw(found, plot_file)


def _show(found: list[Measurement]) -> None:
    table = table_of(found)
    places = Console().width if sys.stdout.isatty() else None
    Console(width=width_of(table, places)).print(table)
    for line in failures(found):
        print(line, file=sys.stderr)
