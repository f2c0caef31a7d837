"""Profile likelihood scans, compared with pyhf and with single fits."""

import json
import os
import pathlib

import numpy as np
import pyhf
import pytest
from _tolerances import FIT_MINIMUM

import nextstat

# The JSON keys of `nextstat scan`, in one and in two parameters.
COMMON = {
    "param", "mu_values", "twice_delta_nll", "mu_hat", "uncertainty", "twice_nll", "converged", "bestfit_converged",
    "reasons", "n_iter", "device", "device_reason", "gpu_check", "interpolation", "model_digest", "warnings", "wall_s",
}  # fmt: skip
LINE = COMMON | {"q_mu_values", "intervals"}
PLANE = COMMON | {"param2", "mu2_values", "mu2_hat", "uncertainty2", "levels"}

SMALL = ["simple_workspace.json", "all_modifiers.json", "asymmetric.json", "shared_names.json", "overrides.json"]
CODES = {
    "smooth": {"normsys": {"interpcode": "code4"}, "histosys": {"interpcode": "code4p"}},
    "piecewise": {"normsys": {"interpcode": "code1"}, "histosys": {"interpcode": "code0"}},
}


@pytest.fixture(scope="module")
def model(fixtures):
    return nextstat.load_workspace(fixtures / "simple_workspace.json")


@pytest.fixture(scope="module")
def result(model):
    return nextstat.profile_scan(model, np.linspace(0.0, 4.0, 17))


def pyhf_profile(spec, codes, name, values):
    """twice_nll of pyhf's free fit and of its fits with one fixed parameter, by MINUIT; NaN if MINUIT fails."""
    workspace = pyhf.Workspace(spec)
    model = workspace.model(modifier_settings=CODES[codes])
    data = workspace.data(model)
    # On kinks MINUIT never reaches a small tolerance.
    tolerance = 1e-4 if codes == "smooth" else 0.1
    pyhf.set_backend("numpy", pyhf.optimize.minuit_optimizer(tolerance=tolerance))
    index = model.config.par_names.index(name)
    fixed = model.config.suggested_fixed()
    fixed[index] = True

    def minimum(**options):
        try:
            point, value = pyhf.infer.mle.fit(data, model, return_fitted_val=True, **options)
        except pyhf.exceptions.FailedMinimization:
            return np.asarray(model.config.suggested_init(), float), np.nan
        return np.asarray(point, float), float(value)

    init, free = minimum()
    held = []
    for value in values:
        init[index] = value
        held.append(minimum(init_pars=init.tolist(), fixed_params=fixed)[1])
    return free, np.asarray(held)


class TestAgainstPyhf:
    @pytest.mark.parametrize("codes", CODES)
    @pytest.mark.parametrize("name", SMALL)
    def test_the_parameter_of_interest(self, fixtures, name, codes):
        spec = json.loads((fixtures / name).read_text())
        model = nextstat.load_workspace(spec, interp_defaults=codes)
        scan = nextstat.profile_scan(model, points=7)
        assert scan.converged.all() and scan.param == model.poi_name
        free, held = pyhf_profile(spec, codes, scan.param, scan.mu_values)
        ours = scan.twice_nll + scan.twice_delta_nll
        found = np.isfinite(held)
        assert found.sum() >= (7 if codes == "smooth" else 4), "pyhf found too few minima to compare with"
        assert np.isnan(free) or scan.twice_nll <= free + FIT_MINIMUM
        assert (ours[found] <= held[found] + FIT_MINIMUM).all()
        if codes == "smooth":
            # There is only one minimum at each point. MINUIT finds it too, with less accuracy.
            assert ours == pytest.approx(held, abs=1e-3)

    @pytest.mark.parametrize("param", ["background_norm", "jet_scale", "stat_SR[1]"])
    def test_any_parameter(self, fixtures, param):
        spec = json.loads((fixtures / "simple_workspace.json").read_text())
        scan = nextstat.profile_scan(spec, param=param, points=5)
        free, held = pyhf_profile(spec, "smooth", param, scan.mu_values)
        assert scan.param == param
        assert (scan.twice_nll + scan.twice_delta_nll <= held + FIT_MINIMUM).all()
        assert scan.twice_nll + scan.twice_delta_nll == pytest.approx(held, abs=1e-3)

    def test_statistics(self, fixtures, model, result):
        spec = json.loads((fixtures / "simple_workspace.json").read_text())
        workspace = pyhf.Workspace(spec)
        theirs = workspace.model()
        data = workspace.data(theirs)
        pyhf.set_backend("numpy", pyhf.optimize.minuit_optimizer(tolerance=1e-4))
        config = theirs.config
        fit = (config.suggested_init(), config.suggested_bounds(), config.suggested_fixed())
        for i in (0, 2, 8, 16):
            mu = float(result.mu_values[i])
            q = float(pyhf.infer.test_statistics.qmu_tilde(mu, data, theirs, *fit))
            t = float(pyhf.infer.test_statistics.tmu_tilde(mu, data, theirs, *fit))
            assert result.q_mu_values[i] == pytest.approx(q, abs=1e-4)
            assert result.twice_delta_nll[i] == pytest.approx(t, abs=1e-4)


