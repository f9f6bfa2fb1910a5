"""What moves terms across binders that are indices: operators, pushed down to the variables.

    Shift d c t        the free variables of t from c on are d binders further out, or further in
    Exchange m n c t   the m binders at c change places with the n binders outside them
    Subst w c t        t with its variable c replaced by w, which stands outside the c inner binders

Below n binders, c grows by n. An operator that nothing in a term concerns leaves the term as it is, and
an operator undoes its inverse; else each equal form of a term is rewritten. A negative shift goes only
into forms without the variables that it drops. A class that holds itself below a binder makes this
unroll for ever, so the steps are limited and their sizes watched (``egraph/saturate.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from storel.optimizer.encoding.constructors import rule, signatures

OPERATORS = {"Shift": "iit", "Exchange": "iiit", "Subst": "tit", "Kind": "i"}
"""The layouts of the operators, and of what carries the facts about a kind of variable."""

_NONE = "(bigint 0)"

_VARIABLES = """
(= e (Shift d c t)) (<= c i) (<= c (+ i d)) => (union e (Var (+ i d) k))
(= e (Exchange m n c t)) (<= c i) (< i (+ c m)) => (union e (Var (+ i n) k))
(= e (Exchange m n c t)) (<= (+ c m) i) (< i (+ c (+ m n))) => (union e (Var (- i m) k))
(= e (Subst w i t)) => (union e (Shift i 0 w))
"""
"""What operators make of ``t``, the variable ``(Var i k)``.

Only if it depends on that: a number is each variable that is always this number, wherever its binder is.
"""

_INVERSES = """
(= e (Shift d c x)) (= x (Shift f c t)) (= 0 (+ d f)) => (union e t)
(= e (Exchange n m c x)) (= x (Exchange m n c t)) => (union e t)
"""

_KINDS = """
(= n (rank (Kind k))) => (set (rank e) n)
(= n (low (Kind k))) => (set (low e) n)
(= n (high (Kind k))) => (set (high e) n)
(array (Kind k)) => (array e)
(dictionary (Kind k)) => (dictionary e)
"""


@dataclass(frozen=True, slots=True)
class _Operator:
    """An operator on t: the variables that concern it, as a mask that is shifted by c, and t without any."""

    text: str
    concerned: str
    otherwise: str = "t"
    dropped: str = _NONE


def program(layouts: Mapping[str, str]) -> Iterator[str]:
    """Yield the rules that find free variables, push operators down, and hand facts to variables."""
    yield from _free_variables(layouts)
    is_variable = f"(= t (Var i k)) (!= {_NONE} (& (free t) (<< (bigint 1) i)))"
    for number, line in enumerate(_VARIABLES.strip().splitlines()):
        facts, _, action = line.partition(" => ")
        yield rule(f"{is_variable} {facts}", action, f"variable-{number}", "operators")
    for number, line in enumerate(_INVERSES.strip().splitlines()):
        facts, _, action = line.partition(" => ")
        yield rule(facts, action, f"inverse-{number}", "operators")
    for operator in (
        _Operator("Shift d", "-1", dropped=_ones("(max 0 (- 0 d))")),
        _Operator("Exchange m n", _ones("(+ m n)")),
        _Operator("Subst w", "1", otherwise="(Shift -1 c t)"),
    ):
        yield from _pushed(operator, layouts)
    for number, line in enumerate(_KINDS.strip().splitlines()):
        fact, _, action = line.partition(" => ")
        yield rule(f"(= e (Var i k)) {fact}", action, f"kind-{number}", "analysis")


def _ones(count: str) -> str:
    return f"(- (<< (bigint 1) {count}) (bigint 1))"


def _free_variables(layouts: Mapping[str, str]) -> Iterator[str]:
    yield rule("(= e (Var i k))", "(set (free e) (<< (bigint 1) i))", "free-variable", "scope")
    for each in signatures(layouts):
        facts = f"(= e {each.pattern})"
        mask = _NONE
        for name in each.terms + each.bodies:
            facts += f" (= f{name} (free {name}))"
            seen = f"(>> f{name} {len(each.binders)})" if name in each.bodies else f"f{name}"
            mask = f"(| {mask} {seen})"
        yield rule(facts, f"(set (free e) {mask})", f"free-{each.constructor}", "scope")


def _pushed(operator: _Operator, layouts: Mapping[str, str]) -> Iterator[str]:
    name = operator.text.partition(" ")[0]
    concerned = operator.concerned if "(" in operator.concerned else f"(bigint {operator.concerned})"
    here = f"(= e ({operator.text} c t)) (= f (& (>> (free t) c) {concerned}))"
    yield rule(f"{here} (= f {_NONE})", f"(union e {operator.otherwise})", f"{name}-nowhere", "operators")
    for each in signatures(layouts):
        if not each.terms + each.bodies:
            continue
        facts = f"{here} (!= f {_NONE}) (= t {each.pattern})"
        inside: dict[str, str] = {}
        for part in each.terms + each.bodies:
            cutoff = f"(+ c {len(each.binders)})" if part in each.bodies else "c"
            inside[part] = f"({operator.text} {cutoff} {part})"
            if operator.dropped != _NONE:
                facts += f" (= {_NONE} (& (>> (free {part}) {cutoff}) {operator.dropped}))"
        yield rule(facts, f"(union e {each.filled(inside)})", f"{name}-{each.constructor}", "operators")
