"""Weights of simulated events that follow nuisance parameters, against formulas in NumPy event by event."""

import json

import nextstat
import numpy as np
import pytest
from nextstat import build

CODES = ("code0", "code2", "code4p")


def curved(code, alpha):
    """The function f of a code, also for complex alpha near the real axis."""
    size = alpha if np.real(alpha) >= 0 else -alpha
    if code == "code0":
        return size
    if code == "code2":
        return alpha**2 if abs(np.real(alpha)) <= 1 else 2 * size - 1
    if abs(np.real(alpha)) >= 1:
        return size
    return (3 * alpha**6 - 10 * alpha**4 + 15 * alpha**2) / 8


def varied(weights, responses, code, alphas):
    """The weights of all events at a point."""
    total = weights.astype(complex)
    for (up, down), alpha in zip(responses, alphas, strict=True):
        total = total + alpha * (up - down) / 2 + curved(code, alpha) * ((up + down) / 2 - weights)
    return total


def heights(sample, weights, edges):
    index = np.clip(np.searchsorted(edges, sample, side="right") - 1, 0, len(edges) - 2)
    contents = np.zeros(len(edges) - 1, dtype=complex)
    np.add.at(contents, index, weights)
    return contents / np.diff(edges)


class Case:
    """A random model: one template with up to four responses on a flat background, with weighted data."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.code = CODES[seed % 3]
        self.acts_on = [("shape", "yield"), ("shape",), ("yield",)][(seed // 3) % 3]
        self.axis = (0.0, 10.0)
        # The bins reach beyond the axis of the data, and do not end where it does.
        self.edges = np.sort(np.concatenate([[-1.3, 11.0], rng.uniform(0, 10, rng.integers(2, 9))]))
        n = int(rng.integers(50, 400))
        self.sample = np.clip(rng.normal(5, 2.5, n), -1.29, 10.99)
        self.weights = rng.uniform(0.2, 2, n)
        k = int(rng.integers(1, 5))
        self.responses = [
            (self.weights * rng.uniform(0.8, 1.4, n), self.weights * rng.uniform(0.7, 1.2, n)) for _ in range(k)
        ]
        self.data = rng.uniform(0, 10, 300)
        self.data_weights = rng.uniform(0.5, 1.5, 300) if seed % 2 else np.ones(300)
        self.point = np.concatenate([rng.uniform(0.5, 2, 1), rng.uniform(100, 300, 1), rng.uniform(-2, 2, k)])
        m = build.ModelBuilder("random")
        x = m.observable("x", *self.axis)
        mu, b = m.parameter("mu", 1, 0, 10), m.parameter("b", 200, 0, 2000)
        alphas = [m.nuisance(f"alpha_{i}") for i in range(k)]
        signal = m.template(
            "signal", x, self.sample, self.edges, self.weights, dict(zip(alphas, self.responses, strict=True)),
            interpolation=self.code, acts_on=self.acts_on,
        )
        events = {"x": self.data, "weights": self.data_weights}
        m.channel("SR", {signal: 120 * mu, m.uniform("flat", x): b}, data=events)
        m.interest(mu)
        self.builder = m
        self.model = m.model()
        self.names = ["mu", "b", *(f"alpha_{i}" for i in range(k))]

    def in_order(self, values):
        named = dict(zip(self.names, values, strict=True))
        return np.array([named[name] for name in self.model.parameter_names])

    def nll(self, point):
        mu, b, *alphas = point
        low, high = self.axis
        widths = np.clip(np.minimum(self.edges[1:], high) - np.maximum(self.edges[:-1], low), 0, None)
        nominal = heights(self.sample, self.weights, self.edges)
        moved = heights(self.sample, varied(self.weights, self.responses, self.code, alphas), self.edges)
        shape = moved if "shape" in self.acts_on else nominal
        factor = (moved * widths).sum() / (nominal * widths).sum() if "yield" in self.acts_on else 1.0
        density = shape / (shape * widths).sum()
        index = np.clip(np.searchsorted(self.edges, self.data, side="right") - 1, 0, len(density) - 1)
        rate = 120 * mu * factor
        total = rate * density[index] + b / (high - low)
        constraint = sum(0.5 * alpha**2 + 0.5 * np.log(2 * np.pi) for alpha in alphas)
        return rate + b - (self.data_weights * np.log(total)).sum() + constraint

    def gradient(self, point):
        step = 1e-30
        return np.array([
            np.imag(self.nll(point + 1j * step * np.eye(len(point))[i])) / step for i in range(len(point))
        ])


@pytest.mark.parametrize("seed", range(36))
def test_value_gradient_and_curvature_are_those_of_numpy(seed):
    case = Case(seed)
    at = case.in_order(case.point)
    assert case.model.nll(at) == pytest.approx(float(np.real(case.nll(case.point))), rel=1e-12)
    right = case.gradient(case.point)
    np.testing.assert_allclose(case.model.grad_nll(at), case.in_order(right), rtol=1e-9, atol=1e-9 * np.abs(right).max())
    h = 1e-5
    rows = [
        (case.gradient(case.point + h * e) - case.gradient(case.point - h * e)) / (2 * h) for e in np.eye(len(case.point))
    ]
    order = [case.names.index(name) for name in case.model.parameter_names]
    right = np.array(rows)[np.ix_(order, order)]
    np.testing.assert_allclose(case.model.hessian(at), right, rtol=2e-6, atol=2e-6 * np.abs(right).max())


@pytest.mark.parametrize("seed", range(0, 36, 3))
def test_fits_end_at_the_minimum_that_numpy_knows(seed):
    from scipy.optimize import minimize

    case = Case(seed)
    result = nextstat.fit(case.model)
    assert result.converged
    best = [result.value(name) for name in case.names]
    bounds = [(0, 10), (0, 2000)] + [(-5, 5)] * (len(best) - 2)
    for start in (best, case.point, [1, 200] + [0.01] * (len(best) - 2)):
        start = np.clip(start, [low for low, _ in bounds], [high for _, high in bounds])

        def value(point):
            try:
                with np.errstate(all="ignore"):
                    number = float(np.real(case.nll(point)))
            except ValueError:
                return 1e9
            return number if np.isfinite(number) else 1e9

        other = minimize(value, start, method="Nelder-Mead", bounds=bounds, options={"maxiter": 400})
        assert result.twice_nll <= 2 * other.fun + 1e-6


def test_one_sided_weights_with_a_kink_are_fitted():
    rng = np.random.default_rng(5)
    sample = rng.normal(5, 1, 2000).clip(0, 10)
    up = np.where(sample > 5, 1.5, 0.9)
    at_kink = 0
    for seed in range(12):
        data = np.random.default_rng(seed).normal(4.8 + 0.04 * seed, 1, 400).clip(0, 10)
        m = build.ModelBuilder()
        x = m.observable("x", 0, 10)
        mu, alpha = m.parameter("mu", 1, 0, 10), m.nuisance("alpha")
        shape = m.template("signal", x, sample, np.linspace(0, 10, 21), np.ones(2000), {alpha: (up, np.ones(2000))}, "code0")
        m.channel("SR", {shape: 400 * mu, m.uniform("flat", x): m.parameter("b", 10, 0, 100)}, data=data)
        m.interest(mu)
        model = m.model()
        result = nextstat.fit(model)
        assert result.converged, seed
        best = np.array([result.value(name) for name in model.parameter_names])
        place = model.parameter_names.index("alpha")
        at_kink += best[place] == 0
        for move in (-0.5, -0.05, -1e-3, 1e-3, 0.05, 0.5):
            beside = best.copy()
            beside[place] += move
            assert model.nll(beside) >= model.nll(best) - 1e-9
    assert 0 < at_kink < 12
    # At the kink of Asimov data both slopes vanish, and the curvature differs between the sides.
    result = nextstat.fit(model, asimov=True)
    assert result.at_kink == ["alpha"] and result.uncertainty("alpha") is None
    assert result.crossings["alpha"].upper != pytest.approx(-result.crossings["alpha"].lower, rel=0.1)


def analysed():
    rng = np.random.default_rng(11)
    sample = rng.normal(125, 2, 3000).clip(110, 140)
    weights = rng.uniform(0.5, 1.5, 3000)
    tilt = 1 + 0.02 * (sample - 125)
    m = build.ModelBuilder("search")
    x = m.observable("m", 110, 140)
    mu, b = m.parameter("mu", 1, 0, 10), m.parameter("b", 500, 0, 5000)
    scale, pile_up = m.nuisance("scale"), m.nuisance("pile_up")
    responses = {scale: (weights * tilt, weights / tilt), pile_up: (weights * 1.1, weights * 0.92)}
    signal = m.template("signal", x, sample, np.linspace(110, 140, 31), weights, responses)
    data = np.concatenate([rng.normal(125, 2, 70), rng.uniform(110, 140, 500)])
    m.channel("SR", {signal: 60 * mu, m.uniform("flat", x): b}, data=data)
    m.interest(mu)
    return m


def test_all_analyses_run():
    model = analysed().model()
    result = nextstat.fit(model)
    assert result.converged
    ranking = nextstat.ranking(model)
    assert {entry["name"] for entry in ranking.ranking} == {"b", "scale", "pile_up"}
    scan = nextstat.profile_scan(model, param="mu", points=5)
    assert len(scan.mu_values) >= 5 and all(scan.converged)
    assert 0 <= nextstat.hypotest(model, 2.0).cls <= 1
    assert nextstat.upper_limit(model).observed > result.value("mu")
    toys = nextstat.fit_toys(model, n_toys=20, seed=1)
    assert toys.n_toys == 20
    yields = nextstat.yields(model, result)
    assert [s["name"] for s in yields.channels[0]["samples"]] == ["signal", "flat"]


def test_the_yield_follows_the_weights():
    model = analysed().model()
    for value, factor in ((0, 1), (1, 1.1), (-1, 0.92), (2, 1.2), (-3, 0.76)):
        held = {"pile_up": value, "scale": 0, "mu": 1}
        result = nextstat.fit(model, fixed=held)
        signal = nextstat.yields(model, result).channels[0]["samples"][0]
        # A common factor of all weights changes the yield alone.
        assert signal["sum"] == pytest.approx(60 * factor, rel=1e-10)


def test_documents_are_written_and_read_back(tmp_path):
    path = tmp_path / "search.hs3.json"
    builder = analysed()
    builder.write(path)
    model, again = builder.model(), nextstat.load_workspace(path)
    assert nextstat.fit(again).twice_nll == nextstat.fit(model).twice_nll
    assert json.loads(path.read_text())["distributions"][2]["type"] == "nextstat.template_dist"


def test_events_of_templates_come_from_files(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    rng = np.random.default_rng(2)
    sample, weights = rng.normal(5, 1, 500).clip(0, 10), rng.uniform(0.5, 1.5, 500)
    columns = {"m": sample, "w": weights, "w_up": weights * 1.1, "w_down": weights * (1 - 0.03 * sample)}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "signal.parquet")

    def model(in_file):
        m = build.ModelBuilder()
        x, mu, alpha = m.observable("x", 0, 10), m.parameter("mu", 1, 0, 10), m.nuisance("alpha")
        edges = np.linspace(0, 10, 11)
        if in_file:
            file = build.EventFile("signal.parquet", {"x": "m"}, "w", [("m", ">=", 0)])
            shape = m.template("signal", x, file, edges, responses={alpha: ("w_up", "w_down")})
        else:
            pair = (columns["w_up"], columns["w_down"])
            shape = m.template("signal", x, sample, edges, weights, {alpha: pair})
        m.channel("SR", {shape: 100 * mu}, data=np.linspace(3.1, 6.9, 80))
        m.interest(mu)
        return m

    model(True).write(tmp_path / "model.json")
    with pytest.raises(ValueError, match="write the model, and load its file"):
        model(True).model()
    read, built = nextstat.load_workspace(tmp_path / "model.json"), model(False).model()
    assert nextstat.fit(read).twice_nll == pytest.approx(nextstat.fit(built).twice_nll, abs=1e-9)
    text = json.loads((tmp_path / "model.json").read_text())
    text["distributions"][1]["responses"][0]["up"] = "w_upp"
    (tmp_path / "wrong.json").write_text(json.dumps(text))
    with pytest.raises(nextstat.WorkspaceError, match="w_upp"):
        nextstat.load_workspace(tmp_path / "wrong.json")


def test_the_builder_refuses_wrong_responses():
    m = build.ModelBuilder()
    x, alpha = m.observable("x", 0, 10), m.nuisance("alpha")
    with pytest.raises(ValueError, match="must be one of code0, code2, code4p, not 'code1'"):
        m.template("a", x, [1.0], [0, 10], interpolation="code1")
    with pytest.raises(ValueError, match="'up' of the response of 'b' to 'alpha' must be a number per event"):
        m.template("b", x, [1.0], [0, 10], responses={alpha: ("up", "down")})
