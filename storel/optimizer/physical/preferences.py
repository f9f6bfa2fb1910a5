"""What a planner may be told to prefer where several choices are right, and only their times differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

StoreKind: TypeAlias = Literal["table", "hash", "list", "rows"]
Gathering: TypeAlias = Literal["bitmap", "list"]


@dataclass(frozen=True, slots=True)
class Preferences:
    """Choices that are taken wherever they are possible; None leaves them to the planner.

    ``store`` is what dictionaries are bound to, ``gather`` where the places of a row are noted.
    """

    store: StoreKind | None = None
    gather: Gathering | None = None


PLANNERS_OWN = Preferences()
