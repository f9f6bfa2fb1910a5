"""What storel writes into a file beside the entries: a JSON object with all that they do not tell."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from storel.errors import DataError
from storel.semiring import SEMIRINGS
from storel.storage.stored import Stored

KEY = "storel"
VERSION = 1


@dataclass(frozen=True, slots=True)
class Description:
    """The format as after ``STORED AS``, the shape and whether it is closed, and the semiring."""

    format: str
    shape: tuple[int, ...]
    semiring: str
    is_closed: bool


def describe(tensor: Stored) -> str:
    """Return the JSON text that describes a tensor."""
    description = {
        "version": VERSION,
        "format": tensor.format,
        "shape": tensor.shape,
        "semiring": tensor.semiring,
        "is_closed": tensor.is_closed,
    }
    return json.dumps(description)


def parse_description(text: str, what: str) -> Description:
    """Return what was described; raises DataError for anything that this version did not write."""
    try:
        table = cast(Mapping[str, Any], json.loads(text))
        if table["version"] != VERSION or table["semiring"] not in SEMIRINGS:
            raise ValueError("another version")
        shape = tuple(int(extent) for extent in table["shape"])
        return Description(str(table["format"]), shape, str(table["semiring"]), bool(table["is_closed"]))
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{what}: the description of the tensor is not understood",
            expected=f"a file that this version of storel saved, with '{KEY}' describing it",
        ) from error
