"""All statements of a body, from the outside in, in the order of the text."""

from __future__ import annotations

from collections.abc import Iterator

from storel.loops.nodes import For, If, Statement, While


def walk(body: tuple[Statement, ...]) -> Iterator[Statement]:
    """Yield every statement of ``body``, and of the bodies inside it."""
    for statement in body:
        yield statement
        match statement:
            case For(body=inner) | While(body=inner):
                yield from walk(inner)
            case If(_, inner, otherwise):
                yield from walk(inner)
                yield from walk(otherwise)
            case _:
                pass
