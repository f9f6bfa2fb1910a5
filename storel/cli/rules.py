"""``storel rules``: the rewrite rules, and rules of one's own tried out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from storel.cli import report
from storel.errors import DataError
from storel.optimizer.rules.rulefile import shipped
from storel.optimizer.rules.user_rules import read_rules, require_own_names
from storel.options import CallOptions, compiler_options


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
        if file is not None or egglog:
            raise typer.BadParameter(
                f"--check tries its own file, without {'--egglog' if egglog else '--rules'}"
            )
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
