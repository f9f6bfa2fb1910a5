"""What is drawn of a layout, whatever it is drawn with: grids of cells, each with its text and its mark."""

from __future__ import annotations

import colorsys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from storel.storage.trials.layout import Layout

MISSING = "."
"""What is written at a place without an entry, as in the comments of formats."""

GOLDEN_RATIO = 0.618034
"""Hues at multiples of it are far from each other, however many there are."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One place or element: what is written in it, which entry it belongs to, and what it is."""

    text: str
    mark: int | None
    title: str


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows of cells under a caption: a matrix of the tensor, or an array of the format (one row)."""

    caption: str
    rows: tuple[tuple[Cell, ...], ...]


def planes(layout: Layout) -> Iterator[Grid]:
    """Yield the tensor as matrices, one for each key of the dimensions before the last two."""
    name, values = layout.tensor.storage.declaration.tensor, layout.values
    shape = layout.tensor.shape
    *outer, rows, columns = (1,) * (2 - len(shape)) + shape
    for prefix in np.ndindex(*outer):

        def cell(row: int, column: int, prefix: tuple[int, ...] = prefix) -> Cell:
            key = (*prefix, row, column)[max(2 - len(shape), 0) :]
            title = f"{name}({', '.join(map(str, key))}) = {values.get(key, 0)}"
            return Cell(values.get(key, MISSING), layout.entries.get(key), title)

        caption = f"{name}({', '.join(map(str, prefix))})" if prefix else name
        yield Grid(caption, tuple(tuple(cell(i, j) for j in range(columns)) for i in range(rows)))


def arrays(layout: Layout) -> Iterator[Grid]:
    """Yield every array of the format, in the order in which it declares them."""
    labels = layout.labels
    for declaration in layout.tensor.storage.arrays:
        name = declaration.name

        def cell(position: int, element: object, name: str = name) -> Cell:
            mark = layout.elements.get((name, position))
            owner = "" if mark is None else f", of entry {labels[mark]}"
            return Cell(str(element), mark, f"{name}({position}) = {element}{owner}")

        elements = layout.tensor.arrays[name].tolist()
        yield Grid(name, (tuple(cell(position, each) for position, each in enumerate(elements)),))


def colour(mark: int) -> str:
    """Return a light colour for a mark, as ``#rrggbb``.

    >>> colour(0), colour(1)
    ('#f6a2a2', '#a2bbf6')
    """
    red, green, blue = colorsys.hls_to_rgb(mark * GOLDEN_RATIO % 1, 0.8, 0.82)
    return "#" + "".join(f"{round(255 * part):02x}" for part in (red, green, blue))
