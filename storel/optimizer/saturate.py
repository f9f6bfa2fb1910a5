"""Equality saturation under deterministic budgets.

    loop: analyses and substitution (at most ANALYSIS steps), then one step of the phase's rules

egglog has no limits of its own, so each step is one ``(run …)`` and sizes are looked at in between.
Iterations and nodes are limited before time, so that plans do not depend on the machine.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from storel.optimizer import analyses, encoding
from storel.optimizer.bindings import EGraph, RunScheduleOutput
from storel.optimizer.extract import Classes, read
from storel.optimizer.rulefile import EAGER, PHASES, RuleSet
from storel.optimizer.translate import translate

ANALYSIS = 60
"""Steps of the analyses between two steps of the rules; they nearly always saturate first."""


class Stop(Enum):
    """Why saturation ended."""

    SATURATED = "saturated"
    ITERATIONS = "iteration limit"
    NODES = "node limit"
    TIME = "time limit"


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop: whichever comes first."""

    iterations: int = 60
    nodes: int = 20_000
    seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class PhaseReport:
    """What happened in one phase."""

    phase: str
    iterations: int
    nodes: int
    matches: dict[str, int]
    stop: Stop
    milliseconds: float


class Base:
    """An e-graph that holds the schema, the analyses and the rules, and no term."""

    def __init__(self, rules: RuleSet) -> None:
        self.graph = EGraph()
        self.run(encoding.schema())
        self.run(analyses.program())
        for phase in (*EAGER, *PHASES):
            self.run(f"(ruleset {phase})")
        self.run("\n".join(translate(rule) for rule in rules.rules))
        self._steps = {
            name: self.graph.parse_program(f"(run {name} 1)")
            for name in (*analyses.RULESETS, *EAGER, *PHASES)
        }
        self._sizes = self.graph.parse_program("(print-size)")

    def run(self, text: str) -> None:
        """Run egglog text, a command on each line.

        One line at a time, since each node of the parsed program holds a copy of the text it came from.
        """
        for line in text.splitlines():
            if line:
                self.graph.run_program(*self.graph.parse_program(line))

    def step(self, ruleset: str) -> tuple[bool, dict[str, int]]:
        """Run a ruleset once; return whether anything changed, and the matches per rule."""
        (output,) = self.graph.run_program(*self._steps[ruleset])
        assert isinstance(output, RunScheduleOutput)
        return output.report.updated, output.report.num_matches_per_rule

    def analyze(self) -> bool:
        """Substitute, analyze and simplify until nothing changes, or for ``ANALYSIS`` steps of each.

        Substitution needs nothing but the free variables, and the other analyses make no terms.
        """
        changed = False
        for _ in range(ANALYSIS):
            for ruleset in (*analyses.RULESETS, "decide"):
                changed = self._settle(ruleset) or changed
            updated, _ = self.step("simplify")
            if not updated:
                break
            changed = True
        return changed

    def _settle(self, ruleset: str) -> bool:
        for count in range(ANALYSIS):
            updated, _ = self.step(ruleset)
            if not updated:
                return count > 0
        return True

    def nodes(self) -> int:
        """Return the number of e-nodes."""
        (output,) = self.graph.run_program(*self._sizes)
        sizes: dict[str, int] = dict(output.sizes)
        return sum(sizes.get(name, 0) for name in encoding.LAYOUTS)


@lru_cache(maxsize=4)
def base(rules: RuleSet) -> Base:
    """Return the e-graph with ``rules`` loaded; it is used by one term at a time."""
    return Base(rules)


def saturate(
    rules: RuleSet, text: str, facts: str, phase: str, limits: Limits
) -> tuple[Classes, PhaseReport]:
    """Return all that the rules of ``phase`` make of a term (the binding ``$root``)."""
    started = time.perf_counter()
    loaded = base(rules)
    loaded.run("(push)")
    try:
        loaded.run(f"(let $root {text})\n{facts}")
        matches: dict[str, int] = {}
        stop, iterations = Stop.ITERATIONS, 0
        loaded.analyze()
        for iterations in range(1, limits.iterations + 1):
            changed, found = loaded.step(phase)
            for name, count in found.items():
                if count:
                    matches[name] = matches.get(name, 0) + count
            if not (loaded.analyze() or changed):
                stop = Stop.SATURATED
                break
            if loaded.nodes() > limits.nodes:
                stop = Stop.NODES
                break
            if time.perf_counter() - started > limits.seconds:
                stop = Stop.TIME
                break
        classes = read(loaded.graph.freeze(), loaded.graph)
        milliseconds = 1000 * (time.perf_counter() - started)
        report = PhaseReport(
            phase, iterations, loaded.nodes(), dict(sorted(matches.items())), stop, milliseconds
        )
        return classes, report
    finally:
        loaded.run("(pop)")
