"""The formats that a program may name: found by name and rank, none of them known to the compiler.

They are texts in the shipped directory, in a user's directories, or in the script itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from threading import RLock

from storel.errors import FormatError
from storel.host import resources
from storel.host.paths import as_path
from storel.host.text import format_source
from storel.source import Span
from storel.storage.formats.arguments import arguments_by_name
from storel.storage.formats.defaults import Defaults, shipped_defaults
from storel.storage.formats.format import Format, without_value
from storel.storage.formats.levels import CONSTRUCTOR, levels_format, parameters_of
from storel.storage.formats.parts import Find, written_out
from storel.storage.formats.sizes import evaluate_size
from storel.syntax.format_check import check_format, unknown_format
from storel.syntax.free_names import free_names
from storel.syntax.nodes.declarations import (
    FormatReference,
    TupleArgument,
)
from storel.syntax.nodes.expressions import Expression
from storel.syntax.nodes.statements import CreateFormat
from storel.syntax.parser import parse, parse_format
from storel.syntax.spelling import CALLS

SUFFIX = ".sdql"

AUTO = "auto"
"""Stands after ``STORED AS`` for a format that is chosen when the data is there; no format has this name."""

UNNAMED = (AUTO, CONSTRUCTOR)  # what stands there and is the name of no format


@dataclass
class Formats:
    """All formats that a program may name."""

    directories: tuple[Path, ...] = ()
    created: dict[tuple[str, int], Format] = field(default_factory=dict[tuple[str, int], Format])
    _loaded: dict[str, dict[int, Format]] = field(default_factory=dict[str, dict[int, Format]])
    _resolved: dict[tuple[str, int], Format] = field(default_factory=dict[tuple[str, int], Format])
    _loading: RLock = field(default_factory=RLock, repr=False, compare=False)

    @property
    def defaults(self) -> Defaults:
        return shipped_defaults()

    @cached_property
    def files(self) -> dict[str, Path]:
        """The file of each format that is not created by a script; no name stands for two of them."""
        found = dict(_shipped_files())
        for directory in self.directories:
            for name, path in _files_in(_existing(directory)).items():
                if name in found and path.resolve() != found[name].resolve():
                    raise FormatError(
                        f"two formats are called {name}",
                        found=f"{found[name]} and {path}",
                        hint="give yours another name: its file, and what that creates",
                    )
                found[name] = path
        if AUTO in found:
            raise _reserved(str(found[AUTO]))
        return found

    @property
    def names(self) -> list[str]:
        return sorted({name for name, _ in self.created} | set(self.files))

    def create(self, declaration: CreateFormat) -> Format:
        """Add a format that a script declares; raises FormatError if it is there already."""
        rank = len(declaration.type.extents)
        if declaration.name == AUTO:
            raise _reserved(f"format {AUTO}", declaration.span)
        if (declaration.name, rank) in self.created:
            raise FormatError(
                f"format {declaration.name} of rank {rank} is created twice", span=declaration.span
            )
        for part in declaration.parts:
            if part.format.name == declaration.name and declaration.name not in self.names:
                raise FormatError(f"format {declaration.name} is a part of itself", span=part.format.span)
        created = self.created[declaration.name, rank] = self.made(declaration)
        return created

    def made(self, declaration: CreateFormat) -> Format:
        """Return the format that is declared, its parts written out, without adding it."""
        return _written_out(Format(declaration.name, declaration), self._part)

    def find(self, name: str, rank: int, span: Span | None = None) -> Format:
        """Return the format ``name`` for tensors of ``rank``; raises FormatError if there is none."""
        return _of_rank(self.overloads(name, span), name, rank, span)

    def resolve(self, reference: FormatReference, rank: int) -> Format:
        """Return the format that ``reference`` names, with its arguments.

        Raises FormatError for an unknown format, a wrong rank, or arguments that it does not take.
        """
        if reference.name == CONSTRUCTOR:
            name, declaration = levels_format(reference, rank)
            storage = self._resolved.setdefault((name, rank), Format(name, declaration))
            reference = parameters_of(reference)
        else:
            storage = self.find(reference.name, rank, reference.span)
        if storage.parameters or reference.arguments or reference.keywords:
            storage = storage.bound(_arguments(storage, reference))
        storage.require(storage.arguments, reference.span)
        return storage

    def overloads(self, name: str, span: Span | None = None) -> dict[int, Format]:
        """Return the formats called ``name``, by rank."""
        created = {rank: each for (own, rank), each in self.created.items() if own == name}
        if name in self.files:
            return self._load(name, self.files[name]) | created
        if name == AUTO:
            raise FormatError(
                "'auto' is no format: one is chosen where data comes in or a result goes out",
                span=span,
                hint="write it after STORED AS of LOAD TENSOR or CREATE TENSOR, in -b NAME=FILE:auto, "
                "or as format= of run, read and tensor",
            )
        if not created:
            raise unknown_format(name, self.names, span)
        return created

    def default(self, rank: int, *, is_dense: bool) -> Format:
        """Return the format that data of this rank is stored in when nobody says."""
        return self.alternatives(rank, is_dense=is_dense)[0]

    def alternatives(self, rank: int, *, is_dense: bool) -> list[Format]:
        """Return the formats that data of this rank may be stored in unasked, the default first."""
        table = self.defaults.dense if is_dense else self.defaults.sparse
        if rank not in table:
            kind = "dense" if is_dense else "sparse"
            hint = "say which: levels(…), with a kind of level for each dimension"
            raise FormatError(f"no format is the default for {kind} tensors of rank {rank}", hint=hint)
        return [self.resolve(parse_format(text), rank) for text in table[rank]]

    def _load(self, name: str, path: Path) -> dict[int, Format]:
        with self._loading:  # a thread sees only its own format without ranks, of which the format is a part
            if name not in self._loaded:
                self._loaded[name] = {}
                read = [each for each in read_formats(path) if each.name == name]
                if path != _shipped_files().get(name):  # tests check the shipped ones
                    for each in read:
                        check_format(each.declaration)
                made = [_written_out(each, self._part_in_files) for each in read]
                if not made:
                    raise FormatError(f"{path} creates no format {name}", hint="a format's file has its name")
                self._loaded[name] = {each.rank: each for each in made}
            return self._loaded[name]

    def _part(self, reference: FormatReference, rank: int) -> Format:
        """Return the format of a part; its arguments are not looked at."""
        if reference.name == CONSTRUCTOR:
            return Format(*levels_format(reference, rank))
        return self.find(reference.name, rank, reference.span)

    def _part_in_files(self, reference: FormatReference, rank: int) -> Format:
        """Return the format of a part as all scripts have it, though one creates another of this name."""
        name, span = reference.name, reference.span
        if name not in self.files:
            return self._part(reference, rank)
        return _of_rank(self._load(name, self.files[name]), name, rank, span)


def known_formats(directory: str | Path | None) -> Formats:
    """Return the shipped formats, and those of ``directory``; raises FormatError for what is none."""
    if directory is None:
        return Formats()
    formats = Formats((as_path(directory),))
    _ = formats.files  # else the first tensor that is stored would be to blame
    return formats


def is_automatic(reference: FormatReference | None) -> bool:
    """Return whether a format is to be chosen; raises FormatError for ``auto`` with arguments."""
    if reference is None or reference.name != AUTO:
        return False
    if reference.arguments or reference.keywords:
        raise FormatError("auto takes no arguments", span=reference.span)
    return True


def _written_out(storage: Format, find: Find) -> Format:
    """Return a format, its parts written out; the same one if there are none."""
    return written_out(storage.declaration, find) if storage.declaration.parts else storage


def _of_rank(by_rank: Mapping[int, Format], name: str, rank: int, span: Span | None) -> Format:
    """Return the one of the formats called ``name`` that stores tensors of ``rank``."""
    if not by_rank:
        raise FormatError(f"format {name} is a part of itself", span=span)
    if rank not in by_rank:
        ranks = " or ".join(map(str, sorted(by_rank)))
        raise FormatError(
            f"format {name} does not store tensors of rank {rank}",
            expected=f"a tensor of rank {ranks}",
            found=f"rank {rank}",
            span=span,
        )
    return by_rank[rank]


def _reserved(what: str, span: Span | None = None) -> FormatError:
    return FormatError(f"{what}: the name {AUTO} stands for a format that is chosen", span=span)


def _arguments(storage: Format, reference: FormatReference) -> dict[str, int]:
    """Return the value of each parameter: given by position, by name, or its default if it needs no data."""
    given = arguments_by_name(storage.name, storage.parameters, reference)
    values: dict[str, int] = {}
    for parameter in storage.parameters:
        value = given.get(parameter.name, parameter.default)
        if value is None or isinstance(value, TupleArgument | FormatReference):
            raise without_value(storage, parameter, given, reference.span)
        if parameter.name in given or not _needs_data(value, values):
            values[parameter.name] = evaluate_size(value, values)
    return values


def _needs_data(default: Expression, sizes: Mapping[str, int]) -> bool:
    """Return whether a default names more than parameters that have values."""
    return bool(free_names(default) - CALLS.keys() - sizes.keys())


def read_formats(path: Path) -> tuple[Format, ...]:
    """Return what every ``CREATE FORMAT`` in a file declares; a file is parsed again if it has changed."""
    return _parsed(path, path.stat().st_mtime_ns)


@cache
def _parsed(path: Path, changed: int) -> tuple[Format, ...]:
    script = parse(format_source(path))
    return tuple(Format(each.name, each) for each in script.statements if isinstance(each, CreateFormat))


@cache
def _shipped_files() -> Mapping[str, Path]:
    return _files_in(resources.directory("storage_formats"))


def _existing(directory: Path) -> Path:
    """Return a directory; raises FormatError for what is none."""
    if directory.is_dir():
        return directory
    is_file = directory.exists()
    raise FormatError(
        f"the formats {directory} cannot be read",
        expected=f"a directory with a file NAME{SUFFIX} for each format",
        found="a file" if is_file else "nothing: it does not exist",
        hint=f"give the directory that it is in: {directory.parent}" if is_file else None,
    )


def _files_in(directory: Path) -> dict[str, Path]:
    return {path.stem: path for path in sorted(directory.glob(f"*{SUFFIX}"))}
