"""E-graphs that hold one term after another."""

from __future__ import annotations

import time

import numpy as np
import pytest

import storel
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


@pytest.mark.parametrize("after", ["<(k, l), b> in A", "<(k, l), b> in B"])
def test_what_holds_of_a_loops_variable_is_not_taken_for_true_of_what_replaces_it(after: str) -> None:
    """A row beyond the last one is looked up, twice: the first time its position is a key of the second."""
    symmetric = np.arange(36.0).reshape(6, 6)
    symmetric = symmetric + symmetric.T
    given = {
        "p": np.array([0, 0, 5, 4, 0, 3]),
        "A": storel.tensor(symmetric, "symmetric"),
        "B": storel.tensor(2 * symmetric, "symmetric"),
    }
    script = f"CREATE TENSOR y AS sum(<i, _> in 0:6, <k, a> in A(p(i) + 1), {after}) {{ i -> a * b }}"
    given = {name: value for name, value in given.items() if name != "B" or "in B" in script}
    found, expected = (storel.run(script, backend=backend, **given) for backend in ("c", "interpret"))
    assert isinstance(found, storel.Tensor)
    assert isinstance(expected, storel.Tensor)
    np.testing.assert_allclose(found.to_numpy(), expected.to_numpy())
