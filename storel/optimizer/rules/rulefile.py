"""Rewrite rules as text: ``rules/*.rules`` and whatever a user adds.

    rule sum-factor:
      sum(<k, v> in ?R) ?a * ?b  =>  ?a * sum(<k, v> in ?R) ?b

A pattern is a term of the calculus in which ``?x`` stands for any term. ``zero`` and ``one`` are the
semiring's, ``sum[t]`` is over another semiring than the rest of the rule. ``<=>`` makes two rules. Tags
at the head of a file are those of its rules that have none:

    @normalize, @main     the phase in which a rule takes part; both without a tag
    @decide, @simplify    the right side replaces the left one at once, in both phases
    @index                about keys and addresses: integers, over plus_times
    @ring                 only where there is subtraction
    @reorder              not where there are many loops: the orders of a product outgrow every budget
    @terms                not in an e-graph, only of terms, before and after the first phase
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from storel.errors import ProgramSyntaxError, UnknownNameError, nearest
from storel.host.resources import directory
from storel.optimizer.rules.analyses import GUARDS
from storel.optimizer.rules.patterns import Node, Pattern, Reader
from storel.source import Source, Span

PHASES = ("normalize", "main")
EAGER = ("decide", "simplify")
REORDERING, IN_ORDER = "reorder", "in-order"
"""The tag of rules of the main phase that reorder sums and products, and what the others make up."""

ON_TERMS = "terms"
TAGS = (*PHASES, *EAGER, "index", "ring", REORDERING, ON_TERMS)

_LOGICAL = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "and", "or", "not")

RULE_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
"""What a rule may be called."""


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition on the classes that the holes stand for."""

    name: str
    arguments: tuple[Pattern, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Rule:
    """``left`` and ``right`` are equal under the guards.

    ``theory`` is the file that it stands in, ``span`` its place there, and ``law`` what it says.
    """

    name: str
    left: Pattern
    right: Pattern
    guards: tuple[Guard, ...] = ()
    tags: frozenset[str] = frozenset()
    span: Span | None = field(default=None, compare=False, repr=False)
    theory: str = ""
    law: str = ""

    @property
    def phases(self) -> tuple[str, ...]:
        return tuple(phase for phase in (*EAGER, *PHASES) if phase in self.tags) or PHASES

    def ruleset(self, phase: str) -> str:
        """Return the part of a phase that it belongs to, by whether it reorders where there are two."""
        if phase != "main":
            return phase
        return REORDERING if REORDERING in self.tags else IN_ORDER

    @property
    def is_about_keys(self) -> bool:
        """Whether it is about keys, addresses and conditions, not about values."""
        if "index" in self.tags:
            return True
        return isinstance(self.left, Node) and any(name in _LOGICAL for name in self.left.arguments[:1])

    @property
    def is_eager(self) -> bool:
        """Whether the right side replaces the left one."""
        return any(phase in EAGER for phase in self.phases)


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Rules with distinct names, in the order of the files."""

    rules: tuple[Rule, ...]

    def __hash__(self) -> int:  # sets of rules are asked for often, and their names tell nearly all apart
        return hash(tuple(rule.name for rule in self.rules))

    def without(self, name: str) -> RuleSet:
        """Return these rules less one, given its name; raise UnknownNameError if there is none."""
        names = [rule.name for rule in self.rules]
        if name not in names:
            raise UnknownNameError(f"there is no rule {name}", hint=nearest(name, names))
        return RuleSet(tuple(rule for rule in self.rules if rule.name != name))


def require_known(name: str, tags: frozenset[str], guards: tuple[Guard, ...]) -> None:
    """Raise UnknownNameError for a tag or a guard of the rule ``name`` that there is not."""
    for tag in sorted(tags):
        _require_tag(tag, None)
    for guard in guards:
        if guard.name not in GUARDS:
            raise UnknownNameError(
                f"rule {name}: there is no guard {guard.name}",
                expected=", ".join(GUARDS),
                span=guard.span,
                hint=nearest(guard.name, GUARDS),
            )
        if len(guard.arguments) != len(GUARDS[guard.name][0]):
            raise UnknownNameError(
                f"rule {name}: {guard.name} has the wrong number of arguments",
                expected=str(len(GUARDS[guard.name][0])),
                found=str(len(guard.arguments)),
                span=guard.span,
            )


def _require_tag(tag: str, span: Span | None) -> None:
    if tag not in TAGS:
        expected = ", ".join(f"@{each}" for each in TAGS)
        hint = nearest(tag, TAGS)
        raise UnknownNameError(f"there is no tag @{tag}", expected=expected, span=span, hint=hint)


def parse(text: str, origin: str = "rules") -> tuple[Rule, ...]:
    """Return the rules in ``text``; a mistake raises an error that shows its place in ``origin``."""
    reader = Reader(Source.given(origin, text))
    try:
        return tuple(_rules(reader, Path(origin).stem))
    except RecursionError:
        place = Span(reader.source, reader.last, reader.end)
        raise ProgramSyntaxError("a rule is nested too deeply", span=place) from None


def _rules(reader: Reader, theory: str) -> Iterator[Rule]:
    """Yield the rules of a whole file."""
    tags = _tags(reader)
    while reader.token:
        for rule in _rule(reader, theory):
            yield replace(rule, tags=rule.tags or tags)


def _rule(reader: Reader, theory: str) -> Iterator[Rule]:
    reader.expect("rule")
    reader.keys.clear()
    head = reader.place
    name = reader.matching(RULE_NAME, "a rule's name")
    tags = _tags(reader)
    reader.expect(":")
    start = reader.place
    left = reader.term()
    is_mutual = reader.accepts("<=>")
    if not is_mutual:
        reader.expect("=>")
    right = reader.term()
    guards = tuple(_guards(reader))
    require_known(name, tags, guards)
    law, span = " ".join(reader.since(start).text.split()), reader.since(head)
    yield Rule(name, left, right, guards, tags, span, theory, law)
    if is_mutual:
        yield Rule(f"{name}-back", right, left, guards, tags, span, theory, law)


def _tags(reader: Reader) -> frozenset[str]:
    found: set[str] = set()
    while reader.token == "@":
        start = reader.place
        reader.next()
        tag = reader.name("a tag")
        _require_tag(tag, reader.since(start))
        found.add(tag)
    return frozenset(found)


def _guards(reader: Reader) -> Iterator[Guard]:
    separator = "if"
    while reader.accepts(separator):
        start = reader.place
        name = reader.name("a guard")
        reader.expect("(")
        arguments = [reader.term()]
        while reader.accepts(","):
            arguments.append(reader.term())
        reader.expect(")")
        yield Guard(name, tuple(arguments), reader.since(start))
        separator = ","


def collect(rules: Iterable[Rule]) -> RuleSet:
    """Return the rules as a set; two of one name are an error."""
    found: dict[str, Rule] = {}
    for rule in rules:
        if rule.name in found:
            laws = filter(None, (found[rule.name].law, rule.law))
            raise UnknownNameError(
                f"two rules are called {rule.name}", found=" and ".join(laws) or None, span=rule.span
            )
        found[rule.name] = rule
    return RuleSet(tuple(found.values()))


@cache
def shipped_texts() -> Mapping[str, str]:
    """Return the texts of the rules that come with storel, by the names of their files."""
    files = sorted(directory("rules").glob("*.rules"))
    return {path.name: path.read_text(encoding="utf-8") for path in files}


@cache
def shipped() -> RuleSet:
    """Return the rules that come with storel."""
    return collect(rule for name, text in shipped_texts().items() for rule in parse(text, name))
