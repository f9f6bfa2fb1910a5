"""storel: a compiler and cost-based optimizer for tensor programs over declarative storage."""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, which takes 10 ms to import
if TYPE_CHECKING:
    from storel.api import (
        Advice,
        Kernel,
        StorelError,
        Tensor,
        Tuning,
        advise,
        compile,  # noqa: A004
        declare,
        einsum,
        explain,
        read,
        run,
        tensor,
        tune,
    )

__version__: str

__all__ = [
    "Advice",
    "Kernel",
    "StorelError",
    "Tensor",
    "Tuning",
    "advise",
    "compile",
    "declare",
    "einsum",
    "explain",
    "read",
    "run",
    "tensor",
    "tune",
]


def __getattr__(name: str) -> object:
    """Import what the library offers once it is asked for: a command has to prepare for Ctrl-C before."""
    if name == "__version__":
        from importlib.metadata import version

        found = version("storel")
    elif name in __all__:
        from storel import api

        found = getattr(api, name)
    else:
        raise AttributeError(f"module 'storel' has no attribute '{name}'")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
