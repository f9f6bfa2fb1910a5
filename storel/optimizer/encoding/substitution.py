"""Free variables and substitution among named binders, derived from the layouts of the constructors.

    subst(x, t, x) = t          subst(x, t, b) = b where x is not free in b, as in a number that x always is
    subst(x, t, C(…)) = C(subst(x, t, …) …), binders that t would capture renamed first

A binder is renamed once at most: its number grows by ``RENAMED``. What would need a second renaming stays
as it was, which costs a plan and never an answer: so does a body in which the new number is free already,
and would be captured. Nodes with such a child are left alone. Two classes that are each other's
substitution would hand it to and fro, longer each time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from storel.optimizer.encoding.constructors import Signature, rule, signatures

RENAMED = 1 << 10
"""What renaming adds to the number of a binder."""


_INHERITED = """
(= n (rank o)) => (set (rank e) n)
(= n (low o)) => (set (low e) n)
(= n (high o)) => (set (high e) n)
(dictionary o) => (dictionary e)
"""
"""What is known of a variable o is known of the renamed one e."""


def program(layouts: Mapping[str, str]) -> Iterator[str]:
    """Yield the rules that find free variables, substitute, and hand facts to renamed variables."""
    known = list(signatures(layouts))
    yield from _free_variables(known)
    yield from _substitution(known)
    for number, line in enumerate(_INHERITED.strip().splitlines()):
        fact, _, action = line.partition(" => ")
        facts = f"(renamed k) (= e (Var k)) (= o (Var (- k {RENAMED}))) {fact}"
        yield rule(facts, action, f"renamed-{number}", "analysis")


def _free_variables(known: Sequence[Signature]) -> Iterator[str]:
    yield rule("(= e (Var v))", "(set (free e) (<< (bigint 1) v))", "free-variable", "scope")
    for each in known:
        facts = f"(= e {each.pattern})"
        facts += "".join(f" (= f{name} (free {name}))" for name in each.terms + each.bodies)
        mask = "(bigint 0)"
        for body in each.bodies:
            bound = "(bigint 0)"
            for binder in each.binders:
                bound = f"(| {bound} (<< (bigint 1) {binder}))"
            mask = f"(& f{body} (not-Z {bound}))"
        for term in each.terms:
            mask = f"(| {mask} f{term})"
        yield rule(facts, f"(set (free e) {mask})", f"free-{each.constructor}", "scope")


def _substitution(known: Sequence[Signature]) -> Iterator[str]:
    """Push ``Subst x t b`` (b with x replaced by t) down, binders that t would capture renamed first.

    Whether x is free in b is asked once: if it is in none, the rules of constructors need not be run.
    """
    yield rule("(= e (Subst x t b)) (independent b x)", "(union e b)", "substitute-nowhere", "operators")
    below = "(= e (Subst x t b)) (!= (bigint 0) (& (free b) (<< (bigint 1) x)))"
    yield rule(below, "(moving e x t b)", "substitute-below", "operators")
    yield rule("(moving e x t b) (= b (Var x))", "(union e t)", "substitute-here", "operators")
    for each in known:
        if not each.terms + each.bodies:
            continue
        name = each.constructor
        here = f"(moving e x t b) (= b {each.pattern})"
        here += "".join(f" (= f{part} (free {part}))" for part in each.terms + each.bodies)
        inside = {part: f"(Subst x t {part})" for part in each.terms + each.bodies}
        apart = "".join(f" (!= x {binder}) (independent t {binder})" for binder in each.binders)
        yield rule(here + apart, f"(union e {each.filled(inside)})", f"substitute-{name}", "operators")
        outer = each.filled({part: inside[part] for part in each.terms})
        for binder in each.binders:
            yield rule(f"{here} (= x {binder})", f"(union e {outer})", f"shadow-{name}-{binder}", "operators")
            captured = f"{here} (< {binder} {RENAMED}) (!= (bigint 0) (& (free t) (<< (bigint 1) {binder})))"
            captured += "".join(f" (!= x {other})" for other in each.binders)
            fresh = f"(+ {binder} {RENAMED})"
            captured += "".join(f" (independent {body} {fresh})" for body in each.bodies)
            bodies = {part: f"(Subst {binder} (Var {fresh}) {part})" for part in each.bodies}
            renamed = each.filled({binder: fresh, **bodies})
            actions = f"(union e (Subst x t {renamed})) (renamed {fresh})"
            yield rule(captured, actions, f"rename-{name}-{binder}", "operators")
