"""The passes over a kernel after lowering, in order.

Each keeps the kernel's meaning, but for the rounding of sums where its docstring says so.
"""

from __future__ import annotations

from storel.loops.nodes import Kernel
from storel.loops.passes.ahead import look_ahead
from storel.loops.passes.appends import append_at_once
from storel.loops.passes.coalesce import coalesce
from storel.loops.passes.fission import evaluate_apart
from storel.loops.passes.fusion import fuse
from storel.loops.passes.interchange import interchange
from storel.loops.passes.interiors import split_interiors
from storel.loops.passes.lanes import spread
from storel.loops.passes.minima import simplify_minima
from storel.loops.passes.one_pass import sum_in_one_pass
from storel.loops.passes.padding import evaluate_padding
from storel.loops.passes.prefix_rows import accumulate_rows
from storel.loops.passes.prefixes import accumulate
from storel.loops.passes.reorder import reorder
from storel.loops.passes.runs import group
from storel.loops.passes.siblings import unite_siblings
from storel.loops.passes.sieve import sift
from storel.loops.passes.simplify import simplify
from storel.loops.passes.streams import stream
from storel.loops.passes.suffixes import turn_over
from storel.loops.passes.tails import fold_tails
from storel.loops.passes.tiles import tile
from storel.loops.passes.values import compute_once
from storel.symbols import Symbols


def improved(kernel: Kernel, symbols: Symbols, *, reorders: bool) -> Kernel:
    """Return the kernel as it is rendered; real sums are added up in any order if ``reorders``."""
    kernel = interchange(group(coalesce(simplify(kernel)), symbols))
    kernel = compute_once(unite_siblings(kernel, reorders=reorders))
    kernel = turn_over(spread(reorder(kernel), symbols)) if reorders else kernel
    kernel = accumulate_rows(accumulate(kernel))
    kernel = tile(sift(evaluate_padding(evaluate_apart(fuse(kernel), symbols), symbols)))
    kernel = append_at_once(kernel, symbols)
    kernel = sum_in_one_pass(stream(look_ahead(kernel, symbols), symbols))
    kernel = fold_tails(kernel, symbols)
    return simplify_minima(split_interiors(kernel), symbols)
