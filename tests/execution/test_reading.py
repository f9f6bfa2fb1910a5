"""Which names a script's sizes depend on."""

from __future__ import annotations

from typing import Any

import pytest

from storel.execution import reading
from storel.source import Source
from storel.syntax.nodes.expressions import Expression
from storel.syntax.parser import parse


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("sum(<i, _> in 0:a20) 1", {"n"}),
        ("let k = 0:a20 in sum(<i, _> in k) 1", {"n"}),
        ("sum(<i, x> in v) { a20 -> x }", {"n"}),
        ("sum(<i, x> in v) { i -> a20 }", set[str]()),
    ],
)
def test_names_in_sizes_are_found_in_one_pass(
    body: str, names: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A body that was looked at twice for each ``let`` would be looked at a million times."""
    seen: list[Expression] = []
    within = reading.scoped_children

    def counted(expression: Expression) -> Any:
        seen.append(expression)
        return within(expression)

    monkeypatch.setattr(reading, "scoped_children", counted)
    lets = " ".join(f"let a{number + 1} = a{number} + a{number} in" for number in range(20))
    script = parse(Source("text", f"CREATE TENSOR y AS let a0 = n in {lets} {body}"))
    assert reading.names_in_sizes(script.statements) == names
    assert len(seen) < 150
