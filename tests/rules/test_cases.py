"""Every rule fires where it should, and does not where its guards forbid it, with names and with indices."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pytest

from storel.optimizer.egraph.base import Base
from storel.optimizer.egraph.saturate import Saturation
from storel.optimizer.encoding.binders import Encoding
from storel.optimizer.encoding.bindings import EggSmolError
from storel.optimizer.encoding.layouts import LAYOUTS
from storel.optimizer.limits import Limits
from storel.optimizer.outcome import BINDERS
from storel.optimizer.rules import rulefile
from storel.optimizer.rules.patterns import Bound, Node, Pattern
from storel.optimizer.rules.rulefile import Rule, RuleSet
from storel.optimizer.rules.translate import translate

RULES = {rule.name: rule for rule in rulefile.shipped().rules}

RANKS = (("E", 1), ("F", 1), ("G", 2), ("H", 2), ("M", 2))

FACTS = [
    *(f'(set (rank (Sym "{name}")) 0) (set (free (Sym "{name}")) (bigint 0))' for name in "abcijn"),
    *(f'(set (low (Sym "{name}")) 0) (set (high (Sym "{name}")) 9)' for name in "ij"),
    '(set (low (Sym "n")) 10) (set (high (Sym "n")) 10)',
    *(f'(set (rank (Sym "{name}")) 1) (set (free (Sym "{name}")) (bigint 0))' for name in "RSUABD"),
    *(f'(array (Sym "{name}"))' for name in "RSU"),
    *(f'(increasing (Sym "{name}"))' for name in "RS"),
    *(f'(set (element-low (Sym "{name}")) 0)' for name in "RS"),
    '(pairs (Sym "R") (Sym "S"))',
    '(triples (Sym "R") (Sym "S") (Sym "U"))',
    *(f'(dictionary (Sym "{name}")) (over (Sym "{name}") "plus_times")' for name in "ABD"),
    *(f'(set (rank (Sym "{name}")) {rank}) (set (free (Sym "{name}")) (bigint 0))' for name, rank in RANKS),
    *(f'(dictionary (Sym "{name}")) (over (Sym "{name}") "plus_times")' for name, _ in RANKS),
    '(disjoint (Sym "M") (Sym "G"))',
    '(separate (Sym "S") (Sym "M"))',
    '(is-one (Const 1) "plus_times")',
]

APART = (("distinct", "E", "p"), ("distinct", "F", "x"), ("apart", "G", "p"), ("apart", "H", "x"))
"""Which dictionary's keys determine which variable of the loop around it."""


RENEWED = 20
"""Cases after which an e-graph is made anew: the library reports on all steps, which makes copies slow."""


@lru_cache(maxsize=4)
def base(encoding: Encoding, share: int) -> Base:
    """Return an e-graph that holds the facts and no rules, for the cases of one share."""
    empty = Base(RuleSet(()), encoding)
    here = dict(zip("px", encoding.inside([number("p"), number("x")]), strict=True))
    for line in (*FACTS, *(f'({relation} (Sym "{name}") {here[about]})' for relation, name, about in APART)):
        empty.run(line)
    return empty


def cases() -> list[tuple[int, str, str, bool, str]]:
    """Return each case: its number, a rule, where it starts, whether the rule fires, and what it makes."""
    text = (Path(__file__).parent / "cases.txt").read_text(encoding="utf-8")
    found: list[tuple[int, str, str, bool, str]] = []
    for line in text.splitlines():
        if line and not line.startswith("--"):
            name, _, rest = line.partition(":")
            fires = "=/=>" not in rest
            start, _, goal = rest.partition("=>" if fires else "=/=>")
            found.append((len(found), name, start.strip(), fires, goal.strip()))
    return found


def parsed(text: str) -> Pattern:
    (rule,) = rulefile.parse(f"rule case: {text} => zero")
    return rule.left


def number(name: str) -> int:
    """Return the number of a binder: the same one, or the same kind, wherever the name is bound."""
    return sum(map(ord, name))


