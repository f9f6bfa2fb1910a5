"""The application: its commands, and what becomes of a failure.

Exit codes: 0; 1 what the user can mend; 2 a malformed command line; 3 an internal failure; 130 interrupted.
"""

from __future__ import annotations

import errno
import sys
import traceback
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from io import StringIO, TextIOWrapper
from typing import Annotated, Any

import typer
from rich.console import Console

import storel
from storel.cli.advice import advise
from storel.cli.bench import bench
from storel.cli.costs import calibrate
from storel.cli.data import convert, stats
from storel.cli.formats import check_format, formats
from storel.cli.interrupts import INTERRUPTED, ended_by_interrupts
from storel.cli.rules import rules
from storel.cli.running import explain, run
from storel.cli.tune import tune
from storel.errors import StorelError

app = typer.Typer(
    help="Tensor programs over declarative storage: say what to compute, and how each tensor lies in memory.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (run, explain, advise, tune, stats, convert, check_format, rules, calibrate, bench):
    app.command()(command)
app.add_typer(formats, name="formats")


def _print_version(is_asked: bool) -> None:
    if is_asked:
        print(f"storel {storel.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Take the options that come before a command."""


def _prepare_output() -> None:
    """Let what is printed go nowhere where that is closed, and characters be replaced that have no code."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, StringIO())
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


@contextmanager
def _warnings_without_code() -> Generator[None]:
    """Print Python's warnings as those of scripts are: no line of storel's code is to blame for them."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        print(f"warning: {message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def run_command() -> None:
    """Run what the command line says; every failure becomes one message and an exit code."""
    _prepare_output()
    errors = Console(stderr=True, highlight=False)
    try:
        with ended_by_interrupts(), _warnings_without_code():
            app(standalone_mode=True)
    except StorelError as error:
        errors.print(f"error: {error}", markup=False, soft_wrap=True)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        sys.exit(1)
    except Exception as error:  # the last resort: an internal failure must not look like a user's mistake
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            errors.print(f"error: cannot write the output: {error.strerror}", markup=False)
            sys.exit(1)
        traceback.print_exc()
        errors.print(
            "storel failed internally; please report this with the script and its data.", markup=False
        )
        sys.exit(3)
