"""Ctrl-C ends a command, also while a kernel runs, of which the interpreter does not hear until it ends."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time

INTERRUPTED = 130
"""The exit code of a command that was interrupted."""

GRACE = 0.5
"""The seconds in which the interpreter may end the command by itself."""


def end_when_interrupted() -> None:
    """Let a thread end this process where the main thread, the caller, does not hear of an interrupt."""
    told, tells = socket.socketpair()
    tells.setblocking(False)
    signal.set_wakeup_fd(tells.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_end, args=(told, tells), daemon=True).start()


def _end(told: socket.socket, tells: socket.socket) -> None:
    """Wait to be told of an interrupt; ``tells`` is kept open meanwhile."""
    with told, tells:
        while signal.SIGINT not in told.recv(1):
            pass
        time.sleep(GRACE)
        os._exit(INTERRUPTED)
