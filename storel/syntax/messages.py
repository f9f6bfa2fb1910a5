"""Syntax errors in the reader's words instead of the parser's."""

from __future__ import annotations

from collections.abc import Collection

from lark import Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from storel.errors import ProgramSyntaxError, nearest
from storel.source import Source, Span
from storel.syntax.words import KEYWORDS, OPERATORS, STATEMENT_STARTS, spelled

_COMPARISONS = ("EQ", "NE", "LE", "GE", "LT", "GT")

_FOREIGN_SIGNS = {
    "!": "'not' negates, '!=' compares",
    '"': "texts stand in single quotes",
    "'": "a text ends with a single quote on the same line",
    "#": "comments begin with --",
}


def syntax_error(error: UnexpectedInput, source: Source) -> ProgramSyntaxError:
    """Translate what lark found: where, what it expected there, and the likely fix."""
    match error:
        case UnexpectedToken(token=Token() as token):
            return _unexpected_token(token, set(error.accepts or error.expected), source)
        case UnexpectedCharacters():
            position = error.pos_in_stream or 0
            sign = source.text[position]
            span = Span(source, position, position + 1)
            return ProgramSyntaxError(
                f"unexpected character {sign!r}", span=span, hint=_FOREIGN_SIGNS.get(sign)
            )
        case _:
            return ProgramSyntaxError("this is not a program", span=Span(source, 0, 0))


def _unexpected_token(token: Token, expected: Collection[str], source: Source) -> ProgramSyntaxError:
    wanted = _wanted(expected)
    if token.type == "$END":
        end = len(source.text.rstrip())
        place = Span(source, max(end - 1, 0), end)
        return ProgramSyntaxError("the text ends too early", expected=wanted, span=place)
    span = Span(source, token.start_pos or 0, token.end_pos or 0)
    return ProgramSyntaxError(
        f"unexpected '{token}'", expected=wanted, span=span, hint=_hint(token, expected, source)
    )


def _hint(token: Token, expected: Collection[str], source: Source) -> str | None:
    """Return the likely fix of the usual mistakes."""
    word = str(token)
    before = source.text[: token.start_pos].rstrip()
    if "NAME" in expected and word.lower() in KEYWORDS and word.isidentifier():
        return f"'{word}' is a reserved word" if word != "_" else "'_' binds nothing and stands for nothing"
    if token.type == "EQUAL" and "EQ" in expected:
        return "equality is written =="
    if token.type in _COMPARISONS and any(sign in before.rpartition("\n")[2] for sign in "<>=!"):
        return "comparisons do not chain: join them with 'and'"
    if token.type == "EQUAL" and "_AS" in expected:
        return "a definition is written CREATE TENSOR name AS expression"
    if token.type == "EQUAL" and before.endswith("="):
        return "equality is written =="
    if token.type in ("AMPERSAND", "BAR") and before.endswith(word):
        return f"write '{'and' if word == '&' else 'or'}'"
    if token.type == "STAR" and before.endswith("*"):
        return "write pow(a, b)"
    if token.type in ("NAME", "INTEGER", "REAL") and "STAR" in expected:
        return "a product is written a * b"
    if expected and set(expected) <= STATEMENT_STARTS | {"SEMICOLON", "$END"}:
        starts = (terminal.lstrip("_").lower() for terminal in STATEMENT_STARTS)
        close = nearest(word.lower(), starts)
        return close.upper().replace("DID YOU MEAN", "did you mean") if close else None
    return None


def _wanted(expected: Collection[str]) -> str | None:
    """Return the expected terminals in few words."""
    rest = set(expected)
    parts: list[str] = []
    if {"NAME", "INTEGER", "LPAR", "MINUS"} <= rest:
        begins_expression = {"NAME", "INTEGER", "REAL", "LPAR", "LBRACE", "MINUS", "NOT", "MONOID", "COUNT"}
        begins_expression |= {"_SUM", "_MERGE", "_IF", "_LET", "_UNIQUE", "_EXTENT", "STRING"}
        begins_expression |= {"INF", "NAN", "TRUE", "FALSE"}
        rest -= begins_expression
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
    if len(parts) < 2:
        return parts[0] if parts else None
    return f"{', '.join(parts[:-1])} or {parts[-1]}"
