"""The Python examples of the documents run as they are written, one code block after another."""

import pathlib
import re

import pytest

import nextstat

ROOT = pathlib.Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])

# Pages that must have Python examples; others may.
TAUGHT = ["README.md"] + [
    f"docs/{name}.md"
    for name in "coming-from goodness-of-fit hypotest limits plots ranking scan significance tutorial workspaces".split()
]


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def python_blocks(path):
    return re.findall(r"^```python\n(.*?)^```", path.read_text(encoding="utf-8"), re.M | re.S)


WITH_EXAMPLES = [path for path in PAGES if python_blocks(path)]


def test_pages_have_examples():
    assert set(TAUGHT) <= {name_of(path) for path in WITH_EXAMPLES}


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=name_of)
def test_examples_run(path, monkeypatch, tmp_path):
    # Examples run in a temporary folder, so that they write nothing into the repository.
    (tmp_path / "tests").symlink_to(ROOT / "tests", target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    scope = {"__name__": "documentation"}
    blocks = python_blocks(path)
    if any("nextstat.distributed" in block for block in blocks):
        pytest.importorskip("distributed", reason="Dask is not installed (pip install 'dask[distributed]>=2024.8')")
    if path.name == "flows.md" and not nextstat._native._neural:
        pytest.skip("this build has no flows: build the wheel with the feature 'neural', as scripts/test does")
    if any("nextstat.torch" in block or "import torch" in block for block in blocks):
        # Its wheels bring gigabytes of CUDA libraries: blocks from the first that needs it are left out without it.
        try:
            import torch  # noqa: F401

            if any("zuko" in block for block in blocks):
                import zuko  # noqa: F401
        except ImportError:
            first = next(i for i, block in enumerate(blocks) if "torch" in block)
            blocks = blocks[:first]
    for number, block in enumerate(blocks, 1):
        exec(compile(block, f"{path.name}, block {number}", "exec"), scope)


def test_every_page_is_in_the_index():
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    for path in ROOT.glob("docs/*.md"):
        assert path.name == "README.md" or f"]({path.name})" in index, f"docs/README.md does not name {path.name}"


def anchors(path):
    """The anchors of a page's headings, as links contain them."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_links_lead_somewhere(path):
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", path.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        page = path.parent / target if target else path
        assert page.exists(), f"{path.name} links to {target}, which is not there"
        if anchor:
            assert anchor in anchors(page), f"{path.name} links to {target}#{anchor}, which is no heading"
