"""Where the value of a chain lies: the array, the address, and whether it is negated.

val(p)      -val(p)      0 - val(p)      v of <p, v> in val(…)
val(rank(w) + popcount(…)): a place in a segment that rank delimits
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from storel.errors import FormatError
from storel.storage.formats.chain import Chain
from storel.storage.formats.format import Format
from storel.syntax.nodes.declarations import FromTo
from storel.syntax.nodes.expressions import Binary, Call, Expression, Name, Number, Unary
from storel.syntax.printer import render
from storel.syntax.substitution import rename


class NotUnderstood(FormatError):
    """A mapping cannot be turned round."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """The value of an entry is ``values(address)``, or its negative."""

    values: str
    address: Expression
    is_negated: bool = False


def leaf_of(storage: Format, chain: Chain, written: Mapping[str, str]) -> Leaf:
    """Return where the value of ``chain`` lies; raises NotUnderstood if it is not one read of an array."""
    arrays = {declaration.name for declaration in storage.arrays}
    match chain.leaf:
        case Unary("-", value) | Binary("-", Number(0), value):
            is_negated = True
        case value:
            is_negated = False
    match _elements(chain).get(value, value):
        case Call(Name(values), (address,)) if values in arrays:
            return Leaf(values, address, is_negated)
        case _:
            leaf = render(rename(chain.leaf, written))
            raise not_understood(storage, f"its leaf '{leaf}' is not one array read", "val(…), or -val(…)")


def _elements(chain: Chain) -> dict[Expression, Expression]:
    """Return what the elements that loops bind are read from."""
    return {
        Name(loop.element): Call(Name(loop.array), (Name(loop.position),))
        for loop in chain.loops
        if loop.array is not None and loop.element is not None
    }


def place_in_segment(
    storage: Format, address: Expression, taken: Collection[str]
) -> tuple[str, Expression, Expression] | None:
    """Return (pos, e, place) where an address is pos(e) + place and ``pos`` is declared to delimit segments.

    Arrays that are ``taken`` delimit the segments of loops.
    """
    delimiting = {
        declaration.name
        for declaration in storage.arrays
        if declaration.name not in taken and any(isinstance(each, FromTo) for each in declaration.properties)
    }
    match address:
        case Call(Name(array), (index,)) if array in delimiting:
            return array, index, Number(0)
        case Binary("+" | "-" as operator, left, right):
            found = place_in_segment(storage, left, taken)
            if found is not None:
                return *found[:2], Binary(operator, found[2], right)
            found = place_in_segment(storage, right, taken) if operator == "+" else None
            return None if found is None else (*found[:2], Binary("+", left, found[2]))
        case _:
            return None


def not_understood(
    storage: Format, what: str, expected: str = "keys that determine the loops' variables, or their order"
) -> NotUnderstood:
    """Return the error for a mapping that cannot be turned round."""
    return NotUnderstood(
        f"format {storage.name} cannot be packed: {what}",
        expected=expected,
        hint=how_to_give(storage),
    )


def how_to_give(storage: Format) -> str:
    """Return where a format's arrays may be given instead of being made, for a hint."""
    names = ", ".join(f'"{declaration.name}": …' for declaration in storage.arrays)
    return (
        f"give its arrays themselves: storel.tensor({{{names}}}, format, shape=…), or a .npz file of them "
        "in LOAD TENSOR A: real[4, 3] FROM … STORED AS …"
    )
