"""Unfolding against a likelihood in NumPy, minimised with scipy, and against pyhf's likelihood, minimised with iminuit."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import nextstat

ROOT = Path(__file__).resolve().parents[2]
FIXTURE = ROOT / "tests/fixtures/unfolding.json"
TRUTH = ROOT / "tests/fixtures/unfolding_truth.json"


def problem(n_truth, n_reco, seed, events=4000.0):
    """A random response of a falling spectrum with a Gaussian smearing, a background and data of another truth."""
    random = np.random.default_rng(seed)
    truth = events * np.exp(-np.arange(n_truth) / 3.0)
    at = (np.arange(n_truth) + 0.5)[None, :] / n_truth
    reco = (np.arange(n_reco) + 0.5)[:, None] / n_reco
    kernel = np.exp(-0.5 * ((reco - at) / (0.7 / n_truth)) ** 2)
    efficiency = random.uniform(0.5, 0.9, n_truth)
    response = kernel / kernel.sum(axis=0) * efficiency * truth
    background = np.full(n_reco, 30.0)
    factors = 1.0 + 0.3 * np.sin(np.arange(n_truth))
    return response, background, random.poisson(response @ factors + background).astype(float)


def workspace(response, background, data):
    n = response.shape[1]
    samples = [
        {"name": f"truth bin {i}", "data": list(response[:, i]), "modifiers": [{"name": f"t_{i}", "type": "normfactor", "data": None}]}
        for i in range(n)
    ]
    samples.append({"name": "background", "data": list(background), "modifiers": []})
    parameters = [{"name": f"t_{i}", "inits": [1.0], "bounds": [[-10.0, 20.0]]} for i in range(n)]
    return {
        "channels": [{"name": "SR", "samples": samples}],
        "observations": [{"name": "SR", "data": list(data)}],
        "measurements": [{"name": "m", "config": {"poi": "t_0", "parameters": parameters}}],
        "version": "1.0.0",
    }


class Peer:
    """The penalised likelihood of Poisson counts, in NumPy."""

    def __init__(self, response, background, data, kind):
        self.response, self.background, self.data = response, background, data
        n = response.shape[1]
        self.rows = {
            "none": np.zeros((1, n)),
            "tikhonov": np.eye(n),
            "curvature": np.diff(np.eye(n), 2, axis=0),
        }[kind]
        self.squares = self.rows.T @ self.rows

    def deviance(self, mu):
        """-2 ln L minus that of the saturated model."""
        expected = self.response @ mu + self.background
        log = np.where(self.data > 0, self.data * np.log(np.where(self.data > 0, self.data, 1.0) / expected), 0.0)
        return 2.0 * np.sum(expected - self.data + log)

    def roughness(self, mu):
        return np.sum((self.rows @ (mu - 1.0)) ** 2)

    def derivatives(self, mu, tau):
        expected = self.response @ mu + self.background
        gradient = self.response.T @ (1.0 - self.data / expected) + tau * self.squares @ (mu - 1.0)
        information = self.response.T @ (self.response * (self.data / expected**2)[:, None])
        return gradient, information

    def solve(self, tau):
        """Newton's steps, shortened where the function does not fall."""
        value = lambda mu: 0.5 * self.deviance(mu) + 0.5 * tau * self.roughness(mu)
        mu = np.ones(self.response.shape[1])
        for _ in range(100):
            gradient, information = self.derivatives(mu, tau)
            step = -np.linalg.solve(information + tau * self.squares, gradient)
            size = 1.0
            while size > 1e-10:
                next_mu = mu + size * step
                if np.all(self.response @ next_mu + self.background > 0) and value(next_mu) <= value(mu) + 1e-12:
                    break
                size *= 0.5
            mu = mu + size * step
            if np.max(np.abs(step)) < 1e-13:
                break
        return mu

    def covariances(self, mu, tau):
        """The covariance in repeated measurements, and that of the penalised likelihood."""
        _, information = self.derivatives(mu, tau)
        penalised = np.linalg.inv(information + tau * self.squares)
        return penalised @ information @ penalised, penalised

    def mean_correlation(self, tau):
        covariance, _ = self.covariances(self.solve(tau), tau)
        return np.mean(global_correlations(covariance))

    def curvature(self, log_tau, step=1e-2):
        """The curvature of (ln chi2, ln roughness), by finite differences along ln tau."""
        curve = []
        for k in (-1, 0, 1):
            mu = self.solve(np.exp(log_tau + k * step))
            curve.append((np.log(self.deviance(mu)), np.log(self.roughness(mu))))
        (x0, y0), (x1, y1), (x2, y2) = curve
        dx, dy = (x2 - x0) / (2 * step), (y2 - y0) / (2 * step)
        ddx, ddy = (x0 - 2 * x1 + x2) / step**2, (y0 - 2 * y1 + y2) / step**2
        return (dx * ddy - ddx * dy) / np.hypot(dx, dy) ** 3