class TestResult:
    def test_attributes_and_dictionary_have_the_keys_of_the_command(self, model, result):
        plane = nextstat.profile_scan(model, points=3, param2="jet_scale", points2=4)
        for scan, keys in ((result, LINE), (plane, PLANE)):
            plain = scan.to_dict()
            assert set(plain) == keys
            json.dumps(plain, allow_nan=False)
            for key in keys:
                assert hasattr(scan, key)
            assert plain["twice_delta_nll"] == scan.twice_delta_nll.tolist()
        assert plane.q_mu_values is None and plane.intervals == []
        assert result.param2 is None and result.mu2_values is None and result.levels is None

    def test_points_are_conditional_fits(self, model, result):
        free = nextstat.fit(model)
        assert result.mu_hat == free.value("mu") and result.twice_nll == free.twice_nll
        assert result.uncertainty == free.uncertainty("mu")
        for i in (0, 5, 16):
            held = nextstat.fit(model, fixed={"mu": float(result.mu_values[i])})
            assert result.twice_delta_nll[i] == pytest.approx(held.twice_nll - free.twice_nll, abs=1e-8)

    def test_the_one_sided_statistic_is_zero_below_the_best_fit(self, result):
        below = result.mu_values < result.mu_hat
        assert below.any() and not below.all()
        assert (result.q_mu_values[below] == 0.0).all()
        assert result.q_mu_values[~below].tolist() == result.twice_delta_nll[~below].tolist()

    def test_intervals_are_those_of_minos(self, model, result):
        minos = nextstat.fit(model, minos=["mu"]).minos["mu"]
        one, two = result.intervals
        assert (one.level, two.level) == (1.0, 4.0)
        assert one.confidence_level == pytest.approx(0.6827, abs=1e-4)
        assert one.lower == pytest.approx(minos.lower_crossing, abs=1e-7)
        assert one.upper == pytest.approx(minos.upper_crossing, abs=1e-7)
        held = nextstat.fit(model, fixed={"mu": two.upper})
        assert held.twice_nll - result.twice_nll == pytest.approx(4.0, abs=1e-7)
        assert two.lower is None and "lower bound 0" in two.lower_reason
        assert any("crossing of twice_delta_nll = 4 is null" in w for w in result.warnings)

    def test_order_and_repetition_of_the_points_do_not_matter(self, model, result):
        shuffled = [2.0, 0.0, 4.0, 2.0, 1.0]
        scan = nextstat.profile_scan(model, shuffled)
        assert scan.mu_values.tolist() == shuffled
        whole = dict(zip(result.mu_values.tolist(), result.twice_delta_nll.tolist(), strict=True))
        assert scan.twice_delta_nll == pytest.approx([whole[x] for x in shuffled], abs=1e-9)
        assert scan.twice_delta_nll[0] == scan.twice_delta_nll[3]

    def test_one_point_and_the_best_fit_itself(self, model, result):
        scan = nextstat.profile_scan(model, [result.mu_hat])
        assert 0.0 <= scan.twice_delta_nll[0] < 1e-9

    def test_tables(self, model, result):
        assert "twice_delta_nll" in repr(result) and "17 of 17 points converged" in repr(result)
        assert result._repr_html_().startswith("<table>")
        assert len(result) == 17
        plane = nextstat.profile_scan(model, points=3, param2="jet_scale", points2=4)
        assert "jet_scale \\ mu" in repr(plane) and len(plane) == 12


