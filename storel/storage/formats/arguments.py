"""The arguments of a format where it is named: ``tiled(2, c=4)``, by position or by name, each once."""

from __future__ import annotations

from collections.abc import Sequence

from storel.errors import FormatError
from storel.syntax.nodes.declarations import FormatArgument, FormatReference, ParameterDeclaration


def arguments_by_name(
    name: str, parameters: Sequence[ParameterDeclaration], reference: FormatReference
) -> dict[str, FormatArgument]:
    """Return the arguments of the format ``name`` by those of its parameters that they are for.

    Raises FormatError for arguments that it does not take, and for two that are for one parameter.
    """
    names = [parameter.name for parameter in parameters]
    keywords = [keyword for keyword, _ in reference.keywords]
    if len(reference.arguments) > len(names) or not set(keywords) <= set(names):
        raise FormatError(
            f"format {name} does not take these arguments",
            expected=", ".join(names) or "none",
            span=reference.span,
        )
    given = [*names[: len(reference.arguments)], *keywords]
    require_once(given, name, reference)
    values = [*reference.arguments, *(value for _, value in reference.keywords)]
    return dict(zip(given, values, strict=True))


def require_once(given: Sequence[str], name: str, reference: FormatReference) -> None:
    """Raise FormatError for the first argument of the format ``name`` that is given again."""
    for position, argument in enumerate(given):
        if argument in given[:position]:
            raise FormatError(f"format {name} is given {argument} twice", span=reference.span)
