"""Syntax errors in the reader's words instead of the parser's."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Collection

from lark import Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from storel.errors import ProgramSyntaxError
from storel.source import Source, Span
from storel.syntax.words import (
    A_CHOICE,
    A_PART,
    EXPRESSION_STARTS,
    KEYWORDS,
    LOOPS,
    OPERATORS,
    STATEMENT_STARTS,
    as_elsewhere,
    spelled,
)

_ARROWS = frozenset({"MINUSMORETHAN", "__ANON_0"})

_COMPARISONS = frozenset({"EQ", "NE", "LE", "GE", "LT", "GT"})

_CLOSING = {")": "(", "]": "[", "}": "{"}

_BRACKET = re.compile(r"--[^\n]*|'(?:[^'\n]|'')*'|[()\[\]{}]")
"""A bracket, or what may hide one: a comment or a text."""

_CALLED = re.compile(r"(\w+)\s*\($")
"""A name and the bracket that opens behind it, at the end of a text."""

_TYPE_FOLLOWS_SEMIRING = re.compile(r"\bover\s+\w+$", re.IGNORECASE)

_NAMED = re.compile(r"(\w+)$")

_ATTRIBUTE = re.compile(r"\.([a-z]+|T\b)")

_SLICE = re.compile(r"\[[^\]]*:")

_WHERE = re.compile(r"\bwhere\s+\w+$", re.IGNORECASE)

_EXTENT = re.compile(r"\bextent\s*\(\s*(\w+)$", re.IGNORECASE)

_FOREIGN_SIGNS = {
    "!": "'not' negates, '!=' compares",
    '"': "texts stand in single quotes",
    "'": "a text ends with a single quote on the same line",
    "#": "comments begin with --",
    "?": A_CHOICE,
    "@": "a product is a sum: sum(<(i, k), a> in A, <(k, j), b> in B) { (i, j) -> a * b }",
    "\N{NO-BREAK SPACE}": "this character looks like a space and is none",
    "\N{MINUS SIGN}": "a minus is written -",
    "\N{EN DASH}": "a minus is written -",
    "\N{LEFT SINGLE QUOTATION MARK}": "texts stand in straight quotes, 'so'",
    "\N{LEFT DOUBLE QUOTATION MARK}": "texts stand in straight single quotes, 'so'",
}


def syntax_error(error: UnexpectedInput, expected: Collection[str], source: Source) -> ProgramSyntaxError:
    """Translate what lark found: where, which terminals it ``expected`` there, and the likely fix."""
    if isinstance(error, UnexpectedToken) and isinstance(error.token, Token):
        return _unexpected_token(error.token, expected, source)
    position = error.pos_in_stream or 0
    span = Span(source, position, position + 1)
    if isinstance(error, UnexpectedCharacters):
        sign = source.text[position]
        if unicodedata.combining(sign):
            name = unicodedata.name(sign, f"U+{ord(sign):04X}").lower()
            hint = "write a letter with its mark as one character: Unicode's form NFC"
            return ProgramSyntaxError(f"a {name} stands as a character of its own", span=span, hint=hint)
        attribute = _ATTRIBUTE.match(source.text, position)
        name = attribute and attribute[1].replace("T", "transpose")
        hint = as_elsewhere(name) if name else _FOREIGN_SIGNS.get(sign)
        return ProgramSyntaxError(f"unexpected character {sign!r}", span=span, hint=hint)
    return ProgramSyntaxError("this is not a program", span=span)


def _unexpected_token(token: Token, expected: Collection[str], source: Source) -> ProgramSyntaxError:
    wanted = _wanted(expected)
    hint = _hint(token, expected, source)
    if token.type == "$END":
        end = len(source.text.rstrip())
        place = Span(source, max(end - 1, 0), end)
        return ProgramSyntaxError("the text ends too early", expected=wanted, span=place, hint=hint)
    span = Span(source, token.start_pos or 0, token.end_pos or 0)
    return ProgramSyntaxError(f"unexpected '{token}'", expected=wanted, span=span, hint=hint)


def _hint(token: Token, expected: Collection[str], source: Source) -> str | None:
    """Return the likely fix of the usual mistakes, the most certain ones first."""
    text = source.text if token.type == "$END" else source.text[: token.start_pos]
    if token.type == "LSQB" and _SLICE.match(source.text, token.start_pos or 0):
        return A_PART
    return (
        _wrong_sign(token, expected, text.rstrip())
        or _wrong_form(token, expected, text.rstrip())
        or _wrong_word(token, expected)
        or _wrong_bracket(token, expected, source, text)
        or _missing(token, expected, source)
    )


def _wrong_sign(token: Token, expected: Collection[str], before: str) -> str | None:
    sign = str(token)
    if token.type == "EQUAL" and ("EQ" in expected or before.endswith("=")):
        return "equality is written =="
    if token.type == "EQUAL" and "_AS" in expected:
        return "a definition is written CREATE TENSOR name AS expression"
    if token.type == "COLON" and _TYPE_FOLLOWS_SEMIRING.search(before):
        return "the type stands before OVER: CREATE TENSOR name: real[n] OVER semiring AS …"
    if token.type in _COMPARISONS and _WHERE.search(before):
        return "'where i in 0:n' gives a range; a condition stands in the body: if (i < j) then …"
    if token.type in _COMPARISONS and "AND" in expected:
        return "comparisons do not chain: join them with 'and'"
    if token.type in ("AMPERSAND", "BAR") and before.endswith(sign):
        return f"write '{'and' if sign == '&' else 'or'}'"
    if token.type == "STAR" and before.endswith("*"):
        return "write pow(a, b)"
    if token.type == "COMMA" and _ARROWS & set(expected):
        return "keys stand in parentheses: { (i, j) -> … }"
    if token.type == "COMMA" and "RBRACE" in expected:
        return "braces hold one entry; several are a sum: { i -> a } + { j -> b }"
    if token.type == "LSQB" and "LPAR" in expected:
        return "an entry is looked up with A(i), not A[i]"
    if token.type == "SLASHES" and set(expected) >= STATEMENT_STARTS:
        return "comments begin with --"
    return None


def _wrong_form(token: Token, expected: Collection[str], before: str) -> str | None:
    """Return how an entry, or what a loop goes over, is written, where it is written otherwise."""
    called = _CALLED.search(before)
    if token.type == "LT" and called and "LPAR" in expected:
        return as_elsewhere(called[1]) or f"'{called[1]}' goes over nothing: {', '.join(LOOPS)} do"
    named = _NAMED.search(before)
    if named and named[1] in LOOPS and set(expected) == {"LPAR"}:
        return f"'{named[1]}' is a reserved word, so no tensor is called that: {named[1]}(<i, x> in A)"
    if _ARROWS & set(expected) or token.type in _ARROWS:
        return "an entry is written { key -> value }"
    measured = _EXTENT.search(before)
    if token.type == "RPAR" and measured:
        return f"which dimension is asked for is told by its number: extent({measured[1]}, 0)"
    match token.type, sorted(expected):
        case _, ["LT"]:
            return "a loop goes over <key, value> in A, or <(i, j), value> in A"
        case "COMMA", ["GT"]:
            return "several keys stand in parentheses: <(i, j), value> in A"
        case "GT", ["COMMA"]:
            return "a value, or _, stands behind the keys: <(i, j), value> in A"
        case "EQUAL" | "_FROM", ["COLON"]:
            return "the type stands behind the name: PARAMETER beta: real = 1, LOAD ARRAY p: int[n] FROM …"
        case "RPAR", ["COMMA"]:
            return "a single key stands in no parentheses: <i, value> in A"
        case _:
            return None


def _wrong_word(token: Token, expected: Collection[str]) -> str | None:
    word = str(token)
    if token.type == "_WHERE" and "_IF" in expected:
        return A_CHOICE
    if "NAME" in expected and word.lower() in KEYWORDS:
        return f"'{word}' is a reserved word" if word != "_" else "'_' binds nothing and stands for nothing"
    if token.type != "NAME":
        return None
    possible = {
        terminal.lstrip("_").lower(): spelled(terminal)
        for terminal in expected
        if terminal.lstrip("_").lower() in KEYWORDS
    }
    close = difflib.get_close_matches(word.lower(), sorted(possible), n=1, cutoff=0.7)
    return f"did you mean {possible[close[0]]}?" if close else None


def _wrong_bracket(token: Token, expected: Collection[str], source: Source, before: str) -> str | None:
    if token.type not in STATEMENT_STARTS | {"$END", "RPAR", "RSQB", "RBRACE", "_THEN", "_ELSE", "_AS"}:
        return None
    position = _open_bracket(before)
    if position is None:
        return f"this '{token}' closes nothing" if str(token) in _CLOSING else None
    if expected and not {"RPAR", "RSQB", "RBRACE"} & set(expected):
        return None
    line, column, _ = source.line_at(position)
    return f"the '{before[position]}' at line {line}, column {column} is not closed"


def _open_bracket(text: str) -> int | None:
    """Return where the innermost bracket opens that ``text`` does not close.

    >>> _open_bracket("f(a, { i -> '(' } -- [")
    1
    """
    opened: list[int] = []
    for match in _BRACKET.finditer(text):
        if match[0] in _CLOSING.values():
            opened.append(match.start())
        elif opened and _CLOSING.get(match[0]) == text[opened[-1]]:
            opened.pop()
    return opened[-1] if opened else None


def _missing(token: Token, expected: Collection[str], source: Source) -> str | None:
    if "_THEN" in expected:
        return "a condition is followed by 'then'"
    if token.type == "_IF" and "STAR" in expected:
        return "a condition stands in front: if c then a else b"
    if token.type in ("NAME", "INTEGER", "REAL") and "STAR" in expected:
        return "a product is written a * b"
    if set(expected) >= STATEMENT_STARTS and "STAR" not in expected:
        is_assigned = source.text[token.end_pos or 0 :].lstrip().startswith(("=", ":="))
        if is_assigned or token.type in EXPRESSION_STARTS - {"NAME"}:
            return "what is computed has a name: CREATE TENSOR name AS expression"
        return f"statements begin with {_joined([spelled(start) for start in sorted(STATEMENT_STARTS)])}"
    return None


def _wanted(expected: Collection[str]) -> str | None:
    """Return the expected terminals in few words."""
    rest = set(expected)
    parts: list[str] = []
    if {"NAME", "INTEGER", "LPAR", "MINUS"} <= rest:
        rest -= EXPRESSION_STARTS
        parts.append("an expression")
    elif OPERATORS & rest and len(OPERATORS & rest) > 3:
        rest -= OPERATORS
        if "LPAR" in rest:
            rest -= {"LPAR"}
        parts.append("an operator")
    if len(STATEMENT_STARTS & rest) > 1:
        rest -= STATEMENT_STARTS | {"SEMICOLON", "$END"}
        parts.append("a statement")
    if "RPAR" in rest or "RBRACE" in rest:  # inside of brackets a range is unlikely to be missing
        rest.discard("COLON")
    rest.discard("$END")
    parts.extend(sorted(spelled(terminal) for terminal in rest))
    return _joined(parts) if parts else None


def _joined(parts: list[str]) -> str:
    return " or ".join(part for part in (", ".join(parts[:-1]), parts[-1]) if part)
