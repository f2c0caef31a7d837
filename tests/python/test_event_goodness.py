"""Goodness of fit of single events: chi2 in bins and the distance of Kolmogorov and Smirnov, against SciPy."""

import nextstat
import numpy as np
import pytest
from nextstat import build

stats = pytest.importorskip("scipy.stats")
RNG = np.random.default_rng(41)
X = np.concatenate([RNG.normal(5, 0.7, 150), RNG.exponential(4, 700)])
X = X[X < 10]


def model(x=X, extended=True, weights=None, ranges=None, template=False):
    m = build.ModelBuilder("gof")
    axis = m.observable("x", 0, 10)
    slope, mean = m.parameter("slope", 0.25, 0.01, 2), m.parameter("mean", 5, 3, 7)
    if template:
        peak = m.template("peak", axis, RNG.normal(5, 0.7, 500).clip(0, 10), [0, 4.03, 4.7, 5.31, 6.2, 10])
    else:
        peak = m.gaussian("peak", axis, mean, 0.7)
    falling = m.exponential("falling", axis, slope)
    data = x if weights is None else {"x": x, "weights": weights}
    if extended:
        m.channel("SR", {peak: m.parameter("s", 150, 0, 3000), falling: m.parameter("b", 700, 0, 9000)}, data=data)
    else:
        m.channel("SR", m.mixture("both", [peak, falling], [m.parameter("f", 0.2, 0, 1)]), data=data)
    document = m.document()
    if ranges:
        document["likelihoods"][0]["nextstat.ranges"] = {"x": ranges}
    return nextstat.load_workspace(document)


def cdf(result, low=0.0, high=10.0):
    """The distribution function of the Gaussian on the exponential, and the expected number of events."""
    slope, mean, s, b = (result.value(name) for name in ("slope", "mean", "s", "b"))

    def integral(x):
        gauss = stats.norm(mean, 0.7)
        peak = (gauss.cdf(x) - gauss.cdf(low)) / (gauss.cdf(high) - gauss.cdf(low))
        falling = (np.exp(-slope * low) - np.exp(-slope * x)) / (np.exp(-slope * low) - np.exp(-slope * high))
        return s * peak + b * falling

    return lambda x: integral(x) / (s + b), s + b


@pytest.mark.parametrize("bins", [7, 20, 33])
def test_chi2_is_that_of_scipy(bins):
    fitted = model()
    result = nextstat.fit(fitted)
    below, total = cdf(result)
    edges = np.linspace(0, 10, bins + 1)
    expected = total * np.diff(below(edges))
    observed = np.histogram(X, edges)[0]
    gof = nextstat.goodness_of_fit(fitted, statistic="chi2", bins=bins)
    # At the minimum of an extended fit the sums agree, as SciPy wants it.
    right = stats.chisquare(observed, expected * observed.sum() / expected.sum()).statistic
    assert gof.value == pytest.approx(right, rel=1e-5)
    assert gof.value == pytest.approx(((observed - expected) ** 2 / expected).sum(), rel=1e-8)
    assert (gof.statistic, gof.ndof, gof.n_unconstrained) == ("chi2", bins - 4, 4)
    assert gof.p_value == pytest.approx(stats.chi2.sf(gof.value, bins - 4), rel=1e-9)
    assert gof.channels == [
        {"name": "SR", "value": gof.value, "n_events": X.size, "n_bins": bins, "least_expected": pytest.approx(expected.min())}
    ]
    assert any("p_value is approximate" in warning for warning in gof.warnings)
    assert (expected.min() < 5) == any("expected events" in warning for warning in gof.warnings)


def test_the_distance_is_that_of_scipy():
    fitted = model()
    below, _ = cdf(nextstat.fit(fitted))
    gof = nextstat.goodness_of_fit(fitted, statistic="ks")
    right = stats.kstest(X, below).statistic
    assert gof.channels[0]["value"] == pytest.approx(right, abs=1e-9)
    assert gof.value == pytest.approx(np.sqrt(X.size) * right, abs=1e-7)
    assert gof.p_value is None and any("use toys" in warning for warning in gof.warnings)


def test_without_free_parameters_the_distance_has_its_p_value():
    fitted = model()
    held = {"slope": 0.25, "mean": 5, "s": 150, "b": 640}
    gof = nextstat.goodness_of_fit(fitted, statistic="ks", fixed=held)
    assert gof.p_value == pytest.approx(stats.kstwobign.sf(gof.value), rel=1e-9)


