"""The cheapest term of an e-class.

    best(class) = min over its nodes of cost(node, best(children)), to the least fixed point

A class can hold nodes that are ill-scoped in it (they mention a binder that an equal term shows to be
irrelevant); only nodes whose free variables lie within the class's are taken. Costs grow from child
to parent, so the chosen nodes form a term.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from storel.calculus.intervals import ANY, Interval
from storel.calculus.nodes import Term
from storel.errors import DataError
from storel.optimizer.cost.model import CostModel
from storel.optimizer.cost.prices import require_growing
from storel.optimizer.cost.variations import Variation
from storel.optimizer.egraph.facts import Encoded
from storel.optimizer.encoding.binders import Encoding
from storel.optimizer.encoding.layouts import TERMS, ENode, decode
from storel.optimizer.encoding.named import NAMED
from storel.optimizer.estimation import estimates
from storel.optimizer.estimation.estimate import Estimate, integer, symbol, unknown, variable
from storel.optimizer.rules.rewriting import is_outgrown
from storel.symbols import SizeSymbol, Symbols

if TYPE_CHECKING:  # what was extracted is looked at without an e-graph at hand
    from storel.optimizer.encoding.bindings import EGraph, FrozenEGraph, Value


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node that may be taken of a class: its children's classes, its binders, and its string."""

    identity: int
    node: ENode
    terms: tuple[int, ...]
    binders: tuple[int, ...]
    text: str


@dataclass(slots=True)
class Classes:
    """The e-classes of a graph, with their nodes; classes are numbered in order of appearance.

    ``candidates`` are the nodes that are in scope in their classes. ``appraised`` are the estimates of nodes,
    with those of their children: most are the same under each variation of the cost.
    """

    nodes: dict[int, list[ENode]] = field(default_factory=dict[int, list[ENode]])
    free: dict[int, int] = field(default_factory=dict[int, int])
    root: int = 0
    candidates: tuple[Candidate, ...] = ()
    appraised: dict[Hashable, tuple[Sequence[Estimate], Estimate]] = field(
        default_factory=dict[Hashable, tuple[Sequence[Estimate], Estimate]], compare=False, repr=False
    )

    @property
    def is_analyzed(self) -> bool:
        """Whether there was time to find the free variables of all that the term consists of."""
        return self.root in self.free


def read(frozen: FrozenEGraph, graph: EGraph, encoding: Encoding = NAMED) -> Classes:
    """Return the classes of a frozen e-graph, before ``graph`` changes again."""
    numbers: dict[Value, int] = {}
    functions = frozen.functions  # a copy each time
    result = Classes()

    def number(value: Value) -> int:
        return numbers.setdefault(value, len(numbers))

    for constructor, layout in encoding.layouts.items():
        for row in functions[constructor].rows:
            arguments = tuple(
                number(value)
                if kind in TERMS
                else graph.value_to_string(value)
                if kind == "s"
                else graph.value_to_i64(value)
                for value, kind in zip(row.inputs, layout, strict=True)
            )
            result.nodes.setdefault(number(row.output), []).append((constructor, arguments))
    for row in functions["free"].rows:
        result.free[number(row.inputs[0])] = graph.value_to_bigint(row.output)
    result.root = number(functions["whole"].rows[0].inputs[0])
    result.candidates = tuple(_candidates(result, encoding))
    return result


def _candidates(classes: Classes, encoding: Encoding) -> Iterator[Candidate]:
    for identity, nodes in classes.nodes.items():
        for node in nodes:
            layout = encoding.layouts[node[0]]
            free = _free(node, layout, classes.free, encoding)
            if identity in classes.free and free is not None and not free & ~classes.free[identity]:
                yield Candidate(identity, node, *_split(node, layout))


def _free(node: ENode, layout: str, known: dict[int, int], encoding: Encoding) -> int | None:
    """Return the free variables of a node, None if they are not known of a child."""
    constructor, arguments = node
    _, binders, _ = _split(node, layout)
    free = 1 << int(str(arguments[0])) if constructor == "Var" else 0
    for argument, kind in zip(arguments, layout, strict=True):
        if kind not in TERMS or not isinstance(argument, int):
            continue
        mask = known.get(argument)
        if mask is None:
            return None
        free |= encoding.outside(mask, binders) if kind == "B" else mask
    return free


def _split(node: ENode, layout: str) -> tuple[tuple[int, ...], tuple[int, ...], str]:
    """Return the classes, the binders, and the string of a node."""
    terms: list[int] = []
    binders: list[int] = []
    text = ""
    for argument, kind in zip(node[1], layout, strict=True):
        if isinstance(argument, str):
            text = argument
        elif isinstance(argument, int):
            if kind in TERMS:
                terms.append(argument)
            elif kind == "b":
                binders.append(argument)
    return tuple(terms), tuple(binders), text


