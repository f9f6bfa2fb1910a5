"""``storel run`` and ``storel explain``: a script, with what its names stand for."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Sequence
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer

from storel.cli import report
from storel.cli.options import (
    BackendOption,
    BindersOption,
    FloatingOption,
    FormatsOption,
    MemoryOption,
    RulesOption,
    ThreadsOption,
    only_file,
    path_and_format,
    require_known,
    write_text,
)
from storel.compilation.compiled import Compilation
from storel.compilation.compiler import STAGES
from storel.compilation.environment import Environment
from storel.errors import DataError, ProgramSyntaxError, placed_at
from storel.execution.declared import declared_tensor
from storel.execution.inclusion import read_source
from storel.execution.loading import load_tensor
from storel.execution.reading import names_needed
from storel.execution.script import Outcome, Progress, Runner
from storel.explanation.render import Rendering, render
from storel.explanation.text import explain_text
from storel.host.output import require_writable
from storel.host.paths import path_in_script
from storel.kernels import bind
from storel.options import CallOptions, compiler_options, require_compiled
from storel.source import Source
from storel.storage.files.kinds import is_readable, keeps_arrays, require_savable, save_tensor
from storel.storage.formats.known import is_automatic, known_formats
from storel.storage.summary import read_summary
from storel.syntax.analyze import Analysis
from storel.syntax.nodes.statements import Save

ScriptArgument = Annotated[str, typer.Argument(help="A .sdql file, or - for standard input.")]
BindingOption = Annotated[
    list[str] | None,
    typer.Option(
        "-b", "--bind", help="NAME=FILE, NAME=FILE:format (or :auto) or NAME=NUMBER; may be repeated."
    ),
]
StatsOption = Annotated[
    list[str] | None,
    typer.Option(help="NAME=FILE.json[:format]: plan for a tensor by its statistics; may be repeated."),
]


def run(
    script: ScriptArgument,
    binding: BindingOption = None,
    to: Annotated[
        list[Path] | None, typer.Option("-o", help="Where the result goes; else it is printed.")
    ] = None,
    output: Annotated[list[str] | None, typer.Option(help="NAME=FILE: also write this tensor.")] = None,
    backend: BackendOption = "auto",
    time: Annotated[bool, typer.Option("--time", help="Say how long each step took.")] = False,
    work: Annotated[bool, typer.Option("--work", help="Count the plan's work instead of timing it.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    formats: FormatsOption = None,
    rules: RulesOption = None,
    memory_limit: MemoryOption = None,
    floating_point: FloatingOption = "reassociate",
    binders: BindersOption = "named",
    threads: ThreadsOption = None,
) -> None:
    """Run a script and print or save its result, or its results by name if it saves several.

    Example: storel run mttkrp.sdql -b B=ratings.tns:csf -b C=c.npy -b D=d.npy -o A.npz
    """
    options = CallOptions(
        backend, formats, rules, memory_limit, floating_point, binders=binders, threads=threads
    )
    out, outputs = only_file(to), _outputs(output or [])
    for path in (*(path for _, path in outputs), *filter(None, (out,))):
        require_savable(path)
    runner = runner_for(script, binding or [], options)
    runner.counts_work, runner.saves = work, True
    runner.requested = tuple(name for name, _ in outputs)
    analysis = runner.prepare(read_script(script))
    written = _written(runner.results(analysis), outputs, out, analysis)
    _require_own_files(runner.outcome.saved, written, runner.directory)
    outcome = runner.finish(analysis)
    _warn(outcome)
    _save(outcome, written, runner.directory)
    for name, chosen in outcome.chosen.items():
        print(f"{name} is stored as {chosen}", file=sys.stderr)
    asked = _asked(outcome, analysis)
    if outcome.explained and not asked and backend == "interpret":
        print("warning: nothing is explained: the backend 'interpret' makes no plan", file=sys.stderr)
    if as_json:
        print(json.dumps(report.as_object(outcome, asked, with_time=time)))
    else:
        _print(outcome, asked, with_results=not written and not outcome.saved, with_time=time)


def _written(
    results: Sequence[str], outputs: list[tuple[str, Path]], out: Path | None, analysis: Analysis
) -> list[tuple[str, Path]]:
    """Return which tensors go to which files of the command line; raises DataError where one cannot."""
    for name, path in outputs:
        require_savable(path, analysis.ranks[name])
    if out is None:
        return outputs
    _require_one(results)
    require_savable(out, analysis.ranks[results[0]])
    return [*outputs, (results[0], out)]


def _asked(outcome: Outcome, analysis: Analysis) -> dict[str, Compilation]:
    """Return what an EXPLAIN names, and what that is computed from."""
    needed = names_needed([each.name for each in outcome.explained], analysis.definitions)
    return {name: each for name, each in outcome.compilations.items() if name in needed}


def _print(outcome: Outcome, asked: dict[str, Compilation], *, with_results: bool, with_time: bool) -> None:
    """Print what an EXPLAIN asks for, results that are not written, and what was measured or counted."""
    if asked:
        print(explain_text(asked, profiles=outcome.profiles))
    if with_results:
        for name, tensor in outcome.results.items():
            print(report.tensor_text(name, tensor))
    if with_time:
        print(report.seconds_text(outcome), file=sys.stderr)
    if outcome.work is not None:
        print(report.work_text(outcome.work))


def explain(
    script: ScriptArgument,
    binding: BindingOption = None,
    stats: StatsOption = None,
    analyze: Annotated[bool, typer.Option("--analyze", help="Run it, count and measure.")] = False,
    stage: Annotated[str | None, typer.Option(help="Show one stage only, as text.")] = None,
    rendering: Annotated[
        Rendering | None, typer.Option("--format", help="text, as by default, json, html, or dot.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    to: Annotated[list[Path] | None, typer.Option("-o", help="Where it goes; else it is printed.")] = None,
    backend: BackendOption = "auto",
    formats: FormatsOption = None,
    rules: RulesOption = None,
    memory_limit: MemoryOption = None,
    floating_point: FloatingOption = "reassociate",
    binders: BindersOption = "named",
    threads: ThreadsOption = None,
) -> None:
    """Show what the compiler makes of a script, stage by stage, and with --analyze what it does.

    Example: storel explain spmv.sdql -b A=matrix.mtx:csr -b x=x.npy --analyze --stage plan
    """
    if as_json and rendering not in (None, "json"):
        raise typer.BadParameter(f"--json is --format json, not {rendering}")
    rendering = "json" if as_json else rendering or "text"
    if stage is not None:
        require_known("--stage", stage, [each.name for each in STAGES])
        if rendering != "text":
            raise typer.BadParameter(f"--stage is for text, not {rendering}")
    options = CallOptions(
        backend, formats, rules, memory_limit, floating_point, binders=binders, threads=threads
    )
    require_compiled(options)
    if (out := only_file(to)) is not None:
        require_writable(out)
    runner = runner_for(script, binding or [], options)
    for text in stats or []:
        declare_operand(runner, text)
    runner.runs = runner.analyzes = analyze
    outcome = runner.run(read_script(script))
    _warn(outcome)
    text = render(rendering, outcome.compilations, outcome.profiles, stage)
    if out is None:
        print(text)
    else:
        write_text(out, text + "\n")


def runner_for(
    script: str, bindings: list[str], options: CallOptions, progress: Progress | None = None
) -> Runner:
    """Return what runs a script, its names bound to numbers and to the tensors in files."""
    environment = Environment(known_formats(options.formats))
    directory = Path() if script == "-" else Path(script).parent
    runner = Runner(environment, compiler_options(options), directory, progress=progress or report.progress())
    for text in bindings:
        _bind(runner, text)
    return runner


def _require_own_files(saved: Sequence[Save], written: list[tuple[str, Path]], directory: Path) -> None:
    """Raise DataError if one file is to hold two tensors, that the script saves or that are ``written``."""
    taken: dict[Path, str] = {}

    def take(name: str, path: Path) -> None:
        other = taken.setdefault(path.resolve(), name)
        if other != name:
            hint = "give each a file of its own"
            raise DataError("two tensors go to one file", found=f"{other} and {name} to {path}", hint=hint)

    for statement in saved:
        with placed_at(statement.path_span):
            take(statement.name, path_in_script(directory, statement.path))
    for name, path in written:
        take(name, path)


def _require_one(results: Collection[str]) -> None:
    """Raise DataError unless there is one result, for which there is one file."""
    names = dict.fromkeys(results)
    if len(names) != 1:
        raise DataError("-o takes one result", found=", ".join(names), hint="use --output NAME=FILE")


def _warn(outcome: Outcome) -> None:
    """Say what is doubtful in a script."""
    for warning in outcome.warnings:
        print(f"warning: {warning}", file=sys.stderr)


def _bind(runner: Runner, text: str) -> None:
    name, value = _named(text, "NAME=FILE[:format] or NAME=NUMBER")
    number = _number(value)
    if number is not None:
        bind(runner.environment, name, number)
        return
    path, reference = path_and_format(value)
    if not is_readable(path) and not path.exists():
        raise DataError(
            f"{name}: '{value}' is no number, and there is no file of that name",
            hint="numbers are written as 2, -0.5, 1e-3, inf, nan, true or false",
        )
    if is_automatic(reference):
        runner.undecided[name], reference = keeps_arrays(path), None
    runner.files.append((name, partial(load_tensor, path, reference=reference)))


def declare_operand(runner: Runner, text: str) -> None:
    """Let a script's operand be one of which only the statistics are known, as ``--stats`` says."""
    name, value = _named(text, "NAME=FILE.json[:format]")
    path, reference = path_and_format(value)
    runner.files.append((name, partial(declared_tensor, read_summary(path, name), reference=reference)))


