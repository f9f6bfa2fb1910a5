"""An e-graph to look at is closed, begins at the root, and shows what extraction takes."""

from __future__ import annotations

import pytest
from strategies.explained import PROGRAMS, program

from storel.optimizer.egraph.browse import reached


@pytest.mark.parametrize("name", PROGRAMS)
def test_classes_are_numbered_as_they_are_met(name: str) -> None:
    classes = list(reached(program(name).compilation.optimized.graph))
    assert [each.number for each in classes] == list(range(len(classes)))
    known = 0
    for each in classes:
        assert each.nodes and each.number <= known
        for child in (argument for node in each.nodes for argument in node.arguments):
            if isinstance(child, int):
                assert child <= known + 1
                known = max(known, child)
    assert known == len(classes) - 1


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_node_that_is_taken_comes_first(name: str) -> None:
    for each in reached(program(name).compilation.optimized.graph):
        chosen = [number for number, node in enumerate(each.nodes) if node.is_chosen]
        assert chosen == ([] if each.nanoseconds is None else [0])


def test_what_nodes_show() -> None:
    shown = {
        (node.constructor, argument)
        for each in reached(program("searched").compilation.optimized.graph)
        for node in each.nodes
        for argument in node.arguments
        if isinstance(argument, str)
    }
    assert {("Sym", "A_val"), ("Const", "1.5")} <= shown
    assert any(constructor == "Var" and text.startswith("x") for constructor, text in shown)
