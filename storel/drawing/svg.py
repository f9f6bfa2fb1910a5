"""A layout as a picture that needs nothing but itself: SVG 1.1, https://www.w3.org/TR/SVG11/.

The matrix above, the arrays below; what belongs to one entry has one colour, and says so when pointed at.
"""

from __future__ import annotations

from itertools import chain

from storel.drawing.figure import Cell, Grid, arrays, colour, planes
from storel.explanation.markup import Markup, element
from storel.storage.trials.layout import Layout

HEIGHT = 26
MARGIN = 12
CHARACTER = 8
"""The height of a cell, the space around everything, and the width of a character, in pixels."""

AT_ONCE = 24
"""The elements of an array in one line."""

NO_MARK = "#ffffff"
STYLE = (
    "rect { stroke: #8a8a8a } "
    "text { font: 13px ui-monospace, monospace; fill: #1a1a1a } "
    "text { text-anchor: middle; dominant-baseline: central } "
    ".caption { text-anchor: start; font-weight: bold }"
)


def layout_svg(layout: Layout) -> str:
    """Return the drawing of a layout as the text of an SVG file."""
    upper, lower = list(planes(layout)), [_folded(each) for each in arrays(layout)]
    width = _cell_width([*upper, *lower])
    parts = [element("style", STYLE), element("title", f"{layout.tensor.format}: where each entry lies")]
    left, bottom, right = MARGIN, MARGIN, MARGIN
    for grid in upper:
        parts.append(_drawn(grid, "plane", left, MARGIN, width))
        left += _size(grid, width)[0] + MARGIN
        bottom, right = max(bottom, MARGIN + _size(grid, width)[1]), max(right, left)
    for grid in lower:
        parts.append(_drawn(grid, "array", MARGIN, bottom + MARGIN, width))
        bottom += MARGIN + _size(grid, width)[1]
        right = max(right, 2 * MARGIN + _size(grid, width)[0])
    size = {"width": str(right), "height": str(bottom + MARGIN)}
    ground = element("rect", **size, style=f"fill: {NO_MARK}; stroke: none")
    parts.insert(2, ground)
    return element(
        "svg", *parts, xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {right} {bottom + MARGIN}", **size
    )


def _folded(grid: Grid) -> Grid:
    """Return an array in lines that are not too long."""
    (cells,) = grid.rows
    starts = range(0, len(cells), AT_ONCE)
    return Grid(grid.caption, tuple(cells[start : start + AT_ONCE] for start in starts))


def _cell_width(grids: list[Grid]) -> int:
    cells = chain.from_iterable(row for grid in grids for row in grid.rows)
    return max(HEIGHT, CHARACTER * max((len(cell.text) + 1 for cell in cells), default=0))


def _size(grid: Grid, width: int) -> tuple[int, int]:
    """Return the width and height of a grid with its caption."""
    columns = max(map(len, grid.rows), default=0)
    return max(columns * width, CHARACTER * len(grid.caption)), HEIGHT * (1 + len(grid.rows))


def _drawn(grid: Grid, kind: str, left: int, top: int, width: int) -> Markup:
    caption = element("text", grid.caption, class_="caption", x=str(left), y=str(top + HEIGHT // 2))
    cells = [
        _cell(cell, left + column * width, top + HEIGHT * (1 + row), width)
        for row, cells in enumerate(grid.rows)
        for column, cell in enumerate(cells)
    ]
    return element("g", caption, *cells, class_=kind)


def _cell(cell: Cell, left: int, top: int, width: int) -> Markup:
    fill = NO_MARK if cell.mark is None else colour(cell.mark)
    place = {"x": str(left), "y": str(top), "width": str(width), "height": str(HEIGHT)}
    middle = {"x": str(left + width // 2), "y": str(top + HEIGHT // 2)}
    return element(
        "g",
        element("title", cell.title),
        element("rect", **place, fill=fill),
        element("text", cell.text, **middle),
        class_="cell",
    )
