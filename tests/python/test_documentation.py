"""The Python examples of the documents run as they stand, block after block."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["README.md", "docs/tutorial.md", "docs/workspaces.md", "docs/scan.md", "docs/ranking.md"])
def test_examples_run(name, monkeypatch):
    monkeypatch.chdir(ROOT)
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / name).read_text(encoding="utf-8"), re.M | re.S)
    assert blocks, f"{name} has no Python examples"
    scope = {"__name__": "documentation"}
    for number, block in enumerate(blocks, 1):
        exec(compile(block, f"{name}, block {number}", "exec"), scope)


@pytest.mark.parametrize("path", sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]), ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (path.parent / target).exists(), f"{path.name} links to {target}, which is not there"
