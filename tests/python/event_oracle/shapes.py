"""Formulae of densities before normalisation, as logarithms and signs, in numpy or in mpmath.

A shape is a function `(m, x, p)`: `m` has the elementary functions (`ARRAYS` or `exact.DIGITS`), `x` is the observable, and `p`
the dictionary of its parameters. It returns the logarithm of the absolute value, and the sign.
"""

from __future__ import annotations

import types

import numpy as np
import scipy.special
import scipy.stats


def _voigt(z):
    return np.log(scipy.special.wofz(z).real)


def _landau(t):
    # The density of SciPy has another scale: its tail is 2 / (pi t^2), and that of Landau's is 1 / t^2.
    return np.log(scipy.stats.landau.pdf(t, loc=np.log(np.pi / 2), scale=np.pi / 2))


#: The elementary functions of numpy.
ARRAYS = types.SimpleNamespace(
    log=np.log,
    exp=np.exp,
    sqrt=np.sqrt,
    asinh=np.arcsinh,
    where=np.where,
    maximum=np.maximum,
    abs=np.abs,
    cos=np.cos,
    sin=np.sin,
    sign=np.sign,
    log_faddeeva=_voigt,
    log_landau=_landau,
    pi=np.pi,
    inf=np.inf,
    tan=np.tan,
    power=np.power,
    minimum=np.minimum,
)


def signed(m, value):
    """A value as logarithm and sign."""
    return m.log(m.abs(value)), m.sign(value)


def gaussian(m, x, p):
    t = (x - p["mean"]) / p["sigma"]
    return -t * t / 2, 1


def bifurcated(m, x, p):
    t = (x - p["mean"]) / m.where(x < p["mean"], p["sigmaL"], p["sigmaR"])
    return -t * t / 2, 1


def exponential(m, x, p):
    return -p["c"] * x, 1


def crystal_ball(m, x, p):
    """Keys of a missing tail are absent."""
    left = x < p["m0"]
    t = (x - p["m0"]) / m.where(left, p["sigma_L"], p["sigma_R"])
    value = -t * t / 2
    for side, inside in (("L", left), ("R", x >= p["m0"])):
        if f"alpha_{side}" in p:
            alpha, n = p[f"alpha_{side}"], p[f"n_{side}"]
            beyond = m.abs(t) - alpha
            u = 1 + m.maximum(beyond, 0 * beyond) * alpha / n
            value = m.where(inside & (beyond > 0), -alpha * alpha / 2 - n * m.log(u), value)
    return value, 1


def argus(m, x, p):
    u = 1 - (x / p["resonance"]) ** 2
    inside = u > 0
    safe = m.where(inside, u, 1 + 0 * u)
    return m.where(inside, m.log(x) + p["power"] * m.log(safe) + p["slope"] * u, -m.inf), 1


def breit_wigner(m, x, p):
    return -m.log((x - p["mean"]) ** 2 + p["width"] ** 2 / 4), 1


def voigt(m, x, p):
    z = ((x - p["mean"]) + 1j * p["width"] / 2) / (p["sigma"] * m.sqrt(2))
    return m.log_faddeeva(z), 1


def landau(m, x, p):
    return m.log_landau((x - p["mean"]) / p["sigma"]), 1


def johnson(m, x, p):
    z = (x - p["mu"]) / p["lambda"]
    return -((p["gamma"] + p["delta"] * m.asinh(z)) ** 2) / 2 - m.log(1 + z * z) / 2, 1


def lognormal(m, x, p):
    return -(((m.log(x) - p["mu"]) / p["sigma"]) ** 2) / 2 - m.log(x), 1


def generalized_normal(m, x, p):
    return -m.power(m.abs(x - p["mean"]) / p["alpha"], p["beta"]), 1


def gamma(m, x, p):
    beyond = x - p["mu"]
    inside = beyond > 0
    safe = m.where(inside, beyond, 1 + 0 * beyond)
    return m.where(inside, (p["gamma"] - 1) * m.log(safe) - beyond / p["beta"], -m.inf), 1


def polynomial(m, x, p):
    value = 0 * x
    for c in reversed(p["coefficients"]):
        value = value * x + c
    return signed(m, value)


def chebychev(m, x, p):
    low, high = p["axis"]
    z = 2 * (x - low) / (high - low) - 1
    before, current, value = 1 + 0 * z, z, 1 + 0 * z
    for c in p["coefficients"]:
        value = value + c * current
        before, current = current, 2 * z * current - before
    return signed(m, value)


