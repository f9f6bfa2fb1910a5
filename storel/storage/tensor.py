"""Tensors: stored entries that can be stored otherwise, saved, and counted; and how they are made."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from storel.arrays import Array
from storel.host.paths import as_path
from storel.storage.conversion.rows import arrays_by_rows, rows_of
from storel.storage.declared import declared_sizes
from storel.storage.entries import Entries
from storel.storage.evident import verified_sizes
from storel.storage.files.kinds import save_tensor
from storel.storage.formats.format import Format
from storel.storage.formats.known import known_formats
from storel.storage.formats.signature import level_signature
from storel.storage.packing.pack import full_arrays, packed_arrays, scalar_type_of
from storel.storage.packing.parameters import with_parameters_of
from storel.storage.statistics import Statistics
from storel.storage.stored import Stored
from storel.storage.summary import Summary
from storel.syntax.parser import parse_format


@dataclass(frozen=True, eq=False, repr=False)
class Tensor(Stored):
    """An immutable tensor whose arrays have been verified against its format."""

    @cached_property
    def statistics(self) -> Statistics:
        """What there is to know about the entries, counted when it is asked for."""
        return Statistics(self)

    @property
    def summary(self) -> Summary:
        """The statistics that can be written down: the declared ones, or those of the data."""
        return self.declared or self.statistics.summary

    def to(self, format: str, *, formats: str | Path | None = None) -> Tensor:  # noqa: A002
        """Return the tensor in another format, written as after ``STORED AS``.

        ``formats`` is a directory of further format files.

        Raises FormatError if there is none of that name for the rank, or if the data does not fit it.
        """
        return self.stored_as(known_formats(formats).resolve(parse_format(format), self.rank))

    def stored_as(self, storage: Format) -> Tensor:
        """Return the tensor in another format; one that is declared by its statistics is declared in it."""
        if self.declared is not None:
            return declare(self.declared, storage)
        view = self.as_view()
        if view is not None:
            rows, arrays = None, full_arrays(view, storage)
        else:
            rows = rows_of(self)
            arrays = None if rows is None else rows.arrays(storage, self.semiring)
        if arrays is not None:
            return self._packed_as(storage, arrays)
        coordinates, values = self.listed() if rows is None else (rows.coordinates(), rows.values)
        is_exact = values.dtype == self.dtype  # else what is no zero may become one
        values = values.astype(self.dtype, copy=False)
        entries = Entries(coordinates, values, self.shape, self.semiring, are_combined=is_exact)
        return pack_entries(storage, entries, is_closed=self.is_closed)

    def _packed_as(self, storage: Format, arrays: dict[str, Array]) -> Tensor:
        sizes = verified_sizes(storage, self.shape, arrays)
        return Tensor(
            self.shape, self.type, storage, arrays, sizes, self.semiring, self.is_closed, is_packed=True
        )

    def converted(self, storage: Format) -> Tensor:
        """Return the tensor in another format, which is kept as long as this one: it is made only once."""
        kept = self.kept_as(storage)
        return self.keep(self.stored_as(storage)) if kept is None else kept

    def kept_as(self, storage: Format) -> Tensor | None:
        """Return the tensor in another format if that was made before and kept."""
        kept = self._kept.get(storage.text)
        if kept is None or kept.storage.takings != storage.takings:
            return None
        return kept if kept.storage.declaration == storage.declaration else None

    def keep(self, other: Tensor) -> Tensor:
        """Keep and return ``other``, which has the same entries, as long as this one lives."""
        return self._kept.setdefault(other.format, other)

    @cached_property
    def _kept(self) -> dict[str, Tensor]:
        return {}

    def save(self, path: str | Path) -> None:
        """Write the tensor to a file, as the ending of its name says; on an error nothing is written."""
        save_tensor(self, as_path(path))


def pack(
    storage: Format,
    coordinates: Array,
    values: Array,
    shape: tuple[int, ...],
    semiring: str = "plus_times",
    *,
    is_closed: bool = True,
    memory_limit: int | None = None,
) -> Tensor:
    """Store entries (rank × count coordinates, in any order, duplicates added up) in a format.

    Raises the errors of ``pack_entries``.
    """
    entries = Entries(coordinates, values, shape, semiring)
    return pack_entries(storage, entries, is_closed=is_closed, memory_limit=memory_limit)


def pack_entries(
    storage: Format, entries: Entries, *, is_closed: bool = True, memory_limit: int | None = None
) -> Tensor:
    """Store entries in a format; parameters of it that were left to the data get their values.

    Raises FormatError if the mapping cannot be turned round, MemoryLimitError before anything too
    large is allocated.
    """
    if entries.ring.has_truths:
        entries = replace(entries, values=entries.values.astype(bool, copy=False))
    arrays = arrays_by_rows(storage, entries) if memory_limit is None else None
    stored_type = scalar_type_of(entries.values)
    if arrays is None:
        if level_signature(storage) is None:
            entries = entries.combined()
        storage = with_parameters_of(storage, entries)
        arrays, stored_type = packed_arrays(storage, entries, memory_limit)
    sizes = verified_sizes(storage, entries.shape, arrays)
    return Tensor(
        entries.shape, stored_type, storage, arrays, sizes, entries.semiring, is_closed, is_packed=True
    )


def declare(summary: Summary, storage: Format) -> Tensor:
    """Return a tensor of which only statistics are known, as it would be stored in a format.

    Raises FormatError for a format that is no nest of levels, or of another rank.
    """
    sizes = declared_sizes(summary, storage)
    return Tensor(
        summary.shape, summary.type, storage, {}, sizes, summary.semiring, summary.is_closed, summary
    )
