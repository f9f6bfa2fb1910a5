"""How many threads compute.

``STOREL_NUM_THREADS`` says how many, else ``OMP_NUM_THREADS``, else there is one for each processor that this
process may use.
"""

from __future__ import annotations

import os

from storel.errors import EvaluationError

VARIABLES = ("STOREL_NUM_THREADS", "OMP_NUM_THREADS")


def count(wanted: int | None = None) -> int:
    """Return how many threads to use where ``wanted`` are asked for, None if nothing was said.

    Raise EvaluationError for less than one.
    """
    if wanted is not None:
        if wanted < 1:
            raise EvaluationError("no threads to compute with", expected="1 or more", found=str(wanted))
        return wanted
    for variable in VARIABLES:
        text = os.environ.get(variable, "").partition(",")[0].strip()
        if text.isdecimal() and int(text) > 0:
            return int(text)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
