"""The reserved words of SDQLite, and how messages speak of the terminals of its grammar."""

from __future__ import annotations

import re

_STATEMENT_WORDS = (
    "create tensor format load array arrays save to explain include parameter over stored as from using "
    "takes in ascending increasing within unique pad where"
)
_EXPRESSION_WORDS = "sum merge if then else let extent"
_VALUED_WORDS = "analyze count inf nan true false and or not"
_MONOIDS = "min max prod any all"

KEYWORDS: dict[str, str] = (
    {word: f"_{word.upper()}" for word in f"{_STATEMENT_WORDS} {_EXPRESSION_WORDS}".split()}
    | {word: word.upper() for word in _VALUED_WORDS.split()}
    | dict.fromkeys(_MONOIDS.split(), "MONOID")
    | {"_": "BLANK"}
)
"""The terminal of each reserved word. Terminals with an underscore leave no trace in the tree."""

_NAME = re.compile(r"[^\W\d]\w*")

LOOPS = ("sum", "count", *_MONOIDS.split())
"""The words that go over entries."""

STATEMENT_STARTS = frozenset({"_CREATE", "_LOAD", "_SAVE", "_EXPLAIN", "_INCLUDE", "_PARAMETER"})

EXPRESSION_STARTS = frozenset(
    {
        "NAME", "INTEGER", "REAL", "STRING", "INF", "NAN", "TRUE", "FALSE", "LPAR", "LBRACE", "MINUS", "NOT",
        "MONOID", "COUNT", "_SUM", "_MERGE", "_IF", "_LET", "_UNIQUE", "_EXTENT",
    }
)  # fmt: skip

_AS_EXTENT = "the size of a dimension is extent(A, 0)"

_ELSEWHERE = dict.fromkeys(("len", "length", "shape", "size"), _AS_EXTENT) | {
    "ln": "the natural logarithm is log(a)",
    "log2": "it is log(a) / log(2)",
    "log10": "it is log(a) / log(10)",
    "range": "a range is written 0:n",
    "arange": "a range is written 0:n",
    "real": "an integer becomes a real as 1.0 * a",
    "float": "an integer becomes a real as 1.0 * a",
    "round": "the nearest integer is int(floor(a + 0.5))",
    "mean": "the mean is sum(<_, x> in v) x / extent(v, 0)",
    "norm": "the norm is sqrt(sum(<_, x> in v) x * x)",
    "dot": "a product is a sum: sum(<i, x> in v, <i, y> in w) x * y",
    "matmul": "a product is a sum: sum(<(i, k), a> in A, <(k, j), b> in B) { (i, j) -> a * b }",
    "transpose": "the transpose is sum(<(i, j), a> in A) { (j, i) -> a }",
}
"""What is written instead of functions that other languages have, as hints."""

A_PART = "a part of a tensor is a sum: sum(<i, x> in v) if (2 <= i and i < 5) then { i - 2 -> x }"
"""What is written instead of a slice, as a hint."""

A_CHOICE = "a choice is written if c then a else b"

_SIGNS = {
    "LPAR": "(", "RPAR": ")", "LSQB": "[", "RSQB": "]", "LBRACE": "{", "RBRACE": "}", "COMMA": ",",
    "COLON": ":", "SEMICOLON": ";", "EQUAL": "=", "EQ": "==", "NE": "!=", "LE": "<=", "GE": ">=", "LT": "<",
    "GT": ">", "LEFT": "<<", "RIGHT": ">>", "BAR": "|", "CARET": "^", "AMPERSAND": "&", "PLUS": "+",
    "MINUS": "-", "STAR": "*", "SLASHES": "//", "SLASH": "/", "PERCENT": "%", "MINUSMORETHAN": "->",
    "__ANON_0": "->",
}  # fmt: skip

OPERATORS = frozenset(
    {
        "EQ", "NE", "LE", "GE", "LT", "GT", "LEFT", "RIGHT", "BAR", "CARET", "AMPERSAND", "PLUS", "MINUS",
        "STAR", "SLASHES", "SLASH", "PERCENT", "AND", "OR",
    }
)  # fmt: skip

_KINDS = {"NAME": "a name", "INTEGER": "an integer", "REAL": "a number", "STRING": "a quoted text"}


def terminal_of(word: str) -> str | None:
    """Return the terminal of a reserved word in lower or upper case, None of any other word.

    >>> terminal_of("SUM"), terminal_of("Sum")
    ('_SUM', None)
    """
    return KEYWORDS.get(word.lower() if word.isupper() else word)


def is_name(word: str) -> bool:
    """Return whether something may be called by this word.

    >>> is_name("my_array"), is_name("my-array"), is_name("sum")
    (True, False, False)
    """
    return _NAME.fullmatch(word) is not None and terminal_of(word) is None


def as_name(word: str) -> str:
    """Return a name that is like a word.

    >>> as_name("my-array"), as_name("sum"), as_name("2d")
    ('my_array', 'sum_1', '_2d')
    """
    letters = re.sub(r"\W", "_", word)
    return next(filter(is_name, (letters, f"{letters}_1", f"_{letters}")))


def over_entries(word: str) -> str | None:
    """Return a hint for who gives a tensor to a word that goes over entries, None for any other word.

    >>> over_entries("max"), over_entries("exp")
    ('max(<i, x> in A) x goes over entries', None)
    """
    body = "" if word == "count" else " x"
    return f"{word}(<i, x> in A){body} goes over entries" if word in LOOPS else None


def as_elsewhere(word: str) -> str | None:
    """Return a hint for who calls a function as other languages do, None for any other word.

    >>> as_elsewhere("len"), as_elsewhere("ln"), as_elsewhere("log")
    ('the size of a dimension is extent(A, 0)', 'the natural logarithm is log(a)', None)
    """
    return _ELSEWHERE.get(word)


def spelled(terminal: str) -> str:
    """Return how a message names a terminal.

    >>> spelled("_CREATE"), spelled("RPAR"), spelled("NAME")
    ("'CREATE'", "')'", 'a name')
    """
    if terminal in _KINDS:
        return _KINDS[terminal]
    if terminal == "BLANK":
        return "'_'"
    word = terminal.lstrip("_")
    if terminal in _SIGNS:
        return f"'{_SIGNS[terminal]}'"
    return f"'{word if word.lower() in _STATEMENT_WORDS.split() else word.lower()}'"
