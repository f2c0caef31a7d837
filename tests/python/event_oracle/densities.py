"""Normalised densities of one channel: a tree with the same members as the file."""

from __future__ import annotations

import numpy as np
import scipy.special

from . import panels
from .shapes import ARRAYS, ONE_OBSERVABLE, breaks, peaks, singular

#: Nodes of a panel.
NODES = 12


def _signs(parts):
    sign = 1
    for part in parts:
        sign = sign * part[1]
    return sign


def along(values, ndim: int):
    """A column of values, one per row, in front of `ndim` axes of events."""
    return np.asarray(values, dtype=float).reshape(-1, *[1] * ndim)


class Density:
    """A density. `observables` are its own, in the order of the channel."""

    observables: tuple[str, ...]

    def shape(self, point, columns):
        """Logarithm and sign at events, before normalisation. The first axis is that of the rows of `point`."""
        raise NotImplementedError

    def over(self, point, box):
        """Logarithm and sign of the integral over a box, `{observable: (low, high)}`, for each row."""
        raise NotImplementedError

    #: Whether peaks of an observable depend on others.
    conditional = False

    def peaks(self, point, given=None) -> dict[str, list]:
        """Peaks per observable, for each row. `given` has the observables that are known already, a value per row."""
        return {}

    def breaks(self, point) -> dict[str, list]:
        return {}

    def total(self, point, boxes):
        """The integral over boxes that do not overlap. Boxes that differ in other observables alone are one box."""
        own = []
        for box in boxes:
            sides = {name: box[name] for name in self.observables}
            if sides not in own:
                own.append(sides)
        logs, signs = zip(*(np.broadcast_arrays(*self.over(point, box)) for box in own))
        shape = np.broadcast_shapes(*(a.shape for a in logs))
        logs, signs = (np.stack([np.broadcast_to(a, shape) for a in part]) for part in (logs, signs))
        return panels.log_sum(logs, signs, 1.0, 0)

    def normalised(self, point, columns, boxes):
        log, sign = self.shape(point, columns)
        whole, side = self.total(point, boxes)
        n = next(iter(columns.values())).ndim
        return log - along(whole, n), sign * along(side, n)


class Leaf(Density):
    """A density of one observable with a formula."""

    def __init__(self, dist, axes):
        key, self.formula, keys = ONE_OBSERVABLE[dist["type"]]
        self.kind, name = dist["type"], dist[key]
        self.name = name[0] if isinstance(name, list) else name
        self.observables = (self.name,)
        self.axis = axes[self.name]
        self.arguments = {k: dist[k] for k in keys if k in dist}
        self.known: dict = {}
        if self.kind == "argus_dist":
            self.arguments.setdefault("power", 0.5)

    def parameters(self, point):
        values = {}
        for key, argument in self.arguments.items():
            values[key] = [point.value(a) for a in argument] if isinstance(argument, list) else point.value(argument)
        return values

    def with_axis(self, p, ndim):
        shaped = {k: [along(v, ndim) for v in p[k]] if isinstance(p[k], list) else along(p[k], ndim) for k in p}
        return shaped | {"axis": self.axis}

    def shape(self, point, columns):
        x = columns[self.name]
        with np.errstate(all="ignore"):
            return self.formula(ARRAYS, x[None], self.with_axis(self.parameters(point), x.ndim))

    def over(self, point, box):
        p = self.parameters(point)
        low, high = box[self.name]
        known = closed(self.kind, p, low, high)
        if known is not None:
            return known, 1.0
        flat = [v for value in p.values() for v in (value if isinstance(value, list) else [value])]
        rows, back = np.unique(np.stack(np.broadcast_arrays(*flat), axis=-1), axis=0, return_inverse=True)
        key = (low, high, rows.tobytes())
        if key not in self.known:
            if len(self.known) > 64:
                self.known.clear()
            self.known[key] = self._integrals(p, rows, low, high)
        log, sign = self.known[key]
        return log[back.ravel()], sign[back.ravel()]

    def _integrals(self, p, rows, low, high):
        """Integrals for rows of the parameters, in the order of `p`."""
        few, position = {}, 0
        for key, value in p.items():
            count = len(value) if isinstance(value, list) else 1
            columns = [rows[:, position + i] for i in range(count)]
            few[key] = columns if isinstance(value, list) else columns[0]
            position += count
        ends = panels.edges(low, high, peaks(self.kind, few), breaks(self.kind, few), singular(self.kind, few))
        x, w = panels.nodes(ends, NODES)
        with np.errstate(all="ignore"):
            log, sign = self.formula(ARRAYS, x, self.with_axis(few, 1))
        return panels.log_sum(log, sign, w, 1)

    def peaks(self, point, given=None):
        p = self.parameters(point)
        near = peaks(self.kind, p) + [(at, (self.axis[1] - self.axis[0]) / 64) for at in singular(self.kind, p)]
        if self.kind == "exponential_dist":
            steep = 1 / np.maximum(np.abs(p["c"]), 1e-9)
            near += [(at, np.minimum(steep, self.axis[1] - self.axis[0])) for at in self.axis]
        return {self.name: near}

    def breaks(self, point):
        p = self.parameters(point)
        return {self.name: breaks(self.kind, p) + singular(self.kind, p)}


