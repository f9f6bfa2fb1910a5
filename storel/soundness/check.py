"""Every term that a rule makes must have the value of the term it was made of.

What is checked is what runs: the rule is translated, its guards are decided by the analyses, and every
term that the graph then holds to be equal to an instance is evaluated by the calculus' interpreter and
compared with it. A counterexample is minimized (Hypothesis: MacIver, Hatfield-Dodds, JOSS 2019).
"""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, find, reject, settings
from hypothesis import strategies as st
from hypothesis.errors import HypothesisWarning, NoSuchExample, Unsatisfiable

from storel.calculus.interpret import evaluate
from storel.calculus.nodes import Empty, Literal, Singleton, Term
from storel.calculus.printer import show
from storel.calculus.verify import KEY, InvariantError, Type, infer, verify
from storel.calculus.walk import names_in
from storel.errors import EvaluationError, StorelError
from storel.optimizer.cost import variations
from storel.optimizer.cost.model import NANOSECONDS
from storel.optimizer.egraph.base import Base
from storel.optimizer.egraph.extract import Classes, Extractor, read
from storel.optimizer.egraph.facts import Encoded, encoded
from storel.optimizer.egraph.saturate import Saturation
from storel.optimizer.encoding.binders import Encoding
from storel.optimizer.encoding.layouts import LAYOUTS, TERMS, decode
from storel.optimizer.encoding.named import NAMED
from storel.optimizer.limits import Limits, Stop
from storel.optimizer.rules.rulefile import ON_TERMS, Rule, RuleSet
from storel.scalars import ScalarType
from storel.semiring import SEMIRINGS
from storel.soundness.data import Surroundings, data
from storel.soundness.growth import UnfitError
from storel.soundness.instances import Instance
from storel.soundness.patterns import backwards, binds_in_two_loops, has_conversions
from storel.values import Array

TRIED = ("plus_times", "plus_times", "plus_times", "min_plus", "max_times", "or_and")
"""Most mistakes show where adding something twice is not adding it once."""

ZEROS = frozenset(SEMIRINGS[name].zero for name in TRIED)
"""What a rule's ``zero`` may be: a term without a type of its own."""

ROUND = 10
"""Examples drawn in a row: after ten Hypothesis goes on with small variations of what it has drawn."""

