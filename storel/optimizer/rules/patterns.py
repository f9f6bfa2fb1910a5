"""Patterns of rules: terms of the calculus in which ``?x`` stands for any term, read from text.

    term     ::= term or term | term and term | sum ? sum                     ? is a comparison
    sum      ::= [sum (+ | -)] product
    product  ::= chain | open | chain * open
    chain    ::= [chain (* | / | // | %)] prefix
    prefix   ::= - prefix | not prefix | primary {( term [: term] )}
    open     ::= sum [[s]] (<k, v> in source) product | merge (<p, q, k> in <source, source>) product
               | find (<p> in source at term) product | if [[s]] term then term | let x = term in term
    source   ::= sum [: sum]
    primary  ::= ?x | x | 1 | f(term) | f(term, term) | unique(term) | {term -> term} | (term) | (sum : sum)

A method of ``Reader`` for each; all operators associate to the left. What starts at a word goes as far as
it can. There are few rules, and they are read once: tables for a parser would take longer to build.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from storel.functions import FUNCTIONS


@dataclass(frozen=True, slots=True)
class Hole:
    """``?x``: any term."""

    name: str


@dataclass(frozen=True, slots=True)
class Bound:
    """A variable of one of the rule's binders."""

    name: str


@dataclass(frozen=True, slots=True)
class Node:
    """A constructor of ``encoding.LAYOUTS``; its arguments are strings, integers and patterns."""

    constructor: str
    arguments: tuple[str | int | Pattern, ...]


Pattern: TypeAlias = Hole | Bound | Node

SEMIRING = "s"
"""The variable that stands for the semiring of a rule."""

_COMPARISONS = {
    "==": "equal", "!=": "not_equal", "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal",
}  # fmt: skip

_FACTORS = {"/": "divide", "//": "floor_divide", "%": "modulo"}

_BLANK = re.compile(r"(?:\s|--[^\n]*)*")
_TOKEN = re.compile(r"\?[a-zA-Z][a-zA-Z0-9]*|\w+|<=>|[<>=!]=|=>|->|//|.|\Z", re.DOTALL)
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_RESERVED = frozenset(
    ("sum", "merge", "find", "if", "then", "let", "in", "at", "and", "or", "not", "unique", "rule")
)


class MisreadError(Exception):
    """The text is no rule; ``place`` is where it stops to be one."""

    def __init__(self, place: int) -> None:
        self.place = place


