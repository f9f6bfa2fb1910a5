"""Ctrl-C ends a command, also while its modules are imported or a kernel runs, which may not hear of it."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

INTERRUPTED = 130
"""The exit code of a command that was interrupted."""

GRACE = 0.5
"""The seconds in which the interpreter may end what it runs by itself."""

_CONSEQUENCES: list[Callable[[], str]] = []
"""What an interrupt is to tell now."""


@contextmanager
def ended_at_once() -> Generator[None]:
    """Let an interrupt end the process, without an exception: modules that are imported make others of it.

    Where interrupts are ignored, and in another thread than the main one, this does nothing.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler or not _hears_signals():
        yield
        return
    signal.signal(signal.SIGINT, lambda _, __: os._exit(INTERRUPTED))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def ended_by_interrupts() -> Generator[None]:
    """Let a thread end the process at an interrupt that the main thread does not hear of.

    In another thread than the main one this does nothing.
    """
    if not _hears_signals():
        yield
        return
    import socket  # here, since nothing listens to interrupts while this module is imported

    told, tells = socket.socketpair()
    tells.setblocking(False)
    heard = threading.Event()
    before = signal.set_wakeup_fd(tells.fileno(), warn_on_full_buffer=False)
    listener = threading.Thread(target=_end, args=(told.recv, heard), daemon=True)
    listener.start()
    with told:
        try:
            yield
        finally:
            heard.set()
            signal.set_wakeup_fd(before)
            tells.close()
            listener.join()


@contextmanager
def telling_if_interrupted(consequence: Callable[[], str]) -> Generator[None]:
    """Let an interrupt tell what becomes of the work inside, whoever hears of it."""
    _CONSEQUENCES.append(consequence)
    try:
        yield
    except KeyboardInterrupt:
        _tell()
        raise
    finally:
        _CONSEQUENCES.pop()


def _tell() -> None:
    for consequence in _CONSEQUENCES:
        print(f"interrupted: {consequence()}", file=sys.stderr, flush=True)


def _hears_signals() -> bool:
    """Return whether this is the main thread: signals are its own."""
    return threading.current_thread() is threading.main_thread()


def _end(listen: Callable[[int], bytes], heard: threading.Event) -> None:
    """End the process if it is interrupted, and the main thread has not ``heard`` of it soon after."""
    while signals := listen(1):
        if signal.SIGINT in signals and not heard.wait(GRACE):
            try:
                _tell()
            finally:
                os._exit(INTERRUPTED)
