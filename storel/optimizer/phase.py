"""One phase of a search: a term in an e-graph, what rules make of it, and the best terms taken out."""

from __future__ import annotations

from storel.calculus.nodes import Term
from storel.optimizer.cost.variations import Variation
from storel.optimizer.egraph.browse import Graph, graph_of
from storel.optimizer.egraph.extract import extracted
from storel.optimizer.egraph.facts import encoded
from storel.optimizer.egraph.saturate import alternate, saturate
from storel.optimizer.limits import Limits, PhaseReport, Stop
from storel.optimizer.outcome import BINDERS, Options
from storel.optimizer.rules.rulefile import RuleSet
from storel.optimizer.terms.precautions import cautious
from storel.symbols import Symbols


def saturated(
    term: Term,
    symbols: Symbols,
    rules: RuleSet,
    phase: str,
    limits: Limits,
    options: Options,
    variations: tuple[Variation, ...],
) -> tuple[list[Term], PhaseReport, Graph]:
    """Return the best term of one phase under each of the variations, and the e-graph under the first."""
    encoding = BINDERS[options.binders]
    source = encoded(term, symbols, encoding)
    schedule = options.schedule or alternate
    classes, report = saturate(rules, source.text, source.facts, phase, limits, encoding, schedule)
    extractors = [
        options.extractor(classes, source, symbols, variation, options.cost) for variation in variations
    ]
    if report.stop in (Stop.TIME, Stop.NODES) and not classes.is_analyzed:
        terms = [term] * len(variations)
    else:
        found = extracted(extractors, term)
        careful = {each: cautious(each, symbols) for each in dict.fromkeys(found)}  # most are the same
        terms = [careful[each] for each in found]
    return terms, report, graph_of(extractors[0])
