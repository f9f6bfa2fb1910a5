"""Formats of data that comes in its arrays: what is kept beside these, and what format it stands for.

The name says it of a format that ships, which is the same wherever the data is read. Of any other the text
is kept: where the data is read there may be none of that name, or another one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from storel.errors import FormatError
from storel.source import Source
from storel.storage.formats.format import Format
from storel.storage.formats.known import UNNAMED, Formats
from storel.storage.formats.levels import CONSTRUCTOR
from storel.syntax.format_check import OWN_FORMATS, check_format
from storel.syntax.nodes.statements import CreateFormat
from storel.syntax.parser import parse, parse_format


@dataclass(frozen=True, slots=True)
class Creation:
    """The text that creates a format, and those of its parts, but for parts that ship."""

    text: str
    parts: tuple[Creation, ...] = ()

    @classmethod
    def from_object(cls, found: Any) -> Creation:
        """Return what an object of the same fields stands for; raises KeyError or TypeError for others."""
        if not isinstance(found["text"], str) or not isinstance(found["parts"], list):
            raise TypeError("a text, and a list of parts")
        return cls(found["text"], tuple(map(cls.from_object, cast(list[Any], found["parts"]))))


def creation_of(storage: Format) -> Creation | None:
    """Return how a format is created; None for one that its name suffices for."""
    if _ships(storage):
        return None
    parts = dict.fromkeys(created for part in storage.parts if (created := creation_of(part)) is not None)
    return Creation(storage.declaration.span.text, tuple(parts))


def described(text: str, rank: int, creation: Creation | None, formats: Formats) -> Format:
    """Return the format of data, ``text`` what was after ``STORED AS``, and ``creation`` what was kept of it.

    A script's own format is not meant where one ships that has its name: what is said of it would have been
    kept. Raises FormatError for a format that is not known. Its name was known when data was saved: it is not
    misspelt.
    """
    reference = parse_format(text)
    key = reference.name, rank
    if creation is not None:
        created = _created(creation)
        if (created.name, created.rank) != key:
            raise FormatError(f"its format '{reference.name}' is not what was created")
        return Formats(created={key: created}).resolve(reference, rank)
    if key in formats.created and _shipped(*key) is not None:
        return Formats().resolve(reference, rank)
    if reference.name not in (*UNNAMED, *formats.names):
        raise FormatError(f"its format '{reference.name}' is not known here", hint=OWN_FORMATS)
    return formats.resolve(reference, rank)


def _ships(storage: Format) -> bool:
    """Return whether a format is what its name says wherever it is read."""
    if storage.name.startswith(f"{CONSTRUCTOR}("):
        return True
    shipped = _shipped(storage.name, storage.rank)
    if shipped is None:
        return False
    return (shipped.declaration, shipped.takings) == (storage.declaration, storage.takings)


def _shipped(name: str, rank: int) -> Format | None:
    known = Formats()
    return known.overloads(name).get(rank) if name in known.files else None


@lru_cache(maxsize=256)
def _created(creation: Creation) -> Format:
    """Return the format that a text creates; there is one object for each.

    Raises StorelError for a text that creates none.
    """
    known = Formats()
    for part in map(_created, creation.parts):
        known.created[part.name, part.rank] = part
    statements = parse(Source("<its format>", creation.text)).statements
    declarations = [each for each in statements if isinstance(each, CreateFormat)]
    if len(declarations) != 1:
        raise FormatError("the text of its format creates none", expected="CREATE FORMAT …")
    check_format(declarations[0])
    return known.made(declarations[0])
