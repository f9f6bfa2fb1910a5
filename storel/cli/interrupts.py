"""Ctrl-C ends a command, also while a kernel runs, of which the interpreter does not hear until it ends."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager

INTERRUPTED = 130
"""The exit code of a command that was interrupted."""

GRACE = 0.5
"""The seconds in which the interpreter may end what it runs by itself."""


@contextmanager
def ended_by_interrupts() -> Generator[None]:
    """Let a thread end the process at an interrupt that the main thread does not hear of.

    Signals are the main thread's: in another one this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    told, tells = socket.socketpair()
    tells.setblocking(False)
    heard = threading.Event()
    before = signal.set_wakeup_fd(tells.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_end, args=(told, heard), daemon=True).start()
    try:
        yield
    finally:
        heard.set()
        signal.set_wakeup_fd(before)
        tells.close()


def _end(told: socket.socket, heard: threading.Event) -> None:
    """End the process if it is interrupted, and the main thread has not ``heard`` of it soon after."""
    with told:
        while signals := told.recv(1):
            if signal.SIGINT in signals and not heard.wait(GRACE):
                os._exit(INTERRUPTED)
