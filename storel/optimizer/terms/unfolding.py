"""How long a term becomes when what its ``let``s name is written wherever it is used.

The rules write names out, since only then they see what can be fused; sharing finds what is written twice
afterwards. An e-graph holds equal parts once, but what is extracted from it does not: of a chain of names,
each used twice, it is as long as there are paths through the chain.
"""

from __future__ import annotations

from storel.calculus.nodes import Let, Term, Variable
from storel.calculus.walk import children, length
from storel.optimizer.terms.occurrences import LOOPS

LONGEST = 500
"""Nodes up to which a term that is written out is searched."""

REPEATED = 8
"""How many times as long as it was a term may become: what is long in itself is searched, too."""

DEEPEST = 24
"""Loops inside each other up to which a term is searched, unless there are about as many in it as written."""


def is_unfolded(term: Term) -> bool:
    """Return whether a closed term becomes so much longer that a search would not end.

    >>> from storel.calculus.nodes import Add, Symbol
    >>> term = Symbol("n")
    >>> for _ in range(12):
    ...     term = Let(term, Add(Variable(0), Variable(0)))
    >>> is_unfolded(term)
    True
    """
    unfolded, depth = written_out(term, ()), nested(term, ())
    is_long = unfolded > LONGEST and unfolded > REPEATED * length(term)
    return is_long or (depth > DEEPEST and depth > 2 * _loops(term))


def written_out(term: Term, scope: tuple[int, ...]) -> int:
    """Return how many nodes a term has with its names written out.

    ``scope`` says how many stand for each free variable, the innermost first.

    >>> written_out(Let(Variable(0), Variable(0)), (7,))
    7
    """
    match term:
        case Variable(index):
            return scope[index]
        case Let(value, body):
            return written_out(body, (written_out(value, scope), *scope))
        case _:
            parts = (written_out(child, (1,) * binders + scope) for child, binders in children(term))
            return 1 + sum(parts)


def nested(term: Term, scope: tuple[int, ...]) -> int:
    """Return how many loops are inside each other where those over what is named are loops over its parts.

    ``scope`` says how many stand for each free variable, the innermost first. Squaring a matrix more than
    doubles them, and makes four orders of two.
    """
    match term:
        case Variable(index):
            return scope[index]
        case Let(value, body):
            return nested(body, (nested(value, scope), *scope))
        case _:
            parts = [nested(child, (0,) * binders + scope) for child, binders in children(term)]
            return 1 + sum(parts) if isinstance(term, LOOPS) else max(parts, default=0)


def _loops(term: Term) -> int:
    """Return how many loops a term has as it is written."""
    return isinstance(term, LOOPS) + sum(_loops(child) for child, _ in children(term))
