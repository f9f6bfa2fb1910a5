"""Constructors, and rules about all of them, as egglog text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from storel.optimizer.encoding.binders import Encoding
from storel.optimizer.encoding.layouts import TERMS

REPLACED = "replaced-"
"""What the relations of nodes begin with that rules no longer match, before the name of the constructor."""


def schema(encoding: Encoding) -> str:
    """Return the declarations of the sort of terms, and of the relations of ``REPLACED`` nodes."""
    sorts = {"s": "String", "i": "i64", "b": "i64"} | dict.fromkeys(TERMS, "Term")
    layouts = {**encoding.layouts, **encoding.operators}
    arguments = {name: " ".join(sorts[kind] for kind in layout) for name, layout in layouts.items()}
    terms = " ".join(f"({name} {kinds})" for name, kinds in arguments.items())
    relations = (f"(relation {REPLACED}{name} ({kinds}))" for name, kinds in arguments.items())
    return "\n".join((f"(datatype Term {terms})", *relations))


def replaced(node: str) -> str:
    """Return the actions after which no rule matches a node; they say so, since no rule could find it.

    >>> replaced('(Int x)')
    '(subsume (Int x)) (replaced-Int x)'
    """
    return f"(subsume {node}) ({REPLACED}{node.removeprefix('(')}"


def rule(facts: str, actions: str, name: str, ruleset: str) -> str:
    """Return an egglog rule.

    ``(independent x v)`` says that v is not free in x, ``(natural x)`` that 0 <= x.
    """
    free = r"(= (bigint 0) (& (free \1) (<< (bigint 1) \2)))"
    facts = re.sub(r"\(natural (\S+)\)", r"(<= 0 (low \1))", facts)
    facts = re.sub(r"\(independent (\S+) (\S+|\(.*?\))\)", free, facts)
    return f'(rule ({facts}) ({actions}) :ruleset {ruleset} :name "{name}")'


@dataclass(frozen=True, slots=True)
class Signature:
    """A constructor with names for its arguments: the terms, bodies and binders among them."""

    constructor: str
    names: tuple[str, ...]
    terms: tuple[str, ...]
    bodies: tuple[str, ...]
    binders: tuple[str, ...]

    @property
    def pattern(self) -> str:
        """The constructor applied to the names."""
        return self.filled({})

    def filled(self, arguments: Mapping[str, str]) -> str:
        """Return the constructor with some of its arguments replaced."""
        return f"({self.constructor} {' '.join(arguments.get(name, name) for name in self.names)})"


def signatures(layouts: Mapping[str, str]) -> Iterator[Signature]:
    """Yield the constructors, less variables."""
    for constructor, layout in layouts.items():
        if constructor != "Var":
            names = tuple(f"a{position}" for position in range(len(layout)))
            kinds = list(zip(names, layout, strict=True))
            yield Signature(
                constructor,
                names,
                tuple(name for name, kind in kinds if kind in TERMS and kind != "B"),
                tuple(name for name, kind in kinds if kind == "B"),
                tuple(name for name, kind in kinds if kind == "b"),
            )