def global_correlations(covariance):
    return np.sqrt(1.0 - 1.0 / (np.diag(covariance) * np.diag(np.linalg.inv(covariance))))


def column(result, key):
    return np.array([np.nan if entry[key] is None else entry[key] for entry in result.truth])


@pytest.mark.parametrize("seed", range(4))
def test_a_square_response_is_inverted(seed):
    response, background, data = problem(5, 5, seed)
    result = nextstat.unfold(workspace(response, background, data), "t_*")
    exact = np.linalg.solve(response, data - background)
    assert np.all(response @ exact + background > 0)
    assert column(result, "value") == pytest.approx(exact, abs=1e-8)
    inverse = np.linalg.inv(response)
    covariance = inverse @ np.diag(data) @ inverse.T
    assert np.array(result.covariance) == pytest.approx(covariance, rel=1e-7, abs=1e-9)
    assert column(result, "global_correlation") == pytest.approx(global_correlations(covariance), abs=1e-7)
    assert result.chi2 == pytest.approx(0.0, abs=1e-9)


@pytest.mark.filterwarnings("ignore:the bottom-line test fails")
@pytest.mark.parametrize("kind", ["none", "tikhonov", "curvature"])
@pytest.mark.parametrize("seed", range(3))
def test_the_fit_is_the_minimum_of_the_penalised_likelihood(kind, seed):
    response, background, data = problem(6, 12, seed)
    peer = Peer(response, background, data, kind)
    spec = workspace(response, background, data)
    for tau in [0.0] if kind == "none" else [0.3, 20.0, 2000.0]:
        options = {} if kind == "none" else {"regularisation": kind, "tau": tau}
        result = nextstat.unfold(spec, "t_*", **options)
        mu = peer.solve(tau)
        assert column(result, "value") == pytest.approx(mu, abs=1e-6)
        covariance, penalised = peer.covariances(mu, tau)
        assert np.array(result.covariance) == pytest.approx(covariance, rel=1e-5, abs=1e-9)
        assert np.array(result.covariance_penalised) == pytest.approx(penalised, rel=1e-5, abs=1e-9)
        assert column(result, "global_correlation") == pytest.approx(global_correlations(covariance), abs=1e-5)
        assert result.chi2 == pytest.approx(peer.deviance(mu), abs=1e-6)
        assert result.roughness == pytest.approx(peer.roughness(mu) if kind != "none" else 0.0, abs=1e-6)
        line = result.bottom_line
        assert line.folded.chi2 == pytest.approx(peer.deviance(np.ones(6)), abs=1e-6)
        assert line.unfolded.chi2 == pytest.approx((mu - 1) @ np.linalg.inv(covariance) @ (mu - 1), rel=1e-4)
        # The bias is that of the data expected at the unfolded factors.
        again = Peer(response, background, response @ mu + background, kind).solve(tau)
        assert column(result, "bias") == pytest.approx(again - mu, abs=1e-6)


