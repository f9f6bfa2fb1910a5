"""E-graphs that are loaded with rules once, and hold one term after another."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Collection, Generator, Iterable
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, TypeAlias

from storel.errors import UnknownNameError, nearest
from storel.optimizer.egraph.rulesets import Rulesets
from storel.optimizer.encoding import constructors
from storel.optimizer.encoding.binders import Encoding
from storel.optimizer.encoding.bindings import EGraph, PrintAllFunctionsSize, RunScheduleOutput
from storel.optimizer.encoding.command import command
from storel.optimizer.encoding.named import NAMED
from storel.optimizer.rules import analyses
from storel.optimizer.rules.rulefile import EAGER, IN_ORDER, ON_TERMS, PHASES, REORDERING, Rule, RuleSet
from storel.optimizer.rules.translate import translate

ANALYSIS = 250
"""Steps of the analyses between two steps of the rules; they nearly always saturate first.

Each level of a term may be one more, and without all that is known of a term nothing is extracted.
"""

_SETTLED = (*analyses.RULESETS, *EAGER)
"""The rulesets that may be run until nothing changes."""

WORN = 1000
"""E-nodes of terms that were held after which an e-graph is replaced by a fresh copy.

A copy takes as long as a small search, since all rules are copied, too. But the numbers of classes are never
reused, which slows an e-graph down over time. The state to return to is saved when the first copy is due,
since most processes plan little.
"""

_Commands: TypeAlias = dict[tuple[tuple[str, ...], int], list[Any]]
"""What runs these parts of rulesets up to so many steps."""

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
        self._rulesets = Rulesets({*encoding.layouts, *encoding.operators}, analyses.FACTS)
        self._commands: _Commands = {}
        self._combined = itertools.count()
        self._put_by: list[tuple[Rulesets, _Commands]] = []
        self._size: int | None = None
        self._run(constructors.schema(encoding).splitlines())
        self._present = frozenset[str]()
        self.run(analyses.program(encoding))
        self._given = self._present
        self.parts: dict[str, list[str]] = {name: [name] for name in (*EAGER, *PHASES, IN_ORDER)}
        for rule in self.rules.rules:
            if ON_TERMS not in rule.tags:
                self._add(rule)
        self._steps = {*analyses.RULESETS, *(part for parts in self.parts.values() for part in parts)}
        self._counted = set(encoding.layouts)
        if encoding.most_matches is not None:
            self._counted |= set(encoding.operators)
        self._sizes = self.graph.parse_program("(print-size)")
        self._forgetting = self._forgotten()
        self._held = self._held_in_all = 0

    def _forgotten(self) -> list[Any]:
        """Return the command that deletes what a term adds: rows of functions that are empty without one."""
        for name, function in self.graph.freeze().functions.items():
            if not function.rows:
                row = f"({name} {' '.join(f'a{place}' for place in range(len(function.input_sorts)))})"
                fact = row if function.output_sort == "Unit" else f"(= e {row})"
                # Nodes that were replaced match nothing themselves.
                rows = dict.fromkeys((row, row.replace(constructors.REPLACED, "")))
                actions = " ".join(f"(delete {each})" for each in rows)
                self.run(constructors.rule(fact, actions, f"forget-{name}", "forget"))
        return self._command(self._rulesets.parts("forget"), 1)

    @contextmanager
    def holding(self, term: str, facts: str) -> Generator[None]:
        """Hold a term, which is then the one in ``whole``, and what is known of it."""
        try:
            whole = f"(whole {term})"
            self._present = self._given | self._rulesets.kinds(whole)
            self.graph.run_program(command(whole))
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
                self._renew()

    def _renew(self) -> None:
        """Go on with a fresh copy, which is given what was needed since it was made: others may need it."""
        given = tuple(self._commands)
        if self._put_by:
            self.pop()
        for parts, steps in given:
            self._command(parts, steps)
        self.push()

    def push(self) -> None:
        """Put a copy by of all rules and terms."""
        self._put_by.append((self._rulesets.copy(), dict(self._commands)))
        self.run("(push)")

    def pop(self) -> None:
        """Go back to what was put by last."""
        self.run("(pop)")
        self._rulesets, self._commands = self._put_by.pop()

    def run(self, text: str) -> None:
        """Run egglog text, a command on each line; its rules are kept for when they may match something."""
        others = self._rulesets.take(text)
        self._present |= self._rulesets.kinds(others)
        self._run(others.splitlines())

    def _run(self, lines: Iterable[str]) -> None:
        """Run commands. They are parsed one by one: each node that is parsed holds a copy of its text."""
        parsed = (self.graph.parse_program(line) for line in lines if line)
        self.graph.run_program(*itertools.chain.from_iterable(parsed))
        self._size = None

    def _add(self, rule: Rule) -> None:
        """Add a rule; where matches are limited, it becomes a part of its phases that runs by itself."""
        text = translate(rule, self.encoding)
        if self.encoding.most_matches is not None:
            for phase in (each for each in PHASES if each in rule.phases):
                part = f"{phase}-{rule.name}"
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
        return self._ran(self._parts_of(ruleset), 1)

    def settle(self, ruleset: str) -> tuple[bool, dict[str, int]]:
        """Run a ruleset until nothing changes; return whether anything did, and the matches per rule.

        Raises UnknownNameError for one of a phase, which may never end, and if there is none of that name.
        """
        _require(ruleset, _SETTLED, _SETTLED)
        changed, matches = False, Counter[str]()
        run, parts = None, self._parts_of(ruleset)
        while parts != run:  # others may match what these have made
            updated, found = self._ran(parts, ANALYSIS)
            changed = changed or updated
            matches.update(found)
            run, parts = parts, self._parts_of(ruleset)
        return changed, matches

    def _parts_of(self, ruleset: str) -> tuple[str, ...]:
        """Return the parts of a ruleset that may match something now."""
        rulesets = (IN_ORDER, REORDERING) if ruleset == "main" else (ruleset,)
        return self._rulesets.relevant(rulesets, self._present)

    def _ran(self, parts: tuple[str, ...], steps: int) -> tuple[bool, dict[str, int]]:
        if not parts:
            return False, {}
        (output,) = self.graph.run_program(*self._command(parts, steps))
        assert isinstance(output, RunScheduleOutput)
        report = output.report  # a copy each time
        matches = report.num_matches_per_rule
        self._present |= self._rulesets.made(name for name, count in matches.items() if count)
        if report.updated:
            self._size = None
        return report.updated, matches

    def _command(self, parts: tuple[str, ...], steps: int) -> list[Any]:
        """Return what runs parts of rulesets, which the library is given first if it does not have them."""
        asked = parts, steps
        if asked not in self._commands:
            name = f"combined-{next(self._combined)}"
            combined = f"(unstable-combined-ruleset {name} {' '.join(parts)})"
            self._run([*self._rulesets.give(set(parts)), combined])
            self._commands[asked] = self.graph.parse_program(f"(run {name} {steps})")
        return self._commands[asked]

    def nodes(self) -> int:
        """Return the number of e-nodes, counted again only where something has changed."""
        if self._size is None:
            (output,) = self.graph.run_program(*self._sizes)
            assert isinstance(output, PrintAllFunctionsSize)
            self._size = sum(count for name, count in output.sizes if name in self._counted)
        return self._size


def _require(ruleset: str, known: Collection[str], shown: Collection[str]) -> None:
    """Raise UnknownNameError unless a ruleset, which a user's schedule may have named, is known."""
    if ruleset not in known:
        hint = nearest(str(ruleset), shown)
        raise UnknownNameError(f"no ruleset '{ruleset}' is run so", expected=", ".join(shown), hint=hint)


class _Bases(threading.local):
    """The e-graphs of a thread: the library's are bound to the thread that made them."""

    def __init__(self) -> None:
        self.loaded = lru_cache(maxsize=4)(Base)


_BASES = _Bases()


def base(rules: RuleSet, encoding: Encoding = NAMED) -> Base:
    """Return the thread's e-graph with ``rules`` loaded; it is used by one term at a time."""
    return _BASES.loaded(rules, encoding)
