"""Asimov data by quadrature, and the asymptotic CLs."""

from __future__ import annotations

import numpy as np
import scipy.stats

from . import panels
from .likelihood import Likelihood, Point

#: Distances of panels of Asimov data from a peak, in its widths.
_NEAR = np.concatenate([[1.25, 2.5, 3.75, 5.0, 6.5, 8.5], 8.5 * 1.7 ** np.arange(1, 40)])


def _ends(low, high, near, breaks):
    """Ends of panels, one row per row of the peaks."""
    near = [np.broadcast_arrays(np.ravel(at), np.ravel(width)) for at, width in near]
    rows = max([1, *(p.size for pair in near for p in pair)])
    if rows == 1:
        return np.array(
            [
                _marched(
                    low, high, [(float(at[0]), float(width[0])) for at, width in near], [float(np.ravel(b)[0]) for b in breaks]
                )
            ]
        )
    parts = [np.broadcast_to(np.linspace(low, high, 3), (rows, 3))]
    for at, width in near:
        at, width = np.broadcast_to(at, rows)[:, None], np.broadcast_to(width, rows)[:, None]
        offsets = width * _NEAR[_NEAR * np.min(width) < 2 * (high - low)]
        parts += [at - offsets, at, at + offsets]
    parts += [np.broadcast_to(np.ravel(b)[0], (rows, 1)) for b in breaks]
    return np.sort(np.clip(np.concatenate(parts, axis=1), low, high), axis=1)


def _marched(low, high, near, breaks):
    """Ends of panels as long as the peaks allow: 1.25 widths of each, or 0.4 of the distance to it."""
    stops = sorted({b for b in breaks if low < b < high} | {high})
    ends, x = [low], low
    for stop in stops:
        while x < stop:
            step = min([(high - low) / 2, *(max(1.25 * width, 0.4 * abs(at - x)) for at, width in near)])
            x = stop if x + 1.3 * step >= stop else x + step
            ends.append(x)
    return ends


def channel_nodes(channel, point, n=None):
    """Columns and weights of the nodes of a quadrature over the fit ranges, with panels at the peaks of all densities."""
    names = list(channel.axes)
    n = n or {1: 8, 2: 6}.get(len(names), 4)
    conditional = [part for part in channel.parts if part.conditional]
    parts = []
    for box in channel.boxes:
        given, weight, grid = {}, np.ones(()), {}
        here = point
        if conditional:
            order = conditional[0].observables
            names = [*order, *(x for x in names if x not in order)]
        for axis, name in enumerate(names):
            near, breaks = [], []
            for part in channel.parts:
                near += part.peaks(here, given).get(name, [])
                breaks += part.breaks(point).get(name, [])
            x, w = panels.nodes(_ends(*box[name], near, breaks), n)
            if conditional:
                m = x.shape[1]
                x, w = (np.broadcast_to(a, (max(here.rows, 1), m)) for a in (x, w))
                here = here.repeated(m)
                given = {k: np.repeat(v, m) for k, v in given.items()} | {name: x.ravel()}
                weight = np.repeat(weight.ravel(), m) * w.ravel()
            else:
                shape = [-1 if i == axis else 1 for i in range(len(names))]
                grid[name] = x[0].reshape(shape)
                weight = weight * w[0].reshape(shape)
        parts.append((given or grid, weight))
    if len(parts) == 1:
        return parts[0]
    flat = [({k: np.broadcast_to(c, w.shape).ravel() for k, c in columns.items()}, w.ravel()) for columns, w in parts]
    return {k: np.concatenate([c[k] for c, _ in flat]) for k in flat[0][0]}, np.concatenate([w for _, w in flat])


def asimov(model: Likelihood, x, n=None):
    """What the model expects at `x`: columns and weights per channel, and the measured values of the constraint terms."""
    point = Point(model, x)
    data = []
    for channel in model.channels:
        if channel.integral:
            log, sign = channel.contents(point)
            weight = (sign * np.exp(log))[0] * np.diff(channel.edges[0])
            data.append((channel.columns, weight if channel.extended else weight * channel.weights.sum()))
            continue
        columns, weight = channel_nodes(channel, point, n)
        log, sign = channel.density(point, columns)
        weight = weight * (sign * np.exp(log))[0]
        data.append((columns, weight if channel.extended else weight * channel.weights.sum()))
    measured = {}
    for dist in model.constraints:
        if dist["type"] == "poisson_dist":
            measured[dist["x"]] = point.value(dist["mean"])
        elif dist["type"] == "lognormal_dist":
            # The density of the parameter has its maximum at exp(mu - sigma^2).
            measured[dist["mu"]] = np.log(point.value(dist["x"])) + point.value(dist["sigma"]) ** 2
        elif dist["type"] == "gamma_dist":
            measured[dist["gamma"]] = point.value(dist["x"]) / dist["beta"] + 1
        else:
            measured[dist["mean"]] = point.value(dist["x"])
    return data, measured


def cls(q, q_asimov):
    """CLs of the statistic q-tilde."""
    x, s = np.sqrt(max(q, 0.0)), np.sqrt(max(q_asimov, 0.0))
    z = (q - q_asimov) / (2 * s) if x > s else x - s
    return float(np.exp(scipy.stats.norm.logcdf(-(z + s)) - scipy.stats.norm.logcdf(-z)))


def cls_median(q_asimov):
    """The median of CLs if there is no signal."""
    return float(2 * scipy.stats.norm.sf(np.sqrt(max(q_asimov, 0.0))))


def expected_root(k: int, alpha=0.05) -> float:
    """The square root of the Asimov statistic at the expected limit of `k` standard deviations."""
    return float(scipy.stats.norm.isf(alpha * scipy.stats.norm.cdf(k)) + k)
