"""Names of the loop IR as identifiers of the target language."""

from __future__ import annotations

import re
from collections.abc import Iterable


class Identifiers(dict[str, str]):
    """Maps each name to an identifier of its own, on first use, in the order of use.

    >>> names = Identifiers(reserved=["for"])
    >>> names["A.val"], names["A_val"], names["for"], names["A.val"]
    ('A_val', 'A_val_', 'for_', 'A_val')
    """

    def __init__(self, reserved: Iterable[str]) -> None:
        super().__init__()
        self._taken = set(reserved)

    def number(self, names: Iterable[str]) -> None:
        """Call ``names`` by their places from now on.

        >>> identifiers = Identifiers(reserved=[])
        >>> identifiers.number(["A.val", "x"])
        >>> identifiers["x"], identifiers["A.val"]
        ('parameter_1', 'parameter_0')
        """
        for place, name in enumerate(names):
            self[name] = self.fresh(f"parameter_{place}")

    def __missing__(self, name: str) -> str:
        identifier = self.fresh(name)
        self[name] = identifier
        return identifier

    def fresh(self, hint: str) -> str:
        """Return an identifier like ``hint`` that nothing else has."""
        identifier = re.sub(r"^(?=\d)|[^0-9A-Za-z_]", "_", hint) or "_"
        while identifier in self._taken:
            identifier += "_"
        self._taken.add(identifier)
        return identifier
