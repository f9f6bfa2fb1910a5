"""Which of some operands a program reads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

Operand = TypeVar("Operand")


def read_by(text: str, operands: Mapping[str, Operand]) -> dict[str, Operand]:
    """Return the operands whose names are words of a program, since it must read what it is given."""
    return {name: each for name, each in operands.items() if re.search(rf"\b{name}\b", text)}
