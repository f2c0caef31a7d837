"""Factors that are functions of parameters, against the same likelihood written in NumPy and minimised by MINUIT."""

import json
import pathlib

import nextstat
import numpy as np
import pytest

FIXTURES = pathlib.Path(__file__).resolve().parents[1] / "fixtures"


class Likelihood:
    """A binned likelihood with functions of parameters as factors; the constants are those of nextstat's nll."""

    def __init__(self, names, init, bounds, constraints, yields, counts):
        self.names, self.init, self.bounds = names, np.array(init, float), bounds
        self.constraints, self.yields, self.counts = constraints, yields, np.array(counts, float)

    def expected(self, point):
        return np.array(self.yields(dict(zip(self.names, point))))

    def twice_nll(self, point):
        from scipy.special import gammaln

        expected = self.expected(point)
        if np.any(expected <= 0):
            return 1e12 * (1 - expected.min())
        total = np.sum(expected - self.counts * np.log(expected) + gammaln(self.counts + 1))
        for name, (datum, sigma) in self.constraints.items():
            pull = (point[self.names.index(name)] - datum) / sigma
            total += 0.5 * pull**2 + np.log(sigma * np.sqrt(2 * np.pi))
        return 2 * total

    def minimum(self):
        """The lowest minimum of MINUIT from several starts."""
        from iminuit import Minuit

        rng = np.random.default_rng(7)
        starts = [self.init] + [rng.uniform(*np.array(self.bounds).T) for _ in range(12)]
        best = None
        for start in starts:
            fit = Minuit(lambda x: self.twice_nll(x), start, name=self.names)
            fit.errordef, fit.limits, fit.strategy, fit.tol = 1.0, self.bounds, 2, 1e-6
            fit.migrad(ncall=100_000)
            fit.migrad(ncall=100_000)
            if np.isfinite(fit.fval) and (best is None or fit.fval < best.fval):
                best = fit
        return best


def workspace(likelihood, channels, poi):
    """Samples are triples of name, yields and functions: pairs of name and expression, or expressions by bin."""

    def modifier(name, text):
        data = {"expression": text} if isinstance(text, str) else {"expressions": text}
        return {"name": name, "type": "function", "data": data}

    def settings(name, init, bounds):
        own = {"name": name, "inits": [init], "bounds": [list(bounds)]}
        if name in likelihood.constraints:
            datum, sigma = likelihood.constraints[name]
            own |= {"auxdata": [datum], "sigmas": [sigma]}
        return own

    counts = iter(likelihood.counts)
    built, observations = [], []
    for channel, samples in channels.items():
        built.append(
            {
                "name": channel,
                "samples": [
                    {"name": name, "data": data, "modifiers": [modifier(*function) for function in functions]}
                    for name, data, functions in samples
                ],
            }
        )
        observations.append({"name": channel, "data": [next(counts) for _ in samples[0][1]]})
    parameters = [settings(*entry) for entry in zip(likelihood.names, likelihood.init.tolist(), likelihood.bounds)]
    config = {"poi": poi, "parameters": parameters}
    return {
        "channels": built,
        "observations": observations,
        "measurements": [{"name": "m", "config": config}],
        "version": "1.0.0",
    }


def eft(seed):
    """A random model with quadratic yields in two couplings, an interference sample and a rate uncertainty."""
    rng = np.random.default_rng(seed)
    a, b, c, d = np.round(rng.uniform(-0.4, 0.4, 4), 3)
    s1, s2 = np.round(rng.uniform(0.05, 0.3, 2), 3)
    signal, mixed = np.round(rng.uniform(5, 30, 4), 2), np.round(rng.uniform(-3, 1, 4), 2)
    background = np.round(rng.uniform(20, 80, 4), 2)
    growth = np.round(rng.uniform(0.0, 0.2, 4), 3)

    def yields(p):
        rate = 1 + a * p["c1"] + b * p["c2"] + s1 * p["c1"] ** 2 + s2 * p["c2"] ** 2 + c * p["c1"] * p["c2"]
        return signal * rate * (1 + growth * p["c2"] ** 2) + mixed * p["c1"] + background * np.exp(0.1 * p["t"]) + d * mixed

    names, bounds = ["c1", "c2", "t"], [(-6.0, 6.0), (-4.0, 4.0), (-5.0, 5.0)]
    truth = dict(zip(names, rng.uniform(-1.5, 1.5, 3)))
    counts = rng.poisson(np.maximum(np.array(yields(truth)), 3.0))
    likelihood = Likelihood(names, [0.1, 0.1, 0.0], bounds, {"t": (0.0, 1.0)}, yields, counts)
    rate = f"1 + ({a})*c1 + ({b})*c2 + {s1}*c1^2 + {s2}*c2^2 + ({c})*c1*c2"
    samples = [
        ("signal", signal.tolist(), [("rate", rate), ("growth", [f"1 + {g}*c2^2" for g in growth])]),
        ("interference", mixed.tolist(), [("linear", f"c1 + ({d})")]),
        ("background", background.tolist(), [("tilt", "exp(0.1*t)")]),
    ]
    return likelihood, workspace(likelihood, {"SR": samples}, "c1")


