"""Which loops of a term have the same variables in the e-graph."""

from __future__ import annotations

import pytest

from storel.calculus.nodes import Add, Lookup, Multiply, Sum, Symbol, Term, Variable
from storel.optimizer.egraph.facts import encoded
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol

SYMBOLS = {name: ArraySymbol(name, ScalarType.FLOAT64, 3) for name in ("a", "b")}

ELEMENTS, OTHERS = Sum(Symbol("a"), Variable(0)), Sum(Symbol("b"), Variable(0))
READ = Sum(Symbol("a"), Lookup(Symbol("b"), Variable(1)))


def rows(inner: Term) -> Term:
    return Sum(Symbol("b"), inner)


@pytest.mark.parametrize(
    ("term", "variables"),
    [
        (Add(ELEMENTS, READ), 2),
        (Add(ELEMENTS, Add(READ, ELEMENTS)), 2),
        (Add(rows(ELEMENTS), rows(READ)), 4),
        (Add(rows(ELEMENTS), READ), 6),
        (Add(ELEMENTS, OTHERS), 4),
        (Multiply(ELEMENTS, READ), 4),
        (Multiply(Add(ELEMENTS, READ), READ), 4),
    ],
)
def test_loops_over_one_source_that_are_added_share_their_variables(term: Term, variables: int) -> None:
    assert len(encoded(term, SYMBOLS).numbering.binders) == variables
    alone = encoded(term, SYMBOLS, shares=False)
    assert len(alone.numbering.binders) == 2 * alone.text.count("(Sum ")
