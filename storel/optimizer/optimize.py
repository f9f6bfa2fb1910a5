"""The cheapest term equal to a given one.

    normalize    loops over dictionaries become loops over arrays (rules/normalize.rules)
    main         the algebra of sums and products, in a fresh e-graph
    share        let, tabulation and hoisting on the extracted terms (sharing.py)

Each variation of the cost gives a candidate; after sharing, all are priced in full and the cheapest
stays. Everything is deterministic: the same term and facts give the same plan.
"""

from __future__ import annotations

from dataclasses import dataclass

from storel.calculus.nodes import Term
from storel.calculus.verify import infer
from storel.optimizer import cost, rulefile
from storel.optimizer.cost import ARITHMETIC, CONSTANTS, PLAIN, SHARED, Constants, Cost, Variation
from storel.optimizer.extract import Extractor
from storel.optimizer.facts import encoded
from storel.optimizer.rulefile import RuleSet
from storel.optimizer.saturate import Limits, PhaseReport, saturate
from storel.optimizer.sharing import hoisted, share
from storel.symbols import Symbols

NORMALIZE = Limits()
CLOSE = 1.5
"""Plans whose estimates differ by less than this factor are ordered by their arithmetic, which is certain."""

MAIN = Limits(iterations=30, nodes=5_000, seconds=2.0)


@dataclass(frozen=True, slots=True)
class Options:
    """Budgets of the two phases, and what operations cost on this machine.

    A main phase of no iterations keeps sums and products in the order written.
    """

    normalize: Limits = NORMALIZE
    main: Limits = MAIN
    constants: Constants = CONSTANTS


@dataclass(frozen=True, slots=True)
class Optimized:
    """The chosen term, its cost, what the phases did, and the term between them."""

    term: Term
    cost: Cost
    report: tuple[PhaseReport, ...]
    normalized: Term


DEFAULT = Options()
_VARIATIONS = (PLAIN, SHARED, ARITHMETIC)


def optimize(
    term: Term, symbols: Symbols, rules: RuleSet | None = None, options: Options = DEFAULT
) -> Optimized:
    """Return the cheapest term found that means the same as ``term``, which is closed."""
    chosen = rulefile.shipped() if rules is None else rules
    (normalized,), first = _phase(term, symbols, chosen, "normalize", options.normalize, options, (PLAIN,))
    if options.main.iterations == 0:
        plan = hoisted(normalized, symbols)
        return Optimized(plan, cost.estimate(plan, symbols, options.constants), (first,), normalized)
    candidates, second = _phase(normalized, symbols, chosen, "main", options.main, options, _VARIATIONS)
    shared = [share(candidate, symbols, options.constants) for candidate in dict.fromkeys(candidates)]
    # A bool that is summed becomes an integer: where rewriting lost such a sum, the type went with it.
    expected = infer(term, symbols)
    typed = [plan for plan in (*shared, normalized) if infer(plan, symbols) == expected] or [term]
    priced = [(cost.estimate(plan, symbols, options.constants), plan) for plan in typed]
    limit = CLOSE * min(price.nanoseconds for price, _ in priced)
    close = [(price, plan) for price, plan in priced if price.nanoseconds <= limit]
    best, plan = min(close, key=lambda pair: (cost.arithmetic(pair[1], symbols), pair[0].nanoseconds))
    return Optimized(plan, best, (first, second), normalized)


def _phase(
    term: Term,
    symbols: Symbols,
    rules: RuleSet,
    phase: str,
    limits: Limits,
    options: Options,
    variations: tuple[Variation, ...],
) -> tuple[list[Term], PhaseReport]:
    """Return the best term of one phase under each of the variations."""
    source = encoded(term, symbols)
    classes, report = saturate(rules, source.text, source.facts, phase, limits)
    terms = [
        Extractor(classes, source, symbols, variation, options.constants).term() for variation in variations
    ]
    return terms, report
