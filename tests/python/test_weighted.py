"""Uncertainties of fits of weighted events, against formulas in NumPy and in toys."""

import json

import nextstat
import numpy as np
import pytest
from nextstat import build

RNG = np.random.default_rng(23)
X = np.concatenate([RNG.normal(5, 0.8, 300), RNG.exponential(4, 900)])
X = X[X < 10]
W = RNG.uniform(0.3, 2.5, X.size)


def model(x=X, weights=W, extended=True, constrained=True):
    m = build.ModelBuilder("weighted")
    axis = m.observable("x", 0, 10)
    slope = m.parameter("slope", 0.25, 0.01, 2)
    shift = m.nuisance("shift") if constrained else m.parameter("shift", 0, -5, 5)
    peak = m.gaussian("peak", axis, mean=5 + 0.1 * shift, sigma=0.8)
    falling = m.exponential("falling", axis, slope=slope)
    data = {"x": x, "weights": weights} if weights is not None else x
    if extended:
        m.channel("SR", {peak: m.parameter("s", 300, 0, 3000), falling: m.parameter("b", 800, 0, 9000)}, data=data)
    else:
        m.channel("SR", m.mixture("both", [peak, falling], [m.parameter("f", 0.3, 0, 1)]), data=data)
    return m.model()


def log_density(point, x, extended):
    """ln of the density of events, times the rate if the channel is extended; `point` may be complex."""
    def exponential(slope):
        return np.exp(-slope * x) * slope / (1 - np.exp(-10 * slope))

    # The Gaussian is cut at 0 and 10, six widths away.
    gauss = np.exp(-0.5 * ((x - 5 - 0.1 * point["shift"]) / 0.8) ** 2) / (0.8 * np.sqrt(2 * np.pi))
    if extended:
        return np.log(point["s"] * gauss + point["b"] * exponential(point["slope"]))
    return np.log(point["f"] * gauss + (1 - point["f"]) * exponential(point["slope"]))


def numpy_matrices(result, names, x, w, extended, constrained):
    """V, D and the Hessian of squared weights, from derivatives with complex steps."""
    best = {name: result.value(name) for name in names}

    def scores(point):
        rows = []
        for name in names:
            moved = dict(point)
            moved[name] = point[name] + 1e-30j
            rows.append(np.imag(log_density(moved, x, extended)) / 1e-30)
        return np.array(rows)

    def hessian(weights):
        rows = []
        for name in names:
            h = 1e-4 * max(1, abs(best[name]))
            up, down = ({**best, name: best[name] + sign * h} for sign in (1, -1))
            rows.append(-((scores(up) - scores(down)) * weights).sum(axis=1) / (2 * h))
        matrix = np.array(rows)
        return (matrix + matrix.T) / 2

    constraint = np.diag([1.0 if constrained and name == "shift" else 0.0 for name in names])
    g = scores(best)
    inverse = np.linalg.inv(hessian(w) + constraint)
    middle = {"hesse": None, "sandwich": (g * w**2) @ g.T + constraint, "sumw2": hessian(w**2) + constraint}
    return {name: inverse if d is None else inverse @ d @ inverse for name, d in middle.items()}


@pytest.mark.parametrize("extended", [True, False], ids=["extended", "not extended"])
@pytest.mark.parametrize("constrained", [True, False], ids=["constrained", "free"])
def test_covariances_are_those_of_numpy(extended, constrained):
    fitted = model(extended=extended, constrained=constrained)
    names = fitted.parameter_names
    for method in ("hesse", "sandwich", "sumw2"):
        result = nextstat.fit(fitted, weighted_uncertainties=method)
        assert result.weighted_uncertainties == method
        right = numpy_matrices(result, names, X, W, extended, constrained)[method]
        scale = np.sqrt(np.outer(np.diag(right), np.diag(right)))
        np.testing.assert_allclose(result.covariance / scale, right / scale, atol=2e-5)
        np.testing.assert_allclose(result.uncertainties, np.sqrt(np.diag(result.covariance)), rtol=1e-12)


def test_bins_and_counted_constraints_add_their_information():
    m = build.ModelBuilder("both")
    axis, slope, shift = m.observable("x", 0, 10), m.parameter("slope", 0.25, 0.01, 2), m.nuisance("shift")
    s, b = m.parameter("s", 300, 0, 3000), m.parameter("b", 800, 0, 9000)
    peak = m.gaussian("peak", axis, mean=5 + 0.1 * shift, sigma=0.8)
    m.channel("SR", {peak: s, m.exponential("falling", axis, slope=slope): b}, data={"x": X, "weights": W})
    m.constrain_count(0.1 * s, 33)
    document = m.document()
    document["distributions"].append({
        "name": "CR", "type": "histfactory_dist", "axes": [{"name": "bin", "min": 0, "max": 2, "nbins": 2}],
        "samples": [{"name": "top", "data": {"contents": [500, 400]},
                     "modifiers": [{"name": "k", "type": "normfactor", "parameter": "slope"}]}],
    })
    document["data"].append(
        {"name": "counts", "type": "binned", "axes": [{"name": "bin", "min": 0, "max": 2, "nbins": 2}], "contents": [131, 95]})
    document["likelihoods"][0]["distributions"].append("CR")
    document["likelihoods"][0]["data"].append("counts")
    both = nextstat.load_workspace(document)
    names = both.parameter_names
    for method in ("sandwich", "sumw2"):
        result = nextstat.fit(both, weighted_uncertainties=method)
        best = {name: result.value(name) for name in names}
        more = np.zeros((len(names), len(names)))
        more[names.index("shift"), names.index("shift")] = 1
        # Poisson terms of 33 with the mean s/10, and of 226 with a mean in proportion to the slope.
        more[names.index("s"), names.index("s")] = 33 / best["s"] ** 2
        more[names.index("slope"), names.index("slope")] = 226 / best["slope"] ** 2
        alone = numpy_matrices(result, names, X, W, True, False)
        inverse = np.linalg.inv(np.linalg.inv(alone["hesse"]) + more)
        # From V D V back to D, and with the other terms forth.
        middle = np.linalg.inv(alone["hesse"]) @ alone[method] @ np.linalg.inv(alone["hesse"]) + more
        right = inverse @ middle @ inverse
        scale = np.sqrt(np.outer(np.diag(right), np.diag(right)))
        np.testing.assert_allclose(result.covariance / scale, right / scale, atol=5e-5)


