"""HS3 models in Python: loading, choosing the analysis, fitting, pickling."""

import json
import pathlib
import pickle

import nextstat
import pytest

FOLDER = pathlib.Path(__file__).parents[1] / "fixtures" / "hs3"
TEXT, ROOT = FOLDER / "mixed.hs3.json", FOLDER / "mixed_root.hs3.json"


def test_paths_and_dictionaries_give_the_same_fit():
    document = json.loads(TEXT.read_text())
    assert nextstat.fit(document).twice_nll == nextstat.fit(TEXT).twice_nll


def test_both_dialects_give_the_same_fit():
    text, root = nextstat.fit(TEXT), nextstat.fit(ROOT)
    assert text.converged and root.converged
    assert text.twice_nll == pytest.approx(root.twice_nll, abs=1e-8)


def test_the_analysis_is_chosen_by_name():
    observed = nextstat.load_workspace(ROOT)
    assert nextstat.fit(observed).twice_nll == nextstat.fit(nextstat.load_workspace(ROOT, analysis="obsData")).twice_nll
    asimov = nextstat.load_workspace(ROOT, analysis="asimovData")
    assert nextstat.fit(asimov).twice_nll != nextstat.fit(observed).twice_nll
    with pytest.raises(nextstat.WorkspaceError, match="The analyses are: 'asimovData', 'obsData'"):
        nextstat.load_workspace(ROOT, analysis="obs")
    with pytest.raises(TypeError, match="two words"):
        nextstat.load_workspace(ROOT, measurement="obsData", analysis="obsData")


def test_models_can_be_pickled():
    model = nextstat.load_workspace(ROOT, mask="counts")
    again = pickle.loads(pickle.dumps(model))
    assert again.parameter_names == model.parameter_names
    assert nextstat.fit(again).twice_nll == nextstat.fit(model).twice_nll


def test_what_workspaces_alone_have_is_refused():
    with pytest.raises(nextstat.WorkspaceError, match="HS3 model"):
        nextstat.load_workspace(TEXT, interp_defaults="piecewise")
    with pytest.raises(nextstat.WorkspaceError, match="HS3 model"):
        nextstat.load_workspace(TEXT, patch=[{"op": "remove", "path": "/data"}])


def test_problems_have_their_paths():
    document = json.loads(TEXT.read_text())
    document["distributions"][0]["mean"] = "mas"
    with pytest.raises(nextstat.WorkspaceError, match="/distributions/0/mean: .*Did you mean 'mass'"):
        nextstat.fit(document)
