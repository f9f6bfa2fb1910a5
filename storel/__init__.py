"""storel: a compiler and cost-based optimizer for tensor programs over declarative storage."""

from storel.api import Kernel, compile, declare, einsum, explain, read, run, tensor  # noqa: A004
from storel.errors import StorelError
from storel.storage.tensor import Tensor

__all__ = [
    "Kernel",
    "StorelError",
    "Tensor",
    "compile",
    "declare",
    "einsum",
    "explain",
    "read",
    "run",
    "tensor",
]
