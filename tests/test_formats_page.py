"""``docs/formats.md`` lists every format as it is, and what it says about packing is so."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from strategies.command_line import storel as command
from strategies.documents import Block, blocks_of

import storel
from storel.errors import FormatError
from storel.storage.formats.known import Formats, read_formats
from storel.storage.formats.levels import KINDS
from storel.storage.trials.checking import SHAPES
from storel.syntax.nodes.declarations import ParameterDeclaration
from storel.syntax.parser import parse_format
from storel.syntax.printer import render

PAGE = Path(__file__).parent.parent / "docs" / "formats.md"
FORMATS = Formats()
GIVEN = "its arrays are given"


def table(heading: str) -> list[list[str]]:
    """Return the cells of the rows of the table under a heading, without backquotes."""
    (section,) = re.findall(
        rf"^## {heading}\n(.*?)(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.S | re.M
    )
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip().replace("`", "") for cell in line.split("|")[1:-1]] for line in lines[2:]]


SHIPPED = {row[1]: row for row in table("What ships")}


def arrays_of(name: str) -> str:
    """Return the arrays of the format of the highest rank, or its parts and their formats."""
    declaration = max(read_formats(FORMATS.files[name]), key=lambda each: each.rank).declaration
    parts = [f"{part.name}: {part.format.name}" for part in declaration.parts]
    return ", ".join(parts or [array.name for array in declaration.arrays])


def parameters_of(name: str) -> str:
    """Return the parameters of the format of the highest rank, with defaults that no data determines."""
    parameters = FORMATS.find(name, max(FORMATS.overloads(name))).parameters
    return ", ".join(map(parameter_text, parameters)) + " from the data" * any(map(needs_data, parameters))


def needs_data(parameter: ParameterDeclaration) -> bool:
    return parameter.default is not None and not render(parameter.default).isdigit()


def parameter_text(parameter: ParameterDeclaration) -> str:
    if parameter.default is None or needs_data(parameter):
        return parameter.name
    return f"{parameter.name} = {render(parameter.default)}"


def test_every_format_is_listed_once() -> None:
    assert sorted(row[1] for row in table("What ships")) == FORMATS.names


@pytest.mark.parametrize("name", FORMATS.names)
def test_a_format_is_as_the_page_says(name: str) -> None:
    _, _, ranks, _, arrays, parameters = SHIPPED[name]
    stored = sorted(FORMATS.overloads(name))
    assert ranks == (str(stored[0]) if len(stored) == 1 else f"{stored[0]}–{stored[-1]}")
    assert stored == list(range(stored[0], stored[-1] + 1))
    assert arrays == arrays_of(name)
    assert parameters == parameters_of(name)


@pytest.mark.parametrize("name", FORMATS.names)
def test_a_format_holds_what_the_page_says(name: str) -> None:
    holds = SHIPPED[name][3]
    needed = [each.name for each in FORMATS.find(name, 2).parameters if each.default is None]
    text = f"{name}({', '.join(f'{each}=1' for each in needed)})" if needed else name
    scattered = np.zeros((4, 6))
    scattered[[0, 1, 3], [5, 2, 0]] = [1.0, 2.0, 3.0]
    try:
        storel.tensor(scattered, text)
    except FormatError as error:
        assert ("cannot be packed" in str(error)) == (GIVEN in holds)
        assert not holds.startswith("any ")
    else:
        assert holds.startswith("any ")


def test_the_examples_of_rules_are_formats() -> None:
    examples = [name for row in table("How data is stored") for name in row[2].split(", ")]
    assert set(examples) <= set(FORMATS.names)


def test_the_kinds_of_levels_have_the_arrays_that_the_page_says() -> None:
    rows = table("Levels")
    assert tuple(kind for kind, _, _ in rows) == KINDS
    for kind, _, arrays in rows:
        storage = FORMATS.resolve(parse_format(f"levels(compressed, {kind})"), 2)
        assert ", ".join(each.name for each in storage.arrays if each.name.endswith("2")) == arrays


@pytest.mark.parametrize(
    "block", [block for block in blocks_of(PAGE) if block.file], ids=lambda block: str(block.file)
)
def test_the_formats_of_the_page_are_right(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(SHAPES, 2, ((1, 1), (5, 5)))
    monkeypatch.setattr("storel.storage.trials.checking.EXAMPLE_PLACES", 64)
    assert block.file is not None
    Path(block.file).write_text(block.text, encoding="utf-8")
    ended = command("check-format", block.file)
    assert (ended.code, ended.err) == (0, "")
    assert "what fits reads back as it was" in ended.out
    assert "no tensor fits" not in ended.out
