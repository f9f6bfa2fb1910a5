"""Long kernels in a thread of their own, so that the main thread hears of interrupts while they run.

An interrupt is heard between two steps of the interpreter, of which machine code has none, but also while a
lock is waited for. What was interrupted goes on to its end, since machine code cannot be left anywhere; all
that it reads and writes is referred to by its thread, and lives as long.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import TypeVar

Returned = TypeVar("Returned")

WORTH_A_THREAD = 50_000_000.0
"""Expected nanoseconds from which on a kernel runs in a thread of its own, so that it can be interrupted.

To start a thread takes no time beside them.
"""

PATIENCE = 0.1
"""The seconds after which one looks for interrupts that do not wake the thread, as those of other threads."""


def run_interruptibly(task: Callable[[], Returned]) -> Returned:
    """Return what ``task`` returns, or raise what it raises; raise KeyboardInterrupt as soon as it comes.

    Only the main thread hears of interrupts: in another one the task is run as it is.
    """
    if threading.current_thread() is not threading.main_thread():
        return task()
    returned: list[Returned] = []
    raised: list[BaseException] = []
    ended = threading.Lock()
    ended.acquire()

    def run() -> None:
        try:
            returned.append(task())
        except BaseException as error:
            raised.append(error)
        finally:
            ended.release()

    own_context = copy_context()  # it says how NumPy takes overflows, for one
    try:
        threading.Thread(target=own_context.run, args=(run,), name="storel", daemon=True).start()
    except RuntimeError:  # the system has no thread for it
        return task()
    while not ended.acquire(timeout=PATIENCE):
        pass
    if raised:
        raise raised.pop()
    return returned.pop()
