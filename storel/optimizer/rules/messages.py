"""Mistakes in the text of a rule: what was read, what was expected there, and the likely fix."""

from __future__ import annotations

from storel.errors import ProgramSyntaxError, nearest
from storel.source import Span

RESERVED = frozenset(
    ("sum", "merge", "find", "if", "then", "let", "in", "at", "and", "or", "not", "unique", "rule")
)

_SIGNS = {
    "=": "equality is written ==, and a rule left => right",
    "==": "comparisons do not chain: join them with 'and'",
    "&": "conditions are joined by 'and', the bits of integers by bit_and(?a, ?b)",
    "|": "conditions are joined by 'or', the bits of integers by bit_or(?a, ?b)",
    "^": "the bits of integers are joined by bit_xor(?a, ?b)",
    "!": "'not' negates, '!=' compares",
    "?": "?x stands for any term: a letter, then letters and digits",
    ".": "the only numbers in a rule are integers",
    "#": "comments begin with --",
    "else": "a condition has one branch: where it does not hold, there is zero",
}
"""What is meant by signs and words that are never, or not there, a part of a rule."""

_NAME = "a rule's name"

_MISSING = {
    "'=>'": "a rule is written: rule name: left => right",
    "'->'": "an entry is written { key -> value }",
    "'<'": "a loop goes over <key, value> in ?R",
    "'then'": "a condition is followed by 'then'",
    "'rule'": "each rule begins with 'rule', and its guards, which stand behind it, with 'if'",
    "':'": "behind a rule's name and tags stands a colon",
    _NAME: "names are words of small letters and digits, joined by hyphens: my-rule",
}
"""What is likely to be meant where something else is expected."""


def unexpected(token: str, expected: str, span: Span) -> ProgramSyntaxError:
    """Return an error about a token, or about the end of the text if it is empty."""
    message = f"this is not a rule: unexpected '{token}'" if token else "the rule ends too early"
    return ProgramSyntaxError(message, expected=expected, span=span, hint=_hint(token, expected))


def _hint(token: str, expected: str) -> str | None:
    if token in _SIGNS:
        return _SIGNS[token]
    if expected == "':'" and token.startswith("_"):
        return _MISSING[_NAME]
    if expected == "'rule'" and token.isalpha():
        return nearest(token, ["rule", "if"]) or _MISSING[expected]
    if token in RESERVED and expected in ("a name", "a term"):
        return f"'{token}' is a reserved word"
    return _MISSING.get(expected)
