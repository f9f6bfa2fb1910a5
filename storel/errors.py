"""Errors that a user can mend: one family, one form.

A message says what is wrong, what was expected, what was found, shows the place, and gives a hint.
Anything that is not a ``StorelError`` is a defect of storel itself.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from enum import Enum

from storel.source import Span, visible

_DIGITS = re.compile(r"\d{41,}")
"""Numbers that no machine computes with, and nobody reads to their end."""


class StorelError(Exception):
    """A mistake in a program, in data, or in the surroundings, that the user can mend."""

    def __init__(
        self,
        message: str,
        *,
        expected: str | None = None,
        found: str | None = None,
        span: Span | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.expected = expected
        self.found = found
        self.span = span
        self.hint = hint

    def __str__(self) -> str:
        lines = [_shown(self.message)]
        if self.span is not None:
            lines.append(self.span.render())
        if self.expected is not None:
            lines.append(f"  expected: {_shown(self.expected)}")
        if self.found is not None:
            lines.append(f"  found: {_shown(self.found)}")
        if self.hint is not None:
            lines.append(f"  hint: {visible(self.hint)}")
        return "\n".join(lines)


@contextmanager
def placed_at(span: Span, kind: type[StorelError] = StorelError) -> Generator[None]:
    """Show this place with a mistake of a kind that is found inside and has no place of its own."""
    try:
        yield
    except kind as error:
        error.span = error.span or span
        raise


@contextmanager
def about(subject: str) -> Generator[None]:
    """Begin the message of a mistake that is found inside with what it is about."""
    try:
        yield
    except StorelError as error:
        error.message = f"{subject}: {error.message}"
        raise


class ProgramSyntaxError(StorelError):
    """The text is not SDQLite."""


class UnknownNameError(StorelError):
    """A name stands for nothing, or for two things."""


class TypeMismatchError(StorelError):
    """Ranks, scalar types or semirings do not fit."""


class ExtentError(StorelError):
    """Dimensions disagree or cannot be inferred."""


class FormatError(StorelError):
    """A storage mapping is wrong, or data does not fit it."""


class DataError(StorelError):
    """A file or an array does not hold what it should."""


class MemoryLimitError(StorelError):
    """A buffer would not fit into the memory limit."""


class Cause(Enum):
    """Why a kernel failed. Some causes have a subject: the array that is read, the operator that reduces."""

    DIVISION = "an integer is divided by zero"
    POWER = "an integer is taken to a negative power"
    CONVERSION = "what is no integer is made one"
    READ = "an array is read outside"
    NOTHING = "the least or the greatest of no entries"
    KEY = "a key of the result is outside"
    CAPACITY = "the result does not fit into the memory limit"


class EvaluationError(StorelError):
    """A program failed while it ran: an array read out of bounds, an overflow, a broken promise."""

    cause: Cause | None = None
    subject: str = ""


class BackendError(StorelError):
    """A backend that was asked for is not there or does not work."""


def _shown(text: str) -> str:
    return visible(_shortened(text))


def _shortened(text: str) -> str:
    """Return a text with the first digits of its numbers that are far too long, and how many they have.

    >>> _shortened(f"the shape ({10**400}, 3)")
    'the shape (1000000000… (401 digits), 3)'
    """
    return _DIGITS.sub(lambda found: f"{found[0][:10]}… ({len(found[0])} digits)", text)


def nearest(name: str, candidates: Iterable[str], likeness: float = 0.5) -> str | None:
    """Return a hint with the candidate closest to ``name``, if one is as much alike, from 0 to 1.

    >>> nearest("crs", ["csr", "coo"])
    "did you mean 'csr'?"
    >>> nearest("x", ["X", "y"])
    "did you mean 'X'?"
    """
    known = sorted(candidates)
    likely = [each for each in known if len(each) > 1 or name.lower().startswith(each.lower())]
    matches = [each for each in known if each.lower() == name.lower()]
    matches = matches or difflib.get_close_matches(name, likely, n=1, cutoff=likeness)
    return f"did you mean '{matches[0]}'?" if matches else None
