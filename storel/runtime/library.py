"""Source text to functions in machine code, compiled or taken from the cache.

Both backends give functions with the protocol of ``codegen``: the address of a block of 8-byte slots goes in,
0 or a failure's code comes out.
"""

from __future__ import annotations

import ctypes
import importlib.util
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeAlias

from storel.host import cache
from storel.runtime import toolchain

Backend: TypeAlias = Literal["c", "numba"]
Entry: TypeAlias = Callable[[bytes, Any], int]

ENTRY = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_char_p, ctypes.c_void_p)
"""The type of an ``Entry`` in C: it takes slots and the address of a failure's detail."""


def load_entries(source: str, names: list[str], backend: Backend, *, is_strict: bool = False) -> list[Entry]:
    """Return the functions ``storel_NAME`` of a source text; raises BackendError if it does not compile.

    In strict ones each operation is rounded by itself, so that all backends give the same numbers.
    """
    if backend == "numba":
        return _load_numba(source, names)
    library = load_c(source, *([toolchain.ROUNDED] if is_strict else []))
    return [ENTRY((f"storel_{name}", library)) for name in names]


def load_c(source: str, *further: str) -> ctypes.CDLL:
    """Return C source text as a library; raises BackendError where there is no compiler that takes it.

    ``further`` are flags beside those that are always given.
    """
    toolchain.choose("c")
    compiler = toolchain.find()
    assert compiler is not None, "choose raises where there is none"

    def build(artifact: Path) -> None:
        (artifact / "kernel.c").write_text(source, "utf-8")
        compiler.compile(artifact / "kernel.c", artifact / "kernel.so", *further)
        cache.seal(artifact / "kernel.so")

    def link(artifact: Path) -> ctypes.CDLL:
        cache.check_seal(artifact / "kernel.so")
        try:
            return ctypes.CDLL(str(artifact / "kernel.so"))
        except OSError as error:
            raise cache.Damaged(str(error)) from error

    parts = (*compiler.command, compiler.version, *compiler.flags, *further, toolchain.processor())
    return cache.obtain(f"c-{cache.digest(source, *parts)}", build, link)


_loading = threading.Lock()


def _load_numba(source: str, names: list[str]) -> list[Entry]:
    """Run the module from the cache; Numba keeps its machine code beside it.

    One thread does so at a time. Numba 0.68 makes what it needs in a process under one lock and compiles
    under another: threads of which each holds one of them wait for each other for good.
    """
    name = f"numba-{cache.digest(source)}"

    def build(artifact: Path) -> None:
        (artifact / "kernel.py").write_text(source, "utf-8")

    def run(artifact: Path) -> list[Entry]:
        path = artifact / "kernel.py"
        try:
            if path.read_text("utf-8") != source:
                raise cache.Damaged(f"{path} is damaged")
            specification = importlib.util.spec_from_file_location(name, path)
            assert specification is not None and specification.loader is not None
            module = importlib.util.module_from_spec(specification)
            sys.modules[name] = module  # Numba's cache looks it up there
            specification.loader.exec_module(module)
        except Exception as error:
            raise cache.Damaged(f"{path}: {error}") from error
        return [ENTRY(getattr(module, f"storel_{name}").address) for name in names]

    with _loading:
        return cache.obtain(name, build, run)
