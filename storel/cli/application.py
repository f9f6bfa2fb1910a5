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
from typing import Annotated, Any, NoReturn, cast

import typer
from typer.core import TyperGroup

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
from storel.source import visible

UsageError = cast(type[typer.BadParameter], typer.BadParameter.__base__)
"""What is wrong with a command line; typer does not export it."""


class Commands(TyperGroup):
    """The commands; what is wrong with a command line is shown without what a terminal would obey."""

    def make_context(self, *given: Any, **named: Any) -> Any:
        with _visible_mistakes():
            return super().make_context(*given, **named)

    def invoke(self, ctx: Any) -> Any:
        with _visible_mistakes():
            return super().invoke(ctx)


@contextmanager
def _visible_mistakes() -> Generator[None]:
    try:
        yield
    except UsageError as error:
        error.message = visible(error.message)
        raise


app = typer.Typer(
    cls=Commands,
    help="Tensor programs over declarative storage: say what to compute, and how each tensor lies in memory.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (run, explain, advise, tune, stats, convert, check_format, rules, calibrate, bench):
    app.command()(command)
app.add_typer(formats, name="formats")


UNWRITABLE = (errno.ENOSPC, errno.EBADF, errno.EIO, errno.EFBIG)
"""What the system says where the standard output is full, closed, or cannot be written to."""


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


class _ClosedOutput(StringIO):
    """The standard output where there is none: to print nothing is no failure."""

    def write(self, _: str) -> int:
        raise OSError(errno.EBADF, "the standard output is closed")


def _prepare_output() -> None:
    """Let messages go nowhere where that is closed, and characters be replaced that have no code."""
    if sys.stderr is None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stderr = StringIO()
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stdout = _ClosedOutput()
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


@contextmanager
def _warnings_without_code() -> Generator[None]:
    """Print Python's warnings as those of scripts are: no line of storel's code is to blame for them."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        print(f"warning: {visible(str(message))}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def run_command() -> None:
    """Run what the command line says; every failure becomes one message and an exit code."""
    _prepare_output()
    try:
        with ended_by_interrupts(), _warnings_without_code():
            _run()
    except StorelError as error:
        _fail(str(error))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        sys.stdout = StringIO()  # what is left is not tried again at the end
        sys.exit(1)
    except Exception as error:  # the last resort: an internal failure must not look like a user's mistake
        if isinstance(error, OSError) and error.errno in UNWRITABLE:
            sys.stdout = StringIO()
            _fail(f"cannot write the output: {error.strerror}")
        traceback.print_exc()
        print("storel failed internally; please report this with the script and its data.", file=sys.stderr)
        sys.exit(3)


def _run() -> None:
    """Run a command, to the end of what it prints: what cannot be written is not left to the interpreter."""
    try:
        app(standalone_mode=True)
    except SystemExit:
        sys.stdout.flush()
        raise


def _fail(message: str) -> NoReturn:
    print(f"error: {message}", file=sys.stderr)
    sys.exit(1)
