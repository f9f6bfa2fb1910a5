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
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from storel.errors import ProgramSyntaxError, UnknownNameError, nearest
from storel.host.resources import directory
from storel.optimizer.rules.analyses import GUARDS
from storel.optimizer.rules.patterns import MisreadError, Node, Pattern, Reader

PHASES = ("normalize", "main")
EAGER = ("decide", "simplify")
REORDERING, IN_ORDER = "reorder", "in-order"
"""The tag of rules of the main phase that reorder sums and products, and what the others make up."""

ON_TERMS = "terms"
TAGS = (*PHASES, *EAGER, "index", "ring", REORDERING, ON_TERMS)

_LOGICAL = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "and", "or", "not")

RULE_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
"""What a rule may be called."""

_AROUND = 40
"""How many characters before and behind a mistake are shown."""


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition on the classes that the holes stand for."""

    name: str
    arguments: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """``left`` and ``right`` are equal under the guards.

    ``theory`` is the file that it stands in, from ``line`` on, and ``law`` what it says there.
    """

    name: str
    left: Pattern
    right: Pattern
    guards: tuple[Guard, ...] = ()
    tags: frozenset[str] = frozenset()
    line: int = 0
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
    _require_tags(tags, f"rule {name}: ")
    for guard in guards:
        if guard.name not in GUARDS:
            raise UnknownNameError(f"rule {name}: there is no guard {guard.name}", expected=", ".join(GUARDS))
        if len(guard.arguments) != len(GUARDS[guard.name][0]):
            raise UnknownNameError(
                f"rule {name}: {guard.name} has the wrong number of arguments",
                expected=str(len(GUARDS[guard.name][0])),
                found=str(len(guard.arguments)),
            )


def _require_tags(tags: frozenset[str], place: str) -> None:
    for tag in sorted(tags.difference(TAGS)):
        raise UnknownNameError(f"{place}there is no tag @{tag}", expected=", ".join(TAGS))


def parse(text: str, origin: str = "rules") -> tuple[Rule, ...]:
    """Return the rules in ``text``; a mistake raises an error that names ``origin`` and the line."""
    try:
        return tuple(_rules(Reader(text), Path(origin).stem))
    except MisreadError as error:
        line = text.count("\n", 0, error.place) + 1
        place = _shown(text, error.place)
        raise ProgramSyntaxError(f"{origin}, line {line}: this is not a rule\n{place}") from None
    except UnknownNameError as error:
        error.message = f"{origin}: {error.message}"
        raise


def _rules(reader: Reader, theory: str) -> Iterator[Rule]:
    """Yield the rules of a whole file."""
    tags = _tags(reader)
    _require_tags(tags, "")
    while reader.token:
        for rule in _rule(reader, theory):
            yield replace(rule, tags=rule.tags or tags)


def _rule(reader: Reader, theory: str) -> Iterator[Rule]:
    reader.expect("rule")
    line = reader.text.count("\n", 0, reader.place) + 1
    name = reader.matching(RULE_NAME)
    tags = _tags(reader)
    reader.expect(":")
    start = reader.place
    left = reader.term()
    is_mutual = reader.token == "<=>"
    reader.expect("<=>" if is_mutual else "=>")
    right = reader.term()
    guards = tuple(_guards(reader))
    require_known(name, tags, guards)
    law = " ".join(reader.text[start : reader.end].split())
    yield Rule(name, left, right, guards, tags, line, theory, law)
    if is_mutual:
        yield Rule(f"{name}-back", right, left, guards, tags, line, theory, law)


def _tags(reader: Reader) -> frozenset[str]:
    found: set[str] = set()
    while reader.accepts("@"):
        found.add(reader.name())
    return frozenset(found)


def _guards(reader: Reader) -> Iterator[Guard]:
    separator = "if"
    while reader.accepts(separator):
        name = reader.name()
        reader.expect("(")
        arguments = [reader.term()]
        while reader.accepts(","):
            arguments.append(reader.term())
        reader.expect(")")
        yield Guard(name, tuple(arguments))
        separator = ","


def _shown(text: str, place: int) -> str:
    """Return the line around a place, at most so many characters of it, and a mark below."""
    before = text[max(0, place - _AROUND) : place].rpartition("\n")[2]
    after = text[place : place + _AROUND].partition("\n")[0]
    return f"{before}{after}\n{' ' * len(before.expandtabs())}^"


def collect(rules: Iterable[Rule]) -> RuleSet:
    """Return the rules as a set; two of one name are an error."""
    found: dict[str, Rule] = {}
    for rule in rules:
        if rule.name in found:
            laws = filter(None, (found[rule.name].law, rule.law))
            raise UnknownNameError(f"two rules are called {rule.name}", found=" and ".join(laws) or None)
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
