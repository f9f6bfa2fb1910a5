"""Text to syntax trees.

The grammar is lark's (LALR(1)); its tables are kept in the user's cache directory, where a missing,
damaged or unwritable file costs some time, never an answer.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from lark import Lark, Token
from lark.exceptions import UnexpectedInput, UnexpectedToken

from storel.errors import ProgramSyntaxError, TypeMismatchError
from storel.host import cache as cache_on_disk
from storel.source import Source, Span
from storel.syntax.expressions import Word
from storel.syntax.messages import syntax_error
from storel.syntax.nodes.declarations import FormatReference
from storel.syntax.nodes.expressions import Expression
from storel.syntax.nodes.statements import Script
from storel.syntax.statements import ProgramBuilder
from storel.syntax.words import terminal_of

STARTS = ["script", "expression", "format"]

DEEPEST = 150
"""How deep a tree may be: every later pass follows it by recursion."""


def parse(source: Source) -> Script:
    """Return the statements of ``source``; raises ``ProgramSyntaxError``.

    >>> parse(Source("example", "CREATE TENSOR y AS sum(<i, x> in v) x")).statements[0].name
    'y'
    """
    return _parse(source, "script")


def parse_expression(source: Source) -> Expression:
    """Return the one expression that ``source`` is; raises ``ProgramSyntaxError``.

    >>> parse_expression(Source("example", "a + 1"))
    Binary(operator='+', left=Name(name='a'), right=Number(value=1))
    """
    return _parse(source, "expression")


def parse_format(text: str) -> FormatReference:
    """Return what may follow ``STORED AS``; raises ``ProgramSyntaxError``, TypeMismatchError for no text.

    >>> parse_format("band(lower=1)").keywords
    (('lower', Number(value=1)),)
    """
    match text:
        case str():
            return _parse(Source("<format>", text), "format")
        case _:
            found = type(text).__name__
            raise TypeMismatchError(f"a {found} is no format", expected="a text, as after STORED AS")


def _parse(source: Source, start: str) -> Any:
    try:
        return _build(tables().parse(source.text, start=start), ProgramBuilder(source))
    except UnexpectedInput as error:
        raise syntax_error(error, _expected(source, start, error), source) from None


def _expected(source: Source, start: str, error: UnexpectedInput) -> set[str]:
    """Return the terminals that the text before the error may go on with.

    lark's own answer comes too late: after reductions that only the wrong token has caused.
    """
    if not isinstance(error, UnexpectedToken):
        return set()
    state = tables().parse_interactive(source.text, start=start)
    for token in state.lexer_thread.lex(state.parser_state):
        if token == error.token and token.start_pos == error.token.start_pos:
            break
        state.feed_token(token)
    return state.accepts()


def _build(tree: Any, builder: ProgramBuilder, depth: int = 0) -> Any:
    """Return what ``builder`` makes of a parse tree, the children first."""
    if tree is None:
        return None
    span = _span(tree, builder.source)
    if depth > DEEPEST:
        raise ProgramSyntaxError(
            "the program is nested too deeply",
            expected=f"at most {DEEPEST} levels: each operator in a + b + c + … is one",
            span=span,
            hint="name parts of it with CREATE TENSOR, or write a long sum as one of sums: (a + b) + (c + d)",
        )
    if isinstance(tree, Token):
        return Word(tree.type, str(tree), span)
    children = [_build(child, builder, depth + 1) for child in tree.children]
    return builder.build(str(tree.data), span, children)


def _span(tree: Any, source: Source) -> Span:
    """Return the place of a parse tree or token, the start of the text for a tree of no tokens."""
    if isinstance(tree, Token):
        return Span(source, tree.start_pos or 0, tree.end_pos or 0)
    return Span(source, 0, 0) if tree.meta.empty else Span(source, tree.meta.start_pos, tree.meta.end_pos)


@cache
def tables() -> Lark:
    """Return the parser of the grammar, whose tables are fetched or built once in a process."""
    grammar = (Path(__file__).parent / "grammar.lark").read_text(encoding="utf-8")
    return Lark(
        grammar,
        parser="lalr",
        lexer="basic",
        start=STARTS,
        propagate_positions=True,
        maybe_placeholders=True,
        lexer_callbacks={"NAME": _find_keyword},
        cache=_cache_file(grammar) or False,
    )


def _find_keyword(token: Token) -> Token:
    token.type = terminal_of(str(token)) or token.type
    return token


def _cache_file(grammar: str) -> str | None:
    """Return where lark keeps the tables, None if there is no such place, or none that lark can name."""
    directory = cache_on_disk.writable_directory()
    if directory is None:
        return None
    place = str(directory / f"grammar-{cache_on_disk.digest(grammar)}.lark")
    try:
        place.encode()
    except UnicodeEncodeError:
        return None
    return place
