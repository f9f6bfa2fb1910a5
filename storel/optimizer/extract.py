"""The cheapest term of an e-class.

    best(class) = min over its nodes of cost(node, best(children)), to the least fixed point

A class can hold nodes that are ill-scoped in it (they mention a binder that an equal term shows to be
irrelevant); only nodes whose free variables lie within the class's are taken. Costs grow from child
to parent, so the chosen nodes form a term.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from storel.calculus.intervals import ANY, Interval
from storel.calculus.nodes import Term
from storel.optimizer import estimates
from storel.optimizer.binders import Encoding
from storel.optimizer.cost import CostModel, Variation
from storel.optimizer.encoding import TERMS, ENode, decode
from storel.optimizer.estimate import Estimate, integer, symbol, unknown, variable
from storel.optimizer.facts import Encoded
from storel.optimizer.named import NAMED
from storel.symbols import SizeSymbol, Symbols

if TYPE_CHECKING:  # what was extracted is looked at without an e-graph at hand
    from storel.optimizer.bindings import EGraph, FrozenEGraph, Value


@dataclass(slots=True)
class Classes:
    """The e-classes of a graph, with their nodes; classes are numbered in order of appearance."""

    nodes: dict[int, list[ENode]] = field(default_factory=dict[int, list[ENode]])
    free: dict[int, int] = field(default_factory=dict[int, int])
    root: int = 0


def read(frozen: FrozenEGraph, graph: EGraph, encoding: Encoding = NAMED) -> Classes:
    """Return the classes of a frozen e-graph, before ``graph`` changes again."""
    numbers: dict[Value, int] = {}
    result = Classes()

    def number(value: Value) -> int:
        return numbers.setdefault(value, len(numbers))

    for constructor, layout in encoding.layouts.items():
        for row in frozen.functions[constructor].rows:
            arguments = tuple(
                number(value)
                if kind in TERMS
                else graph.value_to_string(value)
                if kind == "s"
                else graph.value_to_i64(value)
                for value, kind in zip(row.inputs, layout, strict=True)
            )
            result.nodes.setdefault(number(row.output), []).append((constructor, arguments))
    for row in frozen.functions["free"].rows:
        result.free[number(row.inputs[0])] = graph.value_to_bigint(row.output)
    result.root = number(frozen.functions["$root"].rows[0].output)
    return result


@dataclass(frozen=True, slots=True)
class Best:
    """The node that is taken of a class, what it costs, and what is known of its value."""

    cost: float
    estimate: Estimate
    node: ENode


def _split(node: ENode, layout: str) -> tuple[list[int], list[int], list[int], str]:
    """Return the term classes, the bodies among them, the binders, and the string of a node."""
    terms: list[int] = []
    bodies: list[int] = []
    binders: list[int] = []
    text = ""
    for argument, kind in zip(node[1], layout, strict=True):
        if isinstance(argument, str):
            text = argument
        elif isinstance(argument, int):
            if kind in TERMS:
                terms.append(argument)
            if kind == "B":
                bodies.append(argument)
            elif kind == "b":
                binders.append(argument)
    return terms, bodies, binders, text


class Extractor:
    """The best node of every class under one variation of the cost.

    A subclass that chooses otherwise overrides ``settle``: it takes nodes of ``candidates`` into ``best``,
    for each class one whose children's classes have theirs.
    """

    def __init__(
        self, classes: Classes, source: Encoded, symbols: Symbols, variation: Variation, model: CostModel
    ) -> None:
        self.classes = classes
        self.source = source
        self.encoding = source.numbering.encoding
        self.symbols = symbols
        self.variation = variation
        self.model = model
        self.best: dict[int, Best] = {}
        self.candidates = [
            (identity, node, *_split(node, self.encoding.layouts[node[0]]))
            for identity, nodes in classes.nodes.items()
            for node in nodes
            if identity in classes.free and self._is_in_scope(identity, node)
        ]
        self.settle()

    def _is_in_scope(self, identity: int, node: ENode) -> bool:
        constructor, arguments = node
        layout = self.encoding.layouts[constructor]
        _, _, binders, _ = _split(node, layout)
        free = 1 << int(str(arguments[0])) if constructor == "Var" else 0
        for argument, kind in zip(arguments, layout, strict=True):
            if kind not in TERMS or not isinstance(argument, int):
                continue
            mask = self.classes.free.get(argument)
            if mask is None:
                return False
            free |= self.encoding.outside(mask, binders) if kind == "B" else mask
        return free & ~self.classes.free[identity] == 0

    def settle(self) -> None:
        """Evaluate nodes until no class gets cheaper; a node is looked at again only if a child did."""
        changed = dict.fromkeys(self.classes.nodes, 0)
        evaluated = [-1] * len(self.candidates)
        clock = 0
        settled = False
        while not settled:
            settled = True
            for number, (identity, node, terms, _, binders, text) in enumerate(self.candidates):
                if any(term not in self.best for term in terms):
                    continue
                if evaluated[number] >= max((changed[term] for term in terms), default=0):
                    continue
                clock += 1
                evaluated[number] = clock
                found = self.evaluate(identity, node, [self.best[term] for term in terms], binders, text)
                current = self.best.get(identity)
                if current is None or found.cost < current.cost - 1e-9:
                    self.best[identity] = found
                    changed[identity] = clock
                    settled = False

    def evaluate(
        self, identity: int, node: ENode, children: list[Best], binders: list[int], text: str
    ) -> Best:
        constructor, arguments = node
        if not children:
            return Best(0.0, self._leaf(identity, constructor, arguments), node)
        known = [child.estimate for child in children]
        inside = self.encoding.inside(binders)
        estimate = estimates.combine(constructor, text, known, inside, identity, self.symbols)
        price = self.model.price(
            constructor,
            text,
            [child.cost for child in children],
            known,
            estimate,
            self.variation,
            self.classes.free[identity].bit_count(),
        )
        return Best(price, estimate, node)

    def _leaf(self, identity: int, constructor: str, arguments: tuple[object, ...]) -> Estimate:
        first = arguments[0]
        if constructor == "Var" and isinstance(first, int):
            number = self.encoding.binder_of(arguments)
            kind, interval = self.source.numbering.binders[number]
            value = unknown(interval, kind.rank)
            known = self.source.estimates[number]
            return variable(
                first, replace(value, origins=known.origins, jumps=known.jumps, sample=known.sample)
            )
        if constructor in ("Int", "Truth") and isinstance(first, int):
            return integer(first)
        if constructor == "Sym" and isinstance(first, str):
            fact = self.symbols.get(first)
            interval = Interval(fact.value, fact.value) if isinstance(fact, SizeSymbol) else ANY
            return symbol(first, self.symbols, interval)
        if constructor == "Zero" and isinstance(rank := arguments[1], int):
            return Estimate(identity, counts=(0.0,) * rank, spans=(0.0,) * rank, length=0.0)
        return Estimate(identity)

    def in_scope(self) -> set[tuple[int, ENode]]:
        """Return the nodes that may be taken, each with its class."""
        return {(identity, node) for identity, node, *_ in self.candidates}

    def term(self) -> Term:
        """Return the best term of the root."""
        return self._build(self.classes.root, ())

    def _build(self, identity: object, scope: tuple[int, ...]) -> Term:
        assert isinstance(identity, int)
        return decode(self.best[identity].node, self.source.numbering, scope, self._build)
