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
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TypeAlias

from lark import Lark, Token, Transformer, v_args
from lark.exceptions import UnexpectedInput
from lark.tree import Meta

from storel import cache as cache_on_disk
from storel.errors import ProgramSyntaxError, UnknownNameError
from storel.optimizer.analyses import GUARDS
from storel.resources import directory

PHASES = ("normalize", "main")
EAGER = ("decide", "simplify")
TAGS = (*PHASES, *EAGER, "index", "ring", "reorder")


@dataclass(frozen=True, slots=True)
class Hole:
    """``?x``: any term."""

    name: str


@dataclass(frozen=True, slots=True)
class Bound:
    """A variable of one of the rule's binders."""

    name: str


@dataclass(frozen=True, slots=True)
class Node:
    """A constructor of ``encoding.LAYOUTS``; its arguments are strings, integers and patterns."""

    constructor: str
    arguments: tuple[str | int | Pattern, ...]


Pattern: TypeAlias = Hole | Bound | Node

SEMIRING = "s"
"""The variable that stands for the semiring of a rule."""


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

    @property
    def is_eager(self) -> bool:
        """Whether the right side replaces the left one."""
        return any(phase in EAGER for phase in self.phases)


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Rules with distinct names, in the order of the files."""

    rules: tuple[Rule, ...]

    def without(self, name: str) -> RuleSet:
        """Return these rules less one, given its name."""
        return RuleSet(tuple(rule for rule in self.rules if rule.name != name))

    def without_tag(self, tag: str) -> RuleSet:
        """Return these rules less those with a tag."""
        return RuleSet(tuple(rule for rule in self.rules if tag not in rule.tags))


_COMPARISONS = {
    "==": "equal", "!=": "not_equal", "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal",
}  # fmt: skip


class _Builder(Transformer[Token, list[Rule]]):
    """Turn the parse tree into rules; each method is named after a production of the grammar."""

    def __init__(self, text: str, theory: str) -> None:
        super().__init__(visit_tokens=False)
        self.text = text
        self.theory = theory
        self.anonymous = 0

    def start(self, parts: list[str | list[Rule]]) -> list[Rule]:
        tags = frozenset(part for part in parts if isinstance(part, str))
        rules = [rule for part in parts if not isinstance(part, str) for rule in part]
        return [replace(rule, tags=rule.tags or tags) for rule in rules]

    @v_args(meta=True)
    def rule(self, meta: Meta, parts: list[Token | str | Pattern | Guard]) -> list[Rule]:
        name = parts[0]
        assert isinstance(name, Token)
        tags = frozenset(part for part in parts[1:] if type(part) is str)
        sides = [part for part in parts if isinstance(part, Hole | Bound | Node)]
        guards = tuple(part for part in parts if isinstance(part, Guard))
        arrow = next(part for part in parts[1:] if isinstance(part, Token) and part.type == "ARROW")
        _check(name, tags, guards)
        _, _, law = self.text[meta.start_pos : meta.end_pos].partition(":")
        forth = Rule(
            str(name), sides[0], sides[1], guards, tags, name.line or 0, self.theory, " ".join(law.split())
        )
        if arrow != "<=>":
            return [forth]
        return [forth, replace(forth, name=f"{name}-back", left=sides[1], right=sides[0])]

    def tag(self, parts: list[Token]) -> str:
        return str(parts[0].value)

    def guard(self, parts: list[Token | Pattern]) -> Guard:
        return Guard(str(parts[0]), tuple(part for part in parts if not isinstance(part, Token)))

    def semiring(self, parts: list[Token]) -> str:
        return str(parts[0].value)

    def source(self, parts: list[Pattern]) -> Pattern:
        return parts[0]

    def binder(self, parts: list[Token]) -> Bound:
        if parts[0] != "_":
            return Bound(str(parts[0]))
        self.anonymous += 1
        return Bound(f"_{self.anonymous}")

    def sum(self, parts: list[str | Pattern]) -> Node:
        key, value, source, body = _terms(parts)
        return Node("Sum", (_semiring(parts), source, key, value, body))

    def merge(self, parts: list[Token | Pattern]) -> Node:
        p, q, key, left, right, body = _terms(parts)
        return Node("Merge", (SEMIRING, left, right, p, q, key, body))

    def find(self, parts: list[Token | Pattern]) -> Node:
        position, source, key, body = _terms(parts)
        return Node("Find", (SEMIRING, source, key, position, body))

    def conditional(self, parts: list[str | Pattern]) -> Node:
        return Node("If", (_semiring(parts), *_terms(parts)))

    def let(self, parts: list[Pattern]) -> Node:
        binder, value, body = parts
        return Node("Let", (value, binder, body))

    def range(self, parts: list[Pattern]) -> Node:
        return Node("Range", tuple(parts))

    def slice(self, parts: list[Pattern]) -> Node:
        return Node("Slice", tuple(parts))

    def lookup(self, parts: list[Pattern]) -> Node:
        return Node("Look", (SEMIRING, *parts))

    def lookup_name(self, parts: list[Token | Pattern]) -> Node:
        return Node("Look", (SEMIRING, self.name(parts[:1]), *_terms(parts)))

    def slice_name(self, parts: list[Token | Pattern]) -> Node:
        return Node("Slice", (self.name(parts[:1]), *_terms(parts)))

    def singleton(self, parts: list[Pattern]) -> Node:
        return Node("Single", (SEMIRING, *parts))

    def unique(self, parts: list[Pattern]) -> Node:
        return Node("Uniq", tuple(parts))

    def add(self, parts: list[Pattern]) -> Node:
        return Node("Add", (SEMIRING, *parts))

    def multiply(self, parts: list[Pattern]) -> Node:
        return Node("Mul", (SEMIRING, *parts))

    def compare(self, parts: list[Pattern | Token]) -> Node:
        left, operator, right = parts
        assert not isinstance(left, Token) and not isinstance(right, Token)
        return Node("Apply2", (_COMPARISONS[str(operator)], left, right))

    def call(self, parts: list[Pattern | Token]) -> Node:
        name, left, right = parts
        assert not isinstance(left, Token) and not isinstance(right, Token)
        return Node("Apply2", (str(name), left, right))

    def either(self, parts: list[Pattern]) -> Node:
        return Node("Apply2", ("or", *parts))

    def both(self, parts: list[Pattern]) -> Node:
        return Node("Apply2", ("and", *parts))

    def subtract(self, parts: list[Pattern]) -> Node:
        return Node("Apply2", ("subtract", *parts))

    def divide(self, parts: list[Pattern]) -> Node:
        return Node("Apply2", ("divide", *parts))

    def floor_divide(self, parts: list[Pattern]) -> Node:
        return Node("Apply2", ("floor_divide", *parts))

    def modulo(self, parts: list[Pattern]) -> Node:
        return Node("Apply2", ("modulo", *parts))

    def negate(self, parts: list[Pattern]) -> Node:
        return Node("Apply1", ("negate", *parts))

    def negation(self, parts: list[Pattern]) -> Node:
        return Node("Apply1", ("not", *parts))

    def hole(self, parts: list[Token]) -> Hole:
        return Hole(str(parts[0])[1:])

    def integer(self, parts: list[Token]) -> Node:
        return Node("Int", (int(parts[0]),))

    def name(self, parts: Sequence[Token | Pattern]) -> Pattern:
        name = str(parts[0])
        if name in ("true", "false"):
            return Node("Truth", (int(name == "true"),))
        return Node(name, ()) if name in ("zero", "one") else Bound(name)


def _terms(parts: Iterable[str | Pattern]) -> list[Pattern]:
    return [part for part in parts if not isinstance(part, str)]


def _semiring(parts: list[str | Pattern]) -> str:
    first = parts[0]
    return first if type(first) is str else SEMIRING


def _check(name: str, tags: frozenset[str], guards: tuple[Guard, ...]) -> None:
    for tag in sorted(tags.difference(TAGS)):
        raise UnknownNameError(f"rule {name}: there is no tag @{tag}", expected=", ".join(TAGS))
    for guard in guards:
        if guard.name not in GUARDS:
            raise UnknownNameError(f"rule {name}: there is no guard {guard.name}", expected=", ".join(GUARDS))
        if len(guard.arguments) != GUARDS[guard.name][0]:
            raise UnknownNameError(
                f"rule {name}: {guard.name} has the wrong number of arguments",
                expected=str(GUARDS[guard.name][0]),
                found=str(len(guard.arguments)),
            )


@cache
def _parser() -> Lark:
    grammar = (Path(__file__).parent / "patterns.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", maybe_placeholders=False, propagate_positions=True)


def parse(text: str, origin: str = "rules") -> tuple[Rule, ...]:
    """Return the rules in ``text``; a mistake raises an error that names ``origin`` and the line."""
    try:
        tree = _parser().parse(text)
    except UnexpectedInput as error:
        line, place = error.line, error.get_context(text).rstrip()
        raise ProgramSyntaxError(f"{origin}, line {line}: this is not a rule\n{place}") from None
    return tuple(_Builder(text, Path(origin).stem).transform(tree))


def collect(rules: Iterable[Rule]) -> RuleSet:
    """Return the rules as a set; two of one name are an error."""
    found: dict[str, Rule] = {}
    for rule in rules:
        if rule.name in found:
            raise UnknownNameError(f"two rules are called {rule.name}")
        found[rule.name] = rule
    return RuleSet(tuple(found.values()))


@cache
def shipped() -> RuleSet:
    """Return the rules that come with storel."""
    texts = {
        path.name: path.read_text(encoding="utf-8") for path in sorted(directory("rules").glob("*.rules"))
    }
    here = Path(__file__)
    code = [path.read_text(encoding="utf-8") for path in (here, here.with_name("patterns.lark"))]
    name = f"rules-{cache_on_disk.digest(*code, *texts, *texts.values())}"
    return cache_on_disk.kept(
        name, lambda: collect(r for own, text in texts.items() for r in parse(text, own))
    )
