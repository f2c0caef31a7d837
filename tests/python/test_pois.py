"""Several parameters of interest in Python, against scipy and independent fits."""

import copy
import json
import pathlib
import pickle

import nextstat
import numpy as np
import pytest

FIXTURES = pathlib.Path(__file__).parents[1] / "fixtures"
FILE = FIXTURES / "two_signals.json"
BOTH = ["mu_ggH", "mu_qqH"]


@pytest.fixture(scope="module")
def model():
    return nextstat.load_workspace(FILE, poi=BOTH)


def test_models_have_lists(model):
    assert (model.poi_name, model.poi_names) == ("mu_ggH", BOTH)
    assert model.with_poi("mu_qqH").poi_names == ["mu_qqH"]
    assert pickle.loads(pickle.dumps(model)).poi_names == BOTH
    document = json.loads(FILE.read_text())
    document["measurements"][0]["config"]["poi"] = BOTH[::-1]
    assert nextstat.load_workspace(document).poi_names == BOTH[::-1]
    for wrong in (["mu_ggH", "mu_ggH"], ["mu_ggH", "nobody"], [""], ["stat"]):
        with pytest.raises(nextstat.WorkspaceError):
            nextstat.load_workspace(FILE, poi=wrong)
    with pytest.raises(ValueError, match="empty"):
        model.with_poi([])


def test_pyhf_refuses_a_list():
    pyhf = pytest.importorskip("pyhf")
    document = json.loads(FILE.read_text())
    document["measurements"][0]["config"]["poi"] = BOTH
    with pytest.raises(pyhf.exceptions.InvalidSpecification):
        pyhf.Workspace(document)
    with pytest.raises(Exception):  # noqa: B017, PT011
        pyhf.Workspace(document, validate=False).model(validate=False)


def test_rankings_in_one_table(model, tmp_path):
    groups = {"experiment": ["jets"]}
    both = nextstat.ranking(model, poi=BOTH, prefit=True, groups=groups)
    joint = nextstat.joint_ranking(both)
    assert joint.pois == BOTH and sorted(joint.names) == sorted(both["mu_ggH"].names)
    # The largest impact in units of the uncertainty comes first.
    size = [max(abs(r[name]["delta_mu_up"]) / r.mu_uncertainty for r in both.values()) for name in joint.names[:1]]
    assert size[0] >= 0.9 * max(abs(r[n]["delta_mu_up"]) / r.mu_uncertainty for r in both.values() for n in joint.names)
    lines = joint.to_csv().splitlines()
    assert lines[0].startswith("parameter,pull,constraint,mu_ggH up,mu_ggH down,mu_qqH up,mu_qqH down")
    assert [line.split(",")[0] for line in lines[1 : 1 + len(joint.names)]] == joint.names
    for text in (str(joint), joint.to_latex(), joint.to_markdown(), joint._repr_html_()):
        assert "jets" in text and "qqH" in text
    assert joint.to_dict()["results"][1]["param"] == "mu_qqH"
    frame = joint.to_pandas()
    assert list(frame["name"]) == joint.names
    assert frame["delta_mu_up mu_qqH"][0] == both["mu_qqH"][joint.names[0]]["delta_mu_up"]
    picture = joint.plot(tmp_path / "both.svg", max_rows=2)
    assert "Impact on mu_ggH" in picture.svg and "Impact on mu_qqH" in picture.svg
    assert str(pickle.loads(pickle.dumps(joint))) == str(joint)
    assert str(nextstat.joint_ranking(list(both.values()))) == str(joint)
    with pytest.raises(ValueError, match="no rankings"):
        nextstat.joint_ranking([])
    with pytest.raises(ValueError, match="different fits"):
        nextstat.joint_ranking([both["mu_ggH"], nextstat.ranking(model, fixed={"norm": 1.0}, poi="mu_qqH")])
    with pytest.raises(TypeError):
        nextstat.joint_ranking([1])


