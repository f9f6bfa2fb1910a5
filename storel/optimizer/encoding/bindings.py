"""egglog's compiled module, loaded without the Python package around it.

``import egglog`` also loads a formatter, a tracer and a visualizer (0.2 s); the e-graph itself is one
extension module that needs none of them (0.04 s).
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from types import ModuleType
from typing import TYPE_CHECKING

NAME = "egglog.bindings"


def _load() -> ModuleType:
    if NAME in sys.modules:
        return sys.modules[NAME]
    package = importlib.util.find_spec("egglog")
    assert package is not None and package.submodule_search_locations is not None
    found = importlib.machinery.PathFinder.find_spec(NAME, package.submodule_search_locations)
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[NAME] = module  # a later `import egglog` must find the same module
    found.loader.exec_module(module)
    return module


if TYPE_CHECKING:
    from egglog.bindings import (
        ActionCommand,
        Call,
        EggSmolError,
        EGraph,
        Expr_,
        FrozenEGraph,
        Int,
        Lit,
        PanicSpan,
        PrintAllFunctionsSize,
        RunScheduleOutput,
        String,
        Value,
    )
else:
    _module = _load()
    ActionCommand = _module.ActionCommand
    Call = _module.Call
    EGraph = _module.EGraph
    EggSmolError = _module.EggSmolError
    Expr_ = _module.Expr_
    FrozenEGraph = _module.FrozenEGraph
    Int = _module.Int
    Lit = _module.Lit
    PrintAllFunctionsSize = _module.PrintAllFunctionsSize
    RunScheduleOutput = _module.RunScheduleOutput
    PanicSpan = _module.PanicSpan
    String = _module.String
    Value = _module.Value

__all__ = [
    "ActionCommand",
    "Call",
    "EGraph",
    "EggSmolError",
    "Expr_",
    "FrozenEGraph",
    "Int",
    "Lit",
    "PanicSpan",
    "PrintAllFunctionsSize",
    "RunScheduleOutput",
    "String",
    "Value",
]
