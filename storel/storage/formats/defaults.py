"""Which formats are taken where nobody says: ``storage_formats/defaults.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache

from storel.host import resources


@dataclass(frozen=True)
class Defaults:
    """Formats by rank as ``STORED AS`` names them, the default first, for dense and for sparse data."""

    dense: dict[int, tuple[str, ...]]
    sparse: dict[int, tuple[str, ...]]


@cache
def shipped_defaults() -> Defaults:
    """Return what is shipped."""
    path = resources.directory("storage_formats") / "defaults.toml"
    table = tomllib.loads(path.read_text(encoding="utf-8"))

    def by_rank(kind: str) -> dict[int, tuple[str, ...]]:
        return {int(rank): tuple(names) for rank, names in table[kind].items()}

    return Defaults(by_rank("dense"), by_rank("sparse"))