class TestPlane:
    def test_rows_are_the_second_parameter(self, model):
        mu, jet = np.array([0.5, 1.0, 2.0]), np.array([-1.0, 0.3])
        scan = nextstat.profile_scan(model, mu, param2="jet_scale", mu2_values=jet)
        assert scan.twice_delta_nll.shape == scan.converged.shape == (2, 3)
        assert scan.levels[0] == pytest.approx((0.6827, 2.30), abs=5e-3)
        assert scan.levels[1] == pytest.approx((0.95, 5.99), abs=5e-3)
        for j, y in enumerate(jet):
            for i, x in enumerate(mu):
                held = nextstat.fit(model, fixed={"mu": float(x), "jet_scale": float(y)})
                assert scan.twice_delta_nll[j, i] == pytest.approx(held.twice_nll - scan.twice_nll, abs=1e-8)

    def test_its_lowest_points_are_the_profile_in_one_parameter(self, model):
        mu = np.linspace(0.2, 1.8, 5)
        plane = nextstat.profile_scan(model, mu, param2="background_norm", points2=41)
        line = nextstat.profile_scan(model, mu)
        assert (plane.twice_delta_nll.min(axis=0) >= line.twice_delta_nll - 1e-9).all()
        assert plane.twice_delta_nll.min(axis=0) == pytest.approx(line.twice_delta_nll, abs=0.02)

    @pytest.mark.parametrize("codes", ["smooth", "piecewise"])
    def test_the_default_range_holds_the_whole_contour(self, fixtures, codes):
        model = nextstat.load_workspace(fixtures / "asymmetric.json", interp_defaults=codes)
        names = [name for name in model.parameter_names if name != model.poi_name]
        plane = nextstat.profile_scan(model, points=15, param2=names[0], points2=15)
        height, bounds = plane.levels[-1][1], dict(zip(model.parameter_names, model.bounds))
        sides = [(plane.param, plane.mu_values, plane.twice_delta_nll.T), (names[0], plane.mu2_values, plane.twice_delta_nll)]
        for name, values, rows in sides:
            for value, row in [(values[0], rows[0]), (values[-1], rows[-1])]:
                assert value in bounds[name] or np.nanmin(row) > height, (name, value)


