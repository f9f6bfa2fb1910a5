"""How many threads compute.

``STOREL_NUM_THREADS`` says how many, else ``OMP_NUM_THREADS``, else there is one for each processor that this
process may use.
"""

from __future__ import annotations

import os

from storel.errors import EvaluationError

OWN, SHARED = "STOREL_NUM_THREADS", "OMP_NUM_THREADS"

MOST_THREADS = 1024
"""More threads than this are taken for as many: each takes memory, and work is cut for each beforehand."""


def count(wanted: int | None = None) -> int:
    """Return how many threads to use where ``wanted`` are asked for; None says nothing.

    There are ``MOST_THREADS`` at most. Raise EvaluationError for less than one, and where
    ``STOREL_NUM_THREADS`` is no such number.
    """
    if wanted is not None:
        if wanted < 1:
            raise EvaluationError("no threads to compute with", expected="1 or more", found=str(wanted))
        return min(wanted, MOST_THREADS)
    own = os.environ.get(OWN, "").strip()
    if own and not _is_count(own):
        raise EvaluationError(
            f"the environment variable {OWN} is no number of threads", expected="1 or more", found=f"'{own}'"
        )
    shared = os.environ.get(SHARED, "").partition(",")[0].strip()  # the rest is for threads of threads
    for text in (own, shared):
        if _is_count(text):
            return min(int(text), MOST_THREADS)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _is_count(text: str) -> bool:
    return text.isdecimal() and int(text) > 0
