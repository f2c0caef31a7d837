"""Fits of one data set and of many, compared with pyhf and with each other."""

import json
import math

import numpy as np
import pyhf
import pytest
from _tolerances import FIT_MINIMUM

import nextstat

# The JSON keys of `nextstat fit`.
KEYS = {
    "parameter_names", "bestfit", "uncertainties", "covariance", "nll", "twice_nll", "poi_index", "converged",
    "edm", "n_iter", "n_search_iter", "at_bound", "at_kink", "flat", "fixed", "termination_reason", "minos", "crossings", "device", "device_reason",
    "gpu_check", "interpolation", "model_digest", "warnings", "wall_s", "pulls", "constraints",
}  # fmt: skip

SMALL = ["simple_workspace.json", "all_modifiers.json", "asymmetric.json", "shared_names.json", "overrides.json"]


@pytest.fixture(scope="module")
def model(fixtures):
    return nextstat.load_workspace(fixtures / "simple_workspace.json")


@pytest.fixture(scope="module")
def result(model):
    return nextstat.fit(model, minos=["mu", "jet_scale"])


def signal_below_zero():
    """A workspace whose best-fit signal strength is at its lower bound."""
    return {
        "channels": [
            {
                "name": "SR",
                "samples": [
                    {
                        "name": "signal",
                        "data": [10.0],
                        "modifiers": [{"name": "mu", "type": "normfactor", "data": None}],
                    },
                    {
                        "name": "background",
                        "data": [50.0],
                        "modifiers": [{"name": "bkg", "type": "normsys", "data": {"lo": 0.9, "hi": 1.1}}],
                    },
                ],
            }
        ],
        "observations": [{"name": "SR", "data": [30.0]}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": []}}],
        "version": "1.0.0",
    }


@pytest.mark.parametrize("name", SMALL)
def test_the_minimum_is_not_above_pyhfs(fixtures, name):
    spec = json.loads((fixtures / name).read_text())
    ours = nextstat.fit(spec)
    workspace = pyhf.Workspace(spec)
    theirs = workspace.model()
    data = workspace.data(theirs)
    pyhf.set_backend("numpy", pyhf.optimize.minuit_optimizer())
    _, minimum = pyhf.infer.mle.fit(data, theirs, return_fitted_val=True)
    assert ours.converged
    assert ours.twice_nll <= float(minimum) + FIT_MINIMUM
    value = -2 * float(np.asarray(theirs.logpdf(ours.bestfit, np.asarray(data)))[0])
    assert ours.twice_nll == pytest.approx(value, rel=1e-12)


class TestResult:
    def test_attributes_and_dictionary_have_the_keys_of_the_command(self, result):
        plain = result.to_dict()
        assert set(plain) == KEYS
        json.dumps(plain, allow_nan=False)
        for key in KEYS:
            assert hasattr(result, key)
        assert plain["bestfit"] == result.bestfit.tolist()
        assert np.asarray(plain["covariance"]) == pytest.approx(result.covariance)

    def test_uncertainties_come_from_the_hessian(self, model, result):
        inverse = np.linalg.inv(model.hessian(result.bestfit))
        assert result.covariance == pytest.approx(inverse, rel=1e-8, abs=1e-12)
        assert result.uncertainties == pytest.approx(np.sqrt(np.diag(inverse)), rel=1e-8)

    def test_numbers_belong_together(self, model, result):
        assert result.twice_nll == 2 * result.nll == 2 * model.nll(result.bestfit)
        assert result.parameter_names == model.parameter_names
        assert result.value("mu") == result.bestfit[result.poi_index]
        assert result.uncertainty("mu") == result.uncertainties[result.poi_index]
        assert result.bestfit.dtype == result.uncertainties.dtype == float
        assert result.edm < 1e-9 and result.n_iter > 0
        with pytest.raises(KeyError, match="nobody"):
            result.value("nobody")

    def test_tables(self, result):
        text, html = repr(result), result._repr_html_()
        assert "mu (POI)" in text and "converged" in text and "±" in text
        assert "<table>" in html and html.count("<tr>") == 14


class TestIntervals:
    def test_minos_is_where_the_profile_rises_by_one(self, model, result):
        assert list(result.minos) == ["mu", "jet_scale"]
        for name, interval in result.minos.items():
            for crossing, reason in (
                (interval.lower_crossing, interval.lower_reason),
                (interval.upper_crossing, interval.upper_reason),
            ):
                assert reason is None
                profile = nextstat.fit(model, fixed={name: crossing})
                assert profile.twice_nll - result.twice_nll == pytest.approx(1.0, abs=1e-6)
            assert interval.lower == pytest.approx(interval.lower_crossing - result.value(name))
            assert interval.lower < 0 < interval.upper

    def test_a_crossing_beyond_a_bound_is_none_with_its_reason(self, model):
        spec_bounds = dict(zip(model.parameter_names, model.bounds.tolist(), strict=True))
        assert spec_bounds["mu"][0] == 0.0
        low = nextstat.fit(model, asimov=0.1, minos=["mu"])
        interval = low.minos["mu"]
        assert interval.lower is None and "lower bound 0" in interval.lower_reason
        assert interval.upper > 0
        assert any("lower crossing of mu" in w for w in low.warnings)
        assert low.to_dict()["minos"]["mu"]["lower"] is None

    def test_a_parameter_at_its_bound_has_crossings_instead_of_an_uncertainty(self):
        model = nextstat.load_workspace(signal_below_zero())
        result = nextstat.fit(model)
        assert result.at_bound == ["mu"]
        assert math.isnan(result.uncertainties[0]) and result.uncertainty("mu") is None
        assert result.to_dict()["uncertainties"][0] is None
        assert any("mu" in w and "bound" in w for w in result.warnings)
        interval = result.crossings["mu"]
        assert interval.lower is None
        profile = nextstat.fit(model, fixed={"mu": interval.upper_crossing})
        assert profile.twice_nll - result.twice_nll == pytest.approx(1.0, abs=1e-6)
        assert nextstat.fit(model, crossings=False).crossings == {}

    def test_parameters_on_kinks(self, fixtures):
        model = nextstat.load_workspace(fixtures / "simple_workspace.json", interp_defaults="piecewise")
        # Asimov data of the initial parameters have their minimum on every kink.
        result = nextstat.fit(model, asimov=True)
        assert result.at_kink
        for name in result.at_kink:
            assert result.value(name) == 0.0
            assert result.uncertainty(name) is None
            interval = result.crossings[name]
            assert interval.lower < 0 < interval.upper


class TestOptions:
    def test_fixed_parameters(self, model, result):
        held = nextstat.fit(model, fixed={"mu": 0.5})
        assert held.value("mu") == 0.5
        assert "mu" in held.fixed and held.uncertainty("mu") is None
        assert held.twice_nll > result.twice_nll
        assert held.covariance[held.poi_index].tolist() == [0.0] * 13

    @pytest.mark.parametrize("mu", [0.0, 1.0, 2.5])
    def test_asimov_data_give_back_their_value(self, model, mu):
        asimov = nextstat.fit(model, asimov=mu)
        assert asimov.value("mu") == pytest.approx(mu, abs=1e-5)
        assert nextstat.fit(model, asimov=True).value("mu") == pytest.approx(1.0, abs=1e-5)

    def test_given_data(self, model, result):
        data = model.observed_data()
        assert nextstat.fit(model, data=data).bestfit.tolist() == result.bestfit.tolist()
        assert nextstat.fit(model, data=data[:7]).bestfit.tolist() == result.bestfit.tolist()

    def test_start_points(self, model, result):
        for init in (result.bestfit, list(result.bestfit), {"mu": 3.0}):
            again = nextstat.fit(model, init=init)
            assert again.twice_nll == pytest.approx(result.twice_nll, abs=1e-9)

    def test_less_is_computed_when_less_is_wanted(self, model):
        bare = nextstat.fit(model, uncertainties=False)
        assert bare.covariance is None and np.isnan(bare.uncertainties).all()
        assert nextstat.fit(model, covariance=False).covariance is None

    def test_threads_change_no_bit(self, fixtures):
        model = nextstat.load_workspace(fixtures / "simple_workspace.json", interp_defaults="piecewise")
        one, two = (nextstat.fit(model, minos=["mu"], threads=n).to_dict() for n in (1, 2))
        for key in ("wall_s", "device_reason"):
            one.pop(key), two.pop(key)
        assert one == two

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"fixed": {"nu": 1.0}}, "did you mean 'mu'"),
            ({"fixed": {"mu": -1.0}}, "outside its bounds"),
            ({"fixed": {"mu": float("nan")}}, "finite"),
            ({"init": [1.0]}, "13 elements"),
            ({"init": {"nobody": 1.0}}, "no parameter 'nobody'"),
            ({"minos": ["nobody"]}, "no parameter 'nobody'"),
            ({"minos": ["mu"], "fixed": {"mu": 1.0}}, "is fixed"),
            ({"data": [1.0]}, "7 elements"),
            ({"data": [-1.0] * 7}, "not negative"),
            ({"asimov": 1.0, "data": [1.0] * 7}, "not both"),
            ({"asimov": 99.0}, "outside its bounds"),
            ({"search": "everywhere"}, "unknown search"),
        ],
    )
    def test_wrong_options(self, model, options, words):
        with pytest.raises(ValueError, match=words):
            nextstat.fit(model, **options)


