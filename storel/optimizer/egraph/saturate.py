"""Equality saturation under deterministic budgets.

    loop: substitution, analyses and the eager rules (at most ANALYSIS steps of each), then one step
          of the phase's rules

egglog has no limits of its own, so each step is one ``(run …)`` and sizes are looked at in between.
Iterations and nodes are limited before time, which is the thread's own, so that plans do not depend on the
machine, nor on what else it does.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from storel.errors import TypeMismatchError
from storel.optimizer.egraph.base import ANALYSIS, Base, base
from storel.optimizer.egraph.extract import Classes, read
from storel.optimizer.encoding.binders import Encoding
from storel.optimizer.encoding.named import NAMED
from storel.optimizer.limits import Limits, PhaseReport, Stop
from storel.optimizer.rules import analyses
from storel.optimizer.rules.rulefile import IN_ORDER, PHASES, RuleSet

HELD = 4
"""Steps for which a rule with too many matches is held back, where the encoding limits them."""


@dataclass
class Saturation:
    """One term in a loaded e-graph, on its way to saturation within limits.

    ``is_prepared`` says that there was nothing left to prepare when that was last done.
    """

    base: Base
    limits: Limits
    started: float
    matches: dict[str, int] = field(default_factory=dict[str, int])
    held: dict[str, int] = field(default_factory=dict[str, int])
    is_prepared: bool = False

    @property
    def watched(self) -> bool:
        """Whether operators may unroll for ever, so that sizes are looked at after every step."""
        return self.base.encoding.most_matches is not None

    def step(self, ruleset: str) -> bool:
        """Run a ruleset once, count the matches, and return whether anything changed.

        A rule that is held back may have more to do, which counts as a change.
        """
        most = self.base.encoding.most_matches
        changed = False
        for part in self.base.parts.get(ruleset, (ruleset,)):
            if self.held.get(part, 0) > 0:
                self.held[part] -= 1
                changed = True
                continue
            updated, found = self.base.step(part)
            changed = changed or updated
            self._count(ruleset, found)
            if most is not None and sum(found.values()) > most and ruleset in (*PHASES, IN_ORDER):
                self.held[part] = HELD
            if self.watched and self.exhausted() is not None:
                return True
        return changed

    def settle(self, ruleset: str) -> bool:
        """Run a ruleset until nothing changes; return whether anything did."""
        if not self.watched:
            changed, found = self.base.settle(ruleset)
            self._count(ruleset, found)
            return changed
        for count in range(ANALYSIS):
            if not self.step(ruleset):
                return count > 0
            if self.watched and self.exhausted() is not None:
                return True
        return True

    def _count(self, ruleset: str, found: dict[str, int]) -> None:
        if ruleset not in analyses.RULESETS:
            for name, count in found.items():
                if count:
                    self.matches[name] = self.matches.get(name, 0) + count

    def prepare(self) -> bool:
        """Decide, substitute, analyze and simplify until nothing changes; return whether anything did.

        Substitution needs nothing but the free variables, and the other analyses make no terms. What holds of
        a variable is decided before another term is substituted for it: ``j < n`` holds in a loop up to
        n and says nothing of ``e < n``; decided after ``e < n`` is made of it, it would decide that, too.
        """
        changed = False
        for _ in range(ANALYSIS):
            found = [self.settle("scope"), self.settle("analysis")]
            decided = self.settle("decide")
            if decided:  # what is free in what that made
                self.settle("scope")
            made = [decided, self._operate()]
            if any(made):  # or else both are settled still
                others = [self.settle("analysis"), self.settle("decide"), self.step("simplify")]
            else:
                others = [self.step("simplify")]
            changed = changed or any((*found, *made, *others))
            self.is_prepared = not any(others)
            if not others[-1] or self.exhausted() is not None:
                break
        return changed

    def _operate(self) -> bool:
        """Push operators down until nothing changes, and find what is free there; return whether any did."""
        changed = False
        for _ in range(ANALYSIS):
            if not self.settle("operators"):
                break
            changed = True
            self.settle("scope")
            if self.watched and self.exhausted() is not None:
                break
        return changed

    def exhausted(self) -> Stop | None:
        """Return the limit that is reached, if one is."""
        if self.base.nodes() > self.limits.nodes:
            return Stop.NODES
        return Stop.TIME if time.thread_time() - self.started > self.limits.seconds else None


Schedule: TypeAlias = Callable[[Saturation, str], tuple[Stop, int]]
"""What runs the rulesets of a phase in some order; it returns why it ended, and after how many steps."""


def alternate(state: Saturation, phase: str) -> tuple[Stop, int]:
    """Alternate preparation and steps of a phase; return why it ended, and the number of steps."""
    state.prepare()
    for iteration in range(1, state.limits.iterations + 1):
        changed = state.step(phase)
        if changed or not state.is_prepared:
            changed = state.prepare() or changed
        stop = state.exhausted() if changed else Stop.SATURATED
        if stop is not None:
            return stop, iteration
    return Stop.ITERATIONS, state.limits.iterations


def only_analyzed(state: Saturation, phase: str) -> tuple[Stop, int]:
    """Apply no rule at all: the e-graph holds the term as it is, and what is known of its parts."""
    for ruleset in analyses.RULESETS:
        while state.settle(ruleset) and state.exhausted() is None:
            pass
    return Stop.NODES, 0


def _ended(answer: object) -> tuple[Stop, int]:
    """Return what a schedule answers, which may be a user's; raises TypeMismatchError for anything else."""
    match answer:
        case (Stop() as stop, int(iterations)):
            return stop, iterations
        case _:
            raise TypeMismatchError(
                "the schedule returned something else",
                expected="why it ended, a Stop, and the number of its steps",
                found=repr(answer),
            )


def saturate(
    rules: RuleSet,
    text: str,
    facts: str,
    phase: str,
    limits: Limits,
    encoding: Encoding = NAMED,
    schedule: Schedule = alternate,
) -> tuple[Classes, PhaseReport]:
    """Return all that the rules of ``phase`` make of a term.

    ``IN_ORDER`` is the main phase without the rules that reorder sums and products.
    """
    loaded = base(rules, encoding)
    state = Saturation(loaded, limits, time.thread_time())
    with loaded.holding(text, facts):
        stop, iterations = _ended(schedule(state, phase))
        classes = read(loaded.graph.freeze(), loaded.graph, encoding)
        milliseconds = 1000 * (time.thread_time() - state.started)
        matches = dict(sorted(state.matches.items()))
        name = "main" if phase == IN_ORDER else phase
        return classes, PhaseReport(name, iterations, loaded.nodes(), matches, stop, milliseconds)
