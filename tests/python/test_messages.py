"""Messages for Python users: they name no flags of the command line, and the true cause of the error."""

import json
import pathlib
import re
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


SPEC = json.loads((pathlib.Path(__file__).parents[1] / "fixtures" / "simple_workspace.json").read_text())

NUMBERS = r"must be numbers: could not convert string to float"

#: Calls that a newcomer makes, with the error and its words.
ARGUMENTS = [
    # Names of parameters and channels.
    (lambda m: nextstat.fit(m, minos=True), TypeError, r"a name or a list of names, such as \[\"mu\"\], not True\s.*'minos'"),
    (lambda m: nextstat.fit(m, minos=["mu", 3]), TypeError, r"a name or a list of names.*not \['mu', 3\]\s.*'minos'"),
    (lambda m: nextstat.fit(m, minos=["nu"]), ValueError, r"no parameter 'nu'; did you mean 'mu'\? `Model.parameter_names`"),
    (lambda m: nextstat.profile_scan(m, param="nu"), ValueError, r"no parameter 'nu'; did you mean 'mu'"),
    (lambda m: nextstat.yields(m, {"nu": 1.0}), ValueError, r"no parameter 'nu'; did you mean 'mu'"),
    (lambda m: nextstat.fit(m, blind=["VR"]), ValueError, r"no channel 'VR'; its channels with bins are CR, SR"),
    (lambda m: nextstat.load_workspace(SPEC, poi="nu"), nextstat.WorkspaceError, r"'nu' cannot be the parameter of interest.*mean 'mu'"),
    (lambda m: nextstat.load_workspace(SPEC, channels="VR"), nextstat.WorkspaceError, r"No channel is called 'VR'. Did you mean 'CR'"),
    # Values of parameters.
    (lambda m: nextstat.fit(m, fixed=["mu"]), TypeError, r"fixed must be a dictionary.*\{\"mu\": 1.0\}, not \['mu'\]"),
    (lambda m: nextstat.fit(m, fixed="mu"), TypeError, r"fixed must be a dictionary.*\{\"mu\": 1.0\}, not 'mu'"),
    (lambda m: nextstat.fit(m, fixed={"mu": None}), TypeError, r"fixed value of parameter 'mu' must be a number, not None"),
    (lambda m: nextstat.fit(m, fixed={"mu": np.nan}), ValueError, r"fixed value of parameter 'mu' is NaN; give a finite number"),
    (lambda m: nextstat.fit(m, fixed={"mu": 1e9}), ValueError, r"'mu' is 1000000000, outside its bounds \[0, 10\]; choose a value"),
    (lambda m: nextstat.fit(m, init=3), TypeError, r"init must be a point"),
    (lambda m: nextstat.fit(m, init={"mu": "x"}), TypeError, r"init maps names of parameters to numbers, not 'mu' to 'x'"),
    (lambda m: nextstat.fit(m, init={"mu": np.nan}), ValueError, r"start value of parameter 'mu' is NaN"),
    (lambda m: nextstat.fit(m, init=[1.0]), ValueError, r"init must have 13 elements \(one per parameter, see parameter_names\); it has 1"),
    (lambda m: nextstat.fit(m, asimov="1"), TypeError, r"asimov must be True or the value of the parameter of interest"),
    (lambda m: nextstat.fit(m, asimov=np.nan), ValueError, r"Asimov value of parameter 'mu' is NaN"),
    (lambda m: nextstat.yields(m, 3), TypeError, r"params must be a point: the values of all 13 parameters.*not 3"),
    (lambda m: nextstat.yields(m, "best"), ValueError, r"unknown params 'best'; use \"bestfit\", \"init\", an array or a dictionary"),
    (lambda m: m.nll([1.0]), ValueError, r"params must have 13 elements.*it has 1"),
    (lambda m: m.nll("x"), ValueError, r"params " + NUMBERS),
    (lambda m: nextstat.hypotest(m, "1"), TypeError, r"mu must be the tested value.*hypotest\(model, 1.0\), not '1'"),
    (lambda m: nextstat.hypotest(m, [1.0]), TypeError, r"mu must be the tested value.*not \[1.0\]"),
    (lambda m: nextstat.hypotest(m, np.nan), ValueError, r"tested value of parameter 'mu' is NaN"),
    # Counts.
    (lambda m: nextstat.fit(m, data={"SR": [1.0]}), ValueError, r"'SR' of the data has 1 numbers; 4 are needed"),
    (lambda m: nextstat.fit(m, data={"SR": [1, 2, -3, 4]}), ValueError, r"number 2 of 'SR' of the data is -3; counts are"),
    (lambda m: nextstat.fit(m, data={"SR": [1, 2, np.inf, 4]}), ValueError, r"number 2 of 'SR' of the data is inf; counts are finite"),
    (lambda m: nextstat.fit(m, data={"SR": "abcd"}), ValueError, r"'SR' of the data " + NUMBERS),
    (lambda m: nextstat.fit(m, data={"SR": 3}), ValueError, r"'SR' of the data must be an array, not a single number"),
    (
        lambda m: nextstat.fit(m, data={"VR": [1.0]}),
        ValueError,
        r"no channel 'VR'; the model's channels are 'CR' \(3 counts\), 'SR' \(4 counts\)",
    ),
    (lambda m: nextstat.fit(m, data="SR"), ValueError, r"data " + NUMBERS),
    (lambda m: nextstat.fit(m, data=3), ValueError, r"data must be an array, not a single number"),
    (lambda m: nextstat.fit(m, data=[1, 2, 3]), ValueError, r"a row of data must have 7 elements \(main counts\) or 18.*it has 3"),
    (lambda m: nextstat.fit(m, data=[-1, 2, 3, 4, 5, 6, 7]), ValueError, r"main data\[0\] is -1; counts are finite and not negative"),
    (lambda m: nextstat.fit(m, data=[[1] * 7]), ValueError, r"data must have one dimension here; use fit_batch for several"),
    (lambda m: nextstat.fit_batch(m, []), ValueError, r"datasets is empty; give one row of counts per data set"),
    (lambda m: nextstat.fit_batch(m, 3), ValueError, r"datasets must be an array, not a single number"),
    (lambda m: nextstat.fit_batch(m, [[1.0]]), ValueError, r"a row of datasets must have 7 elements"),
    # Lists of values.
    (lambda m: nextstat.upper_limit(m, scan_values=[1, np.nan]), ValueError, r"scan_values\[1\] is NaN; give finite numbers"),
    (lambda m: nextstat.upper_limit(m, scan_values=[[1, 2]]), ValueError, r"scan_values must have one dimension"),
    (lambda m: nextstat.upper_limit(m, scan_values=3), ValueError, r"scan_values must be an array, not a single number"),
    (lambda m: nextstat.upper_limit(m, scan_values="1,2"), ValueError, r"scan_values " + NUMBERS),
    (lambda m: nextstat.profile_scan(m, [1, np.inf]), ValueError, r"mu_values\[1\] is inf; give finite numbers"),
    (lambda m: nextstat.injection(m, [], n_toys=10), ValueError, r"there is no value to inject; give at least one"),
    # Dictionaries.
    (
        lambda m: nextstat.ranking(m, groups=["jet_scale"]),
        TypeError,
        r"a dictionary from names to lists of names, such as \{\"jets\": .*, not \['jet_scale'\]\s.*'groups'",
    ),
    (lambda m: nextstat.ranking(m, groups={"jets": 3}), TypeError, r"a dictionary from names to lists of names.*not \{'jets': 3\}"),
    (lambda m: nextstat.ranking(m, groups={"jets": ["nobody"]}), ValueError, r"group 'jets': the model has no parameter 'nobody'"),
    (
        lambda m: nextstat.rename(SPEC, channels=["SR"]),
        TypeError,
        r"a dictionary from old names to new ones, such as \{\"SR\": \"signal region\"\}, not \['SR'\]\s.*'channels'",
    ),
    (lambda m: nextstat.draw(nextstat.fit(m), style={"nme": {}}), ValueError, r"style: unknown field `nme`, expected one of `title`"),
    # Numbers.
    (lambda m: nextstat.upper_limit(m, alpha=2), ValueError, r"alpha is 2; it is 1 - cl and must lie between 0 and 0.5, for example 0.05"),
    (lambda m: nextstat.upper_limit(m, alpha=np.nan), ValueError, r"alpha is NaN; it is 1 - cl"),
    (lambda m: nextstat.upper_limit(m, alpha="0.05"), TypeError, r"must be real number, not str\s.*'alpha'"),
    (lambda m: nextstat.interval(m, cl=90), ValueError, r"confidence level is 90; it is a probability between 0 and 1, for example 0.95"),
    (lambda m: nextstat.fit(m, integral_tolerance=2), ValueError, r"is 2; give a number between 0 and 1"),
    (lambda m: nextstat.hypotest_toys(m, 1.0, n_toys=0), ValueError, r"0 toys cannot be run; ask for 1 to"),
    (lambda m: nextstat.hypotest_toys(m, 1.0, n_toys=-5), ValueError, r"n_toys: -5 is negative: give a whole number"),
    (lambda m: nextstat.hypotest_toys(m, 1.0, n_toys=1.5), TypeError, r"n_toys must be a whole number, not 1.5"),
    (lambda m: nextstat.goodness_of_fit(m, toys=-1), ValueError, r"toys: -1 is negative: give a whole number"),
    (lambda m: nextstat.fit(m, threads=-1), ValueError, r"threads: -1 is negative: give a whole number"),
    (lambda m: nextstat.fit(m, threads="a"), TypeError, r"threads must be a whole number, not 'a'"),
    (lambda m: nextstat.ranking(m, top="a"), TypeError, r"top must be a whole number, not 'a'"),
    (lambda m: nextstat.fit(m, device=3), TypeError, r"device must be the name of a device, such as .*, not 3"),
    (lambda m: nextstat.fit(m, search=3), TypeError, r"search must be .local., .standard. or .thorough., not 3"),
    (lambda m: nextstat.asimov_data(m, 1.0), ValueError, r"params must be the values of all .* not 1.0; poi_value sets"),
    (lambda m: nextstat.fit(m, minos=["jes*"]), ValueError, r"minos: no parameter matches 'jes\*'"),
    (lambda m: nextstat.fit(m, fixed={"jes*": 1}), ValueError, r"fixed: no parameter matches 'jes\*'"),
    (lambda m: nextstat.fit(m, fixed={"mu*": 1, "mu": 2}), ValueError, r"fixed holds mu at 1 and at 2; give each parameter one value"),
    (lambda m: nextstat.fit(m).plot(kind="poi-correlation"), ValueError, r"fewer than two of them"),
    # Words.
    (lambda m: nextstat.fit(m, device="tpu"), ValueError, r"unknown device 'tpu'; use auto, cpu, cuda"),
    (lambda m: nextstat.fit(m, search="fast"), ValueError, r"unknown search 'fast'; use \"local\", \"standard\" or \"thorough\""),
    (lambda m: nextstat.fit(m).plot(kind="pull"), ValueError, r"unknown kind 'pull'; use \"pulls\", \"correlation\""),
    (lambda m: nextstat.fit(m).plot("a.jpg"), ValueError, r"'.jpg' is none of them; end the name in .svg, .png or .pdf"),
    (lambda m: nextstat.fit(m, minoss=["mu"]), TypeError, r"fit\(\) got an unexpected keyword argument 'minoss'"),
    # Models.
    (lambda m: nextstat.fit(None), TypeError, r"expected a Model, or a path or a dictionary of one, not NoneType"),
    (lambda m: nextstat.fit("no/such.json"), FileNotFoundError, r"no/such.json"),
    (lambda m: nextstat.load_workspace(3), TypeError, r"expected a path or a dictionary, not int"),
    (lambda m: nextstat.load_workspace([1, 2]), nextstat.WorkspaceError, r"The workspace must be an object, but is an array"),
]


def test_patterns_name_parameters_as_on_the_command_line(spec):
    model = nextstat.load_workspace(spec)
    names = [name for name in model.parameter_names if name.endswith("[0]")]
    assert names
    assert list(nextstat.fit(model, minos="*0]").minos) == names
    held = nextstat.fit(model, fixed={"*0]": 1.0})
    assert sorted(held.fixed) == sorted(names)
    others = nextstat.fit(model, fixed={"all": 1.0}, minos="all")
    assert list(others.minos) == [model.poi_name] and model.poi_name not in others.fixed


class TestArguments:
    """Each message names the argument, what came and what is meant."""

    @pytest.mark.parametrize("call, error, message", ARGUMENTS, ids=range(len(ARGUMENTS)))
    def test_it_is_named(self, spec, call, error, message):
        with pytest.raises(error) as caught:
            call(nextstat.load_workspace(spec))
        # The name of an argument may be in a note of the error.
        words = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
        assert re.search(message, words), words


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
