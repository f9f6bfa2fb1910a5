"""Equality saturation under deterministic budgets.

    loop: substitution, analyses and the eager rules (at most ANALYSIS steps of each), then one step
          of the phase's rules

egglog has no limits of its own, so each step is one ``(run …)`` and sizes are looked at in between.
Iterations and nodes are limited before time, which is the thread's own, so that plans do not depend on the
machine, nor on what else it does.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

from storel.errors import TypeMismatchError, UnknownNameError, nearest
from storel.optimizer.egraph.extract import Classes, read
from storel.optimizer.encoding import constructors
from storel.optimizer.encoding.binders import Encoding
from storel.optimizer.encoding.bindings import EGraph, PrintAllFunctionsSize, RunScheduleOutput
from storel.optimizer.encoding.command import command
from storel.optimizer.encoding.named import NAMED
from storel.optimizer.limits import Limits, PhaseReport, Stop
from storel.optimizer.rules import analyses
from storel.optimizer.rules.rulefile import EAGER, IN_ORDER, ON_TERMS, PHASES, REORDERING, Rule, RuleSet
from storel.optimizer.rules.translate import translate

HELD = 4
"""Steps for which a rule with too many matches is held back, where the encoding limits them."""

ANALYSIS = 250
"""Steps of the analyses between two steps of the rules; they nearly always saturate first.

Each level of a term may be one more, and without all that is known of a term nothing is extracted.
"""


WORN = 1000
"""E-nodes of terms that were held after which an e-graph is replaced by a fresh copy.

A copy takes as long as a small search, since all rules are copied, too. But the numbers of classes are not
used again, which makes an e-graph slower by and by. What is copied is put by when that is first due, since
most processes plan little.
"""

SPENT = 20_000
"""E-nodes of terms that were held after which an e-graph is made anew, which takes as long as ten searches.

