"""``storel rules``: the rewrite rules, and rules of one's own tried out."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from storel.cli import report
from storel.cli.options import BindersOption, FormatsOption
from storel.cli.running import BindingOption, StatsOption, declare_operand, read_script, runner_for
from storel.errors import DataError
from storel.optimizer.rules.rulefile import shipped
from storel.optimizer.rules.user_rules import read_rules, require_own_names
from storel.options import CallOptions, compiler_options

EXAMPLES = 300
"""How many terms each rule is tried on where nothing is said."""


def rules(
    script: Annotated[
        str | None,
        typer.Argument(help="Count how often each rule fires in planning this .sdql file, or - for stdin."),
    ] = None,
    binding: BindingOption = None,
    stats: StatsOption = None,
    formats: FormatsOption = None,
    binders: BindersOption = "named",
    file: Annotated[Path | None, typer.Option("--rules", help="A file of further rules.")] = None,
    egglog: Annotated[bool, typer.Option(help="Print what the rules compile to.")] = False,
    check: Annotated[
        Path | None, typer.Option(help="A file of rules to try on random terms and data.")
    ] = None,
    examples: Annotated[
        int | None, typer.Option(help=f"With --check: how many terms for each rule, else {EXAMPLES}.", min=1)
    ] = None,
) -> None:
    """List the rewrite rules theory by theory, or check rules of your own.

    With a script, how often each rule fired stands before its law, both ways of a <=> together. A rule that
    changes a value is shown with the smallest term and data for which it does.

    Example: storel rules spmv.sdql -b A=matrix.mtx:csr -b x=x.npy

    Example: storel rules --rules mine.rules --egglog

    Example: storel rules --check mine.rules
    """
    if check is not None:
        others = {
            "a script": script,
            "-b": binding,
            "--stats": stats,
            "--formats": formats,
            "--rules": file,
            "--egglog": egglog,
            "--binders": binders != "named",
        }
        if left_out := [name for name, given in others.items() if given]:
            raise typer.BadParameter(f"--check tries its own file, without {' and '.join(left_out)}")
        _check_rules(check, examples or EXAMPLES)
        return
    if examples is not None:
        raise typer.BadParameter("--examples says how many terms --check FILE tries, which is not given")
    options = CallOptions(formats=formats, rules=file, binders=binders)
    if script is None and (binding or stats or formats):
        what = "operands" if binding or stats else "formats"
        raise typer.BadParameter(f"{what} belong to a script, which is not given")
    if script is not None and egglog:
        raise typer.BadParameter("--egglog prints all rules, without a script")
    fired = None if script is None else _fired(script, binding or [], stats or [], options)
    print(report.rules_text(compiler_options(options).rules, fired, egglog=egglog))


def _fired(script: str, bindings: list[str], stats: list[str], options: CallOptions) -> Counter[str]:
    """Return how often each rule fires where a script is planned; nothing is run."""
    runner = runner_for(script, bindings, options)
    for text in stats:
        declare_operand(runner, text)
    runner.runs = False
    fired: Counter[str] = Counter()
    for compilation in runner.run(read_script(script)).compilations.values():
        for phase in compilation.optimized.report:
            fired.update(phase.matches)
    return fired


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
    rules = read_rules(file)
    if not rules:
        raise DataError(f"there are no rules in {file}")
    laws = {rule.name: rule.law for rule in shipped().rules}
    require_own_names(rule for rule in rules if laws.get(rule.name) != rule.law)  # a shipped one may be tried
    for rule in rules:
        show_progress(f"checking {rule.name}")
        verdict = check.check(rule, examples)
        print(verdict)
        if not verdict.is_sound:
            doubtful.append(rule.name)
    if doubtful:
        raise DataError(f"not to be relied on: {', '.join(doubtful)}")
