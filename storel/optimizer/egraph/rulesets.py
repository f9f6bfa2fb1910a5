"""Rulesets without the rules that match nothing, since nodes of a kind that they need are nowhere.

A step takes the library some microseconds for each part of a left side to which something was added, whether
or not there is anything that the other parts match. A kind of nodes is a constructor, or the name of a
function; which kinds there are follows from the term and from the rules that have matched. The rules that are
left are run in the same order, so that leaving the others out changes nothing. Nor are they given to the
library before they may match for the first time: a process that plans little never needs two thirds of them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

_RULE = re.compile(r'\(rule (?P<sides>.*) :ruleset (?P<ruleset>\S+) :name "(?P<name>[^"]*)"\)')
_NODE = re.compile(r'\(([\w-]+)(?: "(\w+)")?')


class _Part(NamedTuple):
    """A ruleset of the library: successive rules of a ruleset that need the same kinds of nodes.

    ``waiting`` is the text of those that the library does not have yet.
    """

    name: str
    needed: frozenset[str]
    made: set[str]
    waiting: list[str]

    def copy(self) -> _Part:
        return _Part(self.name, self.needed, set(self.made), list(self.waiting))


class Rulesets:
    """The rules of an e-graph with nodes of these ``constructors``, by ruleset."""

    def __init__(self, constructors: Collection[str]) -> None:
        self._constructors = constructors
        self._parts: dict[str, list[_Part]] = {}
        self._made: dict[str, frozenset[str]] = {}

    def copy(self) -> Rulesets:
        """Return these rules, to which others may be added."""
        made = Rulesets(self._constructors)
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
        sides, ruleset, name = found.group("sides", "ruleset", "name")
        facts = sides[: _end_of_list(sides)]
        needed, made = self.kinds(facts), self.kinds(sides[len(facts) :])
        parts = self._parts.setdefault(ruleset, [])
        if not parts or parts[-1].needed != needed:
            declared = f"{ruleset}-{len(parts)}"
            parts.append(_Part(declared, needed, set(), [f"(ruleset {declared})"]))
        part = parts[-1]
        part.made.update(made)
        part.waiting.append(f'(rule {sides} :ruleset {part.name} :name "{name}")')
        self._made[name] = self.made((name,)) | made
        return True

    def kinds(self, text: str) -> frozenset[str]:
        """Return the kinds of nodes in egglog text.

        >>> sorted(Rulesets(["Sym", "Apply2"]).kinds('(array (Sym "a")) (= e (Apply2 "less" x y))'))
        ['Apply2', 'Sym', 'less']
        """
        nodes = [each for each in _NODE.findall(text) if each[0] in self._constructors]
        functions = (name for constructor, name in nodes if name and constructor.startswith("Apply"))
        return frozenset((*(constructor for constructor, _ in nodes), *functions))

    def made(self, rules: Iterable[str]) -> frozenset[str]:
        """Return the kinds of nodes that rules make, given their names."""
        return frozenset[str]().union(*(self._made.get(name, ()) for name in rules))

    def relevant(self, rulesets: Collection[str], present: frozenset[str], *, once: bool) -> list[str]:
        """Return the parts of rulesets that may match something, if nodes of these kinds are ``present``.

        Unless they are run only ``once``, so may those that need what others of them make.
        """
        parts = [part for ruleset in rulesets for part in self._parts.get(ruleset, ())]
        while True:
            found = [part for part in parts if part.needed <= present]
            reached = present.union(*(part.made for part in found))
            if once or reached == present:
                return [part.name for part in found]
            present = reached

    def give(self, names: Collection[str]) -> list[str]:
        """Return the text of these parts that the library does not have, which it is given now."""
        given: list[str] = []
        for part in itertools.chain.from_iterable(self._parts.values()):
            if part.name in names:
                given += part.waiting
                part.waiting.clear()
        return given


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