def test_fit_ranges_count_alone():
    ranges = [[0, 3], [7.5, 10]]
    fitted = model(ranges=ranges)
    inside = X[(X <= 3) | (X >= 7.5)]
    held = {"mean": 5.0, "s": 0.0}
    chi2 = nextstat.goodness_of_fit(fitted, statistic="chi2", bins=10, fixed=held)
    result = nextstat.fit(fitted, fixed=held)
    edges = np.array([0, 1, 2, 3, 7.5, 8, 9, 10.0])
    slope = result.value("slope")
    parts = np.exp(-slope * edges[:-1]) - np.exp(-slope * edges[1:])
    parts[3] = 0
    expected = result.value("b") * parts / parts.sum()
    observed = np.histogram(inside, edges)[0]
    kept = np.array([0, 1, 2, 4, 5, 6])
    assert chi2.value == pytest.approx(((observed - expected)[kept] ** 2 / expected[kept]).sum(), rel=1e-8)
    assert chi2.channels[0]["n_bins"] == 6 and chi2.channels[0]["n_events"] == inside.size
    ks = nextstat.goodness_of_fit(fitted, statistic="ks", fixed=held)
    ends = np.concatenate([[0], np.cumsum(parts / parts.sum())])

    def below(x):
        cell = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, 6)
        own = np.exp(-slope * edges[cell]) - np.exp(-slope * x)
        return ends[cell] + np.where(cell == 3, 0, own / parts.sum())

    assert ks.channels[0]["value"] == pytest.approx(stats.kstest(inside, below).statistic, abs=1e-9)


def test_densities_with_jumps_are_integrated_exactly():
    fitted = model(template=True)
    held = {"slope": 0.25, "s": 150, "b": 640}
    ks = nextstat.goodness_of_fit(fitted, statistic="ks", fixed=held)
    chi2 = nextstat.goodness_of_fit(fitted, statistic="chi2", bins=10, fixed=held)
    shapes = fitted.nll  # the model stays usable
    assert callable(shapes)
    assert 0 < ks.channels[0]["value"] < 1 and chi2.value > 0


@pytest.mark.parametrize("statistic", ["chi2", "ks"])
@pytest.mark.parametrize("extended", [True, False], ids=["extended", "not extended"])
def test_p_values_of_toys_are_uniform_where_the_model_is_right(statistic, extended):
    fitted = model(extended=extended)
    gof = nextstat.goodness_of_fit(fitted, statistic=statistic, toys=200, seed=3)
    assert gof.toys["n_toys"] == 200 and 0.005 < gof.p_value_toys <= 1
    if statistic == "chi2":
        assert gof.ndof == 20 - (4 if extended else 4)
        # chi2 lies between two chi2 distributions.
        narrow, wide = stats.chi2.sf(gof.value, gof.ndof), stats.chi2.sf(gof.value, gof.ndof + 4)
        assert narrow - 0.12 < gof.p_value_toys < wide + 0.12
    wrong = np.concatenate([X, RNG.uniform(8, 8.3, 60)])
    bad = nextstat.goodness_of_fit(model(wrong, extended=extended), statistic=statistic, toys=100, seed=3)
    assert bad.p_value_toys <= 0.05
    again = nextstat.goodness_of_fit(fitted, statistic=statistic, toys=200, seed=3, threads=1)
    assert again.p_value_toys == gof.p_value_toys


def test_what_cannot_be_compared_says_why(tmp_path):
    weighted = nextstat.goodness_of_fit(model(weights=np.full(X.size, 1.5)), statistic="ks")
    assert weighted.value is None and any("weights" in warning for warning in weighted.warnings)
    saturated = nextstat.goodness_of_fit(model())
    assert saturated.chi2 is None and any("statistic chi2" in warning for warning in saturated.warnings)
    with pytest.raises(ValueError, match="unknown statistic 'ad'; use"):
        nextstat.goodness_of_fit(model(), statistic="ad")
    with pytest.raises(ValueError, match="bins are for statistic"):
        nextstat.goodness_of_fit(model(), bins=3)
    with pytest.raises(Exception, match="at least one bin"):
        nextstat.goodness_of_fit(model(), statistic="chi2", bins=0)
    with pytest.raises(Exception, match="are too many; use at most"):
        nextstat.goodness_of_fit(model(), statistic="chi2", bins=100_000)
    m = build.ModelBuilder()
    x, y = m.observable("x", 0, 1), m.observable("y", 0, 1)
    m.channel("SR", {m.product("p", m.uniform("a", x), m.uniform("b", y)): m.parameter("n", 90, 0, 999)}, data=RNG.uniform(0, 1, (90, 2)))
    two = m.model()
    with pytest.raises(Exception, match="has 2 observables, and the distance needs one; use chi2"):
        nextstat.goodness_of_fit(two, statistic="ks")
    plane = nextstat.goodness_of_fit(two, statistic="chi2", bins=3)
    assert plane.channels[0]["n_bins"] == 9 and plane.ndof == 8
    import pickle

    assert pickle.loads(pickle.dumps(plane)).value == plane.value