LIMITS = Limits(nodes=300)
"""Instances are small: one step of a shipped rule, and all that is simplified after it, leaves 62 e-nodes."""


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A term, what the rule made of it, their values (or what went wrong), and the data.

    ``after`` is None where the rule applies to what it has made, and to what it makes of that, without end.
    """

    before: Term
    after: Term | None
    expected: Any
    found: Any
    around: Surroundings

    def __str__(self) -> str:
        if self.after is None:
            return f"  {show(self.before)}  is rewritten again and again, without end"
        text = f"{show(self.before)} {show(self.after)}"
        names = sorted(set(re.findall("[a-z]+", text)) & self.around.values.keys())
        data = "".join(f"\n  where {name} = {self.around.values[name].tolist()}" for name in names)
        return f"  {show(self.before)}  is  {self.expected}\n  {show(self.after)}  is  {self.found}{data}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """For how many random instances a rule applied, and for which it was wrong, if for any."""

    rule: Rule
    applied: int
    counterexample: Counterexample | None

    @property
    def is_sound(self) -> bool:
        """Whether the rule applied, and never changed a value."""
        return self.applied > 0 and self.counterexample is None

    def __str__(self) -> str:
        if self.counterexample is not None:
            return f"{self.rule.name}: wrong\n{self.counterexample}"
        if self.applied == 0:
            return f"{self.rule.name}: never applied, so nothing is known of it{_why_never(self.rule)}"
        return f"{self.rule.name}: right in {self.applied} cases"


def _why_never(rule: Rule) -> str:
    if not binds_in_two_loops(rule.left) or backwards(rule) is not None:
        return ""
    return (
        "\n  loops with the same variables that are not added are only made by rewriting, and the right "
        "side, read backwards, does not say all of the left one"
    )


def check(rule: Rule, examples: int, encoding: Encoding = NAMED, *, minimized: bool = True) -> Verdict:
    """Try ``rule`` on random instances, the same ones every time.

    Encoding gives two loops of a term the same binders only where they are added, rewriting does elsewhere,
    too. So a rule about such loops is tried on what it makes itself, read backwards: instances are those of
    its right side.

    A counterexample is the first one found unless it is to be ``minimized``, which takes far longer than
    to find one.
    """
    after = backwards(rule) if binds_in_two_loops(rule.left) else None
    applied = 0
    wrong: dict[Term, Counterexample] = {}

    def refutes(instance: tuple[Term, Surroundings]) -> bool:
        nonlocal applied
        term, around = instance
        try:
            made, counterexample = _try(rule, term, around, after, encoding)
        except UnevaluatedError:
            reject()
        applied += made
        if counterexample is not None:
            wrong[term] = counterexample
        return counterexample is not None

    chosen = settings(
        max_examples=min(examples, ROUND),
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink) if minimized else (Phase.generate,),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    for seed in range(math.ceil(examples / ROUND)):
        try:
            with warnings.catch_warnings():  # what Hypothesis warns of is no mistake of the rule's author
                warnings.simplefilter("ignore", HypothesisWarning)
                term, _ = find(_instances(after or rule), refutes, settings=chosen, random=Random(seed))
        except (NoSuchExample, Unsatisfiable):
            continue
        return Verdict(rule, applied, wrong[term])
    return Verdict(rule, applied, None)


class UnevaluatedError(Exception):
    """The instance has no value, or no type: nothing is promised."""


class EndlessError(Exception):
    """The rule applies to what it makes, and that grows each time."""


@st.composite
def _instances(draw: st.DrawFn, rule: Rule) -> tuple[Term, Surroundings]:
    """Draw a term, and data for the names in it; what does not fit together is no example."""
    semiring = draw(st.sampled_from(("plus_times",) if rule.tags & {"ring", "index"} else TRIED))
    try:
        term = Instance(draw, rule, semiring).whole()
    except UnfitError:
        reject()
    return term, draw(data(semiring, names_in(term)))


def _try(
    rule: Rule, term: Term, around: Surroundings, after: Rule | None, encoding: Encoding
) -> tuple[int, Counterexample | None]:
    """Return whether ``rule`` applies to ``term``, and a term that it makes of it and should not."""
    try:
        verify(term, around.symbols)
        expected = _value(term, around)
    except (StorelError, InvariantError) as error:
        raise UnevaluatedError from error
    try:
        found = _rewritten(rule, term, around, after, encoding)
    except EndlessError:
        return 1, Counterexample(term, None, expected, None, around)
    for other in found:
        try:
            _require_rank(other, term, around)
            value = _value(other, around)
            if _same(value, expected):
                _require_type(other, term, around)
        except EvaluationError as error:
            if "negative key" in str(error):
                # That keys are natural is shown before rewriting, on the whole program.
                raise UnevaluatedError from error
            value = error
        except InvariantError as error:
            value = error
        if not _same(value, expected):
            return 1, Counterexample(term, other, expected, value, around)
    return int(bool(found)), None


def _value(term: Term, around: Surroundings) -> Any:
    """Return the value of ``term``, of an array its elements by their positions."""
    value = evaluate(term, around.symbols, around.values)
    if isinstance(value, Array):
        return {position: value.at(position) for position in range(value.low, value.high)}
    return value


def _require_rank(made: Term, term: Term, around: Surroundings) -> None:
    """Raise InvariantError if what a rule made of a term has no type, or the type of other data."""
    found, kept = (infer(each, around.symbols) for each in (made, term))
    if found.rank != kept.rank:
        raise InvariantError(f"of rank {found.rank}, not {kept.rank}")
    if found.is_array != kept.is_array:
        raise InvariantError(f"{_sort(found)}, not {_sort(kept)}")


def _require_type(made: Term, term: Term, around: Surroundings) -> None:
    """Raise InvariantError if what a rule made of a term, though equal, is of numbers of another type.

    What is made of them then wraps around, or is rounded, elsewhere.
    """
    found, kept = (infer(each, around.symbols) for each in (made, term))
    if found.scalar is not kept.scalar and not _is_any_zero(made):
        raise InvariantError(f"of type {found.scalar.value}, not {kept.scalar.value}")


def _is_any_zero(made: Term) -> bool:
    """Return whether a term is the zero of a rule, which stands for that of any type."""
    return isinstance(made, Empty) or (isinstance(made, Literal) and made.value in ZEROS)


def _sort(kind: Type) -> str:
    return "an array" if kind.is_array else "a dictionary"


@lru_cache(maxsize=4)
def _base(rules: tuple[Rule, ...], encoding: Encoding) -> Base:
    """Return an e-graph with ``rules``, those among them, too, that are for terms alone."""
    return Base(RuleSet(tuple(replace(rule, tags=rule.tags - {ON_TERMS}) for rule in rules)), encoding)


@lru_cache(maxsize=256)
def _classes(rules: tuple[Rule, ...], encoding: Encoding, text: str, facts: str) -> Classes | Stop | None:
    """Return all that equals a term after one step of each rule; None if the last one does not apply.

    Why it ended if it has to be stopped: a rule for each term that arises may never come to an end.

    While a counterexample is made smaller, most examples differ in their data, of which it knows the facts.
    """
    base = _base(rules, encoding)
    with base.holding(text, facts):
        state = Saturation(base, LIMITS, math.inf)
        state.prepare()
        for rule in rules:
            state.step(rule.phases[0])
            state.prepare()
        if not state.matches.get(rules[-1].name):
            return None
        return state.exhausted() or read(base.graph.freeze(), base.graph, encoding)


def _rewritten(
    rule: Rule, term: Term, around: Surroundings, after: Rule | None, encoding: Encoding
) -> list[Term]:
    """Return the terms that are equal to ``term`` by one step of ``rule``; empty if it does not apply.

    Raises EndlessError for a rule that does not come to an end by itself.

    Rules about keys apply where a key stands: such an instance is encoded as the key of a singleton, except
    for rules about conversions, of which there is none in a key. Loops that are added are encoded with
    variables of their own, and with those that they share.
    """
    is_key = infer(term, around.symbols) == KEY and not has_conversions(rule.left)
    whole = Singleton(term, Literal(1.0, ScalarType.FLOAT64)) if is_key else term
    rules = (rule,) if after is None else (after, rule)
    both = [encoded(whole, around.symbols, encoding, shares=shares) for shares in (False, True)]
    sources = {source.text: source for source in both}.values()  # mostly one
    return [made for source in sources for made in _made(rules, source, around, encoding, is_key=is_key)]


def _made(
    rules: tuple[Rule, ...], source: Encoded, around: Surroundings, encoding: Encoding, *, is_key: bool
) -> list[Term]:
    """Return the terms that are equal to an encoded one by one step of each rule; see ``_rewritten``."""
    classes = _classes(rules, encoding, source.text, source.facts)
    if classes is None:
        return []
    if isinstance(classes, Stop):
        raise EndlessError
    best = Extractor(classes, source, around.symbols, variations.PLAIN, NANOSECONDS)
    root = classes.root
    if is_key:
        (root,) = {node[1][1] for node in classes.nodes[root] if node[0] == "Single"}

    def build(identity: object, scope: tuple[int, ...]) -> Term:
        assert isinstance(identity, int)
        return decode(best.best[identity].node, source.numbering, scope, build)

    return [
        decode(node, source.numbering, (), build)
        for identity, node in sorted(best.in_scope(), key=repr)
        if identity == root
        and all(
            part in best.best for part, kind in zip(node[1], LAYOUTS[node[0]], strict=True) if kind in TERMS
        )
    ]


def _same(one: Any, other: Any) -> bool:
    """Return whether two values are alike: up to rounding, and NaN like NaN."""
    if isinstance(one, Exception):
        return False
    if isinstance(one, dict):
        return (
            isinstance(other, dict)
            and one.keys() == other.keys()
            and all(_same(one[k], other[k]) for k in one)
        )
    first, second = float(one), float(other)
    both_undefined = math.isnan(first) and math.isnan(second)
    return one == other or both_undefined or math.isclose(first, second, rel_tol=1e-9)
