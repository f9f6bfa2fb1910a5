"""``storel tune``: other ways to compute a script, measured, and the fastest remembered."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Annotated

import typer

from storel.cli import report
from storel.cli.interrupts import telling_if_interrupted
from storel.cli.options import (
    BackendOption,
    BindersOption,
    FloatingOption,
    FormatsOption,
    MemoryOption,
    RulesOption,
    ThreadsOption,
)
from storel.cli.running import BindingOption, ScriptArgument, read_script, runner_for
from storel.errors import DataError
from storel.options import CallOptions
from storel.tuning.rows import Tuned
from storel.tuning.text import tuning_text
from storel.tuning.tune import SECONDS, forgotten
from storel.tuning.tune import tune as tuned


def tune(
    script: ScriptArgument,
    binding: BindingOption = None,
    seconds: Annotated[
        float, typer.Option("--seconds", help="How long each tensor of the script is tuned.", min=0)
    ] = SECONDS,
    forget: Annotated[bool, typer.Option("--forget", help="Return to what is estimated.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object; nanoseconds.")] = False,
    backend: BackendOption = "auto",
    formats: FormatsOption = None,
    rules: RulesOption = None,
    memory_limit: MemoryOption = None,
    floating_point: FloatingOption = "reassociate",
    binders: BindersOption = "named",
    threads: ThreadsOption = None,
) -> None:
    """Measure other plans and schedules of a script; the fastest is what it runs by from now on.

    The best terms that the optimizer found, operands converted or not, stores of intermediate results, how
    rows are put in order, and threads are tried, the most promising by the estimates first. What wins is kept
    in the cache for this machine, program, options and data of like statistics. Tune on
    an idle machine.

    Example: storel tune spmv.sdql -b A=matrix.mtx -b x=x.npy --seconds 10
    """
    options = CallOptions(
        backend, formats, rules, memory_limit, floating_point, binders=binders, threads=threads
    )
    finished: list[Tuned] = []
    left = _forgetting if forget else partial(_left, finished)
    with telling_if_interrupted(left), report.bar() as show:
        runner = runner_for(script, binding or [], options, lambda step: show(step, 0.0))
        source = read_script(script)
        found = forgotten(runner, source) if forget else tuned(runner, source, seconds, show, finished.append)
    print(json.dumps(found.as_object(), indent=2) if as_json else tuning_text(found))
    if found.wrong:
        raise DataError("plans give other results; please report this", found="; ".join(found.wrong))


def _left(finished: Sequence[Tuned]) -> str:
    """Return what is remembered where tuning ends early: what is tuned to its end."""
    names = ", ".join(each.name for each in finished if each.is_remembered)
    return f"what was found for {names} is remembered, nothing else" if names else "nothing was remembered"


def _forgetting() -> str:
    return "what was remembered may not be forgotten yet"
