"""Terms of the class of a whole program in an e-graph, at random: all must mean what the program does."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

from storel.calculus.interpret import evaluate
from storel.calculus.nodes import Term
from storel.calculus.printer import show
from storel.optimizer.cost import variations
from storel.optimizer.cost.model import NANOSECONDS
from storel.optimizer.egraph.extract import Classes, Extractor
from storel.optimizer.egraph.facts import Encoded, encoded
from storel.optimizer.egraph.saturate import saturate
from storel.optimizer.encoding.layouts import LAYOUTS, TERMS, ENode, decode
from storel.optimizer.limits import Limits
from storel.optimizer.rules import rulefile
from storel.symbols import Symbols

SAMPLES = 12
"""How many terms of a class are evaluated."""


def same(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return a == b or math.isclose(float(a), float(b), rel_tol=1e-9)


def require_same_meaning(term: Term, symbols: Symbols, values: Mapping[str, Any]) -> None:
    """Fail unless samples of all that both phases hold equal to a closed term evaluate to the same."""
    expected = evaluate(term, symbols, values)
    for phase in ("normalize", "main"):
        known = encoded(term, symbols)
        classes, _ = saturate(rulefile.shipped(), known.text, known.facts, phase, Limits())
        best = Extractor(classes, known, symbols, variations.PLAIN, NANOSECONDS)
        for seed in range(SAMPLES):
            found = sample(classes, known, best, random.Random(seed))
            assert same(evaluate(found, symbols, values), expected), show(found)
        term = best.term()


def sample(classes: Classes, source: Encoded, best: Extractor, choose: random.Random) -> Term:
    """Return a term of the root class: nodes at random, ten at most, the best ones elsewhere."""
    left = 10

    def in_scope(identity: int, node: ENode) -> bool:
        return (identity, node) in allowed and all(
            argument in best.best
            for argument, kind in zip(node[1], LAYOUTS[node[0]], strict=True)
            if kind in TERMS
        )

    allowed = best.in_scope()

    def build(identity: object, scope: tuple[int, ...]) -> Term:
        nonlocal left
        assert isinstance(identity, int)
        node = best.best[identity].node
        nodes = [node for node in classes.nodes[identity] if in_scope(identity, node)]
        if left > 0 and len(nodes) > 1 and choose.random() < 0.7:
            left -= 1
            node = choose.choice(nodes)
        return decode(node, source.numbering, scope, build)

    return build(classes.root, ())
