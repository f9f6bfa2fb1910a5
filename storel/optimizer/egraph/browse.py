"""An e-graph to look at: its classes as they are reached from the root, each with its nodes.

A node is its constructor with arguments; those that are terms are classes again. The node that
extraction takes comes first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from storel.calculus.nodes import Literal
from storel.calculus.printer import show
from storel.optimizer.egraph.extract import Classes, Extractor
from storel.optimizer.encoding.layouts import TERMS, ENode


@dataclass(frozen=True, slots=True)
class Graph:
    """The classes that a phase ended with, and for each the node that extraction takes, and its cost.

    ``names`` are what symbols are called where they are shown, if it is not what nodes call them.
    """

    classes: Classes
    layouts: Mapping[str, str]
    literals: tuple[Literal, ...]
    chosen: Mapping[int, ENode]
    costs: Mapping[int, float]
    names: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Node:
    """A constructor with its arguments: an integer is a class, a string is shown as it is."""

    constructor: str
    arguments: tuple[int | str, ...]
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Class:
    """Equal terms; ``nanoseconds`` is the cost of the cheapest, None where none is in scope."""

    number: int
    nodes: tuple[Node, ...]
    nanoseconds: float | None


def graph_of(extractor: Extractor) -> Graph:
    """Return what is left to look at of an extraction."""
    literals = tuple(extractor.source.numbering.literals)
    costs = {number: best.cost for number, best in extractor.best.items()}
    classes = replace(extractor.classes, candidates=(), appraised={})
    return Graph(classes, extractor.encoding.layouts, literals, extractor.chosen, costs)


def reached(graph: Graph) -> Iterator[Class]:
    """Yield the classes breadth first from the root, numbered as they are met."""
    numbers = {graph.classes.root: 0}
    pending = deque([graph.classes.root])
    while pending:
        identity = pending.popleft()
        chosen = graph.chosen.get(identity)
        ordered = sorted(graph.classes.nodes.get(identity, ()), key=lambda node: node != chosen)
        nodes: list[Node] = []
        for node in ordered:
            for child in _children(graph, node):
                if child not in numbers:
                    numbers[child] = len(numbers)
                    pending.append(child)
            arguments = tuple(_shown(graph, numbers, node))
            nodes.append(Node(node[0], arguments, node == chosen))
        yield Class(numbers[identity], tuple(nodes), graph.costs.get(identity))


def _children(graph: Graph, node: ENode) -> Iterator[int]:
    constructor, arguments = node
    for argument, kind in zip(arguments, graph.layouts[constructor], strict=True):
        if kind in TERMS and isinstance(argument, int):
            yield argument


def _shown(graph: Graph, numbers: Mapping[int, int], node: ENode) -> Iterator[int | str]:
    constructor, arguments = node
    for argument, kind in zip(arguments, graph.layouts[constructor], strict=True):
        if kind in TERMS and isinstance(argument, int):
            yield numbers[argument]
        elif constructor == "Const" and isinstance(argument, int):
            yield show(graph.literals[argument])
        elif constructor == "Sym":
            yield graph.names.get(str(argument), str(argument))
        else:
            yield f"x{argument}" if kind == "b" or constructor == "Var" else str(argument)
