"""A user's file of rules: read, and every mistake in it told with the file's name."""

from __future__ import annotations

from pathlib import Path

from storel.errors import DataError, StorelError
from storel.optimizer.rulefile import Rule, RuleSet, collect, parse, shipped
from storel.optimizer.wellformed import require_meaning


def with_rules(path: Path) -> RuleSet:
    """Return the shipped rules and those in a user's file."""
    return collect((*shipped().rules, *read_rules(path)))


def read_rules(path: Path) -> tuple[Rule, ...]:
    """Return the rules in a user's file; raises StorelError, naming the file, for what is no rule."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(f"the rules {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"the rules {path} are no UTF-8 text: {error}") from error
    rules = parse(text, path.name)
    try:
        collect(rules)
    except StorelError as error:
        error.message = f"{path.name}: {error.message}"
        raise
    for rule in rules:
        require_meaning(rule, path.name)
    return rules
