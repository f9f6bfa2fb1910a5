"""A user's file of rules: read, and every mistake in it told with the file's name."""

from __future__ import annotations

from pathlib import Path

from storel.errors import DataError, ProgramSyntaxError, UnknownNameError, about
from storel.optimizer.rules.patterns import Node, Pattern
from storel.optimizer.rules.rulefile import Rule, RuleSet, collect, parse, shipped
from storel.optimizer.rules.wellformed import require_meaning

DEEPEST = 100
"""How deep a side of a rule may be: whatever matches or translates it follows it by recursion."""


def with_rules(path: Path) -> RuleSet:
    """Return the shipped rules and those in a user's file."""
    rules = read_rules(path)
    taken = {rule.name for rule in shipped().rules}
    for rule in rules:
        if rule.name in taken:
            raise UnknownNameError(
                f"{path.name}, line {rule.line}: a rule that is shipped is called {rule.name}",
                found=rule.law,
                hint="give it another name",
            )
    return collect((*shipped().rules, *rules))


def read_rules(path: Path) -> tuple[Rule, ...]:
    """Return the rules in a user's file; raises StorelError, naming the file, for what is no rule."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"the rules {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"the rules {path} are no UTF-8 text: {error}") from error
    try:
        rules = parse(text, path.name)
    except RecursionError:
        raise ProgramSyntaxError(f"{path.name}: a rule is nested too deeply") from None
    for rule in rules:
        if max(_levels(rule.left), _levels(rule.right)) > DEEPEST:
            raise ProgramSyntaxError(
                f"{path.name}, line {rule.line}: rule {rule.name} is nested too deeply",
                expected=f"at most {DEEPEST} levels",
            )
    with about(path.name):
        collect(rules)
    for rule in rules:
        require_meaning(rule, path.name)
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