def bernstein(m, x, p):
    low, high = p["axis"]
    u, n = (x - low) / (high - low), len(p["coefficients"]) - 1
    choose = [scipy.special.comb(n, k, exact=True) for k in range(n + 1)]
    return signed(m, sum(choose[k] * c * u**k * (1 - u) ** (n - k) for k, c in enumerate(p["coefficients"])))


def uniform(m, x, p):
    return 0 * x, 1


#: Shapes of one observable: type in the file, key of the observable, shape, keys of the parameters.
ONE_OBSERVABLE = {
    "gaussian_dist": ("x", gaussian, ("mean", "sigma")),
    "normal_dist": ("x", gaussian, ("mean", "sigma")),
    "bifurkated_gaussian_dist": ("x", bifurcated, ("mean", "sigmaL", "sigmaR")),
    "exponential_dist": ("x", exponential, ("c",)),
    "crystalball_doublesided_dist": ("m", crystal_ball, ("m0", "sigma_L", "sigma_R", "alpha_L", "n_L", "alpha_R", "n_R")),
    "nextstat.crystalball_dist": ("m", crystal_ball, ("m0", "sigma_L", "sigma_R", "alpha_L", "n_L", "alpha_R", "n_R")),
    "argus_dist": ("mass", argus, ("resonance", "slope", "power")),
    "nextstat.breit_wigner_dist": ("x", breit_wigner, ("mean", "width")),
    "nextstat.voigt_dist": ("x", voigt, ("mean", "width", "sigma")),
    "landau_dist": ("x", landau, ("mean", "sigma")),
    "nextstat.johnson_su_dist": ("x", johnson, ("mu", "lambda", "gamma", "delta")),
    "lognormal_dist": ("x", lognormal, ("mu", "sigma")),
    "generalized_normal_dist": ("x", generalized_normal, ("mean", "alpha", "beta")),
    "gamma_dist": ("x", gamma, ("mu", "gamma", "beta")),
    "polynomial_dist": ("x", polynomial, ("coefficients",)),
    "chebychev_dist": ("x", chebychev, ("coefficients",)),
    "bernstein_poly_dist": ("x", bernstein, ("coefficients",)),
    "uniform_dist": ("x", uniform, ()),
}


def peaks(kind: str, p: dict) -> list[tuple]:
    """Where a shape changes fast: places with the lengths on which it does."""
    if kind in ("gaussian_dist", "normal_dist"):
        return [(p["mean"], p["sigma"])]
    if kind == "bifurkated_gaussian_dist":
        return [(p["mean"], p["sigmaL"]), (p["mean"], p["sigmaR"])]
    if "crystalball" in kind:
        return [(p["m0"], p["sigma_L"]), (p["m0"], p["sigma_R"])]
    if kind == "landau_dist":
        return [(p["mean"], p["sigma"])]
    if kind == "nextstat.breit_wigner_dist":
        return [(p["mean"], p["width"] / 2)]
    if kind == "nextstat.voigt_dist":
        return [(p["mean"], p["sigma"]), (p["mean"], p["width"])]
    if kind == "nextstat.johnson_su_dist":
        wide = p["lambda"] * np.cosh((np.abs(p["gamma"]) + 1) / p["delta"])
        return [
            (p["mu"] - p["lambda"] * np.sinh(p["gamma"] / p["delta"]), p["lambda"] / p["delta"]),
            (p["mu"], wide / p["delta"]),
        ]
    if kind == "lognormal_dist":
        return [(np.exp(p["mu"]), np.exp(p["mu"] - p["sigma"]) * p["sigma"])]
    if kind == "generalized_normal_dist":
        return [(p["mean"], p["alpha"] / np.maximum(p["beta"], 1.0))]
    return []


def breaks(kind: str, p: dict) -> list:
    """Where a shape is not smooth."""
    if kind == "bifurkated_gaussian_dist":
        return [p["mean"]]
    if "crystalball" in kind:
        points = [p["m0"]]
        points += [p["m0"] - p["alpha_L"] * p["sigma_L"]] if "alpha_L" in p else []
        return points + ([p["m0"] + p["alpha_R"] * p["sigma_R"]] if "alpha_R" in p else [])
    return []


def singular(kind: str, p: dict) -> list:
    """Where a shape has no Taylor series, so that panels have to shrink towards it."""
    return {"argus_dist": [p.get("resonance")], "generalized_normal_dist": [p.get("mean")], "gamma_dist": [p.get("mu")]}.get(
        kind, []
    )
