from __future__ import annotations

from collections import Counter
from xml.etree import ElementTree

import pytest
from strategies.structured import FITTING

from storel.drawing.svg import layout_svg
from storel.storage.formats.known import Formats
from storel.storage.trials.layout import Layout, example, layout
from storel.syntax.parser import parse_format

SVG = "{http://www.w3.org/2000/svg}"


def drawn(text: str, shape: tuple[int, ...]) -> tuple[Layout, ElementTree.Element]:
    made = layout(example(Formats().resolve(parse_format(text), len(shape)), shape))
    return made, ElementTree.fromstring(layout_svg(made))


def cells(picture: ElementTree.Element, kind: str) -> dict[str, list[tuple[str, str]]]:
    """Return the text and the colour of each cell, by the captions of the grids."""
    found: dict[str, list[tuple[str, str]]] = {}
    for grid in picture.iterfind(f"{SVG}g[@class='{kind}']"):
        within = list(grid.iterfind(f"{SVG}g[@class='cell']"))
        texts = [text.text or "" for each in within for text in each.iterfind(f"{SVG}text")]
        colours = [rect.attrib["fill"] for each in within for rect in each.iterfind(f"{SVG}rect")]
        found[grid.findtext(f"{SVG}text", "")] = list(zip(texts, colours, strict=True))
    return found


@pytest.mark.parametrize("text", [*FITTING, "csr", "coo", "levels(compressed, dense; order=(1,0))"])
def test_every_element_is_drawn_as_often_as_it_is_stored(text: str) -> None:
    made, picture = drawn(text, (6, 6))
    arrays = cells(picture, "array")
    assert list(arrays) == [each.name for each in made.tensor.storage.arrays]
    for name, array in made.tensor.arrays.items():
        assert [text for text, _ in arrays[name]] == [str(each) for each in array.tolist()]
    (plane,) = cells(picture, "plane").values()
    dense = made.tensor.to_numpy().reshape(-1).tolist()
    assert Counter(text for text, _ in plane) == Counter(str(each or ".") for each in dense)


@pytest.mark.parametrize("text", FITTING)
def test_an_entry_has_the_colour_of_its_value_in_memory(text: str) -> None:
    made, picture = drawn(text, (4, 4))
    (plane,) = cells(picture, "plane").values()
    shown = {text: colour for text, colour in plane if text != "."}
    assert len(set(shown.values())) == len(set(made.entries.values()))
    arrays = cells(picture, "array")
    stored = [cell for each in made.tensor.storage.arrays if each.holds_values for cell in arrays[each.name]]
    assert {(text, colour) for text, colour in stored if text != "0"} <= shown.items()
    assert {colour for text, colour in stored if text != "0"} == set(shown.values())
    assert {colour for text, colour in stored if text == "0"} <= {"#ffffff"}


def test_everything_is_inside_of_the_picture() -> None:
    for shape in ((1, 1), (4, 4), (9, 30), (2, 2, 3)):
        _, picture = drawn("dense", shape)
        width, height = (int(picture.attrib[name]) for name in ("width", "height"))
        for cell in picture.iter(f"{SVG}rect"):
            assert int(cell.get("x", 0)) + int(cell.attrib["width"]) <= width
            assert int(cell.get("y", 0)) + int(cell.attrib["height"]) <= height


def test_pointing_at_an_element_says_what_it_is() -> None:
    _, picture = drawn("csr", (4, 4))
    titles = [each.text for each in picture.iter(f"{SVG}title")]
    assert "idx(2) = 1, of entry 3" in titles
    assert "T(2, 1) = 3" in titles
    assert "pos(1) = 2" in titles
