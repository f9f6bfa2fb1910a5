"""What keys say of a chain's variables: equations, and numbers that they hold the digits of.

e // c and e % c as two keys            e = (e // c) * c + e % c
e // (b * c) and e // c % b             the same as e // c // b and e // c % b
gather(z, 0) and gather(z, 1)           z = interleave(gather(z, 0), gather(z, 1))
b * r + e // c, and d * c + e % c       the same with e // c and e % c as two more variables

A number is put together of any keys, but only of those that it has as its parts does it read back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from storel.syntax.free_names import free_names
from storel.syntax.nodes.expressions import Binary, Call, Expression, Name, Number
from storel.syntax.printer import render
from storel.syntax.spelling import HALF_WORD
from storel.syntax.substitution import rename
from storel.syntax.walk import children, map_children

Range: TypeAlias = tuple[Expression, Expression]
"""The least number, and the one after the greatest."""


@dataclass(frozen=True, slots=True)
class Part:
    """``unknown``, a part of a number, is never outside of 0:``end``; ``known`` is what it is to be."""

    unknown: Expression
    known: Expression
    end: Expression


@dataclass(frozen=True, slots=True)
class Equation:
    """``unknown`` equals ``known``, an expression of the names that an entry's keys and digits have.

    ``parts`` are those of a number that was put together, as far as they are bounded.
    """

    unknown: Expression
    known: Expression
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Digit:
    """The variable ``name`` is the quotient, or else the remainder, of ``number`` by ``divisor``."""

    name: str
    number: Expression
    divisor: Expression
    is_quotient: bool

    @property
    def condition(self) -> Expression | None:
        """What must hold besides, so that the number has this digit."""
        if self.is_quotient:
            return None
        name = Name(self.name)
        return Binary("and", Binary("<=", Number(0), name), Binary("<", name, self.divisor))

    def ranges(self, of: Callable[[str], Iterator[Range]]) -> Iterator[Range]:
        """Yield what the digit runs over, if that is known ``of`` its number."""
        if not self.is_quotient:
            yield Number(0), self.divisor
        elif isinstance(self.number, Name):
            for low, high in of(self.number.name):
                last = Binary("//", Binary("-", high, Number(1)), self.divisor)
                yield Binary("//", low, self.divisor), Binary("+", last, Number(1))


def joined(equations: list[Equation]) -> list[Equation]:
    """Join quotients with their remainders, and the two numbers whose bits are interleaved in one."""
    return _joined(_divided_by_one_number_at_a_time(equations))


def _divided_by_one_number_at_a_time(equations: list[Equation]) -> list[Equation]:
    """Return equations in which a quotient by a product is one of a quotient that stands elsewhere, too."""
    whole = [part.left for each in equations for part in _divisions(each.unknown) if part.operator == "%"]

    def split(expression: Expression) -> Expression:
        expression = map_children(expression, split)
        match expression:
            case Binary("//", number, Binary("*", left, right)):
                for first, then in ((right, left), (left, right)):
                    if (quotient := Binary("//", number, first)) in whole:
                        return Binary("//", quotient, then)
            case _:
                pass
        return expression

    found = [replace(each, unknown=split(each.unknown)) for each in equations]
    return found if found == equations else _divided_by_one_number_at_a_time(found)


def _joined(equations: list[Equation]) -> list[Equation]:
    for first in equations:
        for second in equations:
            found = _whole(first, second)
            if found is not None:
                rest = [each for each in equations if each not in (first, second)]
                return _joined([*rest, found])
    return equations


def _whole(first: Equation, second: Equation) -> Equation | None:
    parts = first.parts + second.parts
    match first.unknown, second.unknown:
        case Binary("//", one, divisor), Binary("%", other, modulus) if (one, divisor) == (other, modulus):
            remainder = Part(second.unknown, second.known, divisor)
            return Equation(one, _number(first.known, divisor, second.known), (*parts, remainder))
        case Call(Name("gather"), (one, Number(0))), Call(Name("gather"), (other, Number(1))) if one == other:
            halves = (
                Part(each.unknown, each.known, Number(1 << bits))
                for each, bits in ((first, HALF_WORD - 1), (second, HALF_WORD))
            )
            return Equation(one, Call(Name("interleave"), (first.known, second.known)), (*parts, *halves))
        case _:
            return None


def _number(quotient: Expression, divisor: Expression, remainder: Expression) -> Expression:
    return Binary("+", Binary("*", quotient, divisor), remainder)


def with_digits(
    equations: list[Equation], written: Mapping[str, str]
) -> tuple[list[Equation], tuple[Digit, ...]]:
    """Return equations of which digits of numbers are variables, if all digits of a number occur.

    ``written`` are the chain's variables.
    """
    parts = [part for each in equations for part in _divisions(each.unknown)]
    digits: list[Digit] = []
    for part in parts:
        number, divisor = part.left, part.right
        is_variable = free_names(number) & written.keys() and not free_names(divisor) & written.keys()
        if not is_variable or part.operator != "//" or Binary("%", number, divisor) not in parts:
            continue
        if all((each.number, each.divisor) != (number, divisor) for each in digits):
            names = [render(Binary(operator, number, divisor)) for operator in ("//", "%")]
            digits += [Digit(name, number, divisor, name == names[0]) for name in names]
            equations = [replace(each, unknown=_named(each.unknown, digits)) for each in equations]
            equations.append(Equation(number, _number(Name(names[0]), divisor, Name(names[1]))))
    return equations, tuple(digits)


def digit_text(digit: Digit, written: Mapping[str, str]) -> str:
    """Return a digit as the mapping's text has it."""
    operator = "//" if digit.is_quotient else "%"
    return render(rename(Binary(operator, digit.number, digit.divisor), written))


def _divisions(expression: Expression) -> Iterator[Binary]:
    match expression:
        case Binary("//" | "%"):
            yield expression
        case _:
            pass
    for child in children(expression):
        yield from _divisions(child)


def _named(expression: Expression, digits: list[Digit]) -> Expression:
    """Replace digits by their names."""
    for digit in digits:
        if expression == Binary("//" if digit.is_quotient else "%", digit.number, digit.divisor):
            return Name(digit.name)
    return map_children(expression, lambda child: _named(child, digits))