@dataclass(frozen=True, slots=True)
class Best:
    """The node that is taken of a class, what it costs, and what is known of its value."""

    cost: float
    estimate: Estimate
    node: ENode


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
        self.candidates = classes.candidates
        self.settle()

    def settle(self) -> None:
        """Evaluate nodes in turn until no class gets cheaper: leaves, and others if a child's class did."""
        users: dict[int, list[int]] = {}
        for number, candidate in enumerate(self.candidates):
            for term in candidate.terms:
                users.setdefault(term, []).append(number)
        is_due = [not candidate.terms for candidate in self.candidates]
        while any(is_due):
            for number, candidate in enumerate(self.candidates):
                if not is_due[number]:
                    continue
                is_due[number] = False
                try:
                    children = [self.best[term] for term in candidate.terms]
                except KeyError:
                    continue
                found = self.evaluate(candidate, children)
                current = self.best.get(candidate.identity)
                if current is None or found.cost < current.cost - 1e-9:
                    self.best[candidate.identity] = found
                    for user in users.get(candidate.identity, ()):
                        is_due[user] = user != number

    def evaluate(self, candidate: Candidate, children: list[Best]) -> Best:
        """Return the node with its cost and estimate, given what is taken of its children's classes."""
        node, constructor = candidate.node, candidate.node[0]
        costs, known = [child.cost for child in children], [child.estimate for child in children]
        estimate = self._appraised(candidate, known)
        if not children:
            return Best(0.0, estimate, node)
        outer = self.classes.free[candidate.identity].bit_count()
        price = self.model.price(constructor, candidate.text, costs, known, estimate, self.variation, outer)
        return Best(require_growing(price, self.model, constructor, costs), estimate, node)

    def _appraised(self, candidate: Candidate, known: list[Estimate]) -> Estimate:
        """Return the estimate of a node, given those of its children."""
        key = (id(candidate), *map(id, known))
        found = self.classes.appraised.get(key)
        if found is None:
            found = self.classes.appraised[key] = known, self._estimate(candidate, known)
        return found[1]

    def _estimate(self, candidate: Candidate, known: list[Estimate]) -> Estimate:
        identity, (constructor, arguments) = candidate.identity, candidate.node
        if not known:
            return self._leaf(identity, constructor, arguments)
        inside = self.encoding.inside(candidate.binders)
        return estimates.combine(constructor, candidate.text, known, inside, identity, self.symbols)

    def _leaf(self, identity: int, constructor: str, arguments: tuple[object, ...]) -> Estimate:
        first = arguments[0]
        if constructor == "Var" and isinstance(first, int):
            number = self.encoding.binder_of(arguments)
            kind, interval = self.source.numbering.binders[number]
            value = unknown(interval, kind.rank)
            known = self.source.estimates[number]
            value = value._replace(
                origins=known.origins, jumps=known.jumps, sample=known.sample, keys=known.keys
            )
            return variable(first, value)
        if constructor in ("Int", "Truth") and isinstance(first, int):
            return integer(first)
        if constructor == "Sym" and isinstance(first, str):
            fact = self.symbols.get(first)
            interval = Interval(fact.value, fact.value) if isinstance(fact, SizeSymbol) else ANY
            return symbol(first, self.symbols, interval)
        if constructor == "Zero" and isinstance(rank := arguments[1], int):
            return Estimate(identity, counts=(0.0,) * rank, spans=(0.0,) * rank, length=0.0)
        return Estimate(identity)

    @property
    def chosen(self) -> dict[int, ENode]:
        """The node that is taken of each class."""
        return {identity: best.node for identity, best in self.best.items()}

    def in_scope(self) -> set[tuple[int, ENode]]:
        """Return the nodes that may be taken, each with its class."""
        return {(each.identity, each.node) for each in self.candidates}

    def term(self) -> Term:
        """Return the best term of the root."""
        return self._build(self.classes.root, ())

    def _build(self, identity: object, scope: tuple[int, ...]) -> Term:
        assert isinstance(identity, int)
        chosen = self.best.get(identity)
        if chosen is None:
            raise DataError(
                "no node was chosen for a part of the term",
                expected="a node in 'best' for each class that the term needs",
                hint="a schedule prepares its state; an extractor takes nodes whose children have theirs",
            )
        return decode(chosen.node, self.source.numbering, scope, self._build)


def extracted(extractors: Sequence[Extractor], term: Term) -> list[Term]:
    """Return what each extractor takes for ``term``; most take the same nodes, whose term is made once."""
    found: list[tuple[dict[int, ENode], Term]] = []
    for extractor in extractors:
        chosen = extractor.chosen
        same = next((made for nodes, made in found if nodes == chosen), None)
        found.append((chosen, _best_of(extractor, term) if same is None else same))
    return [made for _, made in found]


def _best_of(extractor: Extractor, term: Term) -> Term:
    """Return the best of the terms that are equal to ``term``: itself if rules let them grow without end."""
    try:
        found = extractor.term()
    except RecursionError:  # deeper than can be written down
        return term
    return term if is_outgrown(found) else found