def closed(kind: str, p: dict, low: float, high: float):
    """The logarithm of an integral, where the documentation has a closed form that is easy to trust."""
    if kind in ("gaussian_dist", "normal_dist"):
        return log_normal_mass((low - p["mean"]) / p["sigma"], (high - p["mean"]) / p["sigma"]) + np.log(
            p["sigma"] * np.sqrt(2 * np.pi)
        )
    if kind == "lognormal_dist":
        a, b = ((np.log(x) - p["mu"]) / p["sigma"] if x > 0 else -np.inf for x in (low, high))
        return log_normal_mass(a, b) + np.log(p["sigma"] * np.sqrt(2 * np.pi))
    if kind == "exponential_dist":
        c, length = np.asarray(p["c"], dtype=float), high - low
        big = np.where(c >= 0, low, high)
        size = np.where(np.abs(c) * length < 1e-8, 1.0, np.abs(c))
        mean = np.where(np.abs(c) * length < 1e-8, 1 - np.abs(c) * length / 2, -np.expm1(-size * length) / (size * length))
        return -c * big + np.log(length * mean)
    if kind == "uniform_dist":
        return np.log(high - low) * np.ones(1)
    return None


def log_normal_mass(a, b):
    """`ln (Phi(b) - Phi(a))`, also far in the tails."""
    a, b = np.broadcast_arrays(np.asarray(a, dtype=float), np.asarray(b, dtype=float))
    flip = a > 0
    a, b = np.where(flip, -b, a), np.where(flip, -a, b)
    with np.errstate(all="ignore"):
        tail = scipy.special.log_ndtr(b) + np.log(-np.expm1(scipy.special.log_ndtr(a) - scipy.special.log_ndtr(b)))
        middle = np.log((scipy.special.erf(b / np.sqrt(2)) - scipy.special.erf(a / np.sqrt(2))) / 2)
    return np.where((a < 0) & (b > 0), middle, tail)


class Product(Density):
    """A product of densities without common observables."""

    def __init__(self, parts):
        self.parts = parts
        self.observables = tuple(name for part in parts for name in part.observables)
        assert len(set(self.observables)) == len(self.observables)

    def shape(self, point, columns):
        parts = [part.shape(point, columns) for part in self.parts]
        return sum(log for log, _ in parts), _signs(parts)

    def over(self, point, box):
        parts = [part.over(point, box) for part in self.parts]
        return sum(log for log, _ in parts), _signs(parts)

    @property
    def conditional(self):
        return any(part.conditional for part in self.parts)

    def peaks(self, point, given=None):
        return {name: near for part in self.parts for name, near in part.peaks(point, given).items()}

    def breaks(self, point):
        return {name: at for part in self.parts for name, at in part.breaks(point).items()}


class Mixture(Density):
    """A mixture of normalised densities, with one coefficient less than there are densities."""

    def __init__(self, parts, coefficients, boxes):
        self.parts, self.coefficients, self.boxes = parts, coefficients, boxes
        self.observables = parts[0].observables
        assert all(set(part.observables) == set(self.observables) for part in parts)

    def shares(self, point):
        given = [point.value(c) for c in self.coefficients]
        return [*given, 1 - sum(given)] if len(given) < len(self.parts) else [c / sum(given) for c in given]

    def _sum(self, point, terms, ndim):
        logs, signs = zip(*terms)
        logs, signs = np.broadcast_arrays(*logs), np.broadcast_arrays(*signs, logs[0] * 0)[:-1]
        logs = np.stack(np.broadcast_arrays(*logs))
        signs = np.stack([np.broadcast_to(s, logs.shape[1:]) for s in signs])
        shares = np.stack([np.broadcast_to(along(s, ndim), logs.shape[1:]) for s in self.shares(point)])
        return panels.log_sum(logs, signs, shares, 0)

    def shape(self, point, columns):
        ndim = next(iter(columns.values())).ndim
        terms = [part.normalised(point, columns, self.boxes) for part in self.parts]
        rows = max(point.rows, 1)
        full = np.broadcast_shapes(*(log.shape for log, _ in terms), (rows, *[1] * ndim))
        return self._sum(point, [(np.broadcast_to(log, full), np.broadcast_to(sign, full)) for log, sign in terms], ndim)

    def over(self, point, box):
        terms = []
        for part in self.parts:
            (log, sign), (whole, side) = part.over(point, box), part.total(point, self.boxes)
            terms.append((np.broadcast_to(log - whole, point.rows), np.broadcast_to(sign * side, point.rows)))
        return self._sum(point, terms, 0)

    @property
    def conditional(self):
        return any(part.conditional for part in self.parts)

    def peaks(self, point, given=None):
        return gathered(part.peaks(point, given) for part in self.parts)

    def breaks(self, point):
        return gathered(part.breaks(point) for part in self.parts)


def gathered(parts):
    """Lists of several dictionaries, joined."""
    joined: dict[str, list] = {}
    for part in parts:
        for name, values in part.items():
            joined.setdefault(name, []).extend(values)
    return joined
