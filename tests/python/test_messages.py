"""Messages for Python users: they name no flags of the command line, and the true cause of the error."""

import json
import sys
import warnings

import numpy as np
import pytest

import nextstat


@pytest.fixture
def spec(fixtures):
    return json.loads((fixtures / "simple_workspace.json").read_text())


def test_unknown_names_come_with_the_python_call_that_lists_them(spec):
    model = nextstat.load_workspace(spec)
    for call in (
        lambda name: nextstat.fit(model, fixed={name: 1.0}),
        lambda name: nextstat.profile_scan(model, param=name),
        lambda name: nextstat.ranking(model, groups={"jets": [name]}),
    ):
        for name in ("jet_scael", "nobody"):
            with pytest.raises(ValueError, match=r"`Model\.parameter_names` lists all") as caught:
                call(name)
            assert "nextstat inspect" not in str(caught.value) and "--" not in str(caught.value)


def test_a_huge_observation_is_named_and_no_constraint(spec):
    spec["observations"][0]["data"][0] = 1e307
    with pytest.raises(nextstat.ConvergenceError, match="correct the observation") as caught:
        nextstat.fit(nextstat.load_workspace(spec))
    assert "bin 0 of channel 'SR'" in str(caught.value) and "constraint" not in str(caught.value)


def test_negative_expectations_are_not_called_counts(spec):
    for sample in spec["channels"][0]["samples"]:
        sample["data"][0] = -50.0
    spec["observations"][0]["data"][0] = 0.0
    model = nextstat.load_workspace(spec)
    for call in (lambda: nextstat.fit(model, asimov=1.0), lambda: model.toy_data(model.init, 3)):
        with pytest.raises(ValueError, match="expects -") as caught:
            call()
        assert "counts" not in str(caught.value) and "check for negative yields" in str(caught.value)


def test_pictures_warn_of_names_that_no_font_has(spec, tmp_path, recwarn):
    text = json.dumps(spec).replace("jet_scale", "\U000f0000")  # private use: in no font
    picture = nextstat.fit(nextstat.load_workspace(json.loads(text))).plot()
    picture.save(tmp_path / "pulls.svg")
    assert not [w for w in recwarn if "no font" in str(w.message)]
    with pytest.warns(UserWarning, match="no font of this machine has"):
        picture.save(tmp_path / "pulls.png")
    with pytest.warns(UserWarning, match="or write SVG"):
        picture.pdf()


class TestWarningsOfResults:
    @pytest.fixture
    def wide(self, spec):
        settings = spec["measurements"][0]["config"]["parameters"]
        settings[:] = [s for s in settings if s["name"] != "mu"] + [{"name": "mu", "bounds": [[-5.0, 10.0]]}]
        return spec

    def test_a_deficit_has_no_significance(self, wide):
        wide["observations"][0]["data"] = [50.0, 40.0, 15.0, 9.0]
        model = nextstat.load_workspace(wide)
        with pytest.warns(UserWarning, match="no excess, so Z is 0") as caught:
            result = nextstat.significance(model)
        assert [str(w.message) for w in caught] == result.warnings

    def test_a_deficit_at_the_bound_has_no_significance(self, spec):
        spec["observations"][0]["data"] = [50.0, 40.0, 15.0, 9.0]
        with pytest.warns(UserWarning, match="the best fit mu = 0 is at its lower bound: no excess, so Z is 0"):
            assert nextstat.significance(nextstat.load_workspace(spec)).z == 0.0

    def test_qtilde_below_zero(self, wide):
        model = nextstat.load_workspace(wide)
        with pytest.warns(UserWarning, match="qtilde") as caught:
            nextstat.hypotest(model, 1.0)
        assert caught[0].filename == __file__

    def test_the_first_of_several_measurements(self, fixtures):
        with pytest.warns(UserWarning, match="measurements; the first one"):
            model = nextstat.load_workspace(fixtures / "several_measurements.json")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = nextstat.fit(model)  # the warning was given when the model was made
        assert any("the first one" in text for text in result.warnings)

    def test_ordinary_results_have_none(self, spec):
        model = nextstat.load_workspace(spec)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            nextstat.fit(model), nextstat.hypotest(model, 1.0), nextstat.upper_limit(model)
            nextstat.fit_batch(model, [model.observed_data()]), nextstat.yields(model)
        with pytest.warns(UserWarning, match="are inf, which JSON writes as null"):
            nextstat.yields(model, {"mu": 1e308})


