"""The cheapest term equal to a given one.

    convert      integers that meet reals (terms/conversions.py)
    join order   chains of operands in their order (arrangement/paths.py); besides the order that others are
                 named in, some by statistics (arrangement/join_order.py)
    normalize    loops over dictionaries become loops over arrays (rules tagged @normalize)
    eliminate    of many loops: factors and loops go where variables are bound (arrangement/elimination.py)
    take apart   of many loops: each of the sums that a sum is made of has a plan of its own
                 (arrangement/parts.py); products of sums, too, if asked for (arrangement/expansion.py)
    main         the algebra of sums and products, in a fresh e-graph; beside it orders of products that need
                 no search (arrangement/association.py, arrangement/pairs.py)
    take out     factors, of sums that ask something of their elements (terms/factoring.py)
    share        let, tabulation and hoisting on the extracted terms (sharing/share.py)

Each variation of the cost gives a candidate; after sharing, all are priced in full and the cheapest
stays. The same term and facts give the same plan, unless the search runs out of time (``Stop.TIME``).
"""

from __future__ import annotations

import gc
import time
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import cast

from storel.calculus.mixed import separate
from storel.calculus.nodes import Term
from storel.calculus.verify import InvariantError, infer
from storel.optimizer.arrangement.association import associated
from storel.optimizer.arrangement.elimination import eliminated, in_order_of_joins, in_order_of_keys, loops
from storel.optimizer.arrangement.expansion import monomials
from storel.optimizer.arrangement.pairs import in_pairs
from storel.optimizer.arrangement.parts import taken_apart, together
from storel.optimizer.cost.variations import ARITHMETIC, PLAIN, SHARED, TAKEN_APART
from storel.optimizer.egraph.browse import Graph
from storel.optimizer.egraph.saturate import only_analyzed
from storel.optimizer.limits import E_NODE, TERM_NODE, PhaseReport, Stop
from storel.optimizer.outcome import DEFAULT, Optimized, Options, Priced
from storel.optimizer.phase import saturated
from storel.optimizer.physical.footprint import footprint
from storel.optimizer.physical.reductions import by_rows
from storel.optimizer.rules import rulefile
from storel.optimizer.rules.rewriting import Rewriter, size
from storel.optimizer.rules.rulefile import IN_ORDER, RuleSet
from storel.optimizer.sharing.share import Sharing, hoisted
from storel.optimizer.terms.brackets import in_brackets
from storel.optimizer.terms.conversions import converted, plain
from storel.optimizer.terms.factoring import factored
from storel.optimizer.terms.implied import without_implied
from storel.optimizer.terms.precautions import cautious
from storel.optimizer.terms.present import asked, without_questions
from storel.optimizer.terms.products import longest_product
from storel.optimizer.terms.rejoined import without_rejoined
from storel.optimizer.terms.unfolding import is_unfolded
from storel.symbols import MappingSymbol, Symbols

CLOSE = 1.5
"""Plans whose estimates differ by less than this factor are ordered by their arithmetic, which is certain."""

SEVERAL_LOOPS = 4
"""From so many loops on the search may miss that products are better made in pairs, and sums in parts."""

MANY_LOOPS = 7
"""Loops from which on their orders are not searched, since they outgrow every budget."""

SEVERAL_FACTORS = 3
"""Factors from which on there is more than one way to make their product."""

MANY_FACTORS = 4
"""Factors from which on a search finds too few of their orders for a single one to begin with."""

IN_PARTS = "in parts"
"""What a plan is called that is made of the plans of parts."""

_VARIATIONS = (PLAIN, SHARED, ARITHMETIC)


def optimize(
    term: Term,
    symbols: Symbols,
    rules: RuleSet | None = None,
    options: Options = DEFAULT,
    others: tuple[Term, ...] = (),
) -> Optimized:
    """Return the cheapest term found that means the same as ``term``, which is closed, and as ``others``."""
    with _no_collections():
        is_strict = options.main.iterations == 0
        first, *rest = (converted(each, symbols, is_strict=is_strict) for each in (term, *others))
        return _optimized(first, symbols, rules, options, tuple(rest))


