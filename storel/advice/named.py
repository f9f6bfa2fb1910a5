"""What was found for each of several names: a mapping in which a name that is not there has a hint."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from storel.errors import UnknownNameError, nearest

Found = TypeVar("Found", covariant=True)


class Named(Mapping[str, Found]):
    """A mapping that raises UnknownNameError, not KeyError, for a name that it does not know."""

    __slots__ = ()

    @property
    @abstractmethod
    def by_name(self) -> Mapping[str, Found]:
        """What was found, by name."""

    @abstractmethod
    def why_missing(self, name: object) -> str:
        """Return the message for a name of which there is nothing."""

    def __getitem__(self, name: str) -> Found:
        """Return what was found for a name; raises UnknownNameError if there is nothing."""
        known = self.by_name
        if name not in known:
            raise UnknownNameError(
                self.why_missing(name), expected=", ".join(known), hint=nearest(str(name), known)
            )
        return known[name]

    def get(self, name: str, default: Any = None) -> Any:
        return self.by_name.get(name, default)

    def __contains__(self, name: object) -> bool:
        return name in self.by_name

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_name)

    def __len__(self) -> int:
        return len(self.by_name)
