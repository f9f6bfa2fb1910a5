"""Named binders: integers, one for each binder of the term, so that moving a term needs no rewriting.

Only loops over one source that are added, of which none is inside of another one, have the same.

    (Sum s R k v b)  binds k and v in b        (Var k)  is what k binds

A term may stand under other binders than before if it depends on none that it leaves or enters. A cycle in
the e-graph is harmless. Substitution (``substitution.py``) is the only operator.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from storel.optimizer.encoding import substitution
from storel.optimizer.encoding.binders import BinderFact, Scope
from storel.optimizer.encoding.layouts import LAYOUTS
from storel.optimizer.encoding.substitution import RENAMED


@dataclass(frozen=True, slots=True)
class Named:
    """The encoding with named binders; see ``binders.Encoding`` for what each member means."""

    most_matches: int | None = None

    @property
    def layouts(self) -> Mapping[str, str]:
        return LAYOUTS

    @property
    def operators(self) -> Mapping[str, str]:
        return {"Subst": "itt"}

    def number_binder(self, known: Sequence[BinderFact], fact: BinderFact) -> int:
        return len(known)

    def binder(self, number: int) -> str:
        return f"(Var {number})"

    def variable(self, index: int, scope: tuple[int, ...]) -> str:
        return f"(Var {scope[index]})"

    def index(self, variable: tuple[object, ...], scope: tuple[int, ...]) -> int:
        return scope.index(int(str(variable[0])))

    def binder_of(self, variable: tuple[object, ...]) -> int:
        return int(str(variable[0])) % RENAMED

    def inside(self, binders: Sequence[int]) -> list[int]:
        return list(binders)

    def outside(self, free: int, binders: Sequence[int]) -> int:
        return free & ~sum(1 << binder for binder in set(binders))

    def program(self) -> Iterator[str]:
        return substitution.program(LAYOUTS)

    def analysis(self, facts: str, actions: str) -> tuple[str, str]:
        return facts, actions

    def bound(self, name: str, scope: Scope) -> str:
        return f"(Var b-{name})"

    def place(self, name: str, scope: Scope) -> str:
        return f"b-{name}"

    def moved(self, hole: str, before: Scope, after: Scope) -> tuple[str, list[str]]:
        crossed = (set(before) ^ set(after)) - {""}
        return hole, [f"(independent {hole} b-{binder})" for binder in sorted(crossed)]

    def let(self, name: str, value: str, body: str) -> str:
        return f"(Subst b-{name} {value} {body})"

    def distinct(self, binders: Sequence[str]) -> list[str]:
        return [f"(!= b-{a} b-{b})" for i, a in enumerate(binders) for b in binders[i + 1 :]]


NAMED = Named()
