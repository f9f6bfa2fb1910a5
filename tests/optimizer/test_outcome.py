"""The parts of a search may be a user's own: what is none is told, and what is theirs is not remembered."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import storel
from storel.errors import StorelError
from storel.optimizer.cost.model import Nanoseconds
from storel.optimizer.egraph.extract import Extractor
from storel.optimizer.egraph.saturate import Saturation, alternate
from storel.optimizer.encoding.debruijn import DE_BRUIJN
from storel.optimizer.limits import Stop
from storel.optimizer.outcome import BINDERS, DEFAULT, Options


class OwnNanoseconds(Nanoseconds):
    """A model of a user's own, which is a shipped one by its type."""


class Same:
    """A model by which everything costs the same, whatever that is."""

    def __init__(self, price: Any) -> None:
        self.returned = price

    def price(self, *_: Any) -> Any:
        return self.returned


class Idle(Extractor):
    """An extractor that chooses nothing."""

    def settle(self) -> None:
        pass


def unprepared(_state: Saturation, _phase: str) -> tuple[Stop, int]:
    return Stop.SATURATED, 0


def astray(state: Saturation, phase: str) -> tuple[Stop, int]:
    state.step(f"{phase}s")
    return Stop.SATURATED, 1


def restless(state: Saturation, phase: str) -> tuple[Stop, int]:
    state.settle(phase)
    return Stop.SATURATED, 1


def silent(_state: Saturation, _phase: str) -> None:
    return None


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"cost": Nanoseconds}, "'cost' of a search is something else\n  expected: a cost model"),
        ({"cost": 3}, "'cost' of a search"),
        ({"main": None}, "'main' of a search is something else\n  expected: Limits"),
        ({"normalize": 60}, "'normalize' of a search"),
        ({"schedule": "alternate"}, "'schedule' of a search"),
        ({"extractor": dict}, "'extractor' of a search is something else\n  expected: a subclass"),
        ({"patience": math.nan}, "'patience' of a search is something else\n  expected: a number of runs"),
        ({"patience": -1.0}, "'patience' of a search"),
        ({"binders": "name"}, "no encoding of binders called 'name'\n  expected: named, debruijn"),
    ],
)
def test_what_is_no_part_of_a_search_is_an_error(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(StorelError) as caught:
        Options(**parts)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"schedule": silent}, "the schedule returned something else"),
        ({"schedule": astray}, "no ruleset 'mains' is run so(?s:.*)did you mean 'main'"),
        ({"schedule": restless}, "no ruleset 'main' is run so"),
        ({"cost": Same(None)}, "cost model Same returned something else(?s:.*)found: None"),
        ({"cost": Same("cheap")}, r"the children of the node cost(?s:.*)found: 'cheap' \(str\)"),
        ({"cost": Same(math.nan)}, "found: nan"),
        ({"cost": Same(-1.0)}, "cost model Same makes a .* cheaper than a child"),
        ({"schedule": unprepared}, "a schedule prepares its state"),
        ({"extractor": Idle}, "an extractor takes nodes whose children have theirs"),
    ],
)
def test_a_part_that_does_not_do_its_work_is_an_error(parts: dict[str, Any], message: str) -> None:
    program = "CREATE TENSOR s AS sum(<(i, k), a> in A, <(k, j), b> in A) a * b"
    with pytest.raises(StorelError, match=message):
        storel.compile(program, A=np.eye(3), search=Options(**parts))


def test_only_what_is_shipped_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BINDERS, "mine", DE_BRUIJN)
    assert DEFAULT.is_repeatable and Options(binders="debruijn").is_repeatable
    for own in (Options(binders="mine"), Options(cost=OwnNanoseconds()), Options(schedule=alternate)):
        assert not own.is_repeatable
    monkeypatch.setitem(BINDERS, "named", DE_BRUIJN)
    assert not DEFAULT.is_repeatable
