"""``bit``, ``bits``, ``interleave`` and ``gather`` in terms of operators and ``popcount``.

Bits are spread and gathered in halving steps, with a mask after each (Warren, *Hacker's Delight*, on
shuffling bits); the layers below need not know these functions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from itertools import count, pairwise

from storel.errors import TypeMismatchError
from storel.syntax.nodes.expressions import Binary, Binder, Call, Expression, Let, Name, Number, Unary
from storel.syntax.spelling import HALF_WORD
from storel.syntax.walk import map_children

Step = Callable[[Expression], Expression]

_MASKS = (
    (1, 0x5555555555555555),
    (2, 0x3333333333333333),
    (4, 0x0F0F0F0F0F0F0F0F),
    (8, 0x00FF00FF00FF00FF),
    (16, 0x0000FFFF0000FFFF),
    (32, 0x00000000FFFFFFFF),
)
"""The bits that are in place before numbers are moved by so many positions, when they are spread."""


def expand_bits(expression: Expression, known: Collection[str]) -> Expression:
    """Return a resolved expression without those functions; ``known`` are the names bound outside.

    Raises TypeMismatchError for a literal that has other bits than a function takes.

    >>> from storel.syntax.printer import render
    >>> render(expand_bits(Call(Name("bit"), (Name("x"), Number(3))), {"x"}))
    'x >> 3 & 1'
    """
    taken = set(known)

    def expanded(node: Expression) -> Expression:
        node = map_children(node, expanded)
        match node:
            case Call(Name(name), arguments) if name not in known:
                expansion = _expansion(name, arguments, taken)
                return node if expansion is None else replace(expansion, span=node.span)
            case _:
                return node

    return expanded(expression)


def _expansion(name: str, arguments: tuple[Expression, ...], taken: set[str]) -> Expression | None:
    match name, arguments:
        case "bit", (x, position):
            return Binary("&", Binary(">>", x, position), Number(1))
        case "bits", (x,):
            filled = _chain(x, [_filling(step) for step, _ in _MASKS], taken)
            return Call(Name("popcount"), (filled,))
        case "interleave", (i, j):
            _require_literal(i, HALF_WORD - 1, "interleave takes 31 bits of its first number")
            _require_literal(j, HALF_WORD, "interleave takes 32 bits of its second number")
            spread = _spread(i, HALF_WORD - 1, taken), _spread(j, HALF_WORD, taken)
            return Binary("|", Binary("<<", spread[0], Number(1)), spread[1])
        case "gather", (z, which):
            _require_literal(which, 1, "gather takes the bits of one of two numbers")
            by = Number(1 - which.value) if isinstance(which, Number) else Binary("-", Number(1), which)
            shifted = Binary(">>", z, by)
            moves = [_moving(">>", step, mask) for (step, _), (_, mask) in pairwise(_MASKS)]
            return _chain(Binary("&", shifted, Number(_MASKS[0][1])), moves, taken)
        case _:
            return None


def _require_literal(argument: Expression, bits: int, message: str) -> None:
    """Raise TypeMismatchError for a literal that is no number of so many bits."""
    match argument:
        case Number(value) if value < 1 << bits:
            pass
        case Number() | Unary("-", Number()):
            raise TypeMismatchError(message, expected=f"0 to {(1 << bits) - 1}", span=argument.span)
        case _:
            pass


def _spread(x: Expression, bits: int, taken: set[str]) -> Expression:
    """Return the lowest ``bits`` of ``x`` with a zero before each."""
    moves = [_moving("<<", step, mask) for step, mask in reversed(_MASKS[:-1])]
    return _chain(Binary("&", x, Number((1 << bits) - 1)), moves, taken)


def _moving(shift: str, step: int, mask: int) -> Step:
    """Return x ↦ (x | x shifted by ``step``) & ``mask``."""
    return lambda x: Binary("&", Binary("|", x, Binary(shift, x, Number(step))), Number(mask))


def _filling(step: int) -> Step:
    """Return x ↦ x | x >> ``step``."""
    return lambda x: Binary("|", x, Binary(">>", x, Number(step)))


def _chain(value: Expression, steps: Sequence[Step], taken: set[str]) -> Expression:
    """Apply the steps one after the other; each names what it is given, which it uses twice."""
    if not steps:
        return value
    name = next(f"bits_{n}" for n in count(1) if f"bits_{n}" not in taken)
    taken.add(name)
    return Let(Binder(name), value, _chain(steps[0](Name(name)), steps[1:], taken))
