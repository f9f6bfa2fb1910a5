"""Statistics of a tensor that can be written down, edited, and given in place of the tensor.

    {"shape": [3, 4], "nnz": 5, "type": "float64", "format": "…", "semiring": "plus_times", "finite": true,
     "order": [0, 1], "prefixes": [2, 5], "bandwidth": [1, 2], "symmetric": false, "closed": true,
     "modes": [{"nonempty": 2, "first": 0, "last": 2, "l2": 3.6, "linf": 3, "histogram": [0, 2]}, …]}

Only ``shape`` and ``nnz`` must be given. A mode of which nothing is said has its entries spread evenly. Of a
format that does not ship there is ``"creation": {"text": "CREATE FORMAT …", "parts": []}``, too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from storel.degrees import Degrees, uniform
from storel.errors import DataError, nearest
from storel.scalars import ScalarType
from storel.semiring import SEMIRINGS
from storel.storage.contradictions import (
    bounds_of_bandwidth,
    bounds_of_degrees,
    bounds_of_keys,
    bounds_of_prefixes,
    require_bounds,
)
from storel.storage.formats.creation import Creation


@dataclass(frozen=True, slots=True)
class ModeSummary:
    """The degrees of one dimension, and the first and the last key with entries."""

    degrees: Degrees
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """The statistics of a tensor without the tensor.

    ``prefixes`` are the distinct keys in the first dimension of ``order``, in the first two, and so on;
    ``bandwidth`` is how far entries lie below and above the diagonal. ``format`` is None for the default,
    ``creation`` for a format that its name suffices for.
    """

    shape: tuple[int, ...]
    type: ScalarType
    format: str | None
    semiring: str
    nnz: int
    order: tuple[int, ...]
    prefixes: tuple[int, ...]
    modes: tuple[ModeSummary, ...]
    bandwidth: tuple[int, int] | None = None
    is_symmetric: bool = False
    is_finite: bool = True
    is_closed: bool = True
    creation: Creation | None = None

    def as_object(self) -> dict[str, Any]:
        """Return what is written as JSON."""
        created = {} if self.creation is None else {"creation": asdict(self.creation)}
        return {
            "shape": list(self.shape),
            "type": self.type.value,
            "format": self.format,
            **created,
            "semiring": self.semiring,
            "nnz": self.nnz,
            "finite": self.is_finite,
            "closed": self.is_closed,
            "order": list(self.order),
            "prefixes": list(self.prefixes),
            "bandwidth": None if self.bandwidth is None else list(self.bandwidth),
            "symmetric": self.is_symmetric,
            "modes": [_mode_object(mode) for mode in self.modes],
        }


def _mode_object(mode: ModeSummary) -> dict[str, Any]:
    degrees = mode.degrees
    return {
        "nonempty": degrees.nonempty,
        "first": mode.first,
        "last": mode.last,
        "l2": degrees.root_square,
        "linf": degrees.largest,
        "histogram": list(degrees.histogram),
    }


def read_summary(path: Path, name: str | None = None) -> Summary:
    """Read statistics from a JSON file, those of the tensor ``name``.

    Raises DataError for what is missing, unknown or impossible.
    """
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"the statistics {path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise DataError(f"the statistics {path} are no JSON: {error}") from error
    return summary_from(given, str(path) if name is None else f"{path}, for {name}")


_KEYS = (
    "shape", "type", "format", "creation", "semiring", "nnz", "finite", "closed", "order", "prefixes",
    "bandwidth", "symmetric", "modes",
)  # fmt: skip
_MODE_KEYS = ("nonempty", "first", "last", "l2", "linf", "histogram")


def summary_from(given: object, where: str = "the statistics") -> Summary:
    """Return the statistics that an object as of ``as_object`` stands for."""
    reader = _Reader(where, _mapping(given, where, _KEYS))
    shape = reader.counts("shape")
    nnz = reader.count("nnz")
    places = 1
    if max(shape, default=0) > ScalarType.INT64.last:
        raise DataError(f"{where}: an extent does not fit into 64 bits", found=str(list(shape)))
    for extent in shape:
        places *= extent
    if nnz > places:
        raise DataError(f"{where}: more entries than places", expected=f"nnz ≤ {places}", found=str(nnz))
    rank = len(shape)
    order = reader.counts("order", tuple(range(rank)))
    if sorted(order) != list(range(rank)):
        raise DataError(f"{where}: 'order' must name each dimension once", found=str(list(order)))
    modes = reader.items("modes")
    if modes and len(modes) != rank:
        raise DataError(f"{where}: 'modes' must describe {rank} dimensions", found=str(len(modes)))
    found = tuple(
        _mode(modes[number] if modes else {}, f"{where}, mode {number}", extent, nnz, places)
        for number, extent in enumerate(shape)
    )
    prefixes = reader.counts("prefixes", _prefixes(order, found, nnz))
    if len(prefixes) != rank or list(prefixes) != sorted(prefixes) or (prefixes and prefixes[-1] != nnz):
        raise DataError(
            f"{where}: 'prefixes' must grow to nnz, one for each dimension", found=str(list(prefixes))
        )
    nonempty = tuple(found[dimension].degrees.nonempty for dimension in order)
    require_bounds(where, bounds_of_prefixes(prefixes, nonempty))
    bandwidth = reader.counts("bandwidth", ())
    is_symmetric = reader.truth("symmetric", False)
    _require_matrix(where, shape, bandwidth, is_symmetric)
    return Summary(
        shape,
        ScalarType(reader.choice("type", [each.value for each in ScalarType], "float64")),
        reader.text("format"),
        reader.choice("semiring", list(SEMIRINGS), "plus_times"),
        nnz,
        order,
        prefixes,
        found,
        (bandwidth[0], bandwidth[1]) if len(bandwidth) == 2 else None,
        is_symmetric=is_symmetric,
        is_finite=reader.truth("finite", True),
        is_closed=reader.truth("closed", True),
        creation=reader.creation("creation"),
    )


def _require_matrix(
    where: str, shape: tuple[int, ...], bandwidth: tuple[int, ...], is_symmetric: bool
) -> None:
    """Raise DataError unless a matrix of that shape may have the bandwidth, and be symmetric."""
    if len(bandwidth) not in (0, 2):
        raise DataError(f"{where}: 'bandwidth' is two numbers, below and above", found=str(list(bandwidth)))
    if bandwidth and len(shape) != 2:
        raise DataError(f"{where}: 'bandwidth' is that of a matrix", found=f"the shape {list(shape)}")
    if bandwidth:
        require_bounds(where, bounds_of_bandwidth(shape, bandwidth))
    if is_symmetric and (len(shape) != 2 or len(set(shape)) > 1 or len(set(bandwidth)) > 1):
        width = f" and the bandwidth {list(bandwidth)}" if bandwidth else ""
        raise DataError(
            f"{where}: 'symmetric' is what this cannot be",
            expected="as many rows as columns, and entries as far below as above the diagonal",
            found=f"the shape {list(shape)}{width}",
        )


def _mode(given: object, where: str, extent: int, nnz: int, places: int) -> ModeSummary:
    """Return what is said of a dimension, and where nothing is said what is most even."""
    reader = _Reader(where, _mapping(given, where, _MODE_KEYS))
    most = min(extent, nnz)
    nonempty = reader.count("nonempty", most)
    if nonempty > most or (nnz > 0 and nonempty == 0):
        raise DataError(f"{where}: impossible 'nonempty'", expected=f"1 to {most}", found=str(nonempty))
    even = uniform(extent, nonempty, nnz)
    root_square = reader.number("l2", max(even.root_square, reader.number("linf", 0)))
    largest = reader.number("linf", max(even.largest, root_square**2 / max(1, nnz)))
    slack = 1 + 1e-9
    if largest > nnz or even.largest > largest * slack or not even.root_square <= root_square * slack:
        raise DataError(
            f"{where}: norms that no {nnz} entries have",
            expected=f"linf from {even.largest:g} to {nnz}, l2 from {even.root_square:g}",
            found=f"linf {largest:g}, l2 {root_square:g}",
        )
    degrees = Degrees(extent, nonempty, float(nnz), root_square, largest, reader.counts("histogram", ()))
    first, last = reader.optional("first"), reader.optional("last")
    require_bounds(where, bounds_of_degrees(degrees, places // max(1, extent)))
    require_bounds(where, bounds_of_keys(nonempty, extent, first, last))
    return ModeSummary(degrees, first, last)


def _prefixes(order: tuple[int, ...], modes: tuple[ModeSummary, ...], nnz: int) -> tuple[int, ...]:
    """Return the most distinct prefixes that there can be, in the given order of the dimensions."""
    found: list[int] = []
    before = 1
    for dimension in order[:-1]:
        before = min(nnz, before * modes[dimension].degrees.nonempty)
        found.append(before)
    return (*found, nnz) if order else ()


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads values of the expected kinds from an object; raises DataError for others."""

    where: str
    given: Mapping[str, Any]

    def number(self, key: str, default: float) -> float:
        value = self.given.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
            raise self._error(key, "a number from 0", value)
        return float(value)

    def count(self, key: str, default: int | None = None) -> int:
        value = self.given.get(key, default)
        if not _is_count(value):
            raise self._error(key, "an integer from 0", value)
        return cast(int, value)

    def optional(self, key: str) -> int | None:
        return None if self.given.get(key) is None else self.count(key)

    def counts(self, key: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        value = self.given.get(key)
        if value is None and default is not None:
            return default
        if not isinstance(value, list) or not all(map(_is_count, cast(list[object], value))):
            raise self._error(key, "a list of integers from 0", value)
        return tuple(cast(list[int], value))

    def items(self, key: str) -> list[object]:
        value = self.given.get(key, [])
        if not isinstance(value, list):
            raise self._error(key, "a list", value)
        return cast(list[object], value)

    def truth(self, key: str, default: bool) -> bool:
        value = self.given.get(key, default)
        if not isinstance(value, bool):
            raise self._error(key, "true or false", value)
        return value

    def text(self, key: str) -> str | None:
        value = self.given.get(key)
        if value is not None and not isinstance(value, str):
            raise self._error(key, "a text", value)
        return value

    def creation(self, key: str) -> Creation | None:
        value = self.given.get(key)
        try:
            return None if value is None else Creation.from_object(value)
        except (KeyError, TypeError) as error:
            raise self._error(
                key, "the text that creates the format, and those of its parts", value
            ) from error

    def choice(self, key: str, admitted: list[str], default: str) -> str:
        value = self.given.get(key, default)
        if value not in admitted:
            raise self._error(key, ", ".join(admitted), value)
        return value

    def _error(self, key: str, expected: str, found: object) -> DataError:
        return DataError(
            f"{self.where}: bad '{key}'", expected=expected, found=json.dumps(found, default=str)
        )


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _mapping(given: object, where: str, keys: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise DataError(f"{where}: statistics are a JSON object", found=type(given).__name__)
    found = cast(Mapping[str, Any], given)
    for key in found:
        if key not in keys:
            raise DataError(
                f"{where}: unknown '{key}'", expected=", ".join(keys), hint=nearest(str(key), keys)
            )
    return found
