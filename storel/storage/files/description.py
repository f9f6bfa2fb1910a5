"""What storel writes into a file beside the entries: a JSON object with all that they do not tell."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, cast

from storel.errors import DataError
from storel.semiring import SEMIRINGS
from storel.storage.formats.creation import Creation
from storel.storage.stored import Stored

KEY = "storel"
VERSION, WITH_CREATION = 1, 2
"""The version of a description, and that of one which says more of a format than its name.

What knows the first one only shall not take the name for all that there is to know.
"""


@dataclass(frozen=True, slots=True)
class Description:
    """The format as after ``STORED AS``, the shape and whether it is closed, and the semiring.

    ``creation`` is kept of a format that does not ship, where its arrays are.
    """

    format: str
    shape: tuple[int, ...]
    semiring: str
    is_closed: bool
    creation: Creation | None = None


def describe(tensor: Stored, creation: Creation | None = None) -> str:
    """Return the JSON text that describes a tensor, and says how its format is created."""
    description: dict[str, Any] = {
        "version": VERSION if creation is None else WITH_CREATION,
        "format": tensor.format,
        "shape": tensor.shape,
        "semiring": tensor.semiring,
        "is_closed": tensor.is_closed,
    }
    if creation is not None:
        description["creation"] = asdict(creation)
    return json.dumps(description)


def parse_description(text: str, what: str) -> Description:
    """Return what was described; raises DataError for anything that this version did not write."""
    try:
        table = cast(Mapping[str, Any], json.loads(text))
        if table["version"] not in (VERSION, WITH_CREATION) or table["semiring"] not in SEMIRINGS:
            raise ValueError("another version")
        shape = tuple(int(extent) for extent in table["shape"])
        creation = Creation.from_object(table["creation"]) if table["version"] == WITH_CREATION else None
        semiring, is_closed = str(table["semiring"]), bool(table["is_closed"])
        return Description(str(table["format"]), shape, semiring, is_closed, creation)
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{what}: the description of the tensor is not understood",
            expected=f"a file that this version of storel saved, with '{KEY}' describing it",
        ) from error
