"""Fits and tests of the oracle, each done once per model."""

from __future__ import annotations

import functools

import numpy as np

from . import asimov, minimum
from .likelihood import Likelihood, Point


class Statistics:
    """The fits of a model that tests of the parameter of interest need. With a number of `nodes` per panel they are done with more
    starts too."""

    def __init__(self, model: Likelihood, rng, nodes=None):
        self.model, self.rng, self.nodes = model, rng, nodes
        #: Conditional minima that were offered and are lower.
        self.better: dict[float, minimum.Minimum] = {}
        #: Tested values at which the fit of the Asimov data ended where a density is almost 0.
        self.on_wall: set[float] = set()

    def fit(self, starts, held=None, data=None, measured=None, scatter=0):
        """The lowest minimum, with parameters held at values, from given starts and the best of `scatter` random points."""
        model, fixed = self.model, self.model.fixed.copy()
        low, high = model.low.copy(), model.high.copy()
        for i, value in (held or {}).items():
            fixed[i], low[i], high[i] = True, value, value
        low, high = np.where(model.fixed, model.init, low), np.where(model.fixed, model.init, high)
        of = lambda rows: model.nll(rows, data, measured)  # noqa: E731
        best = minimum.lowest(of, starts, low, high, fixed, scatter, self.rng) or minimum.lowest(
            of, starts, low, high, fixed, 400, self.rng
        )
        for i in model.kinks if best is not None else []:
            if not fixed[i] and abs(best.x[i]) < 0.3:
                # Differences across a kink are no derivatives: the others are fitted on the kink.
                fixed[i], x = True, best.x.copy()
                x[i] = 0.0
                on = minimum.descend(of, x, low, high, fixed)
                if on.value < best.value:
                    best = on
                else:
                    fixed[i] = False
        return best

    def offer(self, x):
        """Tells the free fit a point that is worth a descent, such as the minimum that NextStat found."""
        best = self.fit([x])
        if best is not None and (self.best is None or best.value < self.best.value):
            self.__dict__["best"] = best

    @functools.cached_property
    def best(self):
        return self.fit([self.model.init], scatter=200)

    @functools.lru_cache(maxsize=64)
    def conditional(self, mu: float):
        starts = [self.best.x, self.model.init]
        return self.fit(starts, {self.model.poi: mu}, scatter=40)

    @property
    def at_zero(self) -> np.ndarray:
        """The conditional fit at 0."""
        return (self.better.get(0.0) or self.conditional(0.0)).x

    @functools.cached_property
    def data(self):
        """Asimov data at the conditional fit at 0."""
        return asimov.asimov(self.model, self.at_zero, self.nodes)

    @functools.lru_cache(maxsize=64)
    def q_asimov(self, mu: float) -> float:
        """The statistic of the Asimov data. Its free minimum is the point that it was made at."""
        data, measured = self.data
        at = self.at_zero
        free = float(self.model.nll(at, data, measured)[0])
        found = self.fit([at, self.model.init], {self.model.poi: mu}, data, measured, scatter=100 if self.nodes else 20)
        if found is not None and self.is_on_wall(found.x):
            self.on_wall.add(mu)
        return np.inf if found is None else max(0.0, 2 * (found.value - free))

    def is_on_wall(self, x) -> bool:
        """Whether a density is almost 0 at a node of the Asimov data. The minimiser gets stuck beside such points."""
        for channel, (columns, weights) in zip(self.model.channels, self.data[0]):
            if channel.integral:
                continue
            here, there = (channel.density(Point(self.model, at[None]), columns) for at in (self.at_zero, x))
            if np.any((here[1] > 0) & (weights > 0) & (there[1] * np.exp(there[0] - here[0]) < 1e-2)):
                return True
        return False

    def offer_conditional(self, mu: float, x):
        """Tells a conditional fit a point that is worth a descent."""
        known, found = self.conditional(mu), self.fit([x], {self.model.poi: mu})
        if found is not None and (known is None or found.value < known.value):
            self.better[mu] = found

    def q(self, mu: float) -> float:
        """The statistic of the observed data."""
        if self.best.x[self.model.poi] > mu:
            return 0.0
        found = self.better.get(mu) or self.conditional(mu)
        return np.inf if found is None else max(0.0, 2 * (found.value - self.best.value))

    def cls(self, mu: float) -> float:
        q, q_asimov = self.q(mu), self.q_asimov(mu)
        return 0.0 if not np.isfinite(q) else asimov.cls(q, q_asimov)


def covariance(model: Likelihood, best: minimum.Minimum):
    """The inverse Hessian at a minimum, and the parameters that it belongs to: those that are free and not at a bound.
    `None` where the Hessian is not positive."""
    span = np.where(np.isfinite(model.high - model.low), model.high - model.low, 1.0)
    inside = (best.x > model.low + 1e-7 * span) & (best.x < model.high - 1e-7 * span) & ~model.fixed
    free = np.flatnonzero(inside)
    if not free.size:
        return free, np.zeros((0, 0))
    width = dict(zip(best.free, np.abs(np.diag(best.hessian))))
    h = np.array([1 / np.sqrt(max(width.get(i, 0.0), 1e-300)) for i in free])
    # Third derivatives jump where a density is put together of pieces, so steps are small.
    h = np.minimum(0.004 * h, 0.2 * np.minimum(best.x - model.low, model.high - best.x)[free])
    # Differences do not reach across a kink.
    h = np.array([min(step, abs(best.x[i]) / 5) if i in model.kinks else step for step, i in zip(h, free)])
    results = []
    for factor in (1.0, 2.0):
        _, _, hessian = minimum.stencil(model.nll, best.x, factor * h, model.low, model.high, free)
        if hessian is None:
            return free, None
        results.append(hessian)
    # Richardson's extrapolation removes the error of second order.
    hessian = (4 * results[0] - results[1]) / 3
    scale = np.sqrt(np.maximum(np.diag(hessian), 1e-300))
    scaled = hessian / np.outer(scale, scale)
    if np.diag(hessian).min() <= 0 or np.linalg.eigvalsh(scaled).min() < 1e-4:
        return free, None
    return free, np.linalg.inv(scaled) / np.outer(scale, scale)