def ground(pattern: Pattern, encoding: Encoding, scope: tuple[str, ...] = (), index: bool = False) -> str:
    """Return a pattern without holes as a term of the e-graph; free names are symbols."""
    match pattern:
        case Bound("zero1"):
            return '(Zero "plus_times" 1)'
        case Bound(name):
            numbers = tuple(map(number, scope))
            return encoding.variable(scope.index(name), numbers) if name in scope else f'(Sym "{name}")'
        case Node("zero", _):
            return '(Zero "plus_times" 0)'
        case Node("one", _):
            return "(Const 1)"
        case Node(constructor, arguments):
            layout = LAYOUTS[constructor]
            kinds = list(zip(arguments, layout, strict=True))
            bound = [each.name for each, kind in kinds if kind == "b" and isinstance(each, Bound)]
            inner = (*reversed(bound), *scope)
            texts: list[str] = []
            for argument, kind in kinds:
                if isinstance(argument, int):
                    texts.append(str(argument))
                elif isinstance(argument, str):
                    value = constructor in ("Add", "Mul") and index
                    texts.append(f'"{"index" if value else "plus_times" if argument == "s" else argument}"')
                elif kind == "b" and isinstance(argument, Bound):
                    texts.append(str(number(argument.name)))
                else:
                    compared = constructor == "Apply2" and kind == "v"
                    below = kind == "k" or compared or (kind == "v" and index)
                    texts.append(ground(argument, encoding, inner if kind == "B" else scope, below))
            return f"({constructor} {' '.join(texts)})"
        case _:
            raise AssertionError(f"a hole in a case: {pattern}")


def fires_at(graph: Base, rule: Rule, encoding: Encoding, start: Pattern) -> bool:
    """Return whether a rule matches ``start``, which is ``$start`` from then on."""
    for line in translate(rule, encoding).splitlines():
        graph.run(line)
    graph.run(f"(let $start {ground(start, encoding)})")
    graph.run("\n".join(f"(set (rank {encoding.binder(number)}) 0)" for number in scalar_binders(start)))
    state = Saturation(graph, Limits(), math.inf)
    state.prepare()
    state.step(rule.phases[0])
    state.prepare()
    return state.matches.get(rule.name, 0) > 0


@pytest.mark.parametrize("binders", BINDERS)
@pytest.mark.parametrize(("number_of_case", "name", "start", "fires", "goal"), cases())
def test_rule(number_of_case: int, name: str, start: str, fires: bool, goal: str, binders: str) -> None:
    encoding = BINDERS[binders]
    graph = base(encoding, number_of_case // RENEWED)
    graph.push()
    try:
        assert fires_at(graph, RULES[name], encoding, parsed(start)) == fires
        graph.run(f"(let $goal {ground(parsed(goal), encoding)})")
        Saturation(graph, Limits(), math.inf).prepare()
        try:
            graph.run("(check (= $start $goal))")
            equal = True
        except EggSmolError:
            equal = False
        assert equal == (fires or goal == start)
    finally:
        graph.pop()


def scalar_binders(pattern: Pattern) -> list[int]:
    """Return the binders that stand for scalars: those that are never summed over or looked up."""
    names: set[str] = set()
    sources: set[str] = set()

    def visit(pattern: Pattern) -> None:
        if isinstance(pattern, Node):
            for position, argument in enumerate(pattern.arguments):
                if (
                    isinstance(argument, Bound)
                    and LAYOUTS.get(pattern.constructor, "")[position : position + 1] == "b"
                ):
                    names.add(argument.name)
                if pattern.constructor in ("Sum", "Look") and position == 1 and isinstance(argument, Bound):
                    sources.add(argument.name)
                if isinstance(argument, Node):
                    visit(argument)

    visit(pattern)
    return sorted(map(number, names - sources))


def test_every_rule_has_a_case() -> None:
    covered = {name for _, name, _, fires, _ in cases() if fires}
    assert covered == RULES.keys()


@pytest.mark.parametrize("name", [name for name, rule in RULES.items() if rule.guards])
def test_every_guarded_rule_is_held_back_by_its_guards(name: str) -> None:
    """There is a case in which it does not fire, but would do so without them."""
    rule, encoding = replace(RULES[name], guards=()), BINDERS["named"]
    held_back = [(number, start) for number, of, start, fires, _ in cases() if of == name and not fires]
    assert held_back

    def would_fire(number_of_case: int, start: str) -> bool:
        graph = base(encoding, number_of_case // RENEWED)
        graph.push()
        try:
            return fires_at(graph, rule, encoding, parsed(start))
        finally:
            graph.pop()

    assert any(would_fire(*case) for case in held_back)