def abcd(seed):
    """A random background from control regions, with a correction that a nuisance parameter moves."""
    rng = np.random.default_rng(100 + seed)
    regions = np.round(rng.uniform([30, 60, 200], [80, 150, 600]))
    shares, efficiency = [0.6, 0.4], np.round(rng.uniform(2, 8, 2), 2)

    def yields(p):
        background = p["b"] * p["c"] / p["d"] * (1 + 0.15 * p["t"])
        return [s * background + p["mu"] * e for s, e in zip(shares, efficiency)] + [p["b"], p["c"], p["d"]]

    names = ["mu", "b", "c", "d", "t"]
    init = [1.0, *regions, 0.0]
    bounds = [(0.0, 10.0)] + [(1.0, 20 * x) for x in regions] + [(-5.0, 5.0)]
    counts = rng.poisson(yields(dict(zip(names, init))))
    likelihood = Likelihood(names, init, bounds, {"t": (0.0, 1.0)}, yields, counts)
    channels = {
        "A": [
            ("background", shares, [("transfer", "b*c/d"), ("closure", "1 + 0.15*t")]),
            ("signal", efficiency.tolist(), [("strength", "mu*1")]),
        ],
        **{name.upper(): [("background", [1.0], [(f"n_{name}", name)])] for name in "bcd"},
    }
    return likelihood, workspace(likelihood, channels, "mu")


CASES = [(eft, seed) for seed in range(5)] + [(abcd, seed) for seed in range(3)]


@pytest.mark.parametrize("make, seed", CASES, ids=lambda x: getattr(x, "__name__", str(x)))
def test_fits_are_those_of_minuit(make, seed):
    pytest.importorskip("iminuit")
    likelihood, document = make(seed)
    fit = nextstat.fit(document, derived={"twice": f"2*{likelihood.names[0]}"})
    assert fit.converged
    values = dict(zip(fit.parameter_names, fit.bestfit))
    point = [values[name] for name in likelihood.names]
    assert abs(likelihood.twice_nll(point) - fit.twice_nll) < 1e-8 * (1 + abs(fit.twice_nll))
    best = likelihood.minimum()
    assert fit.twice_nll < best.fval + 1e-6
    assert fit.twice_nll > best.fval - 1e-3
    assert abs(fit.derived["twice"]["value"] - 2 * point[0]) < 1e-12


@pytest.mark.parametrize("make, seed", [(eft, 0), (abcd, 0)], ids=lambda x: getattr(x, "__name__", str(x)))
def test_uncertainties_are_those_of_differences(make, seed):
    likelihood, document = make(seed)
    model = nextstat.load_workspace(document)
    names = model.parameter_names
    order = [likelihood.names.index(name) for name in names]
    point = np.array(likelihood.init)[order] + 0.05

    def twice(x):
        values = dict(zip(names, x))
        return likelihood.twice_nll([values[name] for name in likelihood.names])

    fit = nextstat.fit(model)
    at = np.array(fit.bestfit)
    n, step = len(names), 1e-4 * np.maximum(1, np.abs(at))
    hessian = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            e, f = np.eye(n)[i] * step[i], np.eye(n)[j] * step[j]
            corners = twice(at + e + f) - twice(at + e - f) - twice(at - e + f) + twice(at - e - f)
            hessian[i, j] = 0.5 * corners / (4 * step[i] * step[j])
    sigma = np.sqrt(np.diag(np.linalg.inv(hessian)))
    assert np.allclose(np.array(fit.uncertainties, float), sigma, rtol=2e-3)
    assert abs(2 * model.nll(point) - twice(point)) < 1e-8 * abs(twice(point))


def test_derived_quantities_of_the_fixtures():
    fit = nextstat.fit(str(FIXTURES / "abcd.json"), derived={"background": "n_B*n_C/n_D"}, derived_profile=True)
    background = fit.derived["background"]
    assert background["expression"] == "n_B*n_C/n_D"
    assert abs(background["value"] - 10.0) < 0.1
    interval = background["interval"]
    assert interval["lower"] < 0 < interval["upper"]
    # The Poisson counts make the upper side longer.
    assert interval["upper"] > -interval["lower"] > 0.8 * background["uncertainty"]
    with pytest.raises(ValueError, match="the model has no parameter 'n_E'"):
        nextstat.fit(str(FIXTURES / "abcd.json"), derived={"x": "n_E"})


def test_pyhf_refuses_functions():
    pyhf = pytest.importorskip("pyhf")
    document = json.loads((FIXTURES / "eft.json").read_text())
    with pytest.raises(pyhf.exceptions.InvalidSpecification):
        pyhf.Workspace(document)
    # Without its schema too.
    with pytest.raises(Exception):
        pyhf.Workspace(document, validate=False).model(validate=False)
