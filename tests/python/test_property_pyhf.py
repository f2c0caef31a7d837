"""Random workspaces, for which the package and pyhf must agree.

`NEXTSTAT_PYHF_MODELS` is how many are drawn. `property_run.py` makes the same comparison with more workspaces, in parallel.
"""

import json
import os
import pathlib

import nextstat
import pytest
from comparison import compare_case, pyhf_rejects
from random_workspaces import draw_broken, draw_case, from_document

MODELS = int(os.environ.get("NEXTSTAT_PYHF_MODELS", "30"))
SEED = 1
REGRESSIONS = sorted(pathlib.Path(__file__).with_name("regressions").glob("*.json"))


@pytest.mark.parametrize("index", range(MODELS))
def test_agrees_with_pyhf(index):
    case = draw_case(SEED, index)
    problems = compare_case(case)
    assert not problems, f"{case.label()}:\n" + "\n".join(problems)


def test_what_once_disagreed_agrees():
    """Workspaces that `property_run.py` saved."""
    found = {}
    for path in REGRESSIONS:
        found[path.name] = compare_case(from_document(json.loads(path.read_text(encoding="utf-8"))))
    assert not any(found.values()), found


@pytest.mark.parametrize("index", range(MODELS))
def test_rejects_what_pyhf_rejects(index):
    drawn = draw_broken(SEED, index)
    if drawn is None:
        pytest.skip("this fault needs a modifier that the workspace does not have")
    case, fault = drawn
    reason = pyhf_rejects(case)
    assert reason, f"the fault '{fault}' is none: pyhf accepts it"
    # A workspace without observations is a model, for Asimov data. Its fit is refused.
    with pytest.raises((nextstat.WorkspaceError, ValueError)) as caught:
        nextstat.fit(nextstat.load_workspace(case.spec, measurement=case.measurement))
    assert str(caught.value).strip(), f"'{fault}' is refused without a word; pyhf says {reason}"
