"""What became of a program, as objects of JSON: all that the other renderings show, and more digits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from storel.calculus import printer as term_printer
from storel.compilation.compiled import Compilation
from storel.compilation.compiler import STAGES
from storel.execution.profile import Profile
from storel.explanation.phases import DividedLoop, MatrixProduct, shared_phases
from storel.explanation.text import NO_PROFILES
from storel.explanation.tree import Explained, Operator, explained
from storel.optimizer.limits import PhaseReport


def explain_json(
    compilations: Mapping[str, Compilation], profiles: Mapping[str, Profile] = NO_PROFILES
) -> dict[str, Any]:
    """Return one object per definition; ``measured`` is null where nothing was."""
    return {name: _definition(explained(each, profiles.get(name))) for name, each in compilations.items()}


def _definition(this: Explained) -> dict[str, Any]:
    compilation, optimized = this.compilation, this.compilation.optimized
    shared = tuple(shared_phases(compilation))
    divided = [phase for phase in shared if isinstance(phase, DividedLoop)]
    return {
        "format": compilation.result.wanted.name,
        "converted": {name: tensor.format for name, tensor in compilation.converted.items()},
        "backend": compilation.backend,
        "stages": {each.name: each.show(compilation) for each in STAGES},
        "nanoseconds": optimized.cost.nanoseconds,
        "call_nanoseconds": compilation.constants.call,
        "phases": [_phase(report) for report in optimized.report],
        "considered": [
            {
                "origin": each.origin,
                "term": term_printer.show(each.term),
                "nanoseconds": each.cost.nanoseconds,
                "operations": each.operations,
                "chosen": each.term == optimized.term,
            }
            for each in optimized.considered
        ],
        "destination": this.destination,
        "operators": [_operator(each) for each in this.operators],
        "threads": compilation.used_threads if divided else 1,
        "divided": [asdict(loop) for loop in divided],
        "matrix_products": [asdict(phase) for phase in shared if isinstance(phase, MatrixProduct)],
        "measured": None if this.profile is None else _measured(this.profile),
    }


def _phase(report: PhaseReport) -> dict[str, Any]:
    return {
        "phase": report.phase,
        "stop": report.stop.value,
        "iterations": report.iterations,
        "nodes": report.nodes,
        "milliseconds": report.milliseconds,
        "matches": {name: count for name, count in sorted(report.matches.items()) if count},
    }


def _operator(operator: Operator) -> dict[str, Any]:
    return {
        "text": operator.text,
        "expected": operator.expected,
        "counted": operator.counted,
        "nanoseconds": operator.nanoseconds,
        "attributed_nanoseconds": operator.attributed,
        "parts": [_operator(part) for part in operator.parts],
    }


def _measured(profile: Profile) -> dict[str, Any]:
    return {name: value for name, value in asdict(profile).items() if name != "counts"}
