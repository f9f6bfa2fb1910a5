"""Rulesets without the rules that match nothing, since what they need is nowhere.

A step takes the library some microseconds for each part of a left side to which something was added, whether
or not there is anything that the other parts match. Of what a rule needs there are kinds: a constructor, the
name of a function, a sum or product of values, not of keys, and what an analysis finds. Which kinds there are
follows from the term and from the rules that have matched. The rules that are left are run in the same order,
so that leaving the others out changes nothing. Nor are they given to the library before they may match for
the first time: a process that plans little never needs two thirds of them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

from storel.optimizer.encoding.layouts import INDEX

_RULE = re.compile(r'\(rule (?P<sides>.*) :ruleset (?P<ruleset>\S+) :name "(?P<name>[^"]*)"\)')
_NODE = re.compile(r'\(([\w-]+)(?: ("?[\w-]+))?')
_OF_VALUES = re.compile(rf'\(!= (\w+) "{INDEX}"\)')
_ARITHMETIC = ("Add", "Mul")


class _Part(NamedTuple):
    """A ruleset of the library: successive rules of a ruleset that need the same kinds of nodes.

    ``waiting`` is the text of those that the library does not have yet.
    """

    name: str
    needed: frozenset[str]
    waiting: list[str]

    def copy(self) -> _Part:
        return self._replace(waiting=list(self.waiting))


class Rulesets:
    """The rules of an e-graph with nodes of these ``constructors``, and facts of these names, by ruleset."""

    def __init__(self, constructors: Collection[str], facts: Collection[str] = ()) -> None:
        self._constructors = constructors
        self._facts = facts
        self._parts: dict[str, list[_Part]] = {}
        self._made: dict[str, frozenset[str]] = {}
        self._relevant: dict[tuple[tuple[str, ...], frozenset[str]], tuple[str, ...]] = {}

    def copy(self) -> Rulesets:
        """Return these rules, to which others may be added."""
        made = Rulesets(self._constructors, self._facts)
        made._parts = {ruleset: [part.copy() for part in parts] for ruleset, parts in self._parts.items()}
        made._made = dict(self._made)
        return made

    def take(self, text: str) -> str:
        """Take the rules of egglog text, each for a part of its ruleset; return the rest of the text."""
        return "\n".join(line for line in text.splitlines() if not self._takes(line))

    def _takes(self, line: str) -> bool:
        found = _RULE.fullmatch(line)
        if found is None:
            return False
        self._relevant.clear()
        sides, ruleset, name = found.group("sides", "ruleset", "name")
        facts = sides[: _end_of_list(sides)]
        needed, made = self._needed(facts), self._kinds_made(facts, sides[len(facts) :])
        parts = self._parts.setdefault(ruleset, [])
        if not parts or parts[-1].needed != needed:
            declared = f"{ruleset}-{len(parts)}"
            parts.append(_Part(declared, needed, [f"(ruleset {declared})"]))
        part = parts[-1]
        part.waiting.append(f'(rule {sides} :ruleset {part.name} :name "{name}")')
        self._made[name] = self.made((name,)) | made
        return True

    def kinds(self, text: str) -> frozenset[str]:
        """Return the kinds of what egglog text may stand for.

        >>> rulesets = Rulesets(["Sym", "Add", "Apply2"], ["array"])
        >>> sorted(rulesets.kinds('(array (Sym "a")) (= e (Apply2 "less" (Add "index" x y) z))'))
        ['Add', 'Add of keys', 'Apply2', 'Sym', 'array', 'less']
        >>> sorted(rulesets.kinds('(Add "plus_times" x y)'))
        ['Add', 'Add of values']
        """
        return self._kinds(_NODE.findall(text))

    def _kinds(self, nodes: Iterable[tuple[str, str]]) -> frozenset[str]:
        """Return the kinds of nodes or facts, each given as its name and its first argument."""
        found = set[str]()
        for name, first in nodes:
            if name in self._constructors:
                found.add(name)
                if name in _ARITHMETIC:
                    found |= _either(name, first)
                if name.startswith("Apply") and first.startswith('"'):
                    found.add(first.strip('"'))
            elif name in self._facts:
                found.add(name)
        return frozenset(found)

    def _needed(self, facts: str) -> frozenset[str]:
        """Return the kinds without which facts match nothing; arithmetic may be that of keys or of values."""
        nodes = set(_known_values(facts, facts))
        open_ = {node for node in nodes if node[0] in _ARITHMETIC and len(_either(*node)) > 1}
        return self._kinds(nodes - open_) | {name for name, _ in open_}

    def _kinds_made(self, facts: str, actions: str) -> frozenset[str]:
        """Return the kinds that actions make; what is made over the semiring of its like is no other kind."""
        known = {node for node in _known_values(facts, facts) if node[0] in _ARITHMETIC}
        return self._kinds(node for node in _known_values(actions, facts) if node not in known)

    def made(self, rules: Iterable[str]) -> frozenset[str]:
        """Return the kinds of nodes that rules make, given their names."""
        return frozenset[str]().union(*(self._made.get(name, ()) for name in rules))

    def parts(self, ruleset: str) -> tuple[str, ...]:
        """Return all parts of a ruleset."""
        return tuple(part.name for part in self._parts.get(ruleset, ()))

    def relevant(self, rulesets: tuple[str, ...], present: frozenset[str]) -> tuple[str, ...]:
        """Return the parts of rulesets that may match something where these kinds are ``present``."""
        asked = rulesets, present
        if asked not in self._relevant:
            parts = (part for ruleset in rulesets for part in self._parts.get(ruleset, ()))
            self._relevant[asked] = tuple(part.name for part in parts if part.needed <= present)
        return self._relevant[asked]

    def give(self, names: Collection[str]) -> list[str]:
        """Return the text of these parts that the library does not have, which it is given now."""
        given: list[str] = []
        for part in itertools.chain.from_iterable(self._parts.values()):
            if part.name in names:
                given += part.waiting
                part.waiting.clear()
        return given


def _either(arithmetic: str, semiring: str) -> frozenset[str]:
    """Return the kinds that a sum or product may be of: a variable may be any semiring."""
    of_keys, of_values = f"{arithmetic} of keys", f"{arithmetic} of values"
    if not semiring.startswith('"'):
        return frozenset((of_keys, of_values))
    return frozenset((of_keys if semiring.strip('"') == INDEX else of_values,))


def _known_values(text: str, facts: str) -> list[tuple[str, str]]:
    """Return nodes, each with its first argument, which is a literal if facts say that it is of values."""
    values = set(_OF_VALUES.findall(facts))
    return [(name, f'"{first}"' if first in values else first) for name, first in _NODE.findall(text)]


def _end_of_list(text: str) -> int:
    """Return where the list ends that a text begins with.

    >>> _end_of_list("((Sym x)) ((array x))")
    9
    """
    depth = 0
    for end, character in enumerate(text, 1):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return end
    return len(text)
