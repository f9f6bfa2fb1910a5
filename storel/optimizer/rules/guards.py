"""What the guards of rules ask, answered for a term without an e-graph.

    True     it is proved
    False    it is not, and ``analyses.py`` does not prove it of this term, either
    None     it is not, but ``analyses.py`` may prove it

Linearity, strictness and bounds are those of the calculus, which proves all that the analyses of a class do.
"""

from __future__ import annotations

from storel.calculus.binding import occurs
from storel.calculus.bounds import bounds
from storel.calculus.intervals import Interval
from storel.calculus.nodes import Add, Apply, Empty, Find, If, Merge, Singleton, Sum, Symbol, Term, Variable
from storel.calculus.strictness import linear, strict
from storel.calculus.verify import Type, infer
from storel.optimizer.rules.analyses import MODEST, SMALL
from storel.optimizer.rules.matching import Captured, Match
from storel.optimizer.rules.patterns import Bound, Hole
from storel.optimizer.rules.rulefile import Guard
from storel.symbols import ArraySymbol


def holds(guard: Guard, match: Match) -> bool | None:
    """Return whether a guard holds of what its holes stand for, None if that is left open."""
    match guard.arguments:
        case (Hole(name), Bound(variable)) if name in match.holes:
            found = match.holes[name]
            if variable not in found.names:
                return None
            return _about_variable(guard.name, found.term, found.names.index(variable), match.semiring)
        case (Hole(name),) if name in match.holes:
            return _about_term(guard.name, match.holes[name], match.semiring)
        case (Hole(one), Hole(other)) if one in match.holes and other in match.holes:
            return _about_two(guard.name, match.holes[one], match.holes[other])
        case _:
            return None


def _about_variable(name: str, term: Term, index: int, semiring: str) -> bool | None:
    match name:
        case "depends":
            return occurs(term, index)
        case "independent":
            return not occurs(term, index)
        case "linear":
            return linear(term, index, semiring)
        case "strict":
            return strict(term, index, semiring)
        case "selects":
            return _selects(term, index)
        case _:
            return None


def _about_term(name: str, found: Captured, semiring: str) -> bool | None:
    kind = _type(found)
    match name:
        case "scalar":
            return kind.rank == 0
        case "array":
            return kind.is_array
        case "dictionary":
            return kind.rank > 0 and not kind.is_array
        case "over":
            return kind.rank > 0 and not kind.is_array and _is_over(found.term, kind.rank, semiring)
        case "integer":
            return kind.rank == 0 and not kind.scalar.is_real and _bounds(found).low is not None
        case "small":
            return kind.rank == 0 and not kind.scalar.is_real and _bounds(found).within(-SMALL, SMALL - 1)
        case "modest":
            return kind.rank == 0 and not kind.scalar.is_real and _bounds(found).within(-MODEST, MODEST - 1)
        case "positive":
            low = _bounds(found).low
            return low is not None and low > 0
        case "nonnegative":
            low = _bounds(found).low
            return low is not None and low >= 0
        case "ascending":
            return True if _is_ascending(found) else None
        case _:
            return None


def _about_two(name: str, one: Captured, other: Captured) -> bool | None:
    match name:
        case "alike":
            return _type(one).rank == _type(other).rank
        case "less" | "less_equal":
            high, low = _bounds(one).high, _bounds(other).low
            gap = 1 if name == "less" else 0
            return high is not None and low is not None and high + gap <= low
        case _:
            return None


def _type(found: Captured) -> Type:
    return infer(found.term, found.place.symbols, found.place.types)


def _bounds(found: Captured) -> Interval:
    return bounds(found.term, found.place.symbols, found.place.intervals)


def _is_ascending(found: Captured) -> bool:
    """Return whether an array is declared to ascend."""
    fact = found.place.symbols.get(found.term.name) if isinstance(found.term, Symbol) else None
    return isinstance(fact, ArraySymbol) and fact.ascending


def _selects(term: Term, index: int) -> bool:
    """Return whether, below loops that do not depend on a variable, something must be equal to it."""
    match term:
        case If(Apply("equal", (Variable(position), other))):
            return position == index and not occurs(other, index)
        case Sum(source, body):
            return not occurs(source, index) and _selects(body, index + 2)
        case _:
            return False


def _is_over(term: Term, rank: int, semiring: str) -> bool:
    """Return whether a dictionary of a rank surely has no entry that is the zero of a semiring."""
    match term:
        case Empty():
            return True
        case Singleton(_, value, over):
            return over == semiring and (rank == 1 or _is_over(value, rank - 1, semiring))
        case Sum(_, body, over) | Find(_, _, body, over) | Merge(_, _, body, over) | If(_, body, over):
            return over == semiring and _is_over(body, rank, semiring)
        case Add(left, right, over):
            both = _is_over(left, rank, semiring) and _is_over(right, rank, semiring)
            return over == semiring and both
        case _:
            return False
