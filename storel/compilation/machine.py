"""What operations cost on this machine: the shipped constants, or those that were measured here.

Measured constants are a note in the cache, named by the processor and the C compiler, which plans depend
on as on a rule: one note, one plan. A note that cannot be understood counts as none.
"""

from __future__ import annotations

import functools
import json
import math

from storel.errors import DataError
from storel.host import cache
from storel.optimizer.cost.constants import CONSTANTS, Constants
from storel.runtime import toolchain


def constants() -> Constants:
    """Return the constants that plans are priced with by default; the note is read once in a process."""
    return _constants(str(cache.directory()), _note())


def keep(measured: Constants) -> None:
    """Price plans with ``measured`` constants from now on.

    Raises DataError if the cache cannot be written.
    """
    text = json.dumps(dict(measured.listed()), indent=2)
    cache.remember(_note(), text)
    _constants.cache_clear()
    if cache.recall(_note()) != text:
        raise DataError(
            f"nothing can be kept in {cache.directory()}",
            hint="set STOREL_CACHE_DIR to a directory that can be written",
        )


def reset() -> None:
    """Price plans with the shipped constants from now on."""
    cache.forget(_note())
    _constants.cache_clear()


def identity() -> str:
    """Return what tells the processor and the C compiler from others, on which measured times depend."""
    compiler = toolchain.find()
    built = ("numba",) if compiler is None else (*compiler.command, compiler.version, *compiler.flags)
    return cache.digest(toolchain.processor(), *built)


def _note() -> str:
    return f"constants-{cache.digest(identity(), repr(CONSTANTS))}.json"


@functools.cache
def _constants(directory: str, note: str) -> Constants:
    text = cache.recall(note)
    return CONSTANTS if text is None else _understood(text) or CONSTANTS


def _understood(text: str) -> Constants | None:
    """Return the constants in a note, None if it is damaged."""
    try:
        numbers = json.loads(text)
        values = [float(numbers[name]) for name, _ in CONSTANTS.listed()]
    except (KeyError, TypeError, ValueError):
        return None
    return CONSTANTS.fitted(values) if all(math.isfinite(each) and each >= 0 for each in values) else None