class TestFailures:
    def test_a_likelihood_that_is_never_finite_names_its_bin(self):
        spec = signal_below_zero()
        spec["channels"][0]["samples"] = [
            {"name": "nothing", "data": [0.0], "modifiers": [{"name": "mu", "type": "normfactor", "data": None}]}
        ]
        with pytest.raises(nextstat.ConvergenceError, match="bin 0 of channel 'SR'"):
            nextstat.fit(spec)

    def test_a_parameter_without_effect_is_said_to_be_one(self):
        spec = signal_below_zero()
        spec["channels"][0]["samples"][0]["data"] = [0.0]
        result = nextstat.fit(spec)
        assert result.converged
        assert math.isnan(result.uncertainties[0])
        assert math.isnan(result.covariance[0, 0]) and result.to_dict()["covariance"][0][0] is None
        assert any("does not depend on mu" in w for w in result.warnings)

    def test_two_parameters_that_do_the_same(self):
        spec = signal_below_zero()
        samples = spec["channels"][0]["samples"]
        samples.append(json.loads(json.dumps(samples[0]).replace("mu", "twin").replace("signal", "second")))
        spec["observations"][0]["data"] = [80.0]
        result = nextstat.fit(spec)
        assert result.converged
        assert any("only in combination" in w and "mu" in w and "twin" in w for w in result.warnings), result.warnings
        assert result.uncertainty("mu") is None and result.uncertainty("bkg") > 0

    def test_a_product_that_hardly_tells_its_factors_apart(self):
        spec = signal_below_zero()
        modifiers = spec["channels"][0]["samples"][0]["modifiers"]
        modifiers.append({"name": "twin", "type": "normfactor", "data": None})
        spec["observations"][0]["data"] = [80.0]
        result = nextstat.fit(spec)
        assert result.converged
        assert any("hardly" in w or "only in combination" in w for w in result.warnings), result.warnings


