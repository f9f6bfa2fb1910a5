"""A user's file of rules: read, and every mistake in it told with its place."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from storel.errors import DataError, ProgramSyntaxError, UnknownNameError
from storel.optimizer.rules.patterns import Node, Pattern
from storel.optimizer.rules.rulefile import Rule, RuleSet, collect, parse, shipped
from storel.optimizer.rules.wellformed import require_meaning

DEEPEST = 100
"""How deep a side of a rule may be: whatever matches or translates it follows it by recursion."""


def with_rules(path: Path) -> RuleSet:
    """Return the shipped rules and those in a user's file."""
    rules = read_rules(path)
    require_own_names(rules)
    return collect((*shipped().rules, *rules))


def require_own_names(rules: Iterable[Rule]) -> None:
    """Raise UnknownNameError for a rule that is called what a shipped one is called."""
    taken = {rule.name: f"{rule.theory}.rules: {rule.law}" for rule in shipped().rules}
    for rule in rules:
        if rule.name in taken:
            raise UnknownNameError(
                f"a rule that is shipped is called {rule.name}",
                found=taken[rule.name],
                span=rule.span,
                hint="give it another name",
            )


def read_rules(path: Path) -> tuple[Rule, ...]:
    """Return the rules in a user's file; raises StorelError, with its place, for what is no rule."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"the rules {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"the rules {path} are no UTF-8 text: {error}") from error
    rules = parse(text, str(path))
    for rule in rules:
        if max(_levels(rule.left), _levels(rule.right)) > DEEPEST:
            raise ProgramSyntaxError(
                f"rule {rule.name} is nested too deeply",
                expected=f"at most {DEEPEST} levels",
                span=rule.span,
            )
    collect(rules)
    for rule in rules:
        require_meaning(rule)
    return rules


def _levels(pattern: Pattern) -> int:
    """Return how deep a pattern is, found level by level since it may be too deep for recursion."""
    found, level = 0, [pattern]
    while level:
        found += 1
        level = [
            argument
            for node in level
            if isinstance(node, Node)
            for argument in node.arguments
            if not isinstance(argument, str | int)
        ]
    return found
