"""Spurious signals against fits whose expected logarithms are integrals, in SciPy."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from scipy import optimize, stats

import nextstat

FOLDER = Path(__file__).resolve().parents[2] / "tests/fixtures/hs3"
TESTED, OTHER = FOLDER / "exponential.hs3.json", FOLDER / "power.hs3.json"
LOW, HIGH, SIGMA = 100.0, 150.0, 1.5

# Gauss-Legendre nodes on many short pieces: enough for the narrow signal at any place.
_X, _W = np.polynomial.legendre.leggauss(12)
EDGES = np.linspace(LOW, HIGH, 201)
HALF = 0.5 * np.diff(EDGES)[:, None]
NODES = (0.5 * (EDGES[:-1] + EDGES[1:])[:, None] + HALF * _X).ravel()
WEIGHTS = (HALF * _W).ravel()


def normalised(values):
    return values / np.sum(WEIGHTS * values)


def exponential(slope):
    return normalised(np.exp(-slope * (NODES - LOW)))


def power_law(power):
    return normalised((NODES / 100.0) ** -power)


def expected():
    """The power law, fitted to the events of its file: its density times the number of events."""
    events = np.array(json.loads(OTHER.read_text())["data"][0]["entries"]).ravel()
    # The normalisation is an integral of the power itself.
    integral = lambda a: (HIGH ** (1 - a) - LOW ** (1 - a)) / (1 - a) * 100.0**a
    nll = lambda a: a * np.sum(np.log(events / 100.0)) + len(events) * np.log(integral(a))
    power = optimize.minimize_scalar(nll, bounds=(1.5, 10.0), method="bounded", options={"xatol": 1e-10}).x
    return len(events) * power_law(power)


def peer(mass, density):
    """Fits signal and background to expected data. Returns the strength and its uncertainty."""
    signal = normalised(stats.norm.pdf(NODES, mass, SIGMA))

    def nll(parameters):
        strength, background, slope = parameters * np.array([1.0, 100.0, 0.01])
        mean = strength * signal + background * exponential(slope)
        if np.any(mean <= 0):
            return 1e10
        return strength + background - np.sum(WEIGHTS * density * np.log(mean))

    start = np.array([0.0, 10.0, 3.0])
    found = optimize.minimize(nll, start, method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-11, "maxiter": 20_000, "maxfev": 20_000})
    best = found.x
    step = np.array([2.0, 0.1, 0.05])
    hessian = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            shift = lambda a, b: nll(best + a * step * np.eye(3)[i] + b * step * np.eye(3)[j])
            hessian[i, j] = (shift(1, 1) - shift(1, -1) - shift(-1, 1) + shift(-1, -1)) / (4 * step[i] * step[j])
    return best[0], np.sqrt(np.linalg.inv(hessian)[0, 0])


@pytest.fixture(scope="module")
def result():
    return nextstat.spurious_signal(TESTED, {"power": OTHER, "same": TESTED}, "mass", points=9)


def test_strengths_are_those_of_expected_logarithms(result):
    assert result.converged and not result.warnings
    density = expected()
    power, same = result.backgrounds
    assert power.n_events == pytest.approx(1000.0, abs=1e-3)
    for k in (0, 3, 6, 8):
        strength, uncertainty = peer(result.places[k], density)
        assert power.strength[k] == pytest.approx(strength, abs=2e-3 * uncertainty)
        assert power.uncertainty[k] == pytest.approx(uncertainty, rel=3e-3)
    assert np.max(np.abs(np.array(same.strength) / np.array(same.uncertainty))) < 1e-3


def test_the_largest_are_those_of_the_places(result):
    power = result.backgrounds[0]
    ratio = np.array(power.strength) / np.array(power.uncertainty)
    assert power.largest_ratio.ratio == pytest.approx(ratio[np.argmax(np.abs(ratio))])
    assert result.largest_ratio == pytest.approx(np.max(np.abs(ratio)))
    assert result.spurious_signal == pytest.approx(np.max(np.abs(power.strength)))
    assert result.passed == (result.largest_ratio <= 0.2)
    again = pickle.loads(pickle.dumps(result))
    assert again.to_dict() == result.to_dict() and again.plot().svg == result.plot().svg


def test_a_background_without_the_signal_has_a_warning():
    document = json.loads(OTHER.read_text())
    document["distributions"] = [part for part in document["distributions"] if part["name"] != "signal"]
    document["distributions"][-1].update(summands=["background"], coefficients=["n_background"])
    values = document["parameter_points"][0]["parameters"]
    document["parameter_points"][0]["parameters"] = [v for v in values if v["name"] in ("n_background", "power")]
    document["analyses"][0]["parameters_of_interest"] = []
    with pytest.warns(UserWarning, match="narrow signals may be integrated badly"):
        nextstat.spurious_signal(TESTED, {"bare": document}, "mass", points=3)