@pytest.fixture(scope="module")
def data(model, result):
    """Forty pseudo-experiments with nominal auxiliary data."""
    rng = np.random.default_rng(3)
    main = rng.poisson(model.expected_data(result.bestfit, include_auxdata=False), (40, 7))
    return np.concatenate([main, np.tile(model.observed_data()[7:], (40, 1))], axis=1).astype(float)


class TestBatch:
    def test_rows_are_single_fits(self, model, data):
        batch = nextstat.fit_batch(model, data, covariance=True)
        assert len(batch) == 40 and batch.n_converged == 40 and batch.n_error == 0
        assert batch.bestfit.shape == batch.uncertainties.shape == (40, 13)
        assert batch.covariance.shape == (40, 13, 13)
        for i in (0, 17, 39):
            single = nextstat.fit(model, data=data[i])
            assert batch.twice_nll[i] == single.twice_nll
            assert batch.bestfit[i].tolist() == single.bestfit.tolist()
            assert batch.uncertainties[i] == pytest.approx(single.uncertainties, nan_ok=True)

    def test_order_threads_and_size_change_no_bit(self, model, data):
        whole = nextstat.fit_batch(model, data, threads=2)
        parts = [nextstat.fit_batch(model, part, threads=1).bestfit for part in (data[:7], data[7:])]
        assert whole.bestfit.tolist() == np.concatenate(parts).tolist()
        back = nextstat.fit_batch(model, data[::-1]).bestfit[::-1]
        assert whole.bestfit.tolist() == back.tolist()

    def test_progress_is_heard_to_the_end(self, model, data, capfd):
        heard = []
        nextstat.fit_batch(model, data, progress=lambda done, total: heard.append((done, total)))
        assert heard[-1] == (40, 40)
        assert heard == sorted(heard)
        nextstat.fit_batch(model, data, progress=True)
        # What is no terminal gets one line.
        (line,) = capfd.readouterr().err.splitlines()
        assert line.startswith("[==============================] 40/40, ") and line.endswith("/s")

    def test_what_a_progress_function_raises_ends_the_batch(self, model, data):
        def refuse(done, total):
            raise RuntimeError("no more")

        with pytest.raises(RuntimeError, match="no more"):
            nextstat.fit_batch(model, data, progress=refuse)

    def test_a_row_without_a_result_keeps_the_others(self):
        spec = signal_below_zero()
        spec["channels"][0]["samples"] = [
            {"name": "nothing", "data": [0.0], "modifiers": [{"name": "mu", "type": "normfactor", "data": None}]}
        ]
        batch = nextstat.fit_batch(spec, [[0.0], [3.0]])
        assert batch.errors[0] is None and "channel 'SR'" in batch.errors[1]
        assert math.isnan(batch.nll[1]) and not batch.converged[1]
        assert batch.n_error == 1 and any("no result" in w for w in batch.warnings)
        assert batch.to_dict()["bestfit"][1] == [None]

    def test_dictionary_and_tables(self, model, data):
        batch = nextstat.fit_batch(model, data, uncertainties=False)
        assert batch.uncertainties is None
        json.dumps(batch.to_dict(), allow_nan=False)
        assert "40 fits, 40 converged" in repr(batch)
        assert batch._repr_html_().startswith("<table>")

    def test_no_data_is_an_empty_batch(self, model):
        batch = nextstat.fit_batch(model, np.empty((0, 7)))
        assert len(batch) == 0 and batch.bestfit.shape == (0, 13)

    @pytest.mark.parametrize("data", [[1.0] * 7, [[1.0] * 3], [[-1.0] * 7], [[float("nan")] * 7], "text"])
    def test_wrong_data(self, model, data):
        with pytest.raises(ValueError):
            nextstat.fit_batch(model, data)
