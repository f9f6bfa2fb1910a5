"""Parts named outside the loops that they do not depend on, and parts that are written twice.

    hoist       sum(R) … t …          =>  let x = t in sum(R) … x …        t does not depend on R's binders
    unify       … t … t …             =>  let x = t in … x … x …           t contains a loop

``t`` is a scalar that contains a loop or, to be hoisted, a product or a costly function. It moves as far out
as its free variables allow; out of a condition, or of a loop that may not run, only where all its array reads
are proved to be in bounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from storel.calculus.binding import free_mask, free_variables, shift
from storel.calculus.nodes import Let, Lookup, Multiply, Reduce, Sum, Term
from storel.calculus.safety import has_elements, is_safe
from storel.calculus.verify import infer
from storel.calculus.walk import children
from storel.optimizer.sharing.placing import placed
from storel.optimizer.terms.occurrences import (
    Occurrence,
    abstracted,
    at,
    has_loop,
    intervals_of,
    is_costly,
    occurrences,
    replaced,
)
from storel.symbols import Symbols

ROUNDS = 12
"""How often a term is gone through at most; programs name one or two parts at a place."""

Seen: TypeAlias = dict[tuple[tuple[int, ...], type, int], list[tuple[Term, int]]]
"""Parts, and how many binders there are between each and where it would be named.

Equal ones would be named at the same place, are of one kind, and have the same variables free there.
"""


def hoisted(term: Term, symbols: Symbols) -> Term:
    """Move what does not depend on a loop out of it, and name loops that occur twice."""
    for _ in range(ROUNDS):
        named_once = _with_names(term, symbols)
        if named_once is term:
            break
        term = named_once
    return placed(term)


def _with_names(term: Term, symbols: Symbols) -> Term:
    """Return ``term`` with one part named at each place; none of these places is inside of another one."""
    changed, homes = term, list[tuple[int, ...]]()
    for found, depth in _repeated(term, symbols):
        home = found.home(depth)
        if not any(home[: len(each)] == each or each[: len(home)] == home for each in homes):
            changed = named(changed, found, depth)
            homes.append(home)
            if not home:
                break
    return changed


def _repeated(term: Term, symbols: Symbols) -> Iterator[tuple[Occurrence, int]]:
    """Yield the parts that a loop repeats or that are written twice, each with the binders to leave."""
    seen: Seen = {}
    for found in occurrences(term, symbols, _is_computed):
        if not (is_costly(found.term) or isinstance(found.term, Multiply)):
            continue
        depth = found.inside(min(free_variables(found.term), default=len(found.scope)))
        crossed = any(binder.is_loop for binder in found.scope[:depth])
        twice = has_loop(found.term) and is_met_again(found, depth, seen)
        if not (crossed or twice) or infer(found.term, symbols, found.types).rank > 0:
            continue
        if is_movable(found, depth, symbols):
            yield found, depth


def is_met_again(found: Occurrence, depth: int, seen: Seen) -> bool:
    """Return whether a part is among those ``seen``, to which it is added."""
    key = found.home(depth), type(found.term), free_mask(found.term) >> depth
    alike = seen.setdefault(key, [])
    part = shift(found.term, -depth) if alike else found.term
    is_known = any(shift(other, -inside) == part for other, inside in alike)
    alike.append((found.term, depth))
    return is_known


def _is_computed(term: Term) -> bool:
    """Return whether a value may take loops or products: it is no leaf, and is not read from an array."""
    return bool(children(term)) and (not isinstance(term, Lookup) or has_loop(term))


def named(term: Term, found: Occurrence, depth: int) -> Term:
    """Return ``term`` with the part that was found named outside the ``depth`` binders next to it."""
    home = found.home(depth)
    part = shift(found.term, -depth)
    return replaced(term, home, Let(part, abstracted(shift(at(term, home), 1), shift(part, 1), 0)))


def is_movable(found: Occurrence, depth: int, symbols: Symbols) -> bool:
    """Return whether the part may be evaluated outside the ``depth`` innermost binders around it.

    Where it is evaluated there anyway, its array reads are as safe as they were.
    """
    if not found.conditional and all(isinstance(binder.term, Let) for binder in found.scope[:depth]):
        return True
    is_made = not found.conditional and _surely_run(found, depth, symbols)
    outer = found.outside(depth)
    return is_safe(
        shift(found.term, -depth),
        symbols,
        outer.types,
        outer.narrowed,
        reads=not is_made,
        domains=outer.domains,
        conditions=outer.holding,
    )


def _surely_run(found: Occurrence, depth: int, symbols: Symbols) -> bool:
    """Return whether it is proved that the loops among the innermost binders run at least once."""
    for index, binder in enumerate(found.scope[:depth]):
        match binder.term:
            case Let():
                pass
            case Sum(source) | Reduce(_, source):
                around = found.scope[index + 2 - binder.position :]
                if not has_elements(source, symbols, intervals_of(around)):
                    return False
            case _:
                return False
    return True
