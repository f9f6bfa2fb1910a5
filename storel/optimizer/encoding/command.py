"""The command that brings a term into an e-graph, made node by node.

The library's own parser gives each node a copy of the whole text: seconds, for some thousand nodes.
"""

from __future__ import annotations

import re
from typing import Any

from storel.optimizer.encoding.bindings import ActionCommand, Call, Expr_, Int, Lit, PanicSpan, String

_TOKEN = re.compile(r'"[^"]*"|[()]|[^\s()"]+')
_PLACE = PanicSpan()
"""Where all nodes are said to come from."""


def command(text: str) -> ActionCommand:
    """Return the command that evaluates ``text``, nested calls of constructors with integers and strings."""
    literals: dict[str, Lit] = {}
    outer: list[list[Any]] = []
    current: list[Any] = []
    for token in _TOKEN.findall(text):
        if token == "(":
            outer.append(current)
            current = []
        elif token == ")":
            name, *arguments = current
            current = outer.pop()
            current.append(Call(_PLACE, name, arguments))
        elif outer and not current:
            current.append(token)
        else:
            if token not in literals:
                literals[token] = _literal(token)
            current.append(literals[token])
    (call,) = current
    return ActionCommand(Expr_(_PLACE, call))


def _literal(token: str) -> Lit:
    return Lit(_PLACE, String(token[1:-1]) if token.startswith('"') else Int(int(token)))
