"""De Bruijn indices: a variable says how many binders lie between it and its own.

    (Sum s R k v b)  binds two variables in b         (Var i k)  is the i-th, 0 being the innermost

Terms that differ in the names of binders only are one. The numbers at binders and variables are *kinds*:
all binders of which the same is known share one, so that a variable carries its type and its bounds
without its context, and every equality holds wherever the binders are of these kinds. A term that moves
across binders is rewritten by operators (``shifting.py``); what it leaves, it must not depend on.

Source: the encoding of STOREL (PVLDB 16, 2022, section 5), which has neither kinds nor permutations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from storel.optimizer.encoding import shifting
from storel.optimizer.encoding.binders import BinderFact, Scope
from storel.optimizer.encoding.layouts import LAYOUTS

_LAYOUTS = {**LAYOUTS, "Var": "ii"}
_RELATIONS = "linear|strict|loose|separable|asked|selects|distinct|apart|independent"
"""What an analysis says of a term and a variable."""

_PATTERN = re.compile(r"\((Sum|Reduce|Merge|Find|Let)((?: (?:\w+|\([^()]*\)))+)\)")
_ABOUT = re.compile(rf"\(({_RELATIONS}) (\w+) (\w+)")


@dataclass(frozen=True, slots=True)
class DeBruijn:
    """The encoding with indices; see ``binders.Encoding`` for what each member means."""

    most_matches: int | None = 200

    @property
    def layouts(self) -> Mapping[str, str]:
        return _LAYOUTS

    @property
    def operators(self) -> Mapping[str, str]:
        return shifting.OPERATORS

    def number_binder(self, known: Sequence[BinderFact], fact: BinderFact) -> int:
        return known.index(fact) if fact in known else len(known)

    def binder(self, number: int) -> str:
        return f"(Kind {number})"

    def variable(self, index: int, scope: tuple[int, ...]) -> str:
        return f"(Var {index} {scope[index]})"

    def index(self, variable: tuple[object, ...], scope: tuple[int, ...]) -> int:
        return int(str(variable[0]))

    def binder_of(self, variable: tuple[object, ...]) -> int:
        return int(str(variable[1]))

    def inside(self, binders: Sequence[int]) -> list[int]:
        return list(reversed(range(len(binders))))

    def outside(self, free: int, binders: Sequence[int]) -> int:
        return free >> len(binders)

    def program(self) -> Iterator[str]:
        return shifting.program(_LAYOUTS)

    def analysis(self, facts: str, actions: str) -> tuple[str, str]:
        """Number the variables of a rule from where they are seen: further out, below binders.

        A variable that a fact about a body finds has the number less the binders; where the
        whole is given, and for the binders themselves, the number is known.
        """
        places: dict[str, int] = {}
        depths: dict[str, int] = {}
        for constructor, texts in _PATTERN.findall(facts):
            arguments = re.findall(r"\w+|\([^()]*\)", texts)
            kinds = list(zip(arguments, LAYOUTS[constructor], strict=True))
            binders = [argument for argument, kind in kinds if kind == "b"]
            places |= {name: len(binders) - 1 - i for i, name in enumerate(binders)}
            depths |= {argument: len(binders) for argument, kind in kinds if kind == "B"}
        facts = re.sub(r"\(!= \w+ (\w+)\)", lambda m: "" if m[1] in places else m[0], facts)
        facts = re.sub(r"\(rank \(Var (\w+)\)\)", r"(rank (Kind \1))", facts)
        facts = re.sub(r"\(Var (\w+)\)", r"(Var \1 \1-kind)", facts)

        def found(about: re.Match[str]) -> str:
            relation, term, variable = about.groups()
            depth = depths.get(term, 0)
            if variable in places or depth == 0 or relation == "independent":
                return built(about)
            inner = f"{variable}-{depth}"
            return f"(= {variable} (- {inner} {depth})) (<= {depth} {inner}) ({relation} {term} {inner}"

        def built(about: re.Match[str]) -> str:
            relation, term, variable = about.groups()
            depth = depths.get(term, 0)
            outer = f"(+ {variable} {depth})" if depth else variable
            return f"({relation} {term} {places.get(variable, outer)}"

        return _ABOUT.sub(found, facts), _ABOUT.sub(built, actions)

    def bound(self, name: str, scope: Scope) -> str:
        return f"(Var {scope.index(name)} b-{name})"

    def place(self, name: str, scope: Scope) -> str:
        return str(scope.index(name))

    def moved(self, hole: str, before: Scope, after: Scope) -> tuple[str, list[str]]:
        """Drop the binders that are left, bring the others in order, and insert those that are entered."""
        if before == after:
            return hole, []
        text, here, kept = hole, list(before), set(after) - {""}
        for place, count in reversed(_runs(before, kept)):
            text = f"(Shift -{count} {place} {text})"
            del here[place : place + count]
        wanted = [name for name in after if name in here]
        for place, name in enumerate(wanted):
            first, count = here.index(name), 1
            while first > place and here[first : first + count + 1] == wanted[place : place + count + 1]:
                count += 1
            if first > place:
                text = f"(Exchange {first - place} {count} {place} {text})"
                here[place : first + count] = here[first : first + count] + here[place:first]
        for place, count in _runs(after, set(here)):
            text = f"(Shift {count} {place} {text})"
        left = [place for place, name in enumerate(before) if name not in kept]
        return text, [f"(independent {hole} {place})" for place in left]

    def let(self, name: str, value: str, body: str) -> str:
        return f"(Subst {value} 0 {body})"

    def distinct(self, binders: Sequence[str]) -> list[str]:
        return []


def _runs(scope: Scope, others: set[str]) -> list[tuple[int, int]]:
    """Return where a scope has binders that the others lack, as places and lengths of runs."""
    runs: list[tuple[int, int]] = []
    for place, name in enumerate(scope):
        if name in others:
            continue
        if runs and sum(runs[-1]) == place:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((place, 1))
    return runs


DE_BRUIJN = DeBruijn()
