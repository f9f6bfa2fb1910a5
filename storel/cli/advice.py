"""``storel advise``: in which formats the operands of a script are best stored."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from storel.advice.advise import advise as advice_for
from storel.advice.text import advice_text
from storel.advice.trial import Trial
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
from storel.options import CallOptions


def advise(
    script: ScriptArgument,
    binding: BindingOption = None,
    measure: Annotated[bool, typer.Option("--measure", help="Also run the script with each format.")] = False,
    lists_all: Annotated[bool, typer.Option("--all", help="List the formats left out, and why.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object; nanoseconds.")] = False,
    backend: BackendOption = "auto",
    formats: FormatsOption = None,
    rules: RulesOption = None,
    memory_limit: MemoryOption = None,
    floating_point: FloatingOption = "reassociate",
    binders: BindersOption = "named",
    threads: ThreadsOption = None,
) -> None:
    """Show how fast a script is expected to be with each operand in each format that holds it.

    All known formats are tried on the data, and nests of levels; the 12 of least memory are planned for.
    Operands are changed one at a time, then together. * marks the present format, ~ a time whose
    estimate overlooks some entries; for these the time in another format is added.

    Example: storel advise spmv.sdql -b A=matrix.mtx -b x=x.npy --measure
    """
    options = CallOptions(
        backend, formats, rules, memory_limit, floating_point, binders=binders, threads=threads
    )
    runner = runner_for(script, binding or [], options)
    advice = advice_for(Trial.of(runner, read_script(script)), measures=measure, progress=runner.progress)
    text = (
        json.dumps(advice.as_object(), indent=2) if as_json else advice_text(advice, lists_dropped=lists_all)
    )
    print(text)