def test_each_analysis_by_name_and_by_list(model):
    for function, key in [
        (nextstat.upper_limit, "observed"),
        (nextstat.significance, "z"),
        (nextstat.ranking, "mu_uncertainty"),
        (nextstat.profile_scan, "uncertainty"),
    ]:
        together = function(model, poi=BOTH)
        assert list(together) == BOTH
        for name in BOTH:
            alone = function(FILE, poi=name)
            assert together[name].param == name
            assert getattr(together[name], key) == pytest.approx(getattr(alone, key), rel=1e-7)
    limits = nextstat.upper_limit(model, poi=tuple(BOTH), fixed={"norm": 1.0})
    assert limits["mu_qqH"].observed == pytest.approx(
        nextstat.upper_limit(FILE, poi="mu_qqH", fixed={"norm": 1.0}).observed, rel=1e-7
    )


def test_patterns_and_all_stand_for_names(model):
    assert nextstat.load_workspace(FILE, poi="mu_*").poi_names == BOTH
    scalars = ["norm", *BOTH, "rate", "jets", "scale"]
    assert nextstat.load_workspace(FILE, poi="all").poi_names == scalars
    assert model.with_poi(["mu_qqH", "mu_*"]).poi_names == BOTH[::-1]
    results = nextstat.significance(model, poi=["mu_*"])
    assert list(results) == BOTH
    assert results["mu_qqH"].z == pytest.approx(nextstat.significance(model, poi="mu_qqH").z, rel=1e-7)
    assert nextstat.significance(model, poi="mu_g*").param == "mu_ggH"
    with pytest.raises(ValueError, match=r"poi='mu_\*' means 2 parameters; write poi=\[\"mu_\*\"\]"):
        nextstat.significance(model, poi="mu_*")
    with pytest.raises(nextstat.WorkspaceError, match="nu_"):
        nextstat.significance(model, poi=["nu_*"])


def test_a_point_follows_chi2(model):
    stats = pytest.importorskip("scipy.stats")
    test = nextstat.hypotest(model, {"mu_ggH": 2.0, "mu_qqH": 0.5})
    best, held = nextstat.fit(model), nextstat.fit(model, fixed={"mu_ggH": 2.0, "mu_qqH": 0.5})
    assert test.t == pytest.approx(held.twice_nll - best.twice_nll, abs=1e-8)
    assert test.p_value == pytest.approx(stats.chi2.sf(test.t, 2), rel=1e-10)
    assert test.z == pytest.approx(stats.norm.isf(test.p_value / 2), rel=1e-9)
    assert pickle.loads(pickle.dumps(test)).t == test.t
    assert copy.copy(test).to_dict() == test.to_dict()
    toys = nextstat.hypotest(model, {"mu_ggH": 2.0, "mu_qqH": 0.5}, toys=500, seed=2)
    assert abs(toys.p_value_toys - toys.p_value) < 5 * toys.p_value_toys_error
    with pytest.raises(ValueError, match="one-sided"):
        nextstat.hypotest(model, {"mu_ggH": 1.0}, test_stat="q")
    with pytest.raises(ValueError, match="hypotest_toys"):
        nextstat.hypotest(model, 1.0, toys=10)
    assert nextstat.hypotest(model, 1.0, poi="mu_qqH").param == "mu_qqH"


def test_correlations_sequence_and_levels(model):
    fit = nextstat.fit(model)
    i, j = (fit.parameter_names.index(name) for name in BOTH)
    covariance = np.asarray(fit.covariance)
    matrix = fit.to_dict()["poi_correlation"]["matrix"]
    assert matrix[0][1] == pytest.approx(covariance[i, j] / np.sqrt(covariance[i, i] * covariance[j, j]), rel=1e-10)
    ranking = nextstat.ranking(model, groups={"theory": ["scale"], "jets": ["jets"]}, poi=BOTH)["mu_qqH"]
    sequence = ranking.sequential
    assert [part["name"] for part in sequence["groups"]] == ["theory", "jets"]
    assert sequence["sum"] == pytest.approx(ranking.mu_uncertainty, rel=1e-10)
    assert ranking.group_sums["delta_mu_fixed"] > 0
    plane = nextstat.profile_scan(model, points=3, param2="mu_qqH", points2=3, levels=[0.5])
    assert plane.levels == [(0.5, pytest.approx(-2 * np.log(0.5)))]
