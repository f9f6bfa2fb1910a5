"""Terms are brought into an e-graph as they are written, and however large they are in little time."""

from __future__ import annotations

import pytest

from storel.optimizer.encoding.bindings import EGraph
from storel.optimizer.encoding.command import command

SCHEMA = """(datatype T (Leaf String i64) (Node T T))
(relation whole (T))"""


def added(text: str) -> EGraph:
    graph = EGraph()
    graph.run_program(*graph.parse_program(SCHEMA))
    graph.run_program(command(text))
    return graph


@pytest.mark.parametrize(
    "term", ['(Leaf "a" 1)', '(Node (Leaf "a (b) c" -3) (Node (Leaf "" 0) (Leaf "a (b) c" -3)))']
)
def test_a_term_is_what_its_text_says(term: str) -> None:
    graph = added(f"(whole {term})")
    graph.run_program(*graph.parse_program(f"(check (whole {term}))"))


def test_another_term_is_not_there() -> None:
    graph = added('(whole (Leaf "a" 1))')
    for other in ('(Leaf "b" 1)', '(Leaf "a" 2)'):
        graph.run_program(*graph.parse_program(f"(fail (check (whole {other})))"))


def test_nodes_do_not_hold_copies_of_the_text() -> None:
    leaf = f'(Leaf "{"x" * 1000}" 1)'
    term = leaf
    for _ in range(12):
        term = f"(Node {term} {term})"
    # Each of 8,000 nodes with a copy of these 4 MB would take 32 GB.
    graph = added(f"(whole {term})")
    graph.run_program(*graph.parse_program("(check (whole t))"))
