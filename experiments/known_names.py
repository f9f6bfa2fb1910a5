"""What experiments are asked for by name: one that nothing has ends them, before anything runs."""

from __future__ import annotations

from collections.abc import Iterable

from storel.errors import UnknownNameError, nearest


def require_known(kind: str, given: Iterable[str], known: Iterable[str]) -> None:
    """End with exit code 1 and the names that are known if one that is given is none of them."""
    expected = list(dict.fromkeys(known))
    for name in given:
        if name not in expected:
            raise _unknown(f"no {kind} is called '{name}'", name, expected)


def require_match(kind: str, word: str, known: Iterable[str]) -> None:
    """End with exit code 1 and the names that are known if none of them contains a word."""
    expected = list(dict.fromkeys(known))
    if not any(word in name for name in expected):
        raise _unknown(f"no {kind} has a name that contains '{word}'", word, expected)


def _unknown(message: str, name: str, known: list[str]) -> SystemExit:
    error = UnknownNameError(message, expected=", ".join(known), hint=nearest(name, known))
    return SystemExit(f"error: {error}")
