"""Intervals with toys against the exact construction of Feldman and Cousins, posteriors against integrals, and the
compatibility of channels and injection tests against other functions of the package."""

import json
import pickle

import numpy as np
import pytest
from scipy import integrate, optimize, stats

import nextstat


def counting(n, background, uncertainty=None, bounds=(0.0, 30.0)):
    """A count of `n` with a signal `mu` over a background, whose relative uncertainty may be given."""
    modifiers = []
    if uncertainty is not None:
        modifiers = [{"name": "b", "type": "normsys", "data": {"lo": 1 - uncertainty, "hi": 1 + uncertainty}}]
    signal = {"name": "signal", "data": [1.0], "modifiers": [{"name": "mu", "type": "normfactor", "data": None}]}
    return {
        "channels": [
            {"name": "SR", "samples": [signal, {"name": "background", "data": [background], "modifiers": modifiers}]}
        ],
        "observations": [{"name": "SR", "data": [n]}],
        "measurements": [
            {"name": "m", "config": {"poi": "mu", "parameters": [{"name": "mu", "bounds": [list(bounds)]}]}}
        ],
        "version": "1.0.0",
    }


def exact_p_value(mu, n, background):
    """The probability of counts whose likelihood ratio is at most that of `n`."""
    k = np.arange(150)
    best = np.maximum(k - background, 0) + background
    ratio = stats.poisson.logpmf(k, mu + background) - stats.poisson.logpmf(k, best)
    return stats.poisson.pmf(k, mu + background)[ratio <= ratio[n] + 1e-9].sum()


def exact_interval(n, background, cl):
    values = np.arange(0, 16, 0.002)
    inside = values[[exact_p_value(mu, n, background) > 1 - cl for mu in values]]
    return inside[0], inside[-1]


@pytest.mark.parametrize("n, published", [(5, (0.0, 6.99)), (7, (0.89, 9.53))])
def test_intervals_are_those_of_feldman_and_cousins(n, published):
    low, high = exact_interval(n, 3.0, 0.9)
    assert (low, high) == pytest.approx(published, abs=0.008)
    result = nextstat.interval(counting(n, 3.0), cl=0.9, toys=20_000, seed=4)
    assert result.converged and result.connected and result.method == "feldman-cousins"
    assert abs(result.lower - low) < 3 * result.lower_error + 2e-3
    assert abs(result.upper - high) < 3 * result.upper_error + 2e-3
    for point in result.points:
        if point["n_toys"]:
            p = min(exact_p_value(point["value"], n, 3.0), 1.0)
            assert abs(point["p_value"] - p) < 5 * np.sqrt(p * (1 - p) / point["n_toys"]) + 1e-3


def test_without_toys_the_chi2_law_gives_the_interval():
    model = nextstat.load_workspace(counting(25, 10.0))
    result = nextstat.interval(model, cl=0.9)
    level = stats.chi2.ppf(0.9, 1)
    rise = lambda mu: 2 * (mu + 10 - 25 * np.log((mu + 10) / 25) - 25) - level  # noqa: E731
    assert result.lower == pytest.approx(optimize.brentq(rise, 0.1, 15), rel=1e-6)
    assert result.upper == pytest.approx(optimize.brentq(rise, 15, 29.9), rel=1e-6)
    assert result.method == "likelihood" and result.lower_error is None and result.converged
    with pytest.raises(ValueError, match="no toys to draw"):
        result.plot()


def test_toys_are_saved_and_drawn(tmp_path):
    path = tmp_path / "toys.json"
    first = nextstat.interval(counting(4, 3.0, 0.1), toys=1000, save=path, seed=1)
    again = nextstat.interval(counting(4, 3.0, 0.1), toys=1000, save=path, seed=1, resume=True)
    assert again.points == first.points and again.toys_per_s is None
    with pytest.raises(ValueError, match="seed"):
        nextstat.interval(counting(4, 3.0, 0.1), toys=1000, save=path, seed=2, resume=True)
    copy = pickle.loads(pickle.dumps(first))
    assert copy.to_dict() == first.to_dict()
    copy.plot(tmp_path / "interval.svg")
    assert (tmp_path / "interval.svg").read_text().startswith("<svg")


def integrated(n, background, uncertainty):
    """Mean and limit at 95 % of the posterior of `mu`, with the nuisance parameter integrated numerically."""
    factor = lambda a: (1 + uncertainty) ** a if a >= 0 else (1 - uncertainty) ** -a  # noqa: E731
    alpha = np.linspace(-5, 5, 401)
    model = nextstat.load_workspace(counting(n, background, uncertainty))
    order = model.parameter_names
    point = lambda a: [0.0 if name == "mu" else a for name in order]  # noqa: E731
    factors = np.array([np.asarray(model.expected_data(point(a)))[0] / background for a in alpha])
    assert np.allclose(factors[np.abs(alpha) > 1], [factor(a) for a in alpha if abs(a) > 1])

    mu = np.linspace(0, 30, 3001)
    total = mu[:, None] + background * factors[None, :]
    density = integrate.trapezoid(stats.poisson.pmf(n, total) * stats.norm.pdf(alpha), alpha, axis=1)
    density /= integrate.trapezoid(density, mu)
    below = integrate.cumulative_trapezoid(density, mu, initial=0)
    return integrate.trapezoid(mu * density, mu), np.interp(0.95, below, mu)