def test_the_default_is_the_sandwich_and_the_result_says_so():
    weighted = nextstat.fit(model())
    assert weighted.weighted_uncertainties == "sandwich"
    assert weighted.to_dict()["weighted_uncertainties"] == "sandwich"
    assert "uncertainties of weighted events: sandwich" in repr(weighted)
    without = nextstat.fit(model(), covariance=False)
    assert without.covariance is None
    np.testing.assert_array_equal(without.uncertainties, weighted.uncertainties)
    hesse = nextstat.fit(model(), weighted_uncertainties="hesse")
    assert any("the inverse Hessian is not the covariance" in warning for warning in hesse.warnings)
    plain = nextstat.fit(model(weights=None))
    assert plain.weighted_uncertainties is None and "weighted_uncertainties" not in plain.to_dict()
    asked = nextstat.fit(model(weights=None), weighted_uncertainties="sumw2")
    assert any("no event has a weight other than 1" in warning for warning in asked.warnings)
    np.testing.assert_array_equal(asked.uncertainties, plain.uncertainties)
    with pytest.raises(ValueError, match="unknown method 'minos'"):
        nextstat.fit(model(), weighted_uncertainties="minos")
    # Asimov data are counts, although their grid has weights.
    assert nextstat.fit(model(), asimov=True).weighted_uncertainties is None


def test_weights_of_two_are_events_of_which_half_were_seen():
    weighted = model(weights=np.full(X.size, 2.0), constrained=False)
    double = nextstat.fit(weighted, weighted_uncertainties="sumw2")
    sandwich = nextstat.fit(weighted)
    single = nextstat.fit(model(weights=None, constrained=False))
    for name, factor in (("slope", 1), ("shift", 1), ("s", 2), ("b", 2)):
        assert double.value(name) == pytest.approx(factor * single.value(name), abs=1e-5 * factor * single.uncertainty(name))
        assert double.uncertainty(name) == pytest.approx(factor * single.uncertainty(name), rel=1e-4)
        # The sandwich estimates the same from the squares of gradients, with a statistical error of its own.
        assert sandwich.uncertainty(name) == pytest.approx(double.uncertainty(name), rel=0.1)


def test_other_analyses_warn_of_weights():
    fitted = model()
    for result in (
        nextstat.profile_scan(fitted, param="s", points=3),
        nextstat.fit(fitted, minos="s"),
    ):
        assert any("the events have weights" in warning for warning in result.warnings)


def test_results_with_weights_can_be_pickled():
    import pickle

    result = nextstat.fit(model(), weighted_uncertainties="sumw2")
    again = pickle.loads(pickle.dumps(result))
    assert again.weighted_uncertainties == "sumw2"
    assert json.dumps(again.to_dict()) == json.dumps(result.to_dict())


def test_pulls_have_width_one_for_the_sandwich_alone():
    """Decays that are seen with an efficiency, and weighted with its inverse."""
    rng = np.random.default_rng(77)
    truth, n_true, n_toys = 0.4, 1500, 250
    pulls = {method: [] for method in ("sandwich", "sumw2", "hesse")}
    for _ in range(n_toys):
        x = rng.exponential(1 / truth, rng.poisson(n_true / (1 - np.exp(-10 * truth))))
        efficiency = 0.1 + 0.8 * np.minimum(x / 5, 1)
        x, efficiency = x[x < 10], efficiency[x < 10]
        seen = rng.uniform(size=x.size) < efficiency
        m = build.ModelBuilder()
        axis, slope = m.observable("x", 0, 10), m.parameter("slope", 0.4, 0.01, 3)
        rate = m.parameter("n", 1500, 0, 30000)
        m.channel("SR", {m.exponential("decay", axis, slope): rate}, data={"x": x[seen], "weights": 1 / efficiency[seen]})
        toy = m.model()
        for method, found in pulls.items():
            result = nextstat.fit(toy, weighted_uncertainties=method, search="local")
            found.append([
                (result.value("slope") - truth) / result.uncertainty("slope"),
                (result.value("n") - n_true) / result.uncertainty("n"),
            ])
    widths = {method: np.std(found, axis=0) for method, found in pulls.items()}
    # The width of 250 pulls is known to 4.5 %.
    assert np.all(np.abs(widths["sandwich"] - 1) < 0.14), widths
    assert np.all(widths["hesse"] > 1.3), widths
    means = np.mean(pulls["sandwich"], axis=0)
    assert np.all(np.abs(means) < 0.3), means
