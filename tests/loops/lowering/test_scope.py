"""What a union answers: searches in one of its sources, for the key at which it stands, and no others."""

from __future__ import annotations

import pytest

from storel.calculus.intervals import ANY
from storel.calculus.nodes import Add, Literal, Lookup, Symbol, Term, Variable
from storel.loops.emitter import ALWAYS
from storel.loops.lowering.scope import Met, Scope, Value
from storel.loops.nodes import Local
from storel.plan.nodes import Elements, Matches
from storel.scalars import ScalarType

ONE = Literal(1, ScalarType.INT64)
POSITION = Local("p", ScalarType.INT64)
ROW = Variable(0)


def segment(row: Term) -> tuple[Term, Term]:
    return Lookup(Symbol("pos"), row), Lookup(Symbol("pos"), Add(row, ONE))


def search(array: str, row: Term, key: Term) -> Matches:
    return Matches(array, *segment(row), key, is_unique=True)


def below(binders: int, scope: Scope) -> Scope:
    for _ in range(binders):
        scope = scope.bind(Value(POSITION), ANY)
    return scope


@pytest.fixture
def scope() -> Scope:
    """Return the scope in a union of the rows of one variable, which binds a position and the key."""
    outside = below(1, Scope())
    met = Met(Elements("idx", *segment(ROW)), 1, POSITION, ANY, ALWAYS)
    return below(2, Scope(outside.bindings, outside.intervals, outside.domains, (met,)))


@pytest.mark.parametrize("deeper", [0, 1, 3])
def test_a_search_for_the_key_is_answered_at_any_depth(deeper: int, scope: Scope) -> None:
    inner = below(deeper, scope)
    assert inner.answer(search("idx", Variable(2 + deeper), Variable(deeper))) == scope.met[0]


@pytest.mark.parametrize(
    "other",
    [
        search("other", Variable(2), Variable(0)),
        search("idx", Variable(1), Variable(0)),
        search("idx", Variable(2), Variable(1)),
        search("idx", Variable(2), Add(Variable(0), ONE)),
    ],
    ids=["array", "row", "variable", "key"],
)
def test_another_search_is_not_answered(other: Matches, scope: Scope) -> None:
    assert scope.answer(other) is None
