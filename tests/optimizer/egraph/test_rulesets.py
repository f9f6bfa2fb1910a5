"""Which rules are run: those of whose kinds of nodes there are some."""

from __future__ import annotations

import math
from collections.abc import Collection

import pytest

from storel.calculus.nodes import Slice, Sum, Symbol, Term, Variable
from storel.optimizer.egraph import base
from storel.optimizer.egraph.base import Base
from storel.optimizer.egraph.facts import encoded
from storel.optimizer.egraph.rulesets import Rulesets
from storel.optimizer.egraph.saturate import Saturation
from storel.optimizer.encoding.constructors import rule
from storel.optimizer.limits import Limits
from storel.optimizer.outcome import BINDERS
from storel.optimizer.rules import rulefile
from storel.optimizer.rules.rulefile import RuleSet
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol, SizeSymbol, Symbols

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

    def run(*present: str, ruleset: str = "main") -> list[str]:
        parts = rulesets.relevant((ruleset,), frozenset(present))
        return [rule for part in parts for rule in rules[part]]

    assert run() == []
    assert run("Mul") == ["turned"]
    assert run("Mul", "Add") == ["commuted", "nested", "turned"]
    assert run("Add") == ["commuted", "nested"]
    assert run("Apply2", "equal", "If", ruleset="decide") == []
    assert run("Apply2", "less", "If", ruleset="decide") == ["decided"]
    assert rulesets.made(("commuted", "turned")) == set()
    assert rulesets.made(("nested",)) == {"If", "Mul", "Mul of keys", "Mul of values"}


def test_sums_of_values_are_told_from_sums_of_keys() -> None:
    rulesets = Rulesets(("Add", "Mul"))
    rulesets.take(
        "\n".join(
            (
                rule('(= e (Add s a b)) (!= s "index")', "(union e (Mul s a b))", "of-values", "main"),
                rule('(= e (Add "index" a b))', '(union e (Mul "index" a b))', "of-keys", "main"),
            )
        )
    )
    assert rulesets.relevant(("main",), rulesets.kinds('(Add "index" x y)')) == ("main-1",)
    assert rulesets.relevant(("main",), rulesets.kinds('(Add "plus_times" x y)')) == ("main-0",)
    assert rulesets.made(("of-keys",)) == {"Mul", "Mul of keys"}
    assert rulesets.made(("of-values",)) == {"Mul", "Mul of values"}


def test_rules_about_what_an_analysis_finds_are_run_where_it_found_something() -> None:
    rulesets = Rulesets(("Sum",), ("dictionary", "linear"))
    rulesets.take(
        "\n".join(
            (
                rule("(= e (Sum s r k v b)) (dictionary r)", "(linear b v s)", "found", "analysis"),
                rule("(= e (Sum s r k v b)) (linear b v s)", "(union e r)", "fused", "main"),
            )
        )
    )
    assert rulesets.relevant(("main",), frozenset(("Sum", "dictionary"))) == ()
    present = frozenset(("Sum", "dictionary")) | rulesets.made(("found",))
    assert rulesets.relevant(("main",), present) == ("main-0",)


def test_a_copy_is_added_to_alone(rulesets: Rulesets) -> None:
    other = rulesets.copy()
    other.take(RULES)
    assert rulesets.relevant(("main",), frozenset(("Add",))) == ()
    assert other.relevant(("main",), frozenset(("Add",))) == ("main-0",)


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


def test_a_fresh_copy_has_the_rules_that_were_needed_since_the_last_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[str] = []
    give = Rulesets.give

    def counting(self: Rulesets, names: Collection[str]) -> list[str]:
        text = give(self, names)
        given.extend(text)
        return text

    monkeypatch.setattr(Rulesets, "give", counting)
    monkeypatch.setattr(base, "WORN", 0)
    graph = Base(rulefile.shipped())

    def search(term: str) -> int:
        """Return how many rules were given to the library meanwhile."""
        with graph.holding(term, ""):
            before = len(given)
            state = Saturation(graph, Limits(), math.inf)
            state.prepare()
            state.step("main")
            return len(given) - before

    first, other = ('(Add "plus_times" (Sym "a") (Sym "b"))', '(Mul "plus_times" (Sym "a") (Sym "b"))')
    assert search(first) > 0
    assert search(other) > 0
    assert search(first) == search(other) == 0


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


@pytest.mark.parametrize("binders", BINDERS)
@pytest.mark.parametrize(("body", "matches"), [(Variable(0), 1), (Symbol("n"), 0)])
def test_a_rule_may_ask_about_the_variables_of_a_loop_over_an_array(
    body: Term, matches: int, binders: str
) -> None:
    """No shipped rule does, so that only then it is found whether the body is linear in them, and strict."""
    text = (
        "rule mine @main: sum(<p, x> in ?a(?l:?h)) ?b  =>  sum(<p, x> in ?a(?h:?l)) ?b "
        "if linear(?b, x), strict(?b, x)"
    )
    symbols: Symbols = {"a": ArraySymbol("a", ScalarType.FLOAT64, 5), "n": SizeSymbol("n", 5)}
    term = Sum(Slice(Symbol("a"), Symbol("n"), Symbol("n")), body)
    source = encoded(term, symbols, BINDERS[binders])
    graph = Base(RuleSet(tuple(rulefile.parse(text))), BINDERS[binders])
    with graph.holding(source.text, source.facts):
        state = Saturation(graph, Limits(), math.inf)
        state.prepare()
        state.step("main")
        assert state.matches.get("mine", 0) == matches
