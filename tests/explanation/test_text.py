"""Every stage is explained as text, and the plan with its figures."""

from __future__ import annotations

import re

import pytest
from strategies.explained import PROGRAMS, measured, program

from storel.compilation.compiler import STAGES
from storel.errors import UnknownNameError
from storel.explanation.text import explain_text
from storel.plan.printer import render

SCALED = program("scaled")
COMPILATIONS = {"r": SCALED.compilation}
PROFILES = {"r": measured(SCALED)}
OTHERS = [stage.name for stage in STAGES if stage.name != "plan"]


def test_the_stages_come_in_their_order() -> None:
    text = explain_text(COMPILATIONS)
    places = [text.index(f"--- {stage.name}\n") for stage in STAGES]
    assert places == sorted(places)
    assert text.startswith("=== r in ")
    assert "estimated time: " in text and "e-nodes" in text


@pytest.mark.parametrize("stage", OTHERS)
def test_one_stage_is_part_of_all(stage: str) -> None:
    assert explain_text(COMPILATIONS, stage) in explain_text(COMPILATIONS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_plan_with_figures_is_the_plan(name: str) -> None:
    """Without its figures, each line is that of the plan: the same text, the same indentation."""
    this = program(name)
    plan = render(this.compilation.plan).splitlines()
    assert explain_text({"r": this.compilation}, "plan").splitlines() == plan
    figured = explain_text({"r": this.compilation}, "plan", {"r": measured(this)}).splitlines()
    for line, expected in zip(figured, plan, strict=False):
        assert line.endswith(f"   {expected}")
    assert [line.split(":")[0] for line in figured[len(plan) :]] == ["time", "memory"]


def test_figures_stand_in_columns() -> None:
    title, loop, *_ = explain_text(COMPILATIONS, "plan", PROFILES).splitlines()
    assert title.split("   ")[0].split("  ") == ["expected", "counted", "off by", "time (attributed)"]
    assert re.match(r" +3 +3 +\S+ (n|µ)s     loop", loop)
    assert title.index("   result") == loop.index("     loop")


def test_how_the_plan_was_found_is_said() -> None:
    text = explain_text({"r": program("searched").compilation})
    assert re.search(r"normalize: saturated after \d+ iterations, \d+ e-nodes, \d+ ms; rules: .+ \d+", text)
    pattern = (
        r"runner-up \(normalized\): .+, (\d+\.\d+) times the time, (\d+\.\d+) times the arithmetic\n  sum\("
    )
    ratios = re.search(pattern, text)
    assert ratios is not None and max(map(float, ratios.groups())) > 1


def test_an_unknown_stage_is_met_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'plan'"):
        explain_text(COMPILATIONS, "plans")
