"""Convolutions of any two densities, the Landau density, and rates of the whole axis, with the builder."""

from __future__ import annotations

import nextstat
import numpy as np
import pytest
from nextstat import build

AXIS = (-10.0, 30.0)


def straggling(n=1500, seed=3):
    """A model of a Landau density with a resolution, and its events."""
    rng = np.random.default_rng(seed)
    angle, wait = rng.uniform(-np.pi / 2, np.pi / 2, 2 * n), rng.exponential(1.0, 2 * n)
    half = np.pi / 2
    landau = (half + angle) * np.tan(angle) - np.log(half * wait * np.cos(angle) / (half + angle)) + np.log(half)
    x = 5 + landau + rng.normal(0, 1.5, 2 * n)
    x = x[(x > AXIS[0]) & (x < AXIS[1])][:n]
    m = build.ModelBuilder("straggling")
    axis = m.observable("x", *AXIS)
    place, width, sigma = m.parameter("place", 4, -5, 15), m.parameter("width", 1, 0.1, 5), m.parameter("sigma", 1.2, 0.1, 5)
    density = m.convolution("d", axis, m.landau("l", axis, place, width), m.gaussian("g", axis, 0, sigma))
    m.channel("SR", density, data={"x": x})
    return m.model(), axis


def test_a_fit_finds_what_was_put_in() -> None:
    model, _ = straggling()
    fit = nextstat.fit(model)
    assert fit.converged
    for name, value in (("place", 5.0), ("width", 1.0), ("sigma", 1.5)):
        assert abs(fit.value(name) - value) < 4 * fit.uncertainty(name)
    toys = model.toy_events(fit.bestfit, 1, seed=5)
    assert toys is not None


def test_derivatives_are_those_of_differences() -> None:
    model, _ = straggling(200)
    point = np.array([4.6, 1.1, 1.4])
    gradient, hessian = model.grad_nll(point), model.hessian(point)
    for i in range(3):
        step = np.zeros(3)
        step[i] = 1e-4
        slope = (model.nll(point + step) - model.nll(point - step)) / 2e-4
        bend = (model.grad_nll(point + step) - model.grad_nll(point - step)) / 2e-4
        assert gradient[i] == pytest.approx(slope, rel=1e-6, abs=1e-5)
        assert hessian[i] == pytest.approx(bend, rel=1e-6, abs=1e-5)


def test_a_convolution_of_two_observables_is_refused() -> None:
    m = build.ModelBuilder("two")
    x, y = m.observable("x", 0, 1), m.observable("y", 0, 1)
    with pytest.raises(ValueError, match="two densities of x alone, but 'b' is none"):
        m.convolution("c", x, m.gaussian("a", x, 0.5, 0.1), m.gaussian("b", y, 0.5, 0.1))