The library keeps a report of each step that was ever run, even of copies: some KiB for each of these nodes.
"""


class Base:
    """An e-graph that holds the schema, the analyses and the rules, and for a while a term."""

    def __init__(self, rules: RuleSet, encoding: Encoding = NAMED) -> None:
        self.rules = rules
        self.encoding = encoding
        self._load()

    def _load(self) -> None:
        """Make an e-graph that holds no term."""
        encoding = self.encoding
        self.graph = EGraph()
        self.run(constructors.schema(encoding))
        self.run(analyses.program(encoding))
        self.parts: dict[str, list[str]] = {name: [name] for name in (*EAGER, *PHASES, IN_ORDER)}
        for ruleset in (*EAGER, "normalize", IN_ORDER, REORDERING):
            self.run(f"(ruleset {ruleset})")
        self.run(f"(unstable-combined-ruleset main {IN_ORDER} {REORDERING})")
        for rule in self.rules.rules:
            if ON_TERMS not in rule.tags:
                self._add(rule)
        self._steps = {
            name: self.graph.parse_program(f"(run {name} 1)")
            for name in (*analyses.RULESETS, *(part for parts in self.parts.values() for part in parts))
        }
        self._settled = {
            name: self.graph.parse_program(f"(run {name} {ANALYSIS})")
            for name in (*analyses.RULESETS, *EAGER)
        }
        self._counted = set(encoding.layouts)
        if encoding.most_matches is not None:
            self._counted |= set(encoding.operators)
        self._sizes = self.graph.parse_program("(print-size)")
        self._forgetting = self._forgotten()
        self._held = self._held_in_all = 0
        self._is_put_by = False

    def _forgotten(self) -> list[Any]:
        """Return the command that deletes all that a term brings: what there is nothing of without one."""
        self.run("(ruleset forget)")
        for name, function in self.graph.freeze().functions.items():
            if not function.rows:
                row = f"({name} {' '.join(f'a{place}' for place in range(len(function.input_sorts)))})"
                fact = row if function.output_sort == "Unit" else f"(= e {row})"
                # Nodes that were replaced match nothing themselves.
                rows = dict.fromkeys((row, row.replace(constructors.REPLACED, "")))
                actions = " ".join(f"(delete {each})" for each in rows)
                self.run(constructors.rule(fact, actions, f"forget-{name}", "forget"))
        return self.graph.parse_program("(run forget 1)")

    @contextmanager
    def holding(self, term: str, facts: str) -> Generator[None]:
        """Hold a term, which is then the one in ``whole``, and what is known of it."""
        try:
            self.graph.run_program(command(f"(whole {term})"))
            self.run(facts)
            yield
        finally:
            self._held += self.nodes()
            self.graph.run_program(*self._forgetting)
            if self._held_in_all + self._held > SPENT:
                self._load()
            elif self._held > WORN:
                self._held_in_all += self._held
                self._held = 0
                self.run("(pop)\n(push)" if self._is_put_by else "(push)")
                self._is_put_by = True

    def run(self, text: str) -> None:
        """Run egglog text, a command on each line.

        Lines are parsed one by one, since each node that is parsed holds a copy of the text it came from.
        """
        parsed = (self.graph.parse_program(line) for line in text.splitlines() if line)
        self.graph.run_program(*itertools.chain.from_iterable(parsed))

    def _add(self, rule: Rule) -> None:
        """Add a rule; where matches are limited, it becomes a part of its phases that runs by itself."""
        text = translate(rule, self.encoding)
        if self.encoding.most_matches is not None:
            for phase in (each for each in PHASES if each in rule.phases):
                part = f"{phase}-{rule.name}"
                self.run(f"(ruleset {part})")
                self.parts[phase].append(part)
                if rule.ruleset(phase) == IN_ORDER:
                    self.parts[IN_ORDER].append(part)
                text = text.replace(f":ruleset {rule.ruleset(phase)} ", f":ruleset {part} ")
        self.run(text)

    def step(self, ruleset: str) -> tuple[bool, dict[str, int]]:
        """Run a ruleset once; return whether anything changed, and the matches per rule.

        Raises UnknownNameError if there is none of that name.
        """
        _require(ruleset, self._steps, (*analyses.RULESETS, *self.parts))
        return self._ran(self._steps[ruleset])

    def settle(self, ruleset: str) -> tuple[bool, dict[str, int]]:
        """Run a ruleset until nothing changes; return whether anything did, and the matches per rule.

        Raises UnknownNameError for one of a phase, which may never end, and if there is none of that name.
        """
        _require(ruleset, self._settled, self._settled)
        return self._ran(self._settled[ruleset])

    def _ran(self, schedule: list[Any]) -> tuple[bool, dict[str, int]]:
        (output,) = self.graph.run_program(*schedule)
        assert isinstance(output, RunScheduleOutput)
        report = output.report  # a copy each time
        return report.updated, report.num_matches_per_rule

    def nodes(self) -> int:
        """Return the number of e-nodes."""
        (output,) = self.graph.run_program(*self._sizes)
        assert isinstance(output, PrintAllFunctionsSize)
        return sum(count for name, count in output.sizes if name in self._counted)


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
        """Substitute, analyze, decide and simplify until nothing changes; return whether anything did.

        Substitution needs nothing but the free variables, and the other analyses make no terms.
        """
        changed = False
        for _ in range(ANALYSIS):
            first, *others = [self.settle(ruleset) for ruleset in (*analyses.RULESETS, "decide")]
            is_simplified = self.step("simplify")
            changed = changed or first or any(others) or is_simplified
            self.is_prepared = not (any(others) or is_simplified)
            if not is_simplified or self.exhausted() is not None:
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


def _require(ruleset: str, known: Collection[str], shown: Collection[str]) -> None:
    """Raise UnknownNameError unless a ruleset, which a user's schedule may have named, is known."""
    if ruleset not in known:
        hint = nearest(str(ruleset), shown)
        raise UnknownNameError(f"no ruleset '{ruleset}' is run so", expected=", ".join(shown), hint=hint)


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


class _Bases(threading.local):
    """The e-graphs of a thread: the library's are bound to the thread that made them."""

    def __init__(self) -> None:
        self.loaded = lru_cache(maxsize=4)(Base)


_BASES = _Bases()


def base(rules: RuleSet, encoding: Encoding = NAMED) -> Base:
    """Return the thread's e-graph with ``rules`` loaded; it is used by one term at a time."""
    return _BASES.loaded(rules, encoding)


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
