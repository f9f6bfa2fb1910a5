"""A layout for a terminal: the matrix as comments of formats draw it, and below it the arrays.

Under an array of keys stands which entry each element belongs to; where there are colours, they say it, too.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from storel.drawing.figure import Cell, Grid, arrays, colour, planes
from storel.storage.trials.layout import Layout

WIDTH = 88
"""The columns that the elements of an array may take."""

INDENT = "    "


def layout_text(layout: Layout) -> Text:
    """Return the drawing of a layout, for a ``rich`` console."""
    lines = [*_planes(layout)]
    captions = [declaration.name for declaration in layout.tensor.storage.arrays]
    width = max(map(len, (*captions, "of")), default=0)
    for grid in arrays(layout):
        lines.append(Text())
        lines += _array(grid, layout.labels, width)
    return Text("\n").join(lines)


def _planes(layout: Layout) -> Iterator[Text]:
    grids = list(planes(layout))
    for number, grid in enumerate(grids):
        if len(grids) > 1:
            yield Text(f"{chr(10) if number else ''}{grid.caption}")
        width = max((len(cell.text) for row in grid.rows for cell in row), default=0)
        for row in grid.rows:
            yield _row(INDENT, [(cell.text, cell.mark) for cell in row], width)


def _array(grid: Grid, labels: tuple[str, ...], width: int) -> Iterator[Text]:
    (cells,) = grid.rows
    owners = ["" if cell.mark is None else labels[cell.mark] for cell in cells]
    if not any(_is_unsaid(cell, owner) for cell, owner in zip(cells, owners, strict=True)):
        owners = [""] * len(cells)
    column = max(map(len, (*owners, *(cell.text for cell in cells))), default=0)
    at_once = max(WIDTH // (column + 1), 1)
    for start in range(0, max(len(cells), 1), at_once):
        part = cells[start : start + at_once]
        head = grid.caption if start == 0 else ""
        yield _row(f"{head:<{width}}  ", [(cell.text, cell.mark) for cell in part], column)
        if any(owners):
            marked = zip(owners[start : start + at_once], part, strict=True)
            yield _row(f"{'of':<{width}}  ", [(owner, cell.mark) for owner, cell in marked], column, "dim")


def _is_unsaid(cell: Cell, owner: str) -> bool:
    return cell.mark is not None and cell.text != owner


def _row(head: str, cells: list[tuple[str, int | None]], width: int, style: str = "") -> Text:
    line = Text(head, style)
    for number, (text, mark) in enumerate(cells):
        shown = "" if mark is None else f"black on {colour(mark)}"
        line.append(" " if number else "")
        line.append(f"{text:>{width}}", shown)
    line.rstrip()
    return line