class TestArguments:
    """Each message names the argument and says what is meant."""

    @pytest.mark.parametrize(
        "call, error, message",
        [
            (lambda m: nextstat.fit(m, minos=True), TypeError, r"a name or a list of names, such as \[\"mu\"\], not True\s.*'minos'"),
            (lambda m: nextstat.fit(m, fixed=["mu"]), TypeError, r"fixed must be a dictionary.*\{\"mu\": 1.0\}, not \['mu'\]"),
            (lambda m: nextstat.fit(m, data={"SR": [1.0]}), ValueError, r"'SR' of the data has 1 numbers; 4 are needed"),
            (lambda m: nextstat.fit(m, data={"SR": [1, 2, -3, 4]}), ValueError, r"number 2 of 'SR' of the data is -3; counts are"),
            (
                lambda m: nextstat.fit(m, data={"VR": [1.0]}),
                ValueError,
                r"no channel 'VR'; the model's channels are 'CR' \(3 counts\), 'SR' \(4 counts\)",
            ),
            (lambda m: nextstat.yields(m, 3), TypeError, r"params must be a point: the values of all 13 parameters.*not 3"),
            (lambda m: nextstat.fit(m, init=3), TypeError, r"init must be a point"),
            (lambda m: nextstat.fit(m, init={"mu": "x"}), TypeError, r"init maps names of parameters to numbers, not 'mu' to 'x'"),
            (lambda m: nextstat.upper_limit(m, scan_values=[1, np.nan]), ValueError, r"scan_values\[1\] is NaN; give finite numbers"),
            (lambda m: nextstat.upper_limit(m, scan_values=[[1, 2]]), ValueError, r"scan_values must have one dimension"),
            (lambda m: nextstat.profile_scan(m, [1, np.inf]), ValueError, r"mu_values\[1\] is inf; give finite numbers"),
            (lambda m: nextstat.fit_batch(m, []), ValueError, r"datasets is empty; give one row of counts per data set"),
            (lambda m: nextstat.fit_batch(m, [[1.0]]), ValueError, r"a row of datasets must have 7 elements"),
            (lambda m: nextstat.fit(m, integral_tolerance=2), ValueError, r"is 2; give a number between 0 and 1"),
        ],
    )
    def test_it_is_named(self, spec, call, error, message):
        with pytest.raises(error, match=message):
            call(nextstat.load_workspace(spec))


def test_counts_are_given_by_the_names_of_channels(spec):
    model = nextstat.load_workspace(spec)
    counts = model.observed_data(include_auxdata=False)
    whole = nextstat.fit(model, data=np.concatenate([counts[:3], counts[3:] + 2]))
    part = nextstat.fit(model, data={"SR": counts[3:] + 2})
    assert part.bestfit.tolist() == whole.bestfit.tolist()
    assert nextstat.fit(model, data={"main": counts}).nll == nextstat.fit(model).nll


@pytest.mark.parametrize("observations", [[], None, "CR"])
def test_asimov_data_and_given_counts_need_no_observations(spec, observations):
    whole = nextstat.load_workspace(spec)
    cut = {key: value for key, value in spec.items() if key != "observations"}
    if observations is not None:
        cut["observations"] = [o for o in spec["observations"] if o["name"] in observations]
    model = nextstat.load_workspace(cut)
    assert nextstat.fit(model, asimov=1.0).bestfit.tolist() == nextstat.fit(whole, asimov=1.0).bestfit.tolist()
    counts = {o["name"]: o["data"] for o in spec["observations"]}
    assert nextstat.fit(model, data=counts).nll == nextstat.fit(whole).nll
    assert nextstat.yields(model, prefit=True).channels[1]["total"] == nextstat.yields(whole, prefit=True).channels[1]["total"]
    for use in (nextstat.fit, nextstat.upper_limit, nextstat.yields, lambda m: m.observed_data(), lambda m: m.nll(m.init)):
        with pytest.raises(ValueError, match="no observed counts of .*SR"):
            use(model)
    with pytest.raises(ValueError, match="the data lack counts of channel 'SR', which has no observed counts"):
        nextstat.fit(model, data={"CR": counts["CR"]})


def test_trees_of_root_need_uproot_alone(monkeypatch):
    monkeypatch.setitem(sys.modules, "uproot", None)
    with pytest.raises(ImportError, match="pip install uproot awkward"):
        nextstat.read_root("tree.root", "events")
