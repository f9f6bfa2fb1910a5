"""The graph has one box per operator, each below what runs it, and is what Graphviz reads."""

from __future__ import annotations

import re

import pytest
from strategies.explained import PROGRAMS, measured, program

from storel.explanation.dot import explain_dot
from storel.explanation.tree import explained, flattened

BOX = re.compile(
    r'^    (n0(?:_\d+)*) \[label="((?:[^"\\]|\\.)*)", fillcolor=(?:white|"0\.08 [01]\.\d+ 1\.0")\];$'
)
EDGE = re.compile(r"^    (n0(?:_\d+)*) -> (n0(?:_\d+)*);$")


@pytest.mark.parametrize("name", PROGRAMS)
def test_boxes_and_edges_are_the_plan(name: str) -> None:
    this = program(name)
    lines = explain_dot({"r": this.compilation}, {"r": measured(this)}).splitlines()
    boxes = [found for line in lines if (found := BOX.match(line))]
    edges = [found for line in lines if (found := EDGE.match(line))]
    operators = [each.text for _, each in flattened(explained(this.compilation).operators)]
    assert [box.group(2).split("\\n")[0] for box in boxes[1:]] == operators
    assert all("counted" in box.group(2) and "(attributed)" in box.group(2) for box in boxes[1:])
    assert [edge.groups() for edge in edges] == [
        (box.group(1).rpartition("_")[0], box.group(1)) for box in boxes[1:]
    ]
    assert len(boxes) + len(edges) + 6 == len(lines), "nothing else but two frames, a style and a label"


def test_what_was_not_measured_is_expected() -> None:
    text = explain_dot({"r": program("scaled").compilation})
    assert "counted" not in text and "(attributed)" not in text and "(expected)" in text
