"""Costs of whole terms: what terms have in common is looked at once, and costs what it costs alone."""

from __future__ import annotations

from hypothesis import given, settings
from strategies.terms import REAL, Surroundings, dictionary, real, surroundings, terms

from storel.calculus.binding import shift
from storel.calculus.nodes import Let, Multiply, Term, Variable
from storel.optimizer.cost.whole import Estimator, estimate

ONE = real(1.0)


def variants(term: Term) -> list[Term]:
    """Terms that hold ``term`` in other scopes and places."""
    return [
        term,
        Let(ONE, Multiply(Variable(0), shift(term, 1))),
        Let(term, Multiply(ONE, Variable(0))),
        Multiply(ONE, Let(ONE, Multiply(Variable(0), shift(term, 1)))),
    ]


@settings(max_examples=50, deadline=None)
@given(surroundings(), terms(REAL) | terms(dictionary(2)), terms(REAL) | terms(dictionary(1)))
def test_terms_cost_the_same_together(around: Surroundings, one: Term, other: Term) -> None:
    together = Estimator(around.symbols).cost
    for term in (*variants(one), *variants(other)):
        assert together(term) == estimate(term, around.symbols)
