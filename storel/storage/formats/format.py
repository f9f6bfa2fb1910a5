"""Storage formats: a mapping from physical arrays to the logical tensor, with what is declared of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from storel.errors import FormatError
from storel.source import Span
from storel.storage.formats.chain import Chain, chains
from storel.storage.formats.requirements import first_unmet
from storel.syntax.format_check import marked_mapping
from storel.syntax.free_names import free_names
from storel.syntax.nodes.declarations import ArrayDeclaration, ParameterDeclaration, Taking
from storel.syntax.nodes.expressions import Expression, Name
from storel.syntax.nodes.statements import CreateFormat
from storel.syntax.printer import render


@dataclass(frozen=True, eq=False)
class Format:
    """A storage format for tensors of one rank; there is one object for each.

    ``arguments`` are the values of its parameters, but for those that data is yet to determine; ``takings``
    limit the entries that some of its arrays may take to those that meet all conditions; ``parts`` are the
    formats that it was composed of.
    """

    name: str
    declaration: CreateFormat
    arguments: Mapping[str, int] = field(default_factory=dict[str, int])
    takings: Mapping[str, tuple[Taking, ...]] = field(default_factory=dict[str, tuple[Taking, ...]])
    parts: tuple[Format, ...] = ()
    _bound: dict[str, Format] = field(default_factory=dict[str, "Format"], repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how the format is pickled: equal ones are one object again where they arrive."""
        arguments, takings = (tuple(each.items()) for each in (self.arguments, self.takings))
        return _arrived, (self.name, self.declaration, arguments, takings, self.parts)

    def bound(self, arguments: Mapping[str, int]) -> Format:
        """Return the format with these values of its parameters."""
        made = Format(self.name, self.declaration, arguments, self.takings, self.parts)
        return self._bound.setdefault(made.text, made)

    @cached_property
    def text(self) -> str:
        """The format as it is written after ``STORED AS``."""
        return _written(self.name, self.arguments)

    @property
    def rank(self) -> int:
        return len(self.declaration.type.extents)

    @cached_property
    def extents(self) -> tuple[str, ...]:
        """The names of the tensor's extents in the mapping."""
        names: list[str] = []
        for extent in self.declaration.type.extents:
            if not isinstance(extent, Name):
                raise FormatError(
                    f"format {self.name}: every extent of its tensor must be a name",
                    span=self.declaration.type.span,
                )
            names.append(extent.name)
        return tuple(names)

    def sizes(self, shape: tuple[int, ...]) -> dict[str, int]:
        """Return the values of the extents and parameters.

        Raises FormatError for extents that do not agree though they must, a parameter without a value, and
        what does not meet the format's requirements.
        """
        for parameter in self.parameters:
            if parameter.name not in self.arguments:
                raise without_value(self, parameter, self.arguments)
        sizes = dict(zip(self.extents, shape, strict=True))
        if tuple(sizes[name] for name in self.extents) != shape:
            raise FormatError(
                f"format {self.name} does not store tensors of this shape",
                expected=f"extents ({', '.join(self.extents)})",
                found=f"the shape {shape}",
            )
        sizes |= self.arguments
        self.require(sizes)
        return sizes

    def require(self, sizes: Mapping[str, int], span: Span | None = None) -> None:
        """Raise FormatError for the first requirement that these extents and parameters do not meet."""
        unmet = first_unmet(self.declaration.requirements, sizes)
        if unmet is None:
            return
        named = free_names(unmet)
        found = [f"{name} = {value}" for name, value in sizes.items() if name in named]
        raise FormatError(
            f"format {self.text} needs {render(unmet)}", found=", ".join(found) or None, span=span
        )

    @property
    def arrays(self) -> tuple[ArrayDeclaration, ...]:
        return self.declaration.arrays

    @property
    def parameters(self) -> tuple[ParameterDeclaration, ...]:
        return self.declaration.parameters

    @cached_property
    def mapping(self) -> Expression:
        return marked_mapping(self.declaration)

    @cached_property
    def chains(self) -> tuple[Chain, ...]:
        """The chains whose sum the mapping is; raises FormatError where it has another shape."""
        return chains(self.mapping)


@lru_cache(maxsize=256)
def _arrived(
    name: str,
    declaration: CreateFormat,
    arguments: tuple[tuple[str, int], ...],
    takings: tuple[tuple[str, tuple[Taking, ...]], ...],
    parts: tuple[Format, ...] = (),
) -> Format:
    """Return the format that was pickled as this."""
    return Format(name, declaration, dict(arguments), dict(takings), parts)


def without_value(
    storage: Format, parameter: ParameterDeclaration, given: Mapping[str, object], span: Span | None = None
) -> FormatError:
    """Return the error for a parameter that has no value, where ``given`` are the values of others."""
    missing = [each.name for each in storage.parameters if each is parameter or each.default is None]
    texts = {name: render(each) if isinstance(each, Expression) else each for name, each in given.items()}
    return FormatError(
        f"format {storage.name} needs a value of {parameter.name}",
        hint=f"write {_written(storage.name, dict.fromkeys(missing, '…') | texts)}",
        span=span,
    )


def _written(name: str, arguments: Mapping[str, object]) -> str:
    """Return a format as it is written with these values of its parameters."""
    text = ", ".join(f"{parameter}={value}" for parameter, value in arguments.items())
    if text and name.endswith(")"):
        return f"{name[:-1]}{', ' if ';' in name else '; '}{text})"
    return f"{name}({text})" if text else name
