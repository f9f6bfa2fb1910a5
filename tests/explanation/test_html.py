"""The page needs nothing from outside, is well-formed, shows everything, and its links lead somewhere."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser

import pytest
from strategies.explained import PROGRAMS, measured, program

from storel.compilation.compiler import STAGES
from storel.explanation.html import explain_html
from storel.explanation.markup import element

VOID = {"meta", "input"}


class Page(HTMLParser):
    """The elements of a page; every end tag must be that of the innermost open element."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def values(self, name: str) -> list[str]:
        return [value for key, value in self.attributes if key == name]


def page_of(name: str, *, analyzed: bool = True) -> Page:
    this = program(name)
    return Page(explain_html({"r": this.compilation}, {"r": measured(this)} if analyzed else {}))


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_well_formed_and_complete(name: str) -> None:
    page = page_of(name)
    assert page.open == [] and page.tags["section"] == 1
    for stage in STAGES:
        assert stage.show(program(name).compilation) in page.texts
    links, targets = page.values("href"), page.values("id")
    assert len(links) > 3 and {link.removeprefix("#") for link in links} <= set(targets)
    assert len(targets) == len(set(targets))


def test_several_definitions_do_not_share_targets() -> None:
    compilation = program("scaled").compilation
    page = Page(explain_html({"r": compilation, "s": compilation}))
    assert page.tags["section"] == 2
    assert len(page.values("id")) == len(set(page.values("id")))


def test_nothing_is_loaded() -> None:
    this = program("searched")
    text = explain_html({"r": this.compilation}, {"r": measured(this)})
    assert not re.search(r"https?:|//[a-z]|@import|url\(|<link|<img|<iframe| src=|fetch\(|import\(", text)


def test_bars_are_within_their_column() -> None:
    page = page_of("searched")
    widths = [float(each[len("width: ") : -1]) for each in page.values("style")]
    assert max(widths) == 100 and min(widths) >= 0
    assert len([each for each in page.values("class") if each == "bar counted"]) * 2 == len(widths)
    expected = page_of("searched", analyzed=False)
    assert "bar expected" in expected.values("class") and "bar counted" not in expected.values("class")


def test_text_does_not_become_markup() -> None:
    assert element("p", "<script>", element("b", '"&'), title='"><') == (
        '<p title="&quot;&gt;&lt;">&lt;script&gt;<b>&quot;&amp;</b></p>'
    )
