"""The command line: arguments in, exit codes out; what happens between is elsewhere.

Exit codes: 0; 1 what the user can mend; 2 a malformed command line; 3 an internal failure.
"""

from __future__ import annotations

import json
import sys
import traceback
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from storel import machine, report
from storel.api import CallOptions, bind, compiler_options
from storel.compiler import Backend, FloatingPoint, read_rules
from storel.environment import Environment
from storel.errors import DataError, StorelError
from storel.explain.render import Rendering, render
from storel.explain.text import explain_text
from storel.loading import declared_tensor, format_text, load_tensor
from storel.script import Outcome, Runner, read_source
from storel.source import Source
from storel.storage.files.kinds import save_tensor
from storel.storage.formats import Formats
from storel.storage.summary import read_summary
from storel.syntax.nodes.declarations import FormatReference

app = typer.Typer(
    help="Tensor programs over declarative storage: say what to compute, and how each tensor lies in memory.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

ScriptArgument = Annotated[str, typer.Argument(help="A .sdql file, or - for standard input.")]
BindingOption = Annotated[
    list[str] | None,
    typer.Option("-b", "--bind", help="NAME=FILE, NAME=FILE:format or NAME=NUMBER; may be repeated."),
]
BackendOption = Annotated[Backend, typer.Option(help="auto, c, numba, or interpret.")]
FormatsOption = Annotated[Path | None, typer.Option(help="A directory of further storage formats.")]
RulesOption = Annotated[Path | None, typer.Option(help="A file of further rewrite rules.")]
MemoryOption = Annotated[int | None, typer.Option(help="The most bytes that buffers may take.")]
FloatingOption = Annotated[FloatingPoint, typer.Option(help="strict, reassociate, or expand.")]
BindersOption = Annotated[
    str, typer.Option(help="How the optimizer holds bound variables: named, or debruijn.")
]


def _print_version(is_asked: bool) -> None:
    if is_asked:
        from importlib.metadata import version  # here, since it takes 10 ms

        print(f"storel {version('storel')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Take the options that come before a command."""


@app.command()
def run(
    script: ScriptArgument,
    binding: BindingOption = None,
    out: Annotated[Path | None, typer.Option("-o", help="Where the result goes; else it is printed.")] = None,
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
) -> None:
    """Run a script and print or save its result.

    Example: storel run mttkrp.sdql -b B=ratings.tns:csf -b C=c.npy -b D=d.npy -o A.npz
    """
    options = CallOptions(backend, formats, rules, memory_limit, floating_point, binders=binders)
    runner = _runner(script, binding or [], options)
    runner.counts_work = work
    runner.requested = tuple(name for name, _ in _outputs(output or []))
    outcome = runner.run(_read(script))
    _save(outcome, out, _outputs(output or []), runner.directory)
    if as_json:
        print(json.dumps(report.as_object(outcome, with_time=time)))
        return
    if outcome.explained:
        print(explain_text(outcome.compilations, profiles=outcome.profiles))
    if out is None and not output and not outcome.saved:
        for name, tensor in outcome.results.items():
            print(report.tensor_text(name, tensor))
    if time:
        print(report.seconds_text(outcome), file=sys.stderr)
    if outcome.work is not None:
        print(report.work_text(outcome.work))


@app.command()
def explain(
    script: ScriptArgument,
    binding: BindingOption = None,
    stats: Annotated[
        list[str] | None,
        typer.Option(help="NAME=FILE.json[:format]: plan for a tensor by its statistics; may be repeated."),
    ] = None,
    analyze: Annotated[bool, typer.Option("--analyze", help="Run it, count and measure.")] = False,
    stage: Annotated[str | None, typer.Option(help="Show one stage only, as text.")] = None,
    rendering: Annotated[Rendering, typer.Option("--format", help="text, json, html, or dot.")] = "text",
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    out: Annotated[Path | None, typer.Option("-o", help="Where it goes; else it is printed.")] = None,
    backend: BackendOption = "auto",
    formats: FormatsOption = None,
    rules: RulesOption = None,
    memory_limit: MemoryOption = None,
    floating_point: FloatingOption = "reassociate",
    binders: BindersOption = "named",
) -> None:
    """Show what the compiler makes of a script, stage by stage, and with --analyze what it does.

    Example: storel explain spmv.sdql -b A=matrix.mtx:csr -b x=x.npy --analyze --stage plan
    """
    if as_json and rendering not in ("text", "json"):
        raise typer.BadParameter(f"--json is --format json, not {rendering}")
    rendering = "json" if as_json else rendering
    if stage is not None and rendering != "text":
        raise typer.BadParameter(f"--stage is for text, not {rendering}")
    options = CallOptions(backend, formats, rules, memory_limit, floating_point, binders=binders)
    runner = _runner(script, binding or [], options)
    for text in stats or []:
        _declare(runner.environment, text)
    runner.runs = runner.analyzes = analyze
    outcome = runner.run(_read(script))
    text = render(rendering, outcome.compilations, outcome.profiles, stage)
    if out is None:
        print(text)
    else:
        _write(out, text + "\n")


@app.command()
def stats(
    file: Annotated[str, typer.Argument(help="FILE or FILE:format.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for explain --stats.")] = False,
    formats: FormatsOption = None,
) -> None:
    """Show the statistics of the tensor in a file: degrees per dimension, distinct prefixes, bandwidth.

    What --json prints can be edited, and stand for the tensor in storel explain --stats NAME=FILE.json.

    Example: storel stats matrix.mtx:csc
    """
    path, reference = _path_and_format(file)
    tensor = load_tensor(path, Formats(() if formats is None else (formats,)), reference=reference)
    summary = tensor.summary
    print(json.dumps(summary.as_object(), indent=2) if as_json else report.statistics_text(summary))


@app.command()
def formats(
    name: Annotated[str | None, typer.Argument(help="Print the text of this format.")] = None,
    directory: Annotated[
        Path | None, typer.Option("--formats", help="A directory of further formats.")
    ] = None,
) -> None:
    """List the storage formats, or show one.

    Example: storel formats csr
    """
    known = Formats(() if directory is None else (directory,))
    print(report.formats_text(known) if name is None else report.format_file_text(known, name))


@app.command()
def rules(
    file: Annotated[Path | None, typer.Option("--rules", help="A file of further rules.")] = None,
    egglog: Annotated[bool, typer.Option(help="Print what the rules compile to.")] = False,
    check: Annotated[
        Path | None, typer.Option(help="A file of rules to try on random terms and data.")
    ] = None,
    examples: Annotated[int, typer.Option(help="With --check: how many terms for each rule.", min=1)] = 300,
) -> None:
    """List the rewrite rules theory by theory, or check rules of your own.

    A rule that changes a value is shown with the smallest term and data for which it does.

    Example: storel rules --rules mine.rules --egglog

    Example: storel rules --check mine.rules
    """
    if check is not None:
        _check_rules(check, examples)
        return
    options = compiler_options(CallOptions(rules=file))
    print(report.rules_text(options.rules, egglog=egglog))


def _check_rules(file: Path, examples: int) -> None:
    """Print what comes of checking each rule; raises DataError if one is wrong or never applies."""
    try:
        from storel.soundness import check
    except ModuleNotFoundError as error:
        raise DataError(
            f"rules are checked with {error.name}, which is not installed", hint='pip install "storel[check]"'
        ) from error
    show_progress = report.progress()
    doubtful: list[str] = []
    for rule in read_rules(file):
        show_progress(f"checking {rule.name}")
        verdict = check.check(rule, examples)
        print(verdict)
        if not verdict.is_sound:
            doubtful.append(rule.name)
    if doubtful:
        raise DataError(f"not to be relied on: {', '.join(doubtful)}")


@app.command()
def calibrate(
    show: Annotated[bool, typer.Option("--show", help="Only show what is in use.")] = False,
    reset: Annotated[bool, typer.Option("--reset", help="Return to what is shipped.")] = False,
) -> None:
    """Measure what operations cost on this machine, for all plans from now on; it takes some seconds.

    The constants of the cost model are fitted to small programs that are compiled and run. They are kept in
    the cache for this processor and C compiler; measure while the machine is idle.

    Example: storel calibrate
    """
    if reset:
        machine.reset()
    elif not show:
        from storel.calibration.measure import calibrate as measured  # with SciPy's optimizer, 0.2 s

        machine.keep(measured(report.progress()))
    print(report.constants_text(machine.constants()))


def _runner(script: str, bindings: list[str], options: CallOptions) -> Runner:
    directories = () if options.formats is None else (Path(options.formats),)
    environment = Environment(Formats(directories))
    for text in bindings:
        _bind(environment, text)
    directory = Path.cwd() if script == "-" else Path(script).parent
    return Runner(environment, compiler_options(options), directory, progress=report.progress())


def _bind(environment: Environment, text: str) -> None:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise typer.BadParameter(f"'{text}' is not NAME=FILE[:format] or NAME=NUMBER")
    number = _number(value)
    if number is not None:
        bind(environment, name, number)
        return
    path, reference = _path_and_format(value)
    environment.add_tensor(name, load_tensor(path, environment.formats, reference=reference))


def _declare(environment: Environment, text: str) -> None:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise typer.BadParameter(f"'{text}' is not NAME=FILE.json[:format]")
    path, reference = _path_and_format(value)
    environment.add_tensor(name, declared_tensor(read_summary(path), environment.formats, reference))


def _path_and_format(text: str) -> tuple[Path, FormatReference | None]:
    path, colon, storage = text.partition(":")
    return Path(path), format_text(storage) if colon else None


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
    pairs = [text.partition("=") for text in texts]
    for text, (name, equals, path) in zip(texts, pairs, strict=True):
        if not (name and equals and path):
            raise typer.BadParameter(f"'{text}' is not NAME=FILE")
    return [(name, Path(path)) for name, _, path in pairs]


def _read(script: str) -> Source:
    return Source("<stdin>", sys.stdin.read()) if script == "-" else read_source(Path(script))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}") from error


def _save(outcome: Outcome, out: Path | None, outputs: list[tuple[str, Path]], directory: Path) -> None:
    """Write the results where the script and the command line say."""
    for statement in outcome.saved:
        save_tensor(outcome.results[statement.name], directory / statement.path)
    for name, path in outputs:
        save_tensor(outcome.results[name], path)
    if out is not None:
        if len(outcome.results) != 1:
            names = ", ".join(outcome.results)
            raise DataError("-o takes one result", found=names, hint="use --output NAME=FILE")
        save_tensor(next(iter(outcome.results.values())), out)


def main() -> None:
    """Run the command line; every failure becomes one message and an exit code."""
    errors = Console(stderr=True, highlight=False)
    try:
        app(standalone_mode=True)
    except StorelError as error:
        errors.print(f"error: {error}", markup=False, soft_wrap=True)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(1)
    except Exception:  # the last resort: an internal failure must not look like a user's mistake
        traceback.print_exc()
        errors.print(
            "storel failed internally; please report this with the script and its data.", markup=False
        )
        sys.exit(3)
