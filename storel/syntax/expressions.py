"""From lark's parse trees to the abstract syntax: one method for each rule of the grammar."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from storel.errors import ProgramSyntaxError, nearest
from storel.source import Source, Span
from storel.syntax.nodes.declarations import FormatArgument, FormatReference, TupleArgument, TypeAnnotation
from storel.syntax.nodes.expressions import (
    Binary,
    Binder,
    BlankRange,
    Call,
    Comprehension,
    EmptyDictionary,
    Expression,
    Extent,
    Generator,
    If,
    Let,
    Merge,
    Name,
    Number,
    Range,
    Singleton,
    Sum,
    Text,
    Truth,
    Unary,
    Unique,
    Where,
    Window,
)
from storel.syntax.signatures import SCALAR_TYPES

LARGEST_INTEGER = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Word:
    """A token of the text."""

    kind: str
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Keyword:
    """``name = value`` among the arguments of a format."""

    name: str
    value: FormatArgument


class ExpressionBuilder:
    """Builds expressions, types and format references.

    The method for a rule takes the rule's place in the text and what its children became, None for
    an optional child that is missing.
    """

    def __init__(self, source: Source) -> None:
        self.source = source

    def build(self, rule: str, span: Span, children: Sequence[Any]) -> Any:
        """Return the node for ``rule``."""
        return getattr(self, rule)(span, *children)

    def sequence(self, _: Span, *children: Any) -> tuple[Any, ...]:
        return children

    keys = generators = where = expressions = format_arguments = sequence

    def name(self, _: Span, word: Word) -> Word:
        return word

    def binder(self, _: Span, word: Word) -> Binder:
        return Binder(None if word.kind == "BLANK" else word.text, word.span)

    def variable(self, _: Span, word: Word) -> Name:
        return Name(word.text, word.span)

    def integer(self, _: Span, word: Word) -> Number:
        if (value := _natural(word)) > LARGEST_INTEGER:
            raise _too_long(f"at most {LARGEST_INTEGER}", word.span)
        return Number(value, word.span)

    def negative(self, span: Span, sign: Word, word: Word) -> Expression:
        """Return a negative integer; the least one has no positive counterpart, but one less than it."""
        if (value := _natural(word)) <= LARGEST_INTEGER:
            return self.unary(span, sign, Number(value, word.span))
        if value > LARGEST_INTEGER + 1:
            raise _too_long(f"at least {-LARGEST_INTEGER - 1}", span)
        above = self.unary(span, sign, Number(LARGEST_INTEGER, word.span))
        return Binary("-", above, Number(1, word.span), span)

    def real(self, _: Span, word: Word) -> Number:
        return Number(float(word.text), word.span)

    def infinity(self, _: Span, word: Word) -> Number:
        return Number(math.inf, word.span)

    def nan(self, _: Span, word: Word) -> Number:
        return Number(math.nan, word.span)

    def true(self, _: Span, word: Word) -> Truth:
        return Truth(True, word.span)

    def false(self, _: Span, word: Word) -> Truth:
        return Truth(False, word.span)

    def text(self, _: Span, word: Word) -> Text:
        return Text(unquote(word), word.span)

    def path(self, _: Span, word: Word) -> Word:
        return replace(word, text=unquote(word))

    def binary(self, span: Span, left: Expression, operator: Word, right: Expression) -> Binary:
        return Binary(operator.text.lower(), left, right, span)

    def unary(self, span: Span, operator: Word, operand: Expression) -> Unary:
        return Unary(operator.text.lower(), operand, span)

    def range_(self, span: Span, low: Expression, high: Expression) -> Range:
        return Range(low, high, span)

    def sum_(
        self, span: Span, generators: tuple[Generator, ...], where: tuple[Where, ...] | None, body: Expression
    ) -> Sum:
        return Sum(generators, body, where or (), span)

    def comprehension(
        self, span: Span, monoid: Word, generators: tuple[Generator, ...], body: Expression | None = None
    ) -> Comprehension:
        return Comprehension(monoid.text.lower(), generators, body, span)

    def merge(
        self,
        span: Span,
        p: Binder,
        q: Binder,
        k: Binder,
        left: Expression,
        right: Expression,
        body: Expression,
    ) -> Merge:
        return Merge(p, q, k, left, right, body, span)

    def if_(
        self, span: Span, condition: Expression, positive: Expression, negative: Expression | None = None
    ) -> If:
        return If(condition, positive, negative, span)

    def let(self, span: Span, binder: Binder, value: Expression, body: Expression) -> Let:
        return Let(binder, value, body, span)

    def call(self, span: Span, function: Expression, arguments: tuple[Expression, ...]) -> Call:
        return Call(function, arguments, span)

    def call_named(self, span: Span, function: Word, arguments: tuple[Expression, ...]) -> Call:
        return Call(Name(function.text.lower(), function.span), arguments, span)

    def rank(
        self, span: Span, function: Expression, ordered: Expression, within: tuple[Expression, ...]
    ) -> Window:
        match function:
            case Name("rank" as name):
                return Window(name, ordered, within, span)
            case _:
                raise ProgramSyntaxError("only a rank is taken WITHIN keys", span=function.span)

    def count_within(self, span: Span, function: Word, within: tuple[Expression, ...]) -> Window:
        return Window(function.text.lower(), None, within, span)

    def empty(self, span: Span) -> EmptyDictionary:
        return EmptyDictionary(span)

    def singleton(self, span: Span, *children: Expression) -> Singleton:
        return Singleton(children[:-1], children[-1], span)

    def unique(self, span: Span, key: Expression) -> Unique:
        return Unique(key, span)

    def extent(self, span: Span, tensor: Expression, dimension: Word) -> Extent:
        return Extent(tensor, _natural(dimension), span)

    def blank(self, span: Span, _blank: Word) -> BlankRange:
        return BlankRange(span)

    def generator(self, span: Span, keys: tuple[Binder, ...], value: Binder, source: Expression) -> Generator:
        return Generator(keys, value, source, span)

    def condition(self, span: Span, name: Word, values: Expression) -> Where:
        return Where(name.text, values, span)

    # types and formats

    def scalar_type(self, span: Span, scalar: Word) -> TypeAnnotation:
        return TypeAnnotation(scalar.text, (), False, span)

    def array_type(self, span: Span, scalar: Word, extents: tuple[Expression, ...]) -> TypeAnnotation:
        return TypeAnnotation(_scalar(scalar), extents, False, span)

    def hash_type(self, span: Span, scalar: Word, extents: tuple[Expression, ...]) -> TypeAnnotation:
        return TypeAnnotation(_scalar(scalar), extents, True, span)

    def bare_format(self, span: Span, name: Word) -> FormatReference:
        return FormatReference(name.text, (), (), span)

    def format(self, _: Span, reference: FormatReference) -> FormatReference:
        return reference

    def parameterized(
        self, span: Span, name: Word, given: tuple[FormatArgument | Keyword, ...] | None
    ) -> FormatReference:
        positional = tuple(each for each in given or () if not isinstance(each, Keyword))
        keywords = tuple((each.name, each.value) for each in given or () if isinstance(each, Keyword))
        return FormatReference(name.text, positional, keywords, span)

    def keyword(self, _: Span, name: Word, value: FormatArgument) -> Keyword:
        return Keyword(name.text, value)

    def tuple(self, span: Span, *items: Expression) -> TupleArgument:
        return TupleArgument(items, span)


def checked_type(annotation: TypeAnnotation) -> TypeAnnotation:
    """Return ``annotation`` if its scalar type is one; raises ``ProgramSyntaxError``."""
    _scalar(Word("NAME", annotation.scalar, annotation.span))
    return annotation


def unquote(word: Word) -> str:
    """Return what a quoted text says; a doubled quote is a quote."""
    return word.text[1:-1].replace("''", "'")


def _natural(word: Word) -> int:
    """Return the number that digits write; of one that is too long by far, the first digits are as good."""
    return int(word.text.lstrip("0")[:20] or "0")


def _too_long(expected: str, span: Span) -> ProgramSyntaxError:
    return ProgramSyntaxError(
        "an integer that does not fit into 64 bits",
        expected=expected,
        span=span,
        hint="a value, but no size and no key, may be a real, with .0 at its end",
    )


def _scalar(name: Word) -> str:
    if name.text not in SCALAR_TYPES:
        raise ProgramSyntaxError(
            f"unknown scalar type '{name.text}'",
            expected=", ".join(SCALAR_TYPES),
            span=name.span,
            hint=nearest(name.text, SCALAR_TYPES),
        )
    return name.text