class TestHardCases:
    @pytest.mark.parametrize("param", ["mu", "jet_scale"])
    def test_threads_change_no_bit(self, fixtures, param):
        for codes in CODES:
            model = nextstat.load_workspace(fixtures / "simple_workspace.json", interp_defaults=codes)
            one, two = (nextstat.profile_scan(model, param=param, threads=n).to_dict() for n in (1, 2))
            for key in ("wall_s", "device_reason"):
                one.pop(key), two.pop(key)
            assert one == two

    @pytest.mark.parametrize("name", SMALL)
    def test_every_free_parameter_can_be_scanned(self, fixtures, name):
        """No point of a scan is above a single fit with the parameter fixed there, even on kinks and at bounds."""
        model = nextstat.load_workspace(fixtures / name, interp_defaults="piecewise")
        fixed = set(nextstat.fit(model).fixed)
        for param in [p for p in model.parameter_names if p not in fixed][::3]:
            scan = nextstat.profile_scan(model, param=param, points=5)
            for x, delta in zip(scan.mu_values, scan.twice_delta_nll, strict=True):
                held = nextstat.fit(model, fixed={param: float(x)}, uncertainties=False)
                assert scan.twice_nll + delta <= held.twice_nll + FIT_MINIMUM, (param, x)

    def test_a_point_below_the_free_fit_restarts_the_scan(self, fixtures):
        # A free fit with one starting point may end in a local minimum. The scan must not take its differences
        # from there.
        model = nextstat.load_workspace(fixtures / "asymmetric.json", interp_defaults="piecewise")
        lowest = nextstat.fit(model, search="thorough").twice_nll
        scan = nextstat.profile_scan(model, points=11)
        assert scan.twice_nll <= lowest + FIT_MINIMUM
        assert (scan.twice_delta_nll >= 0.0).all()

    def test_a_best_fit_at_a_bound(self, model):
        scan = nextstat.profile_scan(model, asimov=0.0, points=9)
        assert scan.mu_values[0] == 0.0 and scan.twice_delta_nll[0] == pytest.approx(0.0, abs=1e-9)
        assert (np.diff(scan.twice_delta_nll) > 0).all()
        assert scan.intervals[0].lower is None and scan.intervals[0].upper > 0

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"mu_values": [-1.0]}, r"outside its bounds \[0, .*widen the bounds"),
            ({"mu_values": [float("nan")]}, "finite"),
            ({"mu_values": []}, "at least one value"),
            ({"mu_values": [[0.0, 1.0]]}, "one dimension"),
            ({"points": 0}, "at least one point"),
            ({"param": "nobody"}, "no parameter 'nobody'"),
            ({"param2": "mu"}, "two different parameters"),
            ({"mu2_values": [1.0]}, "needs param2"),
            ({"fixed": {"mu": 1.0}}, "held fixed"),
        ],
    )
    def test_wrong_questions(self, model, options, words):
        with pytest.raises(ValueError, match=words):
            nextstat.profile_scan(model, **options)

    def test_a_model_without_a_parameter_of_interest(self, fixtures):
        with pytest.raises(ValueError, match="parameter of interest"):
            nextstat.profile_scan(fixtures / "empty_poi.json")
        model = nextstat.load_workspace(fixtures / "empty_poi.json")
        free = [p for p in model.parameter_names if p not in nextstat.fit(model).fixed]
        assert nextstat.profile_scan(model, param=free[0], points=3).converged.all()

    def test_progress_is_heard_to_the_end(self, model):
        heard = []
        scan = nextstat.profile_scan(model, points=11, progress=lambda done, total: heard.append((done, total)))
        assert len(scan) == 11
        assert heard[-1][0] == heard[-1][1] >= 12


def reference(name):
    folder = os.environ.get("NEXTSTAT_REFERENCE_DIR")
    if folder is None:
        pytest.skip("NEXTSTAT_REFERENCE_DIR is not set: published workspaces NOT compared")
    return pathlib.Path(folder) / "workspaces" / f"{name}.json", json.loads(
        (pathlib.Path(folder) / "reference" / f"{name}.json").read_text()
    )


@pytest.mark.parametrize("codes", CODES)
@pytest.mark.parametrize("name", ["tHu", "tttt_prod"])
def test_published_workspaces(name, codes):
    path, numbers = reference(name)
    fits = numbers["settings"][codes]["fits"]
    model = nextstat.load_workspace(path, interp_defaults=codes)
    scan = nextstat.profile_scan(model, np.linspace(0.0, 1.0, 21))
    assert scan.converged.all() and scan.bestfit_converged
    values = scan.twice_nll + scan.twice_delta_nll
    for value, key in ((scan.twice_nll, "unconditional"), (values[0], "mu0"), (values[-1], "mu1")):
        assert value <= fits[key]["twice_nll"] + FIT_MINIMUM
        if codes == "smooth":
            assert value == pytest.approx(fits[key]["twice_nll"], abs=1e-5)
    if codes == "smooth":
        assert scan.mu_hat == pytest.approx(fits["mu_hat"], abs=1e-4)
    assert (scan.q_mu_values[scan.mu_values < scan.mu_hat] == 0.0).all()
