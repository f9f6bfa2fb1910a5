"""How a definition is computed, where that was measured: a schedule, and the note that it is kept in.

A note is named by the machine and by all that a plan depends on, statistics of the data included. It says
which of the choices that the compiler has itself is to be taken: one that it does not have here, and a note
that cannot be understood, count as none. So a note can make a program faster or slower, but not wrong.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias, get_args

from storel.calculus.nodes import Term
from storel.host import cache
from storel.optimizer.physical.preferences import PLANNERS_OWN, Gathering, Preferences, StoreKind

Formats: TypeAlias = tuple[tuple[str, str], ...]
"""Names of operands, in order, and the formats that they are converted to."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """One way to compute a definition.

    ``term`` is the digest of a term that the search considered, ``converted`` are operands that are stored
    otherwise before. ``divides`` says whether several threads compute; None leaves that to the estimates.
    """

    term: str
    converted: Formats = ()
    preferences: Preferences = PLANNERS_OWN
    divides: bool | None = None


def digest_of(term: Term) -> str:
    """Return what stands for a term in a schedule."""
    return cache.digest(repr(term))


def name_of(*parts: str) -> str:
    """Return a name for what a schedule is right for, all of which ``parts`` say."""
    return cache.digest(*parts)


def recalled(name: str) -> Schedule | None:
    """Return the schedule that is kept under a name, None if there is none or it is damaged."""
    text = cache.recall(_note(name))
    try:
        return None if text is None else _understood(json.loads(text))
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return None


def keep(name: str, schedule: Schedule) -> bool:
    """Keep a schedule under a name; return whether the cache could be written."""
    text = json.dumps({**asdict(schedule), "converted": dict(schedule.converted)}, indent=2)
    cache.remember(_note(name), text)
    return cache.recall(_note(name)) == text


def drop(name: str) -> bool:
    """Forget the schedule under a name; return whether there was one.

    Raises DataError if the system does not let it go.
    """
    is_there = cache.recall(_note(name)) is not None
    cache.forget(_note(name))
    return is_there


def _note(name: str) -> str:
    return f"schedule-{name}.json"


def _understood(found: Mapping[str, Any]) -> Schedule:
    """Return the schedule in a note; raises KeyError, TypeError or ValueError if it is none."""
    preferred, converted = found["preferences"], sorted(found["converted"].items())
    store = _one_of(preferred["store"], (*get_args(StoreKind), None))
    gather = _one_of(preferred["gather"], (*get_args(Gathering), None))
    divides = _one_of(found["divides"], (True, False, None))
    if not all(isinstance(each, str) for each in (found["term"], *dict(converted).values())):
        raise TypeError("names are texts")
    return Schedule(found["term"], tuple(converted), Preferences(store, gather), divides)


def _one_of(value: Any, allowed: tuple[Any, ...]) -> Any:
    if not any(value is each or (isinstance(value, str) and value == each) for each in allowed):
        raise ValueError(f"{value} is none of {allowed}")
    return value
