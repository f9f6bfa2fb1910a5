"""The command line, run in this process.

result = storel("run", "script.sdql", "-b", "A=a.npy")
assert result.code == 0, result.err
"""

from __future__ import annotations

import contextlib
import io
import sys
from dataclasses import dataclass
from unittest import mock

from storel.cli import main


@dataclass(frozen=True)
class Result:
    """What a run of the command printed, and its exit code."""

    code: int
    out: str
    err: str


def storel(*arguments: str, stdin: str = "") -> Result:
    """Run ``storel`` with ``arguments`` as a shell would."""
    out, err = io.StringIO(), io.StringIO()
    code = 0
    patches = (
        mock.patch.object(sys, "argv", ["storel", *arguments]),
        mock.patch.object(sys, "stdin", io.StringIO(stdin)),
    )
    with contextlib.ExitStack() as stack:
        for patch in patches:
            stack.enter_context(patch)
        stack.enter_context(contextlib.redirect_stdout(out))
        stack.enter_context(contextlib.redirect_stderr(err))
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
    return Result(code, out.getvalue(), err.getvalue())
