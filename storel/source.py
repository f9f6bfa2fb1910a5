"""Source text and the places in it that messages point to."""

from __future__ import annotations

from dataclasses import dataclass

LONGEST_SHOWN_LINE = 200
"""Characters of a line of text up to which all of it is shown."""

SHOWN_OF_LONGER = 70
"""How many characters around its place are shown of a longer line: they fit on a terminal."""


@dataclass(frozen=True, slots=True)
class Source:
    """A program text and the name under which messages mention it."""

    name: str
    text: str

    @classmethod
    def given(cls, name: str, text: str) -> Source:
        """Return a text as if read from a file: without a mark of its encoding, its lines ended alike."""
        return cls(name, text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"))

    def line_at(self, offset: int) -> tuple[int, int, str]:
        """Return the 1-based line and column of ``offset``, and that line's text."""
        start = self.text.rfind("\n", 0, offset) + 1
        end = self.text.find("\n", offset)
        line = self.text[start:] if end < 0 else self.text[start:end]
        return self.text.count("\n", 0, offset) + 1, offset - start + 1, line


@dataclass(frozen=True, slots=True)
class Span:
    """The half-open character range ``[start, end)`` of a source."""

    source: Source
    start: int
    end: int

    def to(self, other: Span) -> Span:
        """Return the span from the start of this one to the end of ``other``."""
        return Span(self.source, self.start, other.end)

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    def render(self) -> str:
        """Return ``file:line:column``, the line, and a caret under the span's part of that line.

        Of a long line only what is around the place is shown. A character may be two cells of a terminal
        wide, or none.
        """
        from rich.cells import cell_len  # not before there is an error to show

        number, column, line = self.source.line_at(self.start)
        shown, start = _around(line, column - 1)
        before, marked = visible(shown[:start]), visible(shown[start : start + self.end - self.start])
        gutter = f"{number:>4} | "
        indent = "".join("\t" if sign == "\t" else " " * cell_len(sign) for sign in before)
        caret = " " * (len(gutter) - 2) + "| " + indent + "^" * max(1, cell_len(marked))
        return f"{visible(self.source.name)}:{number}:{column}\n{gutter}{visible(shown)}\n{caret}"


def _around(line: str, place: int) -> tuple[str, int]:
    """Return what is shown of a line, and where the character at ``place`` is in that.

    >>> _around("x = y", 4)
    ('x = y', 4)
    """
    if len(line) <= LONGEST_SHOWN_LINE:
        return line, place
    low = min(max(0, place - SHOWN_OF_LONGER // 2), len(line) - SHOWN_OF_LONGER)
    high = low + SHOWN_OF_LONGER
    before, after = "…" if low else "", "…" if high < len(line) else ""
    return before + line[low:high] + after, len(before) + place - low


def visible(text: str) -> str:
    r"""Return a text in which what a terminal would obey, or not show, is written as Python writes it.

    Names of files and lines of data may hold anything; only ends of lines and tabs stay as they are.

    >>> print(visible("a\x1b[31m.mtx"))
    a\x1b[31m.mtx
    """
    return "".join(sign if sign.isprintable() or sign in "\n\t" else _escaped(sign) for sign in text)


def _escaped(sign: str) -> str:
    return sign.encode("unicode_escape").decode("ascii")


NOWHERE = Span(Source("<generated>", ""), 0, 0)
"""The span of what no text says."""
