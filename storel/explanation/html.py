"""What became of a program, as one page that needs nothing but a browser.

Each definition has its plan as a tree that folds, all stages side by side, how the plan was found, and the
e-graph to walk through. ``page.html``, ``page.css`` and ``page.js`` are put into one file.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from importlib.resources import files
from string import Template

from storel.calculus import printer as term_printer
from storel.compilation.compiled import Compilation
from storel.compilation.compiler import STAGES
from storel.execution.profile import Profile
from storel.explanation.figures import COUNTED, EXPECTED, TIME_ATTRIBUTED, TIME_EXPECTED, count, duration
from storel.explanation.markup import Markup, element, joined
from storel.explanation.text import NO_PROFILES, conversions, expected_time, memory, runner_up_text, runs
from storel.explanation.tree import Explained, Operator, explained, flattened
from storel.optimizer.egraph.browse import Class, Node, reached
from storel.optimizer.limits import PhaseReport

MEASURED = (EXPECTED, COUNTED, TIME_ATTRIBUTED)


def explain_html(
    compilations: Mapping[str, Compilation], profiles: Mapping[str, Profile] = NO_PROFILES
) -> str:
    """Return a page with a section for each compiled definition."""
    given = [explained(each, profiles.get(name)) for name, each in compilations.items()]
    sections = [_definition(each, f"d{number}") for number, each in enumerate(given)]
    return Template(_resource("page.html")).substitute(
        title=joined(", ".join(each.name for each in given)),
        style=_resource("page.css"),
        script=_resource("page.js"),
        body=joined(*sections),
    )


def _resource(name: str) -> str:
    return (files("storel.explanation") / name).read_text("utf-8")


def _definition(this: Explained, prefix: str) -> Markup:
    compilation = this.compilation
    converted = "".join(f" {each}." for each in conversions(compilation))
    return element(
        "section",
        element("h1", this.name),
        element("p", f"in {compilation.result.wanted.name}, run by {compilation.backend}.{converted}"),
        element("h2", "Plan"),
        _plan(this),
        element("h2", "Stages"),
        _stages(compilation),
        element("h2", "Search"),
        *(_phase(report) for report in compilation.optimized.report),
        _runners_up(this),
        element("h2", "E-graph"),
        _graph(compilation, prefix),
    )


def _plan(this: Explained) -> Markup:
    every = [each for _, each in flattened(this.operators)]
    most = max(max(each.expected, float(each.counted or 0)) for each in every)
    titles = (EXPECTED, TIME_EXPECTED) if this.profile is None else MEASURED
    head = element(
        "div",
        element("span", class_="bars"),
        element("span", *(element("span", title) for title in titles), class_="figures"),
        element("code", this.destination),
        class_="operator",
    )
    tree = element("ul", *(_operator(each, most) for each in this.operators), class_="tree")
    return joined(head, tree, element("p", _summary(this), class_="note"))


def _summary(this: Explained) -> str:
    bars = "Bars are logarithmic: above what was expected"
    if this.profile is None:
        expected = duration(this.compilation.optimized.cost.nanoseconds)
        return f"Expected time: {expected}. {bars}."
    time = f"{duration(1e9 * this.profile.seconds)} measured ({runs(this.profile)}), {expected_time(this)}"
    divided = (
        "The measured time is attributed to operators by the cost model, for what they were counted to do"
    )
    return f"Time: {time}. Memory: {memory(this.profile)}. {bars}, below what was counted. {divided}."


def _operator(operator: Operator, most: float) -> Markup:
    bars = [_bar(EXPECTED, operator.expected, most)]
    if operator.counted is not None:
        bars.append(_bar(COUNTED, operator.counted, most))
    line = (
        element("span", *bars, class_="bars"),
        element("span", *_figures(operator), class_="figures"),
        element("code", operator.text),
    )
    if not operator.parts:
        return element("li", element("div", *line, class_="operator"))
    parts = element("ul", *(_operator(each, most) for each in operator.parts))
    return element("li", element("details", element("summary", *line, class_="operator"), parts, open="open"))


def _bar(kind: str, number: float, most: float) -> Markup:
    share = math.log1p(number) / math.log1p(most) if most > 0 else 0.0
    title = f"{kind} {count(number)}"
    return element("span", class_=f"bar {kind}", style=f"width: {100 * share:.1f}%", title=title)


def _figures(operator: Operator) -> Iterator[Markup]:
    yield element("span", count(operator.expected), title=EXPECTED)
    if operator.counted is None or operator.attributed is None or operator.factor is None:
        yield element("span", duration(operator.nanoseconds), title=TIME_EXPECTED)
        return
    is_far = operator.factor >= 2
    yield element("span", count(operator.counted), title=COUNTED, class_="far" if is_far else "near")
    yield element("span", duration(operator.attributed), title=TIME_ATTRIBUTED)


def _stages(compilation: Compilation) -> Markup:
    columns = [
        element("article", element("h3", each.name), element("pre", each.show(compilation)))
        for each in STAGES
    ]
    names = [element("label", Markup('<input type="checkbox" checked>'), each.name) for each in STAGES]
    return joined(
        element("p", *names, class_="choices"),
        element("div", *columns, class_="stages"),
    )


def _phase(report: PhaseReport) -> Markup:
    ended = (
        f"{report.phase}: {report.stop.value} after {report.iterations} iterations, "
        f"{report.nodes} e-nodes, {report.milliseconds:.0f} ms"
    )
    fired = sorted(((n, name) for name, n in report.matches.items() if n), key=lambda pair: (-pair[0], pair))
    rows = [element("tr", element("td", name), element("td", count(number))) for number, name in fired]
    head = element("tr", element("th", "rule"), element("th", "matches"))
    return element("details", element("summary", ended), element("table", head, *rows), open="open")


def _runners_up(this: Explained) -> Markup:
    if not this.runners_up:
        return element("p", "No other term was priced in full.", class_="note")
    entries = [
        element(
            "details",
            element("summary", runner_up_text(priced, this.chosen)),
            element("pre", term_printer.show(priced.term)),
        )
        for priced in this.runners_up
    ]
    return joined(*entries)


def _graph(compilation: Compilation, prefix: str) -> Markup:
    classes = [_class(each, prefix) for each in reached(compilation.optimized.graph)]
    note = (
        "The classes of equal terms that the last phase ended with, from the root c0 on. In each, the node "
        "that the plain cost takes comes first; numbers with c are classes, those with x binders."
    )
    return element(
        "details",
        element("summary", f"{len(classes)} classes"),
        element("p", note, class_="note"),
        element("ol", *classes, class_="graph"),
    )


def _class(this: Class, prefix: str) -> Markup:
    price = "" if this.nanoseconds is None else duration(this.nanoseconds)
    head = element("span", element("b", f"c{this.number}"), f" {price}")
    nodes = [_node(node, prefix) for node in this.nodes]
    return element("li", head, *nodes, id=f"{prefix}-c{this.number}")


def _node(node: Node, prefix: str) -> Markup:
    arguments = [
        element("a", f"c{each}", href=f"#{prefix}-c{each}") if isinstance(each, int) else each
        for each in node.arguments
    ]
    spaced = (part for argument in arguments for part in (" ", argument))
    return element("code", node.constructor, *spaced, class_="chosen" if node.is_chosen else "other")
