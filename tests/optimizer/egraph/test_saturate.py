"""E-graphs that hold one term after another."""

from __future__ import annotations

import time

import pytest

from storel.calculus.nodes import Add, Multiply, Sum, Symbol, Variable
from storel.optimizer.egraph import base, saturate
from storel.optimizer.egraph.facts import encoded
from storel.optimizer.encoding.named import NAMED
from storel.optimizer.limits import Limits, Stop
from storel.optimizer.rules import rulefile
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol, Symbols

SYMBOLS: Symbols = {name: ArraySymbol(name, ScalarType.FLOAT64, 10) for name in "xy"}
TERM = Sum(Symbol("x"), Multiply(Variable(0), Sum(Symbol("y"), Add(Variable(0), Variable(2)))))


def test_an_e_graph_is_made_anew_before_what_it_keeps_of_searches_is_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source, rules = encoded(TERM, SYMBOLS, NAMED), rulefile.shipped()

    def found() -> tuple[object, dict[str, int], int]:
        classes, report = saturate.saturate(rules, source.text, source.facts, "main", Limits())
        return classes, report.matches, report.nodes

    known = base.base(rules)
    before, first = known.graph, found()
    assert known.graph is before
    monkeypatch.setattr(base, "SPENT", 0)
    assert found() == first
    assert known.graph is not before and known.nodes() == 0
    assert found() == first


def test_a_busy_machine_ends_no_search() -> None:
    """Time that others had is none of the search's own: there would be other plans from then on."""

    def delayed(state: saturate.Saturation, phase: str) -> tuple[Stop, int]:
        time.sleep(0.6)
        return saturate.alternate(state, phase)

    source, rules = encoded(TERM, SYMBOLS, NAMED), rulefile.shipped()
    limits = Limits(seconds=0.5)
    _, report = saturate.saturate(rules, source.text, source.facts, "main", limits, schedule=delayed)
    assert report.stop is Stop.SATURATED
