"""Densities of one observable that are made of others: decays with a resolution, and convolutions with a Gaussian."""

from __future__ import annotations

import numpy as np
import scipy.special

from . import panels
from .densities import NODES, Leaf
from .shapes import ARRAYS, ONE_OBSERVABLE, peaks


class Compound(Leaf):
    """A density of one observable with arguments of its own."""

    def __init__(self, name, axes, arguments):
        self.kind, self.name, self.observables, self.axis = "compound", name, (name,), axes[name]
        self.arguments, self.known = arguments, {}

    def near(self, p) -> list:
        """Places with the lengths on which the density changes."""
        raise NotImplementedError

    def stops(self, p) -> list:
        """Where panels of quadrature have to end."""
        return []

    def _integrals(self, p, rows, low, high):
        few = dict(zip(self.arguments, rows.T))
        x, w = panels.nodes(panels.edges(low, high, self.near(few), self.stops(few)), NODES)
        log, sign = self.formula(ARRAYS, x, self.with_axis(few, 1))
        return panels.log_sum(log, sign, w, 1)

    def peaks(self, point, given=None):
        return {self.name: self.near(self.parameters(point))}

    def breaks(self, point):
        return {self.name: self.stops(self.parameters(point))}


def _after(t, rate, resolution):
    """The decay `exp(-rate s)` after 0, smeared: the logarithm of its scale, and a complex factor."""
    if resolution is None:
        inside = t >= 0
        safe = np.where(inside, t, 0.0)
        return np.where(inside, -rate.real * safe, -np.inf), np.exp(-1j * rate.imag * safe)
    mean, sigma = resolution
    u, z = (t - mean) / sigma, rate * sigma
    # The density of a sum, in closed form (Faddeeva function); on the far side in another form, which does not overflow.
    far = u > z.real
    scale = np.where(far, (z * z / 2 - z * u).real, -u * u / 2)
    near_part = 0.5 * scipy.special.wofz(1j * np.where(far, 0.0, z - u) / np.sqrt(2))
    rest = 0.5 * np.exp((-((u - z) ** 2) / 2)) * scipy.special.wofz(1j * np.where(far, u - z, 0.0) / np.sqrt(2))
    return scale, np.where(far, np.exp(1j * (z * z / 2 - z * u).imag) * (1 - rest), near_part)


class Decay(Compound):
    """A `decay_dist` or `nextstat.b_decay_dist`."""

    def __init__(self, dist, distributions, axes):
        resolution = distributions[dist["resolutionModel"]]
        arguments = {"tau": dist["tau"]}
        for key in ("delta_gamma", "delta_m", "cosh", "sinh", "cos", "sin"):
            arguments[key] = dist.get(key, 1.0 if key == "cosh" else 0.0)
        kind = resolution["type"]
        parts = [distributions[s] for s in resolution["summands"]] if kind == "mixture_model" else [resolution]
        self.count = 0 if kind == "truth_model_function" else len(parts)
        for i, part in enumerate(parts[: self.count]):
            arguments |= {f"mean{i}": part["mean"], f"sigma{i}": part["sigma"]}
        if self.count == 2:
            arguments["fraction"] = resolution["coefficients"][0]
        self.sides = {0: (1,), 1: (1, -1), 2: (-1,)}[dist["decayType"]]
        super().__init__(dist["t"], axes, arguments)

    def formula(self, m, x, p):
        rate, terms = 1 / p["tau"], []
        shares = [p["fraction"], 1 - p["fraction"]] if self.count == 2 else [1.0]
        for i, share in enumerate(shares):
            for side in self.sides:
                resolution = (side * p[f"mean{i}"], p[f"sigma{i}"]) if self.count else None
                for half in (-0.5, 0.5):
                    factor = 0.5 * (p["cosh"] - 2 * half * side * p["sinh"])
                    log, value = _after(side * x, rate + half * p["delta_gamma"] + 0j, resolution)
                    terms.append((log, share * factor * value.real))
                log, value = _after(side * x, rate - 1j * p["delta_m"], resolution)
                terms.append((log, share * (p["cos"] * value.real + side * p["sin"] * value.imag)))
        logs, factors = (np.stack(np.broadcast_arrays(*part)) for part in zip(*terms))
        return panels.log_sum(logs, np.ones(1), factors, 0)

    def near(self, p):
        if not self.count:
            return [(0.0 * p["tau"], p["tau"])]
        return [(p[f"mean{i}"], p[k]) for i in range(self.count) for k in (f"sigma{i}", "tau")]

    def stops(self, p):
        start = p["mean0"] if self.count else 0.0
        return [start + side * k * p["tau"] for side in self.sides for k in (*range(0, 12), *range(12, 40, 2))]


#: Nodes of the distance from the centre of a Gaussian, in standard deviations.
_DISTANCES, _WEIGHTS = panels.nodes(np.linspace(-10, 10, 65), 8)


class Convolved(Compound):
    """A `fft_conv_pdf` of a density with a formula and a Gaussian."""

    def __init__(self, dist, distributions, axes):
        first, second = distributions[dist["pdf1"]], distributions[dist["pdf2"]]
        assert second["type"] == "gaussian_dist"
        _, self.first, keys = ONE_OBSERVABLE[first["type"]]
        self.of = first["type"]
        arguments = {key: first[key] for key in keys} | {"_mean": second["mean"], "_sigma": second["sigma"]}
        super().__init__(dist["conv_var"], axes, arguments)

    def formula(self, m, x, p):
        rows = max(a.shape[0] for a in (x, *(v for k, v in p.items() if k != "axis")))
        found = []
        for row in range(rows):
            own = {k: v if k == "axis" else np.ravel(v)[min(row, v.shape[0] - 1)] for k, v in p.items()}
            shifted = x[min(row, x.shape[0] - 1)][..., None] - own["_mean"] - own["_sigma"] * _DISTANCES
            log, sign = self.first(ARRAYS, shifted, own)
            found.append(panels.log_sum(log - _DISTANCES**2 / 2, sign, _WEIGHTS, -1))
        logs, signs = zip(*found)
        return np.stack(logs), np.stack(signs)

    def near(self, p):
        inner = peaks(self.of, p)
        return [(at + p["_mean"], np.hypot(width, p["_sigma"])) for at, width in inner]
