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
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from storel.errors import ProgramSyntaxError
from storel.optimizer.encoding.layouts import INDEX
from storel.optimizer.rules.calls import CALLED, COMPARISONS, FACTORS
from storel.optimizer.rules.messages import RESERVED, unexpected
from storel.source import Source, Span


@dataclass(frozen=True, slots=True)
class Hole:
    """``?x``: any term."""

    name: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Bound:
    """A variable of one of the rule's binders."""

    name: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Node:
    """A constructor of ``encoding.LAYOUTS``; its arguments are strings, integers and patterns.

    As with each pattern, ``span`` is where it was read, and does not tell it from an equal one elsewhere.
    """

    constructor: str
    arguments: tuple[str | int | Pattern, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


Pattern: TypeAlias = Hole | Bound | Node

SEMIRING = "s"
"""The variable that stands for the semiring of a rule."""

_BLANK = re.compile(r"(?:\s|--[^\n]*)*")
_TOKEN = re.compile(r"\?[a-zA-Z][a-zA-Z0-9]*|\w+|<=>|[<>=!]=|=>|->|//|.|\Z", re.DOTALL)
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


@dataclass
class Reader:
    """Reads a source from ``place`` on; ``token`` is what comes next, after one from ``last`` to ``end``.

    ``keys`` are the names that loops have bound to keys so far; what is let for one of them is a key, too.
    """

    source: Source
    place: int = 0
    last: int = 0
    end: int = 0
    token: str = field(default="", init=False)
    anonymous: int = 0
    keys: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        self._move()

    def _move(self, pattern: re.Pattern[str] = _TOKEN) -> None:
        blank = _BLANK.match(self.source.text, self.place)
        assert blank is not None, "nothing is a blank, too"
        self.place = blank.end()
        found = pattern.match(self.source.text, self.place)
        self.token = "" if found is None else found.group()

    def next(self) -> str:
        """Return the next token, and go on behind it."""
        token = self.token
        self.last = self.place
        self.end = self.place = self.place + len(token)
        self._move()
        return token

    def since(self, start: int) -> Span:
        """Return the place of what was read from ``start`` on."""
        return Span(self.source, start, self.end)

    def misread(self, expected: str) -> ProgramSyntaxError:
        """Return an error about what comes next, or about the last token where nothing does."""
        if self.place == len(self.source.text):
            return unexpected("", expected, self.since(self.last))
        self._move()  # it may have been read as something that it is not
        return unexpected(self.token, expected, Span(self.source, self.place, self.place + len(self.token)))

    def accepts(self, token: str) -> bool:
        """Return whether ``token`` comes next, and go on behind it if it does."""
        if self.token != token:
            return False
        self.next()
        return True

    def expect(self, *tokens: str) -> None:
        """Go on behind what must come next; raises ProgramSyntaxError."""
        for token in tokens:
            if not self.accepts(token):
                raise self.misread(f"'{token}'")

    def matching(self, pattern: re.Pattern[str], expected: str) -> str:
        """Return what comes next and matches ``pattern``; raises ProgramSyntaxError."""
        self._move(pattern)
        if not self.token:
            raise self.misread(expected)
        return self.next()

    def name(self, expected: str = "a name") -> str:
        """Return the name that must come next."""
        if self.token in RESERVED:
            raise self.misread(expected)
        return self.matching(_NAME, expected)

    def term(self) -> Pattern:
        """Return the term that comes next; raises ProgramSyntaxError if there is none."""
        start = self.place
        found = self._conjunction()
        while self.accepts("or"):
            found = self._node(start, "Apply2", "or", found, self._conjunction())
        return found

    def _node(self, start: int, constructor: str, *arguments: str | int | Pattern) -> Node:
        """Return a node that was read from ``start`` on."""
        return Node(constructor, arguments, self.since(start))

    def _conjunction(self) -> Pattern:
        start = self.place
        found = self._comparison()
        while self.accepts("and"):
            found = self._node(start, "Apply2", "and", found, self._comparison())
        return found

    def _comparison(self) -> Pattern:
        start = self.place
        left = self._sum()
        if self.token not in COMPARISONS:
            return left
        return self._node(start, "Apply2", COMPARISONS[self.next()], left, self._sum())

    def _sum(self) -> Pattern:
        start = self.place
        found = self._product()
        while self.token in ("+", "-"):
            if self.next() == "+":
                found = self._node(start, "Add", SEMIRING, found, self._product())
            else:
                found = self._node(start, "Apply2", "subtract", found, self._product())
        return found

    def _product(self) -> Pattern:
        start = self.place
        if self.token in self._openers:
            return self._opened()
        found = self._prefix()
        while self.token == "*" or self.token in FACTORS:
            operator = self.next()
            if operator != "*":
                found = self._node(start, "Apply2", FACTORS[operator], found, self._prefix())
            elif self.token in self._openers:
                return self._node(start, "Mul", SEMIRING, found, self._opened())
            else:
                found = self._node(start, "Mul", SEMIRING, found, self._prefix())
        return found

    def _opened(self) -> Pattern:
        """Return what starts at a word."""
        start = self.place
        return self._openers[self.next()](start)

    @property
    def _openers(self) -> dict[str, Callable[[int], Pattern]]:
        return {
            "sum": self._loop,
            "merge": self._merge,
            "find": self._find,
            "if": self._conditional,
            "let": self._let,
        }

    def _loop(self, start: int) -> Pattern:
        semiring = self._semiring()
        key, value = self._binders(2)
        self.keys.add(key.name)
        source = self._source()
        self.expect(")")
        return self._node(start, "Sum", semiring, source, key, value, self._product())

    def _merge(self, start: int) -> Pattern:
        binders = self._binders(3)
        self.keys.update(binder.name for binder in binders)
        self.expect("<")
        left = self._source()
        self.expect(",")
        right = self._source()
        self.expect(">", ")")
        return self._node(start, "Merge", SEMIRING, left, right, *binders, self._product())

    def _find(self, start: int) -> Pattern:
        binders = self._binders(1)
        self.keys.update(binder.name for binder in binders)
        source = self._source()
        self.expect("at")
        key = self.term()
        self.expect(")")
        return self._node(start, "Find", SEMIRING, source, key, *binders, self._product())

    def _conditional(self, start: int) -> Pattern:
        semiring = self._semiring()
        condition = self.term()
        self.expect("then")
        return self._node(start, "If", semiring, condition, self.term())

    def _let(self, start: int) -> Pattern:
        binder = self._binder()
        self.expect("=")
        value = self.term()
        self.expect("in")
        named = _of_keys(value) if binder.name in self.keys else value
        return self._node(start, "Let", named, binder, self.term())

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
        start = self.place
        name = self.name()
        if name == "_":
            self.anonymous += 1
            name = f"_{self.anonymous}"
        return Bound(name, self.since(start))

    def _source(self) -> Pattern:
        start = self.place
        low = self._sum()
        return self._node(start, "Range", low, self._sum()) if self.accepts(":") else low

    def _prefix(self) -> Pattern:
        start = self.place
        if self.accepts("-"):
            return self._node(start, "Apply1", "negate", self._prefix())
        if self.accepts("not"):
            return self._node(start, "Apply1", "not", self._prefix())
        found = self._primary()
        while self.accepts("("):
            key = self.term()
            high = self.term() if self.accepts(":") else None
            self.expect(")")
            if high is None:
                found = self._node(start, "Look", SEMIRING, found, key)
            else:
                found = self._node(start, "Slice", found, key, high)
        return found

    def _primary(self) -> Pattern:
        start = self.place
        if self.token.startswith("?") and len(self.token) > 1:
            return Hole(self.next()[1:], self.since(start))
        if self.token.isdecimal():
            return self._node(start, "Int", int(self.next()))
        if self.accepts("{"):
            key = self.term()
            self.expect("->")
            value = self.term()
            self.expect("}")
            return self._node(start, "Single", SEMIRING, key, value)
        if self.accepts("unique"):
            self.expect("(")
            key = self.term()
            self.expect(")")
            return self._node(start, "Uniq", key)
        if self.accepts("("):
            low = self.term()
            found = self._node(start, "Range", low, self._sum()) if self.accepts(":") else low
            self.expect(")")
            return found
        return self._named(self.name("a term"), start)

    def _named(self, name: str, start: int) -> Pattern:
        """Return the variable or constant of a name, what is read of it, or a function of its arguments."""
        found: Pattern = Bound(name, self.since(start))
        if name in ("true", "false"):
            found = self._node(start, "Truth", int(name == "true"))
        elif name in ("zero", "one"):
            found = self._node(start, name)
        if not self.accepts("("):
            return found
        first = self.term()
        second = self.term() if (separator := self.token) in (",", ":") and self.accepts(separator) else None
        self.expect(")")
        function = CALLED.get(name)
        if second is None and function is not None and function.arity == 1:
            return self._node(start, "Apply1", function.name, first)
        if second is None:
            return self._node(start, "Look", SEMIRING, found, first)
        if separator == ":":
            return self._node(start, "Slice", found, first, second)
        return self._node(start, "Apply2", name if function is None else function.name, first, second)


def _of_keys(pattern: Pattern) -> Pattern:
    """Return a pattern in which what is added and multiplied are keys."""
    match pattern:
        case Node("Add" | "Mul", (_, Hole() | Bound() | Node() as left, Hole() | Bound() | Node() as right)):
            return replace(pattern, arguments=(INDEX, _of_keys(left), _of_keys(right)))
        case _:
            return pattern
