"""Free variables and substitution in the e-graph, derived from the layouts of the constructors.

    subst(x, t, x) = t          subst(x, t, b) = b where x is not free in b
    subst(x, t, C(…)) = C(subst(x, t, …) …), binders that t would capture renamed first

A binder is renamed once at most: its number grows by ``RENAMED``. What would need a second renaming stays
as it was, which costs a plan and never an answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from storel.optimizer.encoding import LAYOUTS, TERMS

RENAMED = 1 << 10
"""What renaming adds to the number of a binder."""


def program() -> Iterator[str]:
    """Yield the egglog rules of the ruleset ``scope``."""
    yield from _free_variables()
    yield from _substitution()


def rule(facts: str, actions: str, name: str, ruleset: str) -> str:
    """Return an egglog rule.

    ``(independent x v)`` says that v is not free in x, ``(natural x)`` that 0 <= x.
    """
    free = r"(= (bigint 0) (& (free \1) (<< (bigint 1) \2)))"
    facts = re.sub(r"\(natural (\S+)\)", r"(<= 0 (low \1))", facts)
    facts = re.sub(r"\(independent (\S+) (\S+)\)", free, facts)
    return f'(rule ({facts}) ({actions}) :ruleset {ruleset} :name "{name}")'


def _arguments(constructor: str) -> tuple[list[str], list[str], list[str], list[str]]:
    """Return names for the arguments, and which are terms, bodies and binders."""
    layout = LAYOUTS[constructor]
    names = [f"a{position}" for position in range(len(layout))]
    kinds = list(zip(names, layout, strict=True))
    return (
        names,
        [name for name, kind in kinds if kind in TERMS and kind != "B"],
        [name for name, kind in kinds if kind == "B"],
        [name for name, kind in kinds if kind == "b"],
    )


def _free_variables() -> Iterator[str]:
    yield rule("(= e (Var v))", "(set (free e) (<< (bigint 1) v))", "free-variable", "scope")
    for constructor in LAYOUTS:
        if constructor == "Var":
            continue
        names, terms, bodies, binders = _arguments(constructor)
        facts = f"(= e ({constructor} {' '.join(names)}))"
        facts += "".join(f" (= f{name} (free {name}))" for name in terms + bodies)
        mask = "(bigint 0)"
        for body in bodies:
            bound = "(bigint 0)"
            for binder in binders:
                bound = f"(| {bound} (<< (bigint 1) {binder}))"
            mask = f"(& f{body} (not-Z {bound}))"
        for term in terms:
            mask = f"(| {mask} f{term})"
        yield rule(facts, f"(set (free e) {mask})", f"free-{constructor}", "scope")


def _substitution() -> Iterator[str]:
    """Push ``Subst x t b`` (b with x replaced by t) down, binders that t would capture renamed first."""
    yield rule("(= e (Subst x t (Var x)))", "(union e t)", "substitute-here", "scope")
    yield rule("(= e (Subst x t b)) (independent b x)", "(union e b)", "substitute-nowhere", "scope")
    for constructor in LAYOUTS:
        names, terms, bodies, binders = _arguments(constructor)
        if not terms:
            continue
        here = f"(= e (Subst x t b)) (= b ({constructor} {' '.join(names)}))"
        here += " (!= (bigint 0) (& (free b) (<< (bigint 1) x)))"
        inside = {name: f"(Subst x t {name})" for name in terms + bodies}
        apart = "".join(f" (!= x {binder}) (independent t {binder})" for binder in binders)
        built = " ".join(inside.get(name, name) for name in names)
        yield rule(here + apart, f"(union e ({constructor} {built}))", f"substitute-{constructor}", "scope")
        for binder in binders:
            outer = " ".join(inside.get(name, name) if name in terms else name for name in names)
            shadowed = f"{here} (= x {binder})"
            yield rule(
                shadowed, f"(union e ({constructor} {outer}))", f"shadow-{constructor}-{binder}", "scope"
            )
            captured = f"{here} (< {binder} {RENAMED}) (!= (bigint 0) (& (free t) (<< (bigint 1) {binder})))"
            captured += "".join(f" (!= x {other})" for other in binders)
            fresh = f"(+ {binder} {RENAMED})"
            renamed = [
                fresh
                if name == binder
                else f"(Subst {binder} (Var {fresh}) {name})"
                if name in bodies
                else name
                for name in names
            ]
            yield rule(
                captured,
                f"(union e (Subst x t ({constructor} {' '.join(renamed)})))",
                f"rename-{constructor}-{binder}",
                "scope",
            )
