"""What a rule's skeleton asks of a term is never more than a match takes, and is seldom met by others."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from strategies.terms import REAL, Surroundings, dictionary, surroundings, terms

from storel.calculus.nodes import (
    Add,
    Apply,
    Empty,
    Literal,
    Multiply,
    Range,
    Singleton,
    Sum,
    Symbol,
    Term,
    Variable,
)
from storel.calculus.walk import children
from storel.optimizer.encoding.layouts import LAYOUTS, TERMS
from storel.optimizer.rules.matching import Place, head, matched
from storel.optimizer.rules.rulefile import parse, shipped
from storel.optimizer.rules.skeletons import Fitting
from storel.scalars import ScalarType

ZERO, FIVE = (Literal(value, ScalarType.INT64) for value in (0, 5))
ROW = Sum(Range(ZERO, FIVE), Singleton(Variable(1), Variable(1)))
SCALAR = Sum(Range(ZERO, FIVE), Variable(1))
SUM = Add(Symbol("a"), ZERO)

CASES = [
    ("sum(<k, v> in ?R) { ?i -> ?a }  =>  ?a", ROW, True),
    ("sum(<k, v> in ?R) { ?i -> ?a }  =>  ?a", SCALAR, False),
    ("sum(<k, v> in ?R) ?a  =>  ?a", SCALAR, True),
    ("?a + 0  =>  ?a", SUM, True),
    ("?a + zero  =>  ?a", Add(Symbol("a"), Empty(1)), True),
    ("?a + 0  =>  ?a", Add(Symbol("a"), Symbol("b")), False),
    ("?a * 0  =>  0", SUM, False),
    ("?a * (?b * ?c)  =>  ?a", Multiply(SUM, Multiply(SUM, SUM)), True),
    ("?a * (?b * ?c)  =>  ?a", Multiply(Multiply(SUM, SUM), SUM), False),
    ("?a == ?b  =>  ?b == ?a", Apply("equal", (FIVE, ZERO)), True),
    ("?a == ?b  =>  ?b == ?a", Apply("less", (FIVE, ZERO)), False),
]


@pytest.mark.parametrize(("law", "term", "expected"), CASES)
def test_nodes_are_asked_for(law: str, term: Term, expected: bool) -> None:
    rules = tuple(parse(f"rule it: {law}"))
    assert Fitting(rules).to(term) == (rules if expected else ())


@settings(max_examples=30, deadline=None)
@given(surroundings(), terms(REAL) | terms(dictionary(2)))
def test_what_matches_fits(around: Surroundings, term: Term) -> None:
    fitting = Fitting(shipped().rules)
    for part, place in parts(term, Place(around.symbols)):
        for rule in shipped().rules:
            if matched(rule.left, part, place, is_key=rule.is_about_keys) is not None:
                assert rule in fitting.to(part), rule.name


def parts(term: Term, place: Place) -> Iterator[tuple[Term, Place]]:
    """Yield the parts of a term, each with its place."""
    yield term, place
    kinds = [kind for kind in LAYOUTS.get(head(term, place)[0], "") if kind in TERMS]
    for (child, binders), kind in zip(children(term), kinds, strict=False):
        yield from parts(child, place.of_child(term, kind, binders))
