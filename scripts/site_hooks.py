"""Hooks of mkdocs: formulas become MathML, which browsers draw without a script."""

from __future__ import annotations

import html
import re

from latex2mathml.converter import convert

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.S)


def on_page_content(content: str, **_arguments: object) -> str:
    """Replaces the formulas of a page."""

    def drawn(found: re.Match[str]) -> str:
        kind = "inline" if found[1] == "span" else "block"
        return convert(html.unescape(found[2]), display=kind)

    return FORMULA.sub(drawn, content)