@dataclass
class Reader:
    """Reads a text from ``place`` on; ``token`` is what comes next, after one from ``last`` to ``end``."""

    text: str
    place: int = 0
    last: int = 0
    end: int = 0
    token: str = field(default="", init=False)
    anonymous: int = 0

    def __post_init__(self) -> None:
        self._move()

    def _move(self, pattern: re.Pattern[str] = _TOKEN) -> None:
        blank = _BLANK.match(self.text, self.place)
        assert blank is not None, "nothing is a blank, too"
        self.place = blank.end()
        found = pattern.match(self.text, self.place)
        self.token = "" if found is None else found.group()

    def next(self) -> str:
        """Return the next token, and go on behind it."""
        token = self.token
        self.last = self.place
        self.end = self.place = self.place + len(token)
        self._move()
        return token

    def misread(self) -> MisreadError:
        """Return an error about what comes next, or about the last token where nothing does."""
        is_at_end = self.place == len(self.text)
        return MisreadError(self.last if is_at_end else self.place)

    def accepts(self, token: str) -> bool:
        """Return whether ``token`` comes next, and go on behind it if it does."""
        if self.token != token:
            return False
        self.next()
        return True

    def expect(self, *tokens: str) -> None:
        """Go on behind what must come next; raises MisreadError."""
        for token in tokens:
            if not self.accepts(token):
                raise self.misread()

    def matching(self, pattern: re.Pattern[str]) -> str:
        """Return what comes next and matches ``pattern``; raises MisreadError."""
        self._move(pattern)
        if not self.token:
            raise self.misread()
        return self.next()

    def name(self) -> str:
        """Return the name that must come next."""
        if self.token in _RESERVED:
            raise self.misread()
        return self.matching(_NAME)

    def term(self) -> Pattern:
        """Return the term that comes next; raises MisreadError if there is none."""
        found = self._conjunction()
        while self.accepts("or"):
            found = Node("Apply2", ("or", found, self._conjunction()))
        return found

    def _conjunction(self) -> Pattern:
        found = self._comparison()
        while self.accepts("and"):
            found = Node("Apply2", ("and", found, self._comparison()))
        return found

    def _comparison(self) -> Pattern:
        left = self._sum()
        if self.token not in _COMPARISONS:
            return left
        return Node("Apply2", (_COMPARISONS[self.next()], left, self._sum()))

    def _sum(self) -> Pattern:
        found = self._product()
        while self.token in ("+", "-"):
            if self.next() == "+":
                found = Node("Add", (SEMIRING, found, self._product()))
            else:
                found = Node("Apply2", ("subtract", found, self._product()))
        return found

    def _product(self) -> Pattern:
        if self.token in self._openers:
            return self._openers[self.next()]()
        found = self._prefix()
        while self.token == "*" or self.token in _FACTORS:
            operator = self.next()
            if operator != "*":
                found = Node("Apply2", (_FACTORS[operator], found, self._prefix()))
            elif self.token in self._openers:
                return Node("Mul", (SEMIRING, found, self._openers[self.next()]()))
            else:
                found = Node("Mul", (SEMIRING, found, self._prefix()))
        return found

    @property
    def _openers(self) -> dict[str, Callable[[], Pattern]]:
        return {
            "sum": self._loop,
            "merge": self._merge,
            "find": self._find,
            "if": self._conditional,
            "let": self._let,
        }

    def _loop(self) -> Pattern:
        semiring = self._semiring()
        key, value = self._binders(2)
        source = self._source()
        self.expect(")")
        return Node("Sum", (semiring, source, key, value, self._product()))

    def _merge(self) -> Pattern:
        binders = self._binders(3)
        self.expect("<")
        left = self._source()
        self.expect(",")
        right = self._source()
        self.expect(">", ")")
        return Node("Merge", (SEMIRING, left, right, *binders, self._product()))

    def _find(self) -> Pattern:
        binders = self._binders(1)
        source = self._source()
        self.expect("at")
        key = self.term()
        self.expect(")")
        return Node("Find", (SEMIRING, source, key, *binders, self._product()))

    def _conditional(self) -> Pattern:
        semiring = self._semiring()
        condition = self.term()
        self.expect("then")
        return Node("If", (semiring, condition, self.term()))

    def _let(self) -> Pattern:
        binder = self._binder()
        self.expect("=")
        value = self.term()
        self.expect("in")
        return Node("Let", (value, binder, self.term()))

    def _semiring(self) -> str:
        if not self.accepts("["):
            return SEMIRING
        name = self.name()
        self.expect("]")
        return name

    def _binders(self, number: int) -> list[Bound]:
        self.expect("(", "<")
        found = [self._binder()]
        for _ in range(number - 1):
            self.expect(",")
            found.append(self._binder())
        self.expect(">", "in")
        return found

    def _binder(self) -> Bound:
        name = self.name()
        if name != "_":
            return Bound(name)
        self.anonymous += 1
        return Bound(f"_{self.anonymous}")

    def _source(self) -> Pattern:
        low = self._sum()
        return Node("Range", (low, self._sum())) if self.accepts(":") else low

    def _prefix(self) -> Pattern:
        if self.accepts("-"):
            return Node("Apply1", ("negate", self._prefix()))
        if self.accepts("not"):
            return Node("Apply1", ("not", self._prefix()))
        found = self._primary()
        while self.accepts("("):
            key = self.term()
            if self.accepts(":"):
                found = Node("Slice", (found, key, self.term()))
            else:
                found = Node("Look", (SEMIRING, found, key))
            self.expect(")")
        return found

    def _primary(self) -> Pattern:
        if self.token.startswith("?") and len(self.token) > 1:
            return Hole(self.next()[1:])
        if self.token.isdecimal():
            return Node("Int", (int(self.next()),))
        if self.accepts("{"):
            key = self.term()
            self.expect("->")
            value = self.term()
            self.expect("}")
            return Node("Single", (SEMIRING, key, value))
        if self.accepts("unique"):
            self.expect("(")
            key = self.term()
            self.expect(")")
            return Node("Uniq", (key,))
        if self.accepts("("):
            low = self.term()
            found = Node("Range", (low, self._sum())) if self.accepts(":") else low
            self.expect(")")
            return found
        return self._named(self.name())

    def _named(self, name: str) -> Pattern:
        """Return the variable or constant of a name, what is read of it, or a function of its arguments."""
        found: Pattern = Bound(name)
        if name in ("true", "false"):
            found = Node("Truth", (int(name == "true"),))
        elif name in ("zero", "one"):
            found = Node(name, ())
        if not self.accepts("("):
            return found
        first = self.term()
        if self.accepts(","):
            made = Node("Apply2", (name, first, self.term()))
        elif self.accepts(":"):
            made = Node("Slice", (found, first, self.term()))
        elif name in FUNCTIONS and FUNCTIONS[name].arity == 1:
            made = Node("Apply1", (name, first))
        else:
            made = Node("Look", (SEMIRING, found, first))
        self.expect(")")
        return made