@contextmanager
def _no_collections() -> Generator[None]:
    """Look for no cycles of garbage: a search makes many objects that stay, and hardly any cycles.

    They took up to half of its time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@dataclass(frozen=True, slots=True)
class _Start:
    """What a search begins with: a term with all dictionaries taken apart.

    ``stored`` is the one that is cheapest as it stands. There is no e-graph where the eager rules leave
    nothing to choose, unless it is what the search ends with. Both are right as long as no element of the
    arrays ``nonzero`` is zero.
    """

    term: Term
    stored: Term
    report: PhaseReport
    nonzero: frozenset[str]
    graph: Graph | None = None


def _optimized(
    term: Term, symbols: Symbols, rules: RuleSet | None, options: Options, others: tuple[Term, ...]
) -> Optimized:
    chosen = rulefile.shipped() if rules is None else rules
    sharing = Sharing(symbols, options.cost, options.patience, reassociates=options.main.iterations > 0)
    if is_unfolded(term):
        return _unsearched(term, symbols, chosen, options, sharing)
    first = _normalized(term, symbols, chosen, options)
    if first.graph is not None and options.main.iterations == 0:
        plan = _priced("as written", in_brackets(hoisted(first.term, symbols), symbols), sharing)
        effort = _effort((first.report,), sharing)
        return Optimized(
            plan.term, plan.cost, (first.report,), first.term, first.nonzero, (plan,), first.graph, effort
        )
    nonzero = first.nonzero
    plans, reports, graph = _plans(first, symbols, chosen, options, sharing)
    effort = _effort(reports, sharing)
    for other in others if others and not associated(first.term, symbols) else ():  # a chain needs no search
        start = _normalized(other, symbols, chosen, options)
        if _is_promising(start, first, symbols, sharing, effort):
            more, made, _ = _plans(start, symbols, chosen, options, sharing)
            nonzero |= start.nonzero
            plans |= {plan: names for plan, names in more.items() if plan not in plans}
            reports += made
    of_parts: list[PhaseReport] = []
    parts_effort, alone = 0.0, replace(options, expands=False)
    for name, parts in _taken_apart(term, first.term, options):
        if name == IN_PARTS and _effort(reports, sharing) + parts_effort >= sharing.worth_beside(plans):
            continue
        planned = [optimize(part, symbols, chosen, alone) for part in parts]
        plans.setdefault(sharing.share(together([each.term for each in planned], first.term)), [name])
        nonzero = nonzero.union(*(each.nonzero for each in planned))
        of_parts += [report for each in planned for report in each.report]
        parts_effort += sum(each.effort for each in planned)
    if sharing.stop is not None:
        reports[-1] = replace(reports[-1], stop=sharing.stop)
    # A bool that is summed becomes an integer: where rewriting lost such a sum, the type went with it.
    expected = infer(term, symbols)
    typed = {plan: names for plan, names in plans.items() if infer(plan, symbols) == expected}
    priced = [
        _priced(", ".join(names), plain(plan, symbols), sharing)
        for plan, names in (typed or {term: ["as written"]}).items()
    ]
    considered = tuple(sorted(priced, key=lambda plan: plan.cost.nanoseconds))
    best = _best(considered, symbols, options.memory)
    effort = _effort(reports, sharing) + parts_effort
    told = (*reports, *of_parts)
    return Optimized(best.term, best.cost, told, first.term, nonzero, considered, graph, effort)


def _unsearched(
    term: Term, symbols: Symbols, rules: RuleSet, options: Options, sharing: Sharing
) -> Optimized:
    """Return a term rewritten by what keeps its names; the e-graph has but this, and its report says so."""
    rewriter = Rewriter(rules, symbols)
    rewritten = rewriter.normal(term) if options.rewrites else term
    alone = replace(options, schedule=only_analyzed)
    _, report, graph = saturated(rewritten, symbols, rules, "normalize", options.normalize, alone, (PLAIN,))
    plan = _priced("as written", cautious(rewritten, symbols), sharing)
    report = replace(report, matches=dict(sorted(rewriter.matches.items())))
    effort = _effort((report,), sharing)
    return Optimized(plan.term, plan.cost, (report,), rewritten, frozenset(), (plan,), graph, effort)


def _effort(reports: Iterable[PhaseReport], sharing: Sharing) -> float:
    """Return the nanoseconds that what was searched so far may have taken."""
    return E_NODE * sum(report.nodes for report in reports) + TERM_NODE * sharing.made


def _is_promising(start: _Start, first: _Start, symbols: Symbols, sharing: Sharing, effort: float) -> bool:
    """Return whether to search from a start, too: it is cheaper as it stands, or a product of many factors.

    With few operands, a search reaches most orders from any start. With many it does not, and the cost of a
    start as it stands tells little about the plans found from it. But unless a start is cheaper than what has
    been found, the time still allowed must exceed the ``effort`` of another search.
    """
    if start.term == first.term:
        return False
    one, other = (sharing.price(hoisted(each.term, symbols)) for each in (start, first))
    if one < sharing.stake:
        return True
    return effort < sharing.worth and (one < other or longest_product(start.term) >= MANY_FACTORS)


def _plans(
    start: _Start, symbols: Symbols, rules: RuleSet, options: Options, sharing: Sharing
) -> tuple[dict[Term, list[str]], list[PhaseReport], Graph]:
    """Return the plans found from a start, each with what it was found by, and how they were found."""
    plans, report, graph = _searched(start.term, symbols, rules, options, sharing)
    reports = [start.report, report]
    plans.setdefault(cautious(start.term, symbols), ["normalized"])
    shared = start.stored if start.stored == start.term else sharing.share(start.stored)
    if sharing.price(shared) < min(map(sharing.price, plans)):
        more, report, graph = _searched(start.stored, symbols, rules, options, sharing)
        plans |= more
        reports.append(report)
    for name, other in _arranged(start.term, symbols):
        plans.setdefault(sharing.share(cautious(other, symbols)), [name])
    joined = in_order_of_joins(start.term)
    if joined is not None and _effort(reports, sharing) < sharing.worth_beside(plans):
        typed = cautious(_typed(joined, start.term, symbols), symbols)
        plans.setdefault(sharing.share(typed), ["in order of joins"])
    return plans, reports, graph


def _normalized(term: Term, symbols: Symbols, rules: RuleSet, options: Options) -> _Start:
    """Return what a search for the plan of a term begins with."""
    started = time.thread_time()
    rewriter = Rewriter(rules, symbols)
    nonzero = set[str]()

    def rewrite(term: Term) -> Term:
        """Return what the eager rules, and what is known of rows, loops and data, make of a term."""
        apart = separate(rewriter.normal(term), symbols)
        made = rewriter.normal(by_rows(rewriter.normal(apart), symbols))
        nonzero.update(asked(made, symbols))
        once = rewriter.normal(without_rejoined(without_questions(made, symbols), symbols))
        return rewriter.normal(without_implied(once, symbols))

    rewritten = rewrite(term) if options.rewrites else term
    is_searched = options.rewrites and options.main.iterations > 0
    settled = rewriter.settled(rewritten, "normalize") if is_searched else None
    if settled is not None:
        milliseconds = 1000 * (time.thread_time() - started)
        matches = dict(sorted(rewriter.matches.items()))
        report = PhaseReport("normalize", 0, size(settled), matches, Stop.SATURATED, milliseconds)
        return _Start(settled, settled, report, frozenset(nonzero))
    if options.rewrites:
        symbols = _with_mappings_rewritten(symbols, rewriter)
    (normalized, stored), report, graph = saturated(
        rewritten, symbols, rules, "normalize", options.normalize, options, (TAKEN_APART, PLAIN)
    )
    if options.rewrites:  # what the e-graph makes may be changed by rules that it does not have
        normalized, stored = map(rewrite, (normalized, stored))
    matches = dict(sorted((rewriter.matches + Counter(report.matches)).items()))
    return _Start(normalized, stored, replace(report, matches=matches), frozenset(nonzero), graph)


def _with_mappings_rewritten(symbols: Symbols, rewriter: Rewriter) -> Symbols:
    """Return the same facts, with what is known of mappings said of what they have become in the term."""
    mappings = {
        name: replace(fact, term=rewriter.normal(cast("Term", fact.term)))
        for name, fact in symbols.items()
        if isinstance(fact, MappingSymbol)
    }
    return {**symbols, **mappings}


def _searched(
    start: Term, symbols: Symbols, rules: RuleSet, options: Options, sharing: Sharing
) -> tuple[dict[Term, list[str]], PhaseReport, Graph]:
    """Return the plans that the algebra makes of a normalized term, each with what it was extracted for."""
    phase = "main"
    if loops(start) >= MANY_LOOPS:
        start, phase = _typed(eliminated(start), start, symbols), IN_ORDER
    sharing.meet(start)
    limits = options.main.within(sharing.worth)
    candidates, report, graph = saturated(start, symbols, rules, phase, limits, options, _VARIATIONS)
    if report.stop is Stop.NODES and limits != options.main:
        report = replace(report, stop=Stop.GOOD_ENOUGH)
    found: dict[Term, list[str]] = {}
    for variation, candidate in zip(_VARIATIONS, candidates, strict=True):
        found.setdefault(candidate, []).append(variation.name)
    taken_out = dict.fromkeys(cautious(factored(candidate, symbols), symbols) for candidate in found)
    # Those come first: where effort ends, more of it was spent on what makes less work.
    origins = {candidate: ["taken out"] for candidate in taken_out if candidate not in found} | found
    plans: dict[Term, list[str]] = {}
    for candidate, names in origins.items():
        plans.setdefault(sharing.share(candidate), []).extend(names)
    return plans, report, graph


def _taken_apart(term: Term, normalized: Term, options: Options) -> Iterator[tuple[str, list[Term]]]:
    """Yield the terms that add up to a term, where each of them is to have a plan of its own."""
    if options.expands and len(parts := monomials(term)) > 1:
        yield "expanded", parts
    parts = taken_apart(normalized) if loops(normalized) >= SEVERAL_LOOPS else []
    if len(parts) > 1 and max(map(longest_product, parts)) >= SEVERAL_FACTORS:
        yield IN_PARTS, parts


def _arranged(term: Term, symbols: Symbols) -> Iterator[tuple[str, Term]]:
    """Yield what else the sums of a normalized term may be, found without a search."""
    chain = associated(term, symbols)
    if chain is not None:
        yield "associated", _typed(chain, term, symbols)
    pairs = in_pairs(term, symbols) if chain is None and loops(term) >= SEVERAL_LOOPS else None
    if pairs is not None:
        yield "in pairs", pairs
    if loops(term) >= MANY_LOOPS:
        yield "factored", _typed(eliminated(term, earlier=True), term, symbols)
        yield "in order of keys", _typed(in_order_of_keys(term), term, symbols)


def _best(plans: Sequence[Priced], symbols: Symbols, memory: float) -> Priced:
    """Return the plan of least arithmetic, of those that fit into memory and cost about as little as can be.

    ``plans`` come by their cost. If none fits, the one that needs least is returned.
    """

    @cache
    def needs(plan: Priced) -> float:
        return footprint(plan.term, symbols)

    cheapest = next((plan for plan in plans if len(plans) == 1 or needs(plan) <= memory), None)
    if cheapest is None:
        return min(plans, key=needs)
    most = CLOSE * cheapest.cost.nanoseconds
    close = [plan for plan in plans if cheapest.cost.nanoseconds <= plan.cost.nanoseconds <= most]
    by_arithmetic = sorted(close, key=lambda plan: (plan.operations, plan.cost.nanoseconds))
    return next(plan for plan in by_arithmetic if plan == cheapest or needs(plan) <= memory)


def _typed(found: Term, term: Term, symbols: Symbols) -> Term:
    """Return ``found``, made of ``term``, if it is of the same type, else ``term``."""
    try:
        return found if infer(found, symbols) == infer(term, symbols) else term
    except InvariantError:
        return term  # a product of dictionaries was taken for one that scales


def _priced(origin: str, term: Term, sharing: Sharing) -> Priced:
    return Priced(origin, term, sharing.cost(term), sharing.operations(term))
