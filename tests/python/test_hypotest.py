"""Hypothesis tests, limits, significance and goodness of fit, compared with pyhf.infer, which runs in the tests."""

import copy
import json
import math
import os
import pathlib

import numpy as np
import pyhf
import pytest
from _tolerances import CLS_RELATIVE, LIMIT_RELATIVE
from pyhf.infer import hypotest as pyhf_hypotest
from pyhf.infer import mle

import nextstat

SMALL = ["simple_workspace.json", "all_modifiers.json", "asymmetric.json", "shared_names.json"]
STATISTICS = ["qtilde", "q", "q0"]


def counting(n=55, signal=8.0, bounds=None, background=50.0):
    """One signal region and one control region, with a signal strength in given bounds."""
    parameters = [] if bounds is None else [{"name": "mu", "bounds": [list(bounds)], "inits": [max(1.0, bounds[0])]}]
    return {
        "channels": [
            {
                "name": "SR",
                "samples": [
                    {
                        "name": "signal",
                        "data": [signal, 0.5 * signal],
                        "modifiers": [
                            {"name": "mu", "type": "normfactor", "data": None},
                            {"name": "theory", "type": "normsys", "data": {"lo": 0.92, "hi": 1.07}},
                        ],
                    },
                    {
                        "name": "background",
                        "data": [background, 20.0],
                        "modifiers": [
                            {"name": "norm", "type": "normsys", "data": {"lo": 0.9, "hi": 1.1}},
                            {
                                "name": "shape",
                                "type": "histosys",
                                "data": {"lo_data": [background - 2.0, 21.0], "hi_data": [background + 3.0, 18.5]},
                            },
                            {"name": "mc", "type": "staterror", "data": [2.0, 1.5]},
                        ],
                    },
                ],
            }
        ],
        "observations": [{"name": "SR", "data": [n, 22]}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": parameters}}],
        "version": "1.0.0",
    }


@pytest.fixture(autouse=True)
def exact_minuit():
    """Lets pyhf use MINUIT with a tolerance that is tight enough to compare with our accuracy."""
    optimizer = pyhf.optimize.minuit_optimizer(tolerance=1e-7, strategy=2, maxiter=1_000_000)
    pyhf.set_backend("numpy", optimizer)
    yield
    pyhf.set_backend("numpy")


def pyhf_model(spec):
    workspace = pyhf.Workspace(copy.deepcopy(spec))
    model = workspace.model()
    return model, workspace.data(model)


def relative(ours, theirs):
    return abs(ours / theirs - 1)


def same_p_value(ours, theirs, slack=1.0):
    """Whether both are equal within the accuracy contract. pyhf's statistics are exact to about 1e-7. For a p-value
    in the tail, this error is multiplied by the slope of the p-value's logarithm."""
    return relative(ours, float(theirs)) < slack * CLS_RELATIVE * max(1.0, -math.log(float(theirs)))


def by_hand(mu, data, model, statistic):
    """pyhf's asymptotic test from its own fits, with the bounds of the signal strength in free fits only:
    pyhf.infer.hypotest refuses tested and Asimov values beyond them."""
    poi = model.config.poi_index
    bounds = model.config.suggested_bounds()
    wide = [(-100.0, 100.0) if i == poi else bound for i, bound in enumerate(bounds)]

    def rise(data):
        _, held = mle.fixed_poi_fit(mu, data, model, par_bounds=wide, return_fitted_val=True)
        best, free = mle.fit(data, model, return_fitted_val=True)
        beyond = best[poi] < mu if statistic == "q0" else best[poi] > mu
        return 0.0 if beyond else max(float(held - free), 0.0)

    asimov_mu = 1.0 if statistic == "q0" else 0.0
    asimov = mle.fixed_poi_fit(asimov_mu, data, model, par_bounds=wide)
    root, spread = math.sqrt(rise(data)), math.sqrt(rise(model.expected_data(asimov)))
    value = root - spread
    if statistic == "qtilde" and root > spread:
        value = (root**2 - spread**2) / (2 * spread)

    def tail(x):
        return 0.5 * math.erfc(x / math.sqrt(2))

    def answers(value):
        clsb, clb = tail(value + spread), tail(value)
        return (clsb if statistic == "q0" else clsb / clb), (clsb, clb)

    observed, tails = answers(value)
    return observed, tails, [answers(n)[0] for n in (2, 1, 0, -1, -2)]


def compare(spec, mu, statistic, slack=1.0):
    """Compares our hypothesis test with pyhf's, observed and expected."""
    model, data = pyhf_model(spec)
    tested = 0.0 if statistic == "q0" else mu
    low, high = model.config.suggested_bounds()[model.config.poi_index]
    if all(low <= value <= high for value in (tested, 0.0, 1.0 if statistic == "q0" else 0.0)):
        observed, tails, expected = pyhf_hypotest(
            tested, data, model, test_stat=statistic, return_tail_probs=True, return_expected_set=True
        )
    else:
        observed, tails, expected = by_hand(tested, data, model, statistic)
    ours = nextstat.hypotest(nextstat.load_workspace(spec), mu, test_stat=statistic)
    assert ours.converged, ours.warnings
    answer = ours.clsb if statistic == "q0" else ours.cls
    assert same_p_value(answer, observed, slack)
    if statistic != "q0":
        assert same_p_value(ours.clsb, tails[0], slack)
        assert same_p_value(ours.clb, tails[1], slack)
    mine = ours.expected_set["clsb" if statistic == "q0" else "cls"]
    for mine_one, theirs in zip(mine, expected, strict=True):
        assert same_p_value(mine_one, theirs, slack)
    return ours


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("name", SMALL)
def test_our_workspaces_have_the_cls_of_pyhf(fixtures, name, statistic):
    # In this model MINUIT finds the background-only fit only to 1e-5 of a standard deviation. The error of the
    # Asimov data is of the same order.
    slack = 5.0 if name == "asymmetric.json" else 1.0
    compare(json.loads((fixtures / name).read_text()), 1.3, statistic, slack)


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize(
    ("n", "bounds"),
    [
        (40, (0.0, 10.0)),  # the free fit is at its bound
        (40, (-5.0, 10.0)),  # the bound does not matter
        (55, (0.0, 10.0)),
        (90, (0.0, 10.0)),  # an excess beyond the tested value
        (55, (0.5, 10.0)),  # bounds that exclude 0
        (40, (0.5, 10.0)),  # bounds that exclude 0, with the free fit at the lower bound
        (55, (0.0, 1.2)),  # an upper bound that the fit does not meet
        (90, (0.0, 1.2)),  # an upper bound that the fit meets
    ],
)
def test_bounds_of_the_signal_strength_act_as_in_pyhf(n, bounds, statistic):
    compare(counting(n, bounds=bounds), 1.1, statistic)


@pytest.mark.parametrize("bounds", [(0.0, 10.0), (0.5, 10.0)])
def test_a_test_at_the_upper_bound_agrees_with_pyhf(bounds):
    compare(counting(60, bounds=bounds), 10.0, "qtilde")


def test_a_test_without_power_has_a_cls_of_1():
    # The best fit of the Asimov data, which are those of 0, is at the lower bound, the tested value.
    result = nextstat.hypotest(counting(60, bounds=(0.5, 10.0)), 0.5)
    assert (result.cls, result.clsb, result.clb) == (1.0, 0.5, 0.5)
    assert result.expected_set["cls"] == [1.0] * 5
    assert any("cls is 1" in warning for warning in result.warnings)


def test_no_signal_is_never_excluded():
    result = nextstat.hypotest(counting(55, bounds=(0.0, 10.0)), 0.0)
    assert result.cls == pytest.approx(1.0, abs=1e-6)
    assert result.q_asimov == 0.0


def test_a_signal_without_effect_has_an_asimov_statistic_of_zero():
    spec = counting(55)
    spec["channels"][0]["samples"][0]["data"] = [0.0, 0.0]
    result = nextstat.hypotest(spec, 1.0)
    assert result.q_asimov == 0.0
    assert (result.cls, result.clsb, result.clb) == (1.0, 0.5, 0.5)
    assert any("has no effect" in warning for warning in result.warnings)


def test_q0_tests_zero_whatever_it_is_given():
    result = nextstat.hypotest(counting(), 1.0, test_stat="q0")
    assert result.mu_test == 0.0
    assert any("q0 tests mu = 0" in warning for warning in result.warnings)


def test_tails_keep_their_precision():
    result = nextstat.hypotest(counting(55, bounds=(0.0, 100.0)), 40.0)
    assert 0 < result.cls < 1e-50


def test_observed_data_can_be_replaced():
    spec = counting(55)
    model = nextstat.load_workspace(spec)
    other = counting(70)
    ours = nextstat.hypotest(model, 1.0, data=[70.0, 22.0])
    theirs = nextstat.hypotest(other, 1.0)
    assert ours.cls == pytest.approx(theirs.cls, rel=1e-9)


# Limits ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [55])
def test_limits_are_those_of_pyhf(n):
    spec = counting(n, bounds=(0.0, 10.0))
    model, data = pyhf_model(spec)
    ours = nextstat.upper_limit(spec)
    assert ours.converged, ours.warnings

    def cls(mu):
        observed, expected = pyhf.infer.hypotest(mu, data, model, return_expected_set=True)
        return [float(observed), *map(float, expected)]

    # The search of pyhf takes a minute, so its CLs is computed just below and just above each of our limits.
    for i, limit in enumerate([ours.observed, *ours.expected]):
        below, above = (cls(limit * (1 + side * LIMIT_RELATIVE))[i] for side in (-1, 1))
        assert above < 0.05 < below, (i, limit, below, above)


@pytest.mark.parametrize("cl", [0.68, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("statistic", ["qtilde", "q"])
@pytest.mark.parametrize("name", SMALL)
def test_cls_at_a_limit_is_its_level(fixtures, name, statistic, cl):
    model = nextstat.load_workspace(fixtures / name)
    limit = nextstat.upper_limit(model, cl=cl, test_stat=statistic)
    observed = nextstat.hypotest(model, limit.observed, test_stat=statistic)
    assert observed.cls == pytest.approx(1 - cl, abs=1e-6)
    assert limit.cls_at_limit["observed"] == pytest.approx(1 - cl, abs=1e-8)
    for i, value in enumerate(limit.expected):
        expected = nextstat.hypotest(model, value, test_stat=statistic)
        assert expected.expected_set["cls"][i] == pytest.approx(1 - cl, abs=1e-6)
    assert limit.expected == sorted(limit.expected)


def test_a_limit_beyond_the_bounds_is_none_and_says_so():
    result = nextstat.upper_limit(counting(90, bounds=(0.0, 1.5)))
    assert result.observed is None
    assert any("the observed limit" in w and "null" in w and "upper bound 1.5" in w for w in result.warnings)
    assert result.expected[0] is not None  # the lowest expected limit is inside


def test_a_limit_far_beyond_the_first_guess_is_found():
    spec = counting(55, signal=1e-4, bounds=(0.0, 1e30))
    result = nextstat.upper_limit(spec)
    reference = nextstat.upper_limit(counting(55, signal=1.0, bounds=(0.0, 1e30)))
    assert result.observed == pytest.approx(1e4 * reference.observed, rel=1e-6)


def test_a_scan_crosses_its_level_at_the_limit(fixtures):
    model = nextstat.load_workspace(fixtures / "simple_workspace.json")
    limit = nextstat.upper_limit(model)
    values = np.linspace(0.5 * limit.observed, 1.5 * limit.observed, 9)
    result = nextstat.upper_limit(model, scan_values=values)
    scan = result.scan
    assert scan["mu_values"] == pytest.approx(values)
    assert scan["observed"][4] == pytest.approx(0.05, abs=1e-6)
    assert scan["observed"][3] > 0.05 > scan["observed"][5]
    for value, cls in zip(values, scan["observed"], strict=True):
        assert cls == pytest.approx(nextstat.hypotest(float(value), model).cls, rel=1e-6)
    assert len(scan["expected"]) == 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cl": 1.2}, "confidence level is 1.2"),
        ({"test_stat": "q0"}, "cannot use the statistic q0"),
        ({"test_stat": "qtlide"}, "unknown test_stat"),
        ({"expected_only": True, "observed_only": True}, "leave nothing"),
    ],
)
def test_wrong_arguments_are_refused_in_words(arguments, message):
    with pytest.raises(ValueError, match=message):
        nextstat.upper_limit(counting(), **arguments)


def test_a_model_without_a_parameter_of_interest_is_refused(fixtures):
    for function in (nextstat.upper_limit, nextstat.significance, lambda m: nextstat.hypotest(m, 1.0)):
        with pytest.raises(ValueError, match="needs a parameter of interest"):
            function(fixtures / "background_only.json")


def test_a_fixed_parameter_of_interest_is_refused():
    with pytest.raises(ValueError, match="which is fixed"):
        nextstat.upper_limit(counting(), fixed={"mu": 1.0})


# Significance and goodness of fit ------------------------------------------------------------------


@pytest.mark.parametrize("n", [40, 55, 90])
def test_significance_is_that_of_pyhf(n):
    spec = counting(n, bounds=(0.0, 10.0))
    model, data = pyhf_model(spec)
    observed, expected = pyhf_hypotest(0.0, data, model, test_stat="q0", return_expected=True)
    ours = nextstat.significance(spec)
    assert same_p_value(ours.p0, observed)
    assert same_p_value(ours.p0_expected, expected)
    assert 0.5 * math.erfc(ours.z / math.sqrt(2)) == pytest.approx(ours.p0, rel=1e-12)


@pytest.mark.parametrize("name", SMALL)
def test_goodness_of_fit_is_twice_the_difference_to_a_saturated_fit(fixtures, name):
    from scipy.stats import chi2, poisson

    spec = json.loads((fixtures / name).read_text())
    model, data = pyhf_model(spec)
    result = nextstat.goodness_of_fit(spec)
    main = np.asarray(data[: model.config.nmaindata])
    saturated = -2 * poisson.logpmf(np.round(main), main).sum()
    # The constraint terms at their maxima, where the parameters agree with the auxiliary data.
    best = nextstat.fit(spec)
    assert result.twice_nll == pytest.approx(best.twice_nll, abs=1e-8)
    aux = np.asarray(model.config.auxdata)
    at_aux = np.array(model.config.suggested_init())
    for name_, pars in model.config.par_map.items():
        if model.config.param_set(name_).constrained:
            at_aux[pars["slice"]] = np.asarray(model.config.param_set(name_).suggested_init)
    constraint = -2 * float(model.constraint_logpdf(aux, at_aux))
    # The two terms above are right only for integer counts and for auxiliary data that are those expected at the
    # initial parameters. All these workspaces have them.
    assert np.all(main == np.round(main)) and spec_is_centred(model)
    assert result.twice_nll_saturated == pytest.approx(saturated + constraint, rel=1e-9)
    unconstrained = sum(
        n_free(model, name_) for name_ in model.config.par_order if not model.config.param_set(name_).constrained
    )
    assert result.ndof == len(main) - unconstrained
    if result.ndof > 0:
        assert result.p_value == pytest.approx(chi2.sf(result.chi2, result.ndof), rel=1e-9)
    else:
        assert result.p_value is None


def n_free(model, name):
    fixed = model.config.param_set(name).suggested_fixed
    return sum(1 for flag in fixed if not flag)


def spec_is_centred(model):
    """Whether the auxiliary data are the expected ones at the initial parameters."""
    expected = model.expected_auxdata(pyhf.tensorlib.astensor(model.config.suggested_init()))
    return np.allclose(np.asarray(expected), np.asarray(model.config.auxdata))


def test_results_are_written_as_plain_data():
    result = nextstat.hypotest(counting(), 1.0)
    plain = result.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["expected_set"]["cls"] == result.expected_set["cls"]
    assert "expected median" in repr(result)
    assert "<table>" in result._repr_html_()
    with pytest.raises(AttributeError, match="no attribute 'clss'"):
        _ = result.clss


def test_progress_is_heard():
    heard = []
    nextstat.upper_limit(counting(), progress=lambda done, total: heard.append((done, total)))
    assert heard and all(done <= total for done, total in heard)


# Published workspaces --------------------------------------------------------------------------------


FOLDER = pathlib.Path(os.environ.get("NEXTSTAT_REFERENCE_DIR", "not-set"))

published = pytest.mark.skipif(
    "NEXTSTAT_REFERENCE_DIR" not in os.environ, reason="NEXTSTAT_REFERENCE_DIR is not set"
)


@published
def test_published_tests_and_limits():
    compared = 0
    for path in sorted((FOLDER / "reference").glob("*.json")):
        name, numbers = path.stem, json.loads(path.read_text())
        smooth = numbers["settings"]["smooth"]
        test = smooth.get("hypotest_mu1_qtilde") or {}
        if "CLs_obs" not in test or not test.get("all_fits_converged"):
            continue
        model = nextstat.load_workspace(
            FOLDER / "workspaces" / f"{name}.json", measurement=numbers.get("measurement")
        )
        ours = nextstat.hypotest(model, 1.0)
        assert relative(ours.cls, test["CLs_obs"]) < CLS_RELATIVE, name
        for mine, theirs in zip(ours.expected_set["cls"], test["CLs_exp"], strict=True):
            assert relative(mine, theirs) < CLS_RELATIVE, name
        compared += 1
        limit = smooth.get("upper_limit_95")
        if limit and limit.get("obs"):
            ours = nextstat.upper_limit(model)
            assert relative(ours.observed, limit["obs"]) < LIMIT_RELATIVE, name
            for mine, theirs in zip(ours.expected, limit["exp"], strict=True):
                assert relative(mine, theirs) < LIMIT_RELATIVE, name
    assert compared >= 5


@published
@pytest.mark.parametrize("name", ["tHu", "tttt_prod"])
def test_large_workspaces_have_limits(name):
    model = nextstat.load_workspace(FOLDER / "workspaces" / f"{name}.json")
    limit = nextstat.upper_limit(model)
    assert nextstat.hypotest(model, limit.observed).cls == pytest.approx(0.05, abs=1e-6)
    for i, value in enumerate(limit.expected):
        assert nextstat.hypotest(model, value).expected_set["cls"][i] == pytest.approx(0.05, abs=1e-6)
