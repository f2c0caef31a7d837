"""What scripts write into the documentation is up to date: the references, the chart of the read-me, the menu of the site."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_references_are_those_of_this_build():
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    program = next((path for kind in ("debug", "release") if (path := target / kind / "nextstat").exists()), None)
    if program is None:
        pytest.skip("NOT COMPARED: the command is not built (cargo build -p ns-cli)")
    # The tests of the server compare the schemas of results.
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "reference", "--check", "--command", program, "--server", "none"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_chart_is_that_of_the_recorded_figures():
    done = subprocess.run([sys.executable, ROOT / "scripts" / "charts", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_menu_of_the_site_names_every_page():
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1]
    named = set(re.findall(r"([\w/.-]+\.md)$", menu, re.M))
    assert named == {path.relative_to(ROOT / "docs").as_posix() for path in ROOT.glob("docs/**/*.md")}