def _named(text: str, form: str) -> tuple[str, str]:
    """Return the name and what it stands for; raises BadParameter for what is not of the form."""
    name, _, value = text.partition("=")
    if not name.isidentifier() or not value:
        raise typer.BadParameter(f"'{text}' is not {form}")
    return name, value


def _number(text: str) -> bool | int | float | None:
    if text in ("true", "false"):
        return text == "true"
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return None


def _outputs(texts: list[str]) -> list[tuple[str, Path]]:
    return [(name, Path(path)) for name, path in (_named(text, "NAME=FILE") for text in texts)]


def read_script(script: str) -> Source:
    """Return the text of a script, or of standard input; raises StorelError where there is none."""
    if script != "-":
        return read_source(Path(script))
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]
        raise DataError("the standard input is closed", expected="a script, which - stands for")
    if isinstance(sys.stdin, TextIOWrapper):  # scripts are UTF-8, whatever the locale says
        sys.stdin.reconfigure(encoding="utf-8-sig", errors="strict")
    try:
        return Source("<stdin>", sys.stdin.read())
    except UnicodeDecodeError as error:
        raise ProgramSyntaxError(f"the standard input is no UTF-8 text: {error}") from error


def _save(outcome: Outcome, written: list[tuple[str, Path]], directory: Path) -> None:
    """Write the results where the script and the command line say."""
    for statement in outcome.saved:
        with placed_at(statement.path_span):
            save_tensor(outcome.results[statement.name], path_in_script(directory, statement.path))
    for name, path in written:
        save_tensor(outcome.results[name], path)