def test_given_results_are_combined(tmp_path):
    results = [
        {"name": "A", "value": 10.0, "uncertainties": {"stat": 1.0, "jes": 0.5}},
        {"name": "B", "value": 11.0, "uncertainties": {"stat": 2.0, "jes": 0.4}},
    ]
    given = {"results": results, "correlations": {"stat": 0, "jes": 0.5}}
    combined = nextstat.blue(given)
    covariance = np.array([[1.25, 0.1], [0.1, 4.16]])
    weights = np.linalg.inv(covariance).sum(axis=0)
    weights /= weights.sum()
    assert combined["combined"][0].weights == pytest.approx(weights)
    assert combined["combined"][0].value == pytest.approx(weights @ [10.0, 11.0])
    path = tmp_path / "results.json"
    path.write_text(json.dumps(given))
    assert nextstat.blue(path) == combined
    with pytest.raises(ValueError, match="'jes' is missing"):
        nextstat.blue({"results": results})
    with pytest.raises(ValueError, match="a number from -1 to 1, or a matrix"):
        nextstat.blue(given | {"correlations": {"stat": "full"}})
    given["correlations"]["jes"] = 1.0
    results[1]["uncertainties"] = {"stat": 0.1, "jes": 3.0}
    with pytest.warns(UserWarning, match="the weight of B is negative"):
        nextstat.blue(given)


def test_posteriors_are_those_of_integrals(tmp_path):
    mean, limit = integrated(7, 4.0, 0.3)
    path = tmp_path / "draws.parquet"
    result = nextstat.sample(counting(7, 4.0, 0.3), draws=2000, seed=2, save=path)
    mu = result.parameter("mu")
    assert result.converged and result.pois == ["mu"]
    assert abs(mu["mean"] - mean) < 4 * mu["mean_error"]
    assert abs(mu["upper_limit"] - limit) < 4 * mu["upper_limit_error"]
    draws = result.draws["mu"]
    assert draws.shape == (4, 2000) and draws.mean() == pytest.approx(mu["mean"])
    assert result.ln_likelihood.shape == draws.shape
    assert (draws >= 0).all() and (draws <= 30).all()
    copy = pickle.loads(pickle.dumps(result))
    assert (copy.draws["mu"] == draws).all()
    copy.plot(tmp_path / "corner.svg", parameters=["mu", "b"])
    assert "95 % region" in (tmp_path / "corner.svg").read_text()
    assert copy.plot(parameters="*").svg == copy.plot(parameters=list(copy.draws)).svg
    with pytest.raises(ValueError, match="no sampled parameter matches 'x\\*'"):
        copy.plot(parameters="x*")
    with pytest.raises(ValueError, match="'x' is not sampled"):
        copy.plot(parameters="x")
    pq = pytest.importorskip("pyarrow.parquet")
    table = pq.read_table(path)
    assert table.num_rows == 8000 and table.column_names[:3] == ["chain", "draw", "ln_likelihood"]
    assert (np.asarray(table["mu"]).reshape(4, 2000) == draws).all()


def test_draws_go_to_arviz():
    arviz = pytest.importorskip("arviz")
    result = nextstat.sample(counting(7, 4.0, 0.3), draws=500, seed=2)
    data = result.to_arviz()
    summary = arviz.summary(data)
    mu = result.parameter("mu")
    assert float(summary.loc["mu", "r_hat"]) == pytest.approx(mu["r_hat"], abs=0.006)
    assert float(summary.loc["mu", "ess_bulk"]) == pytest.approx(mu["ess_bulk"], rel=0.05)
    assert float(summary.loc["mu", "ess_tail"]) == pytest.approx(mu["ess_tail"], rel=0.1)


def test_compatibility_is_a_ratio_of_two_fits():
    spec = counting(12, 10.0)
    other = counting(25, 10.0)["channels"][0] | {"name": "SR2"}
    spec["channels"].append(other)
    spec["observations"].append({"name": "SR2", "data": [25]})
    result = nextstat.compatibility(spec, toys=500, leave_out=True, seed=1)
    common = nextstat.fit(spec).twice_nll
    split = nextstat.fit(nextstat.decorrelate(spec, "mu", by="channel")).twice_nll
    assert result.q == pytest.approx(common - split, abs=1e-6) and result.n_dof == 1
    assert result.p_value == pytest.approx(stats.chi2.sf(result.q, 1))
    assert abs(result.p_value_toys - result.p_value) < 5 * result.p_value_toys_error
    assert [channel["own"]["value"] for channel in result.channels] == pytest.approx([2.0, 15.0], abs=1e-5)
    assert [channel["others"]["value"] for channel in result.channels] == pytest.approx([15.0, 2.0], abs=1e-5)


