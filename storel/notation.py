"""Einstein's notation as a program."""

from __future__ import annotations

import string
from collections.abc import Sequence

from storel.errors import ProgramSyntaxError, TypeMismatchError


def einsum_source(subscripts: object, ranks: Sequence[int]) -> str:
    """Return the program that ``subscripts`` stand for; operand n is called ``operandn``.

    Without ``->`` the result has the indices that occur once, in alphabetical order. Raises
    ProgramSyntaxError if the subscripts do not fit the operands, TypeMismatchError if they are no text.

    >>> einsum_source("ij,j->i", [2, 1])
    'CREATE TENSOR result AS sum(<(i, j), v0> in operand0, <j, v1> in operand1) { i -> v0 * v1 }'
    """
    if not isinstance(subscripts, str):
        raise TypeMismatchError("the subscripts are no text", expected="'ij,j->i'", found=repr(subscripts))
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if not arrow:
        letters = inputs.replace(",", "")
        output = "".join(sorted(letter for letter in set(letters) if letters.count(letter) == 1))
    _check(terms, output, ranks)
    generators: list[str] = []
    for number, (term, rank) in enumerate(zip(terms, ranks, strict=True)):
        if rank > 0:
            generators.append(f"<{_tuple(term)}, v{number}> in operand{number}")
    values = [f"v{number}" if rank > 0 else f"operand{number}" for number, rank in enumerate(ranks)]
    body = " * ".join(values)
    body = f"{{ {_tuple(output)} -> {body} }}" if output else f"({body})"
    loops = f"sum({', '.join(generators)}) " if generators else ""
    return f"CREATE TENSOR result AS {loops}{body}"


def _tuple(letters: str) -> str:
    return letters if len(letters) == 1 else f"({', '.join(letters)})"


def _check(terms: list[str], output: str, ranks: Sequence[int]) -> None:
    for letter in "".join(terms) + output:
        if letter not in string.ascii_letters:
            hint = "name each index: there is no '...'" if letter == "." else None
            raise ProgramSyntaxError(f"'{letter}' is not an index", expected="letters", hint=hint)
    if len(terms) != len(ranks):
        raise ProgramSyntaxError(
            "the subscripts do not fit the operands",
            expected=f"{len(terms)} operands",
            found=f"{len(ranks)}",
        )
    for number, (term, rank) in enumerate(zip(terms, ranks, strict=True)):
        if len(term) != rank:
            raise ProgramSyntaxError(
                f"the subscripts '{term}' do not fit operand {number}",
                expected=f"{rank} indices",
                found=f"{len(term)}",
            )
    known = set("".join(terms))
    for position, letter in enumerate(output):
        if letter not in known or letter in output[:position]:
            raise ProgramSyntaxError(f"the result's index '{letter}' must occur once, and in an operand")