@pytest.mark.parametrize("choice", ["l-curve", "correlation"])
@pytest.mark.parametrize("kind, seed", [("tikhonov", 0), ("curvature", 0), ("curvature", 1)])
def test_the_strength_is_that_of_a_scan(kind, seed, choice):
    response, background, data = problem(8, 16, seed, events=1500.0)
    peer = Peer(response, background, data, kind)
    quality = {"l-curve": lambda x: -peer.curvature(x), "correlation": lambda x: peer.mean_correlation(np.exp(x))}[choice]
    spec = workspace(response, background, data)
    result = nextstat.unfold(spec, "t_*", regularisation=kind, tau=choice, tau_range=(0.1, 1000.0), points=31)
    grid = np.log([point.tau for point in result.scan])
    assert grid == pytest.approx(np.linspace(np.log(0.1), np.log(1000.0), 31))
    values = np.array([quality(x) for x in grid])
    found = np.array([point.mean_correlation if choice == "correlation" else -point.curvature for point in result.scan])
    assert found == pytest.approx(values, rel=2e-3, abs=2e-4)
    peaks = [k for k in range(1, 30) if values[k] <= values[k - 1] and values[k] <= values[k + 1]]
    k = min(peaks, key=lambda k: values[k])
    refined = minimize_scalar(quality, bounds=(grid[k - 1], grid[k + 1]), method="bounded", options={"xatol": 1e-5})
    assert np.log(result.tau) == pytest.approx(refined.x, abs=5e-3)
    assert quality(np.log(result.tau)) <= refined.fun + 1e-5
    assert column(result, "value") == pytest.approx(peer.solve(result.tau), abs=1e-6)


def test_nuisance_parameters_are_those_of_pyhf():
    import json

    import iminuit
    import pyhf

    spec = json.loads(FIXTURE.read_text())
    model = pyhf.Workspace(spec).model(poi_name=None)
    data = pyhf.Workspace(spec).data(model)
    names = model.config.par_names
    truth = [names.index(f"truth_{i}") for i in range(10)]
    rows = np.diff(np.eye(10), 2, axis=0)
    tau = 5.0

    def penalised(parameters):
        penalty = 0.5 * tau * np.sum((rows @ (np.asarray(parameters)[truth] - 1.0)) ** 2)
        return -float(model.logpdf(parameters, data)[0]) + penalty

    result = nextstat.unfold(FIXTURE, "truth_*", regularisation="curvature", tau=tau)
    fit = iminuit.Minuit(penalised, np.array(model.config.suggested_init()), name=names)
    fit.errordef, fit.limits, fit.strategy, fit.tol = 0.5, model.config.suggested_bounds(), 2, 1e-4
    fit.migrad(ncall=100_000)
    fit.hesse()
    assert fit.valid
    values, covariance = np.array(fit.values), np.array(fit.covariance)[np.ix_(truth, truth)]
    assert column(result, "value") == pytest.approx(values[truth], abs=2e-4)
    assert column(result, "uncertainty_penalised") == pytest.approx(np.sqrt(np.diag(covariance)), rel=5e-3)
    sampling = covariance - tau * covariance @ rows.T @ rows @ covariance
    assert column(result, "uncertainty") == pytest.approx(np.sqrt(np.diag(sampling)), rel=1e-2)
    # HESSE takes differences of the likelihood, which have errors of some 1e-3.
    assert column(result, "global_correlation") == pytest.approx(global_correlations(sampling), abs=1e-2)
    # The unfolded point is not above the minimum that iminuit found.
    point = result.twice_nll / 2 + 0.5 * tau * result.roughness
    assert point <= fit.fval + 1e-6 and point == pytest.approx(fit.fval, abs=1e-4)


def test_results_are_yields_tables_and_pictures(tmp_path):
    result = nextstat.unfold(FIXTURE, "truth_*", prediction=TRUTH, regularisation="curvature", toys=100, seed=1)
    assert result.converged and result.tau_from == "l-curve" and len(result.edges) == 11
    assert column(result, "unfolded") == pytest.approx(column(result, "value") * column(result, "prediction"))
    assert column(result, "unfolded_uncertainty") == pytest.approx(column(result, "uncertainty") * column(result, "prediction"))
    assert result.bottom_line.passed is True
    assert result.bottom_line.unfolded.chi2 <= result.bottom_line.folded.chi2
    assert result.toys.n_toys == 100 and result.truth[0].toys.coverage is not None
    frame = result.to_pandas()
    assert list(frame["toys_coverage"]) == [entry.toys.coverage for entry in result.truth] and "toys" not in frame
    assert list(frame["name"]) == [f"truth_{i}" for i in range(10)]
    assert "truth\\_3" in result.to_latex() and "truth\\_3" in result.to_markdown() and "truth_3" in result.to_csv()
    for picture in (result.plot(tmp_path / "unfolded.svg", log=True), result.plot_strengths(tmp_path / "curve.svg")):
        assert "<svg" in picture.svg
    import pickle

    again = pickle.loads(pickle.dumps(result))
    assert again.to_dict() == result.to_dict() and again.plot().svg == result.plot().svg
    assert nextstat.draw(result, tmp_path / "again.svg").svg == result.plot().svg