def test_injection_is_a_study_at_each_value():
    model = nextstat.load_workspace(counting(112, 100.0, bounds=(-60, 90)))
    result = nextstat.injection(model, [20, 0], n_toys=400, seed=3)
    assert [point["value"] for point in result.points] == [0.0, 20.0]
    study = nextstat.fit_toys(model, {"mu": 0.0}, n_toys=400, seed=3, parameters=["mu"])
    assert result.points[0]["bias"] == pytest.approx(study.parameters[0]["bias"], abs=1e-9)
    line = result.line
    assert abs(line["slope"] - 1) < 4 * line["slope_error"] and line["p_value"] is None


def test_simplified_likelihoods_are_read_by_pyhf(fixtures):
    pyhf = pytest.importorskip("pyhf")
    path = fixtures / "simple_workspace.json"
    full = nextstat.load_workspace(path)
    fit = nextstat.fit(nextstat.load_workspace(path, mask=["SR"]), covariance=True)
    linear = nextstat.simplify(full, regions="SR", at=fit, draws=20_000, linear=True)
    assert linear.converged and [bin["c"] for bin in linear.bins] == [0.0] * 4
    workspace = pyhf.Workspace(linear.workspace)
    model = workspace.model(modifier_settings={"histosys": {"interpcode": "code4p"}})
    ours = nextstat.load_workspace(linear.workspace)
    point = np.asarray(model.config.suggested_init()) + 0.1
    assert ours.parameter_names == list(model.config.par_names)
    assert np.allclose(ours.expected_data(point), model.expected_data(point))

    # The quadratic form has the moments of the draws: means, variances and skewnesses of a normal parameter.
    made = nextstat.simplify(full, regions="SR", at=fit, draws=20_000)
    for own in made.bins:
        a, b, c = own["a"], own["b"], own["c"]
        assert own["mean"] == pytest.approx(a + c)
        assert own["sigma"] ** 2 == pytest.approx(b**2 + 2 * c**2)
        assert own["skewness"] * own["sigma"] ** 3 == pytest.approx(6 * b**2 * c + 8 * c**3, rel=1e-6, abs=1e-9)
    limits = [nextstat.upper_limit(model).observed for model in (full, nextstat.load_workspace(made.workspace))]
    assert limits[1] == pytest.approx(limits[0], rel=0.06)


def test_regions_are_those_of_feldman_and_cousins(tmp_path):
    spec = counting(4, 3.0)
    signal = {"name": "other", "data": [1.0], "modifiers": [{"name": "nu", "type": "normfactor", "data": None}]}
    background = {"name": "background", "data": [2.0], "modifiers": []}
    spec["channels"].append({"name": "SR2", "samples": [signal, background]})
    spec["observations"].append({"name": "SR2", "data": [9]})
    spec["measurements"][0]["config"]["parameters"].append({"name": "nu", "bounds": [[0.0, 40.0]]})
    model = nextstat.load_workspace(spec, poi=["mu", "nu"])
    result = nextstat.region(model, cl=0.9, toys=2000, seed=5, save=tmp_path / "toys.json")
    assert result.params == ["mu", "nu"] and result.converged and result.connected
    assert result.best_fit == pytest.approx([1.0, 7.0], abs=1e-4)

    k = np.arange(60)

    def exact(point):
        mean = np.array(point) + [3.0, 2.0]
        ratio = [stats.poisson.logpmf(k, np.maximum(k, b)) - stats.poisson.logpmf(k, m) for b, m in zip([3, 2], mean)]
        t = ratio[0][:, None] + ratio[1][None, :]
        p = stats.poisson.pmf(k, mean[0])[:, None] * stats.poisson.pmf(k, mean[1])[None, :]
        return p[t >= t[4, 9] - 1e-9].sum()

    for point in result.points:
        if point.n_toys:
            p = min(exact(point["at"]), 1.0)
            assert abs(point.p_value - p) < 5 * np.sqrt(p * (1 - p) / point.n_toys) + 1e-3
    again = nextstat.region(model, cl=0.9, toys=2000, seed=5, save=tmp_path / "toys.json", resume=True)
    assert again.border == result.border and again.toys_per_s is None
    copy = pickle.loads(pickle.dumps(result))
    copy.plot(tmp_path / "region.svg")
    assert copy.to_dict() == result.to_dict()

    law = nextstat.region(model, cl=0.9)
    level = stats.chi2.ppf(0.9, 2)
    assert law.level == pytest.approx(level) and law.points == [] and law.method == "likelihood"
    for border in law.border:
        if not border.at_bound:
            test = nextstat.hypotest(model, dict(zip(law.params, border["at"])))
            assert test.t == pytest.approx(level, abs=2e-3)
