"""Hooks of mkdocs: formulas become MathML, which browsers draw without a script, and bars in tables are those of GitHub."""

from __future__ import annotations

import html
import re

from latex2mathml.converter import convert

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.S)
ROW = re.compile(r"^\|.*$", re.M)
CODE = re.compile(r"`[^`\n]*`")


def on_page_markdown(markdown: str, **_arguments: object) -> str:
    """Takes the backslash from bars in code in tables. GitHub needs it, and Python's Markdown shows it."""

    def plain(code: re.Match[str]) -> str:
        return code[0].replace("\\|", "|")

    return ROW.sub(lambda row: CODE.sub(plain, row[0]), markdown)


def on_page_content(content: str, **_arguments: object) -> str:
    """Replaces the formulas of a page."""

    def drawn(found: re.Match[str]) -> str:
        kind = "inline" if found[1] == "span" else "block"
        return convert(html.unescape(found[2]), display=kind)

    return FORMULA.sub(drawn, content)
