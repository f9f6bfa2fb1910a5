"""Tensors without data, of which statistics say what there is to know: programs are planned for them."""

from __future__ import annotations

from dataclasses import replace

from storel.candidates.choice import smallest
from storel.errors import about
from storel.storage.formats.creation import described
from storel.storage.formats.known import Formats, is_automatic
from storel.storage.summary import Summary
from storel.storage.tensor import Tensor, declare
from storel.syntax.nodes.declarations import FormatReference
from storel.syntax.parser import parse_format


def declared_tensor(summary: Summary, formats: Formats, reference: FormatReference | None = None) -> Tensor:
    """Return a tensor without data, to plan for: in a format, its own, or the default for sparse data.

    Raises FormatError for a format that needs the data itself, DataError where one is to be chosen.
    """
    rank, text = len(summary.shape), summary.format
    if reference is None and text is not None:
        reference = parse_format(text)
        if summary.creation is not None or reference.name in formats.names:
            with about("the statistics"):
                return declare(summary, described(text, rank, summary.creation, formats))
    if is_automatic(reference):
        return smallest(declared_tensor(replace(summary, format=None), formats), formats)
    if reference is None:
        return declare(summary, formats.default(rank, is_dense=rank == 0))
    return declare(summary, formats.resolve(reference, rank))
