"""Which rules are run: those of whose kinds of nodes there are some."""

from __future__ import annotations

import math
from collections.abc import Collection

import pytest

from storel.optimizer.egraph import base
from storel.optimizer.egraph.base import Base
from storel.optimizer.egraph.rulesets import Rulesets
from storel.optimizer.egraph.saturate import Saturation
from storel.optimizer.encoding.constructors import rule
from storel.optimizer.limits import Limits
from storel.optimizer.rules import rulefile
from storel.optimizer.rules.rulefile import RuleSet

RULES = "\n".join(
    (
        rule("(= e (Apply2 \"less\" a b))", "(union e (Truth 1))", "decided", "decide"),
        rule("(= e (If s c b)) (= c (Truth 1))", "(union e b)", "taken", "decide"),
        rule("(= e (Add s a b))", "(union e (Add s b a))", "commuted", "main"),
        rule("(= e (Add s a (Add s b c)))", "(union e (If s a (Mul s b c)))", "nested", "main"),
        rule("(= e (Mul s a b))", "(union e (Mul s b a))", "turned", "main"),
    )
)  # fmt: skip


@pytest.fixture
def rulesets() -> Rulesets:
    return Rulesets(("Add", "Mul", "If", "Truth", "Apply2"))


def taken(rulesets: Rulesets) -> dict[str, list[str]]:
    """Return the rules of each part."""
    assert rulesets.take(f"(relation mine (i64))\n{RULES}") == "(relation mine (i64))"
    found: dict[str, list[str]] = {}
    for line in rulesets.give({"decide-0", "decide-1", "main-0", "main-1"}):
        name = line.rstrip(")").rpartition(" ")[2]
        if line.startswith("(ruleset"):
            found[name] = []
        else:
            found[line.split(":ruleset ")[1].split()[0]].append(name.strip('"'))
    return found


def test_successive_rules_about_the_same_kinds_are_a_part(rulesets: Rulesets) -> None:
    assert list(taken(rulesets).values()) == [["decided"], ["taken"], ["commuted", "nested"], ["turned"]]


def test_a_part_is_run_if_there_are_nodes_of_all_its_kinds(rulesets: Rulesets) -> None:
    rules = taken(rulesets)

    def run(*present: str, ruleset: str = "main", once: bool = True) -> list[str]:
        parts = rulesets.relevant((ruleset,), frozenset(present), once=once)
        return [rule for part in parts for rule in rules[part]]

    assert run() == []
    assert run("Mul") == ["turned"]
    assert run("Mul", "Add") == ["commuted", "nested", "turned"]
    assert run("Add") == ["commuted", "nested"]
    assert run("Add", once=False) == ["commuted", "nested", "turned"]
    assert run("Apply2", "equal", "If", ruleset="decide", once=False) == []
    assert run("Apply2", "less", "If", ruleset="decide") == ["decided"]
    assert run("Apply2", "less", "If", ruleset="decide", once=False) == ["decided", "taken"]
    assert rulesets.made(("commuted", "turned")) == {"Add", "Mul"}


def test_a_copy_is_added_to_alone(rulesets: Rulesets) -> None:
    other = rulesets.copy()
    other.take(RULES)
    assert rulesets.relevant(("main",), frozenset(("Add",)), once=True) == []
    assert other.relevant(("main",), frozenset(("Add",)), once=True) == ["main-0"]


def test_a_part_is_given_once_to_each_copy(rulesets: Rulesets) -> None:
    rulesets.take(RULES)
    other = rulesets.copy()
    names = ["(ruleset main-1)", RULES.splitlines()[-1].replace(":ruleset main ", ":ruleset main-1 ")]
    assert rulesets.give({"main-1"}) == names
    assert rulesets.give({"main-1"}) == []
    assert other.give({"main-1"}) == names


def test_rules_match_what_others_made() -> None:
    """Of sums there are none before the rule ``apart`` makes one, of comparisons before ``compared`` does."""
    texts = (
        "rule apart @main: ?a * (?b * ?c)  =>  ?a + ?c",
        "rule back @main: ?a + ?b  =>  if ?a < ?b then ?b",
        "rule compared @main: ?a < ?b  =>  ?b > ?a",
    )
    graph = Base(RuleSet(tuple(rule for text in texts for rule in rulefile.parse(text))))
    term = '(Mul "plus_times" (Sym "a") (Mul "plus_times" (Sym "b") (Sym "c")))'
    for _ in range(2):  # the second time what the first one made is forgotten
        with graph.holding(term, ""):
            state = Saturation(graph, Limits(), math.inf)
            for matched in ("apart", "back", "compared"):
                assert matched not in state.matches
                state.step("main")
                assert state.matches[matched] == 1


def test_rules_that_nothing_needs_are_not_given_to_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str] = []

    class Counting(Rulesets):
        def give(self, names: Collection[str]) -> list[str]:
            text = super().give(names)
            given.extend(line for line in text if "relevant-" in line)
            return text

    monkeypatch.setattr(base, "Rulesets", Counting)
    texts = (
        "rule relevant-sum @main: ?a + ?b  =>  ?b + ?a",
        "rule relevant-less @main: ?a < ?b  =>  ?b > ?a",
    )
    graph = Base(RuleSet(tuple(rule for text in texts for rule in rulefile.parse(text))))
    with graph.holding('(Add "plus_times" (Sym "a") (Sym "b"))', ""):
        assert graph.step("main")[1] == {"relevant-sum": 1}
    assert [line.rpartition(":name ")[2] for line in given] == ['"relevant-sum")']


def test_what_was_put_by_runs_its_own_rules() -> None:
    graph = Base(RuleSet(()))
    added = '(Add "plus_times" (Sym "a") (Sym "b"))'
    for made in ('(Add "plus_times" (Sym "b") (Sym "a"))', '(Mul "plus_times" (Sym "a") (Sym "b"))'):
        graph.push()
        graph.run(rule("(= e (Add s a b))", f"(union e {made})", "mine", "in-order"))
        graph.run(f"(let $left {added})")
        assert graph.step("main") == (True, {"mine": 1})
        graph.run(f"(check (= {added} {made}))")
        graph.pop()
    assert graph.nodes() == 0
