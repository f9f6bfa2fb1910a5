from __future__ import annotations

import pytest

from storel.drawing.text import layout_text
from storel.storage.formats.known import Formats
from storel.storage.trials.layout import example, layout
from storel.syntax.parser import parse_format

CSR = """\
    1 . 2 .
    . . . .
    . 3 . .
    4 . . 5

pos  0 2 2 3 5

idx  0 2 1 0 3
of   1 2 3 4 5

val  1 2 3 4 5"""

ELL = """\
    1 . 2
    . . .

idx   0  2 -1 -1
of    1  2

val  1 2 0 0"""

CUBE = """\
T(0)
    1 . 2
    . . .

T(1)
    . . .
    . 3 .

val  1 0 2 0 0 0 0 0 0 0 3 0"""

VECTOR = """\
    1 . 2

row  0 2
of   1 2

val  1 2"""


@pytest.mark.parametrize(
    ("text", "shape", "drawn"),
    [
        ("csr", (4, 4), CSR),
        ("ell", (2, 3), ELL),
        ("dense", (2, 2, 3), CUBE),
        ("coo", (3,), VECTOR),
        ("dense", (), "    1\n\nval  1"),
    ],
)
def test_drawing(text: str, shape: tuple[int, ...], drawn: str) -> None:
    storage = Formats().resolve(parse_format(text), len(shape))
    assert layout_text(layout(example(storage, shape))).plain == drawn


def test_an_entry_has_one_colour_in_the_matrix_and_in_memory() -> None:
    storage = Formats().resolve(parse_format("csr"), 2)
    drawn = layout_text(layout(example(storage, (4, 4))))
    styles: dict[str, set[str]] = {}
    for span in drawn.spans:
        if "on #" in str(span.style):
            styles.setdefault(str(span.style), set()).add(drawn.plain[span.start : span.end])
    assert len(styles) == 5
    assert {"5", "3"} in styles.values()  # the value and its column


def test_long_arrays_are_folded() -> None:
    drawn = layout_text(layout(example(Formats().resolve(parse_format("dense"), 2), (9, 9)))).plain
    assert max(map(len, drawn.splitlines())) <= 100
    assert sum(line.startswith("val") for line in drawn.splitlines()) == 1
    assert len(" ".join(drawn.partition("val")[2].split()).split()) == 81