def test_wrong_arguments_are_named():
    for arguments, text in [
        ({"truth": "nothing_*"}, "no parameter matches"),
        ({"truth": "truth_*", "tau": 1.0}, "there is none"),
        ({"truth": "truth_*", "regularisation": "smooth"}, "unknown regularisation"),
        ({"truth": "truth_*", "regularisation": "tikhonov", "tau": "best"}, "unknown strength"),
        ({"truth": "truth_*", "prediction": [1.0, 2.0]}, "2 yields for 10 truth bins"),
        ({"truth": "truth_*", "prediction": {"edge": []}}, "unknown field"),
        ({"truth": "truth_*", "toys_at": "nowhere"}, "unknown point"),
    ]:
        with pytest.raises(ValueError, match=text):
            nextstat.unfold(FIXTURE, **arguments)
    with pytest.raises(ValueError, match="no strengths were scanned"):
        nextstat.unfold(FIXTURE, "truth_*").plot_strengths()


def test_the_example_of_roounfold():
    """T. Adye, arXiv:1105.1160: trained on a Breit-Wigner distribution (mean 0.3, width 2.5), measured from a normal one (0, 2), in 40
    bins, with a bias of -2.5, a resolution of 0.2 and an efficiency that rises from 0.3 to 1. RooUnfold shows its result as a picture:
    the truth within the errors."""
    random = np.random.default_rng(12)
    edges = np.linspace(-10.0, 10.0, 41)

    def measured(x):
        kept = random.random(len(x)) <= 0.3 + 0.7 / 20.0 * (x + 10.0)
        return x[kept], x[kept] + random.normal(-2.5, 0.2, kept.sum())

    training, sample = 0.3 + 1.25 * random.standard_cauchy(100_000), random.normal(0.0, 2.0, 10_000)
    training = training[np.abs(training) < 10.0]
    true, seen = measured(training)
    response = np.histogram2d(seen, true, [edges, edges])[0] / 10.0
    prediction = np.histogram(training, edges)[0] / 10.0
    truth, data = np.histogram(sample, edges)[0], np.histogram(measured(sample)[1], edges)[0]
    # Nothing is measured of the first truth bins, whose events are moved out of the range.
    columns = response.sum(axis=0) > 1.0
    response = response[:, columns]
    rows = response.sum(axis=1) > 0.0
    assert columns.sum() == 36 and data[~rows].sum() == 0
    document = workspace(response[rows], np.zeros(rows.sum()), data[rows])
    for setting in document["measurements"][0]["config"]["parameters"]:
        setting["bounds"] = [[0.0, 50.0]]

    def unfolded(**options):
        result = nextstat.unfold(document, "t_*", prediction=list(prediction[columns]), **options)
        assert result.converged
        bins = result.to_dict()["truth"]
        found = np.array([bin["unfolded"] for bin in bins])
        error = np.array([bin["unfolded_uncertainty"] or np.nan for bin in bins])
        return found, error, (found - truth[columns]) / error

    with warnings.catch_warnings():
        # Bins at the ends have a factor at its bound 0.
        warnings.simplefilter("ignore")
        plain, plain_error, pulls = unfolded()
        smooth, smooth_error, smooth_pulls = unfolded(regularisation="curvature", tau="l-curve")
    assert np.sqrt(np.nanmean(pulls**2)) < 1.2 and np.sqrt(np.nanmean(smooth_pulls**2)) < 1.4
    # With the penalty, errors and differences from the truth are smaller.
    assert np.nanmedian(smooth_error) < 0.6 * np.nanmedian(plain_error)
    deviation = [np.sqrt(np.mean((found - truth[columns]) ** 2)) for found in (plain, smooth)]
    assert deviation[1] < 0.7 * deviation[0]
