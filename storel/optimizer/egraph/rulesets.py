"""Rulesets without the rules that match nothing, since nodes of a kind that they need are nowhere.

A step takes the library some microseconds for each part of a left side to which something was added, whether
or not there is anything that the other parts match. A kind of nodes is a constructor, or the name of a
function; which kinds there are follows from the term and from the rules that have matched. The rules that are
left are run in the same order, so that leaving the others out changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

_RULE = re.compile(r'\(rule (?P<sides>.*) :ruleset (?P<ruleset>\S+) :name "(?P<name>[^"]*)"\)')
_NODE = re.compile(r'\(([\w-]+)(?: "(\w+)")?')


class _Part(NamedTuple):
    """A ruleset of the library: successive rules of a ruleset that need the same kinds of nodes."""

    name: str
    needed: frozenset[str]
    made: set[str]


class Rulesets:
    """The rules of an e-graph with nodes of these ``constructors``, by ruleset."""

    def __init__(self, constructors: Collection[str]) -> None:
        self._constructors = constructors
        self._parts: dict[str, list[_Part]] = {}
        self._made: dict[str, frozenset[str]] = {}

    def copy(self) -> Rulesets:
        """Return these rules, to which others may be added."""
        made = Rulesets(self._constructors)
        made._parts = {ruleset: list(parts) for ruleset, parts in self._parts.items()}
        made._made = dict(self._made)
        return made

    def placed(self, text: str) -> str:
        """Return egglog text with each rule in a ruleset of the library that is a part of its own one."""
        return "\n".join(line for each in text.splitlines() for line in self._placed(each))

    def _placed(self, line: str) -> Iterator[str]:
        found = _RULE.fullmatch(line)
        if found is None:
            yield line
            return
        sides, ruleset, name = found.group("sides", "ruleset", "name")
        facts = sides[: _end_of_list(sides)]
        needed, made = self.kinds(facts), self.kinds(sides[len(facts) :])
        parts = self._parts.setdefault(ruleset, [])
        if not parts or parts[-1].needed != needed:
            parts.append(_Part(f"{ruleset}-{len(parts)}", needed, set()))
            yield f"(ruleset {parts[-1].name})"
        parts[-1].made.update(made)
        self._made[name] = self.made((name,)) | made
        yield f'(rule {sides} :ruleset {parts[-1].name} :name "{name}")'

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
