"""ROOT's own tutorials of RooFit, run live and read as HS3, where ROOT is installed: `pip install root==0.1a12`.

All of them: `python tests/python/root_sweep.py FOLDER --run`. Here are those that need little time.
"""

from __future__ import annotations

import importlib.util
import json
import pathlib

import pytest
import root_sweep

QUICK = ["rf101", "rf203", "rf204a", "rf204b", "rf208", "rf312", "rf501", "rf604"]


@pytest.mark.parametrize("name", QUICK)
def test_what_root_exports_has_its_likelihood(name: str, tmp_path: pathlib.Path) -> None:
    if importlib.util.find_spec("ROOT") is None:
        pytest.skip(f"ROOT is not installed: the tutorial {name} was NOT compared")
    tutorial = next((path for path in root_sweep.tutorials() if path.stem.startswith(name)), None)
    assert tutorial is not None, f"ROOT has no tutorial {name}"
    problem = root_sweep.run(tutorial, tmp_path)
    assert not problem, problem
    cases = [json.loads(path.read_text()) for path in sorted(tmp_path.glob(f"{name}*.json"))]
    assert cases, "no fit was recorded"
    for case in cases:
        word, more = root_sweep.compare(case)
        expected = root_sweep.KNOWN.get(case["name"], ("agrees", ""))[0]
        assert word == expected, f"{case['name']} {word}: {more}"
