"""Yields, pictures and sPlot weights of channels of events, against NumPy."""

import pathlib

import nextstat
import numpy as np
import pytest
from nextstat import build
from scipy import stats

FILE = pathlib.Path(__file__).parents[1] / "fixtures" / "events" / "diphoton.hs3.json"
RANDOM = np.random.default_rng(4)
X = np.concatenate([RANDOM.normal(3, 0.5, 400), 10 * RANDOM.random(600)])
X = X[(X > 0) & (X < 10)]
Y = RANDOM.random(X.size)


def model(weights=None, two=False):
    m = build.ModelBuilder()
    x = m.observable("x", 0, 10)
    s, b = m.parameter("s", 300, 0, 5000), m.parameter("b", 500, 0, 5000)
    peak, flat = m.gaussian("peak", x, m.parameter("mean", 3, 2, 4), 0.5), m.uniform("flat", x)
    data = {"x": X} if weights is None else {"x": X, "weights": weights}
    if two:
        y = m.observable("y", 0, 1)
        peak, flat = m.product("peak2", peak, m.uniform("py", y)), m.product("flat2", flat, m.polynomial("fy", y, [1, 0.5]))
        data = {"x": X, "y": Y}
    m.channel("SR", {peak: s, flat: b}, data=data)
    m.interest(s)
    return m.model()


def test_yields_are_those_of_the_parameters():
    fitted = model()
    result = nextstat.fit(fitted)
    channel = nextstat.yields(fitted, result).channels[0]
    by_name = {sample["name"]: sample for sample in channel["samples"]}
    for name, parameter in (("peak", "s"), ("flat", "b")):
        assert by_name[name]["sum"] == pytest.approx(result.value(parameter), rel=1e-9)
        assert by_name[name]["sum_uncertainty"] == pytest.approx(result.uncertainty(parameter), rel=1e-6)
    assert by_name["peak"]["signal"] and not by_name["flat"]["signal"]
    # The sum of both is as certain as the number of events.
    assert channel["sum"] == pytest.approx(X.size, rel=1e-6)
    assert channel["sum_uncertainty"] == pytest.approx(np.sqrt(X.size), rel=1e-3)
    edges = np.array(channel["bin_edges"])
    np.testing.assert_array_equal(channel["data"], np.histogram(X, edges)[0])
    cut = stats.norm(result.value("mean"), 0.5)
    shape = np.diff(cut.cdf(edges)) / (cut.cdf(10) - cut.cdf(0))
    np.testing.assert_allclose(by_name["peak"]["counts"], result.value("s") * shape, atol=1e-6 * result.value("s"))
    np.testing.assert_allclose(by_name["flat"]["counts"], result.value("b") / 40, rtol=1e-9)
    assert channel["observable"] == "x"


def test_every_observable_has_its_bins():
    fitted = model(two=True)
    channels = nextstat.yields(fitted).channels
    assert [(c["name"], c["observable"]) for c in channels] == [("SR, x", "x"), ("SR, y", "y")]
    for channel in channels:
        assert channel["sum"] == pytest.approx(X.size, rel=1e-6)
        assert channel["data_sum"] == X.size


def test_pictures_of_events_are_drawn(tmp_path):
    yields = nextstat.yields(FILE)
    path = tmp_path / "diphoton.svg"
    yields.plot(path)
    text = path.read_text()
    assert "signal" in text and "background" in text


@pytest.mark.parametrize("weighted", [False, True])
def test_weights_are_those_of_numpy(weighted):
    w = RANDOM.uniform(0.5, 1.5, X.size) if weighted else np.ones(X.size)
    fitted = model(w if weighted else None)
    result = nextstat.fit(fitted, fixed={"mean": 3.0})
    weights = nextstat.splot(fitted, result)
    n = np.array([result.value("s"), result.value("b")])
    cut = stats.norm(3, 0.5)
    f = np.array([cut.pdf(X) / (cut.cdf(10) - cut.cdf(0)), np.full(X.size, 0.1)])
    total = n @ f
    v = np.linalg.inv((w * f / total**2) @ f.T)
    right = w * (v @ f) / total
    np.testing.assert_allclose(weights["peak"], right[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(weights["flat"], right[1], rtol=1e-9, atol=1e-12)
    # At the minimum of the yields the weights add up to them, and to one for every event.
    assert weights["peak"].sum() == pytest.approx(n[0], rel=1e-6)
    np.testing.assert_allclose(weights["peak"] + weights["flat"], w, rtol=1e-6)


def test_weights_that_do_not_exist_say_why():
    m = build.ModelBuilder()
    x = m.observable("x", 0, 10)
    m.channel("SR", m.gaussian("g", x, m.parameter("mean", 3, 2, 4), 0.5), data=X)
    fitted = m.model()
    with pytest.raises(ValueError, match="the number of events of channel 'SR' is not part of the fit"):
        nextstat.splot(fitted, nextstat.fit(fitted))
    workspace = nextstat.load_workspace(FILE.parents[1] / "simple_workspace.json")
    with pytest.raises(ValueError, match="the model has no channel of events"):
        nextstat.splot(workspace, nextstat.fit(workspace))
    m = build.ModelBuilder()
    x = m.observable("x", 0, 10)
    a, b = m.uniform("a", x), m.uniform("b", x)
    m.channel("SR", {a: m.parameter("na", 500, 0, 5000), b: m.parameter("nb", 500, 0, 5000)}, data=X)
    fitted = m.model()
    with pytest.raises(ValueError, match="cannot be told apart"):
        nextstat.splot(fitted, nextstat.fit(fitted))


def test_components_and_blinded_ranges(tmp_path):
    fitted = model()
    yields = nextstat.yields(fitted)
    plain, lines = yields.plot(), yields.plot(components="lines")
    assert "sum" in lines.svg and plain.svg != lines.svg
    blind = yields.plot(blind={"x": [(2.5, 3.5)]})
    assert "blinded" in blind.svg and "blinded" not in plain.svg
    drawn = nextstat.fit(fitted).plot(kind="yields", blind={"x": [(2.5, 3.5)]})
    assert "blinded" in drawn.svg
    with pytest.raises(ValueError, match="no channel of single events has the observable 'z'; the observables are x"):
        yields.plot(blind={"z": [(0, 1)]})
    with pytest.raises(ValueError, match="is empty"):
        yields.plot(blind={"x": [(3, 2)]})
    with pytest.raises(ValueError, match="use stack or lines"):
        yields.plot(components="bars")


def test_a_model_may_be_blinded():
    m = build.ModelBuilder()
    x = m.observable("x", 0, 10, blind=[(2, 4)])
    m.channel("SR", {m.uniform("flat", x): m.parameter("b", 500, 0, 5000)}, data={"x": X})
    assert m.document()["likelihoods"][0]["nextstat.blind"] == {"x": [[2.0, 4.0]]}
    yields = nextstat.yields(m.model())
    assert yields.channels[0]["blind"] == [[2.0, 4.0]]
    assert "blinded" in yields.plot().svg
