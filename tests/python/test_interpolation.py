"""Interpolation codes of normsys that pyhf lacks for this modifier, compared with pyhf's interpolators of shifts
and with the scalar model."""

import nextstat
import numpy as np
import pyhf
import pytest
from scalar_model import ScalarModel
from scipy.optimize import minimize

# Two samples. One of them has two normsys modifiers, whose factors are multiplied.
FACTORS = {"signal": {"a": (0.7, 1.4), "b": (1.1, 1.3)}, "background": {"a": (0.85, 1.05)}}
NOMINAL = {"signal": [8.0, 3.0], "background": [50.0, 42.0]}


def workspace():
    def modifiers(sample):
        found = [{"name": name, "type": "normsys", "data": {"lo": lo, "hi": hi}} for name, (lo, hi) in FACTORS[sample].items()]
        return found + ([{"name": "mu", "type": "normfactor", "data": None}] if sample == "signal" else [])

    samples = [{"name": name, "data": data, "modifiers": modifiers(name)} for name, data in NOMINAL.items()]
    return {
        "version": "1.0.0",
        "channels": [{"name": "c", "samples": samples}],
        "observations": [{"name": "c", "data": [63.0, 40.0]}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": []}}],
    }


def point(model, values):
    return np.array([values.get(name, 1.0) for name in model.parameter_names])


# pyhf's interpolators return additive shifts. For a nominal yield of 1, the factor is 1 plus the shift.
@pytest.mark.parametrize(
    ("code", "interpolator"),
    [
        pytest.param("code0", pyhf.interpolators.code0, id="piecewise linear"),
        pytest.param("code6", pyhf.interpolators.code4p, id="polynomial and linear"),
    ],
)
@pytest.mark.parametrize("alpha", [-2.5, -1.0, -0.6, 0.0, 0.3, 1.0, 1.7])
def test_factors_are_those_of_pyhf_s_interpolators(code, interpolator, alpha):
    model = nextstat.load_workspace(workspace(), normsys_code=code)
    assert f"normsys {code}," in model.interpolation
    values = {"a": alpha, "b": -0.4 * alpha}

    def factor(name, lo, hi):
        shift = interpolator([[[[lo], [1.0], [hi]]]])(np.array([[values[name]]]))
        return 1 + float(np.asarray(shift).ravel()[0])

    expected = sum(
        np.prod([factor(name, *effect) for name, effect in FACTORS[sample].items()]) * np.array(data)
        for sample, data in NOMINAL.items()
    )
    ours = np.asarray(model.expected_data(point(model, values)))[:2]
    np.testing.assert_allclose(ours, expected, rtol=1e-14)


@pytest.mark.parametrize("code", ["code0", "code6", "lnN"])
def test_values_and_minima_are_those_of_the_scalar_model(code):
    model = nextstat.load_workspace(workspace(), normsys_code=code)
    scalar = ScalarModel(workspace(), None, code, "code4p")
    names = model.parameter_names
    for a in (-1.4, -0.5, 0.2, 2.0):
        at = point(model, {"a": a, "b": 0.3 - a})
        assert 2 * model.nll(at) == pytest.approx(scalar.evaluate(list(at)).twice_nll, rel=1e-12)
    fit = nextstat.fit(model)
    assert fit.converged
    starts = [point(model, {"a": a, "b": b}) for a in (-1.0, 1.0) for b in (-1.0, 1.0)]
    best = min(
        minimize(lambda x: scalar.evaluate(list(x)).twice_nll, x0, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}).fun
        for x0 in starts
    )
    assert len(fit.bestfit) == len(names)
    assert fit.twice_nll == pytest.approx(best, abs=1e-6)
    assert fit.twice_nll <= best + 1e-9


@pytest.mark.parametrize("code", ["code0", "code6", "lnN"])
def test_toys_have_the_code_too(code):
    model = nextstat.load_workspace(workspace(), normsys_code=code)
    toys = nextstat.fit_toys(model, n_toys=200, seed=3)
    assert toys.n_toys == 200
    assert toys.converged
    assert f"normsys {code}," in toys.interpolation
