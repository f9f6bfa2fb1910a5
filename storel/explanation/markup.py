"""Elements of HTML, in which no text of a program or its data can become markup."""

from __future__ import annotations

from html import escape


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def element(name: str, *content: str, **attributes: str) -> Markup:
    """Return an element; what is not Markup in it is escaped. A trailing ``_`` of an attribute is dropped.

    >>> element("a", "x < y", element("b", "z"), href="#c1", class_="link")
    '<a href="#c1" class="link">x &lt; y<b>z</b></a>'
    """
    written = "".join(f' {key.rstrip("_")}="{escape(value)}"' for key, value in attributes.items())
    return Markup(f"<{name}{written}>{joined(*content)}</{name}>")


def joined(*content: str) -> Markup:
    """Return several pieces as one."""
    return Markup("".join(each if isinstance(each, Markup) else escape(each) for each in content))
