"""Densities of several observables that are no products, and generic densities: integrals are iterated."""

from __future__ import annotations

import numpy as np

from . import expressions, panels
from .densities import NODES, Density, _signs, along, log_normal_mass
from .shapes import ARRAYS, ONE_OBSERVABLE, signed


class Joint(Density):
    """A product of expressions and of formulae whose parameters may depend on observables, normalised as a whole.

    `hints` say where it changes fast: `peaks` has `[centre, width]` per observable, as expressions of parameters and of observables
    that stand before it in `order`; `breaks` has expressions; `power` has k where the density is singular at the lower end of
    an observable, which is then written as `low + length * u^k`.
    """

    def __init__(self, parts, observables, hints, axes):
        self.parts, self.hints, self.axes = parts, hints, axes
        self.observables = tuple(hints.get("order", observables))
        self.known: dict = {}

    def shape(self, point, columns):
        ndim = next(iter(columns.values())).ndim
        given = {name: columns[name][None] for name in self.observables}
        return self._shape(point, given, ndim)

    def _shape(self, point, given, ndim):
        found = []
        with np.errstate(all="ignore"):
            for part in self.parts:
                if isinstance(part, str):
                    found.append(signed(ARRAYS, point.evaluate(part, given, ndim) + 0.0 * next(iter(given.values()))))
                    continue
                key, formula, keys = ONE_OBSERVABLE[part["type"]]
                of = lambda a: [of(b) for b in a] if isinstance(a, list) else point.of_events(a, given, ndim)  # noqa: E731
                p = {k: of(part[k]) for k in keys if k in part}
                x = point.of_events(part[key], given, ndim)
                found.append(formula(ARRAYS, x, p | {"axis": self.axes.get(part[key])}))
        return sum(log for log, _ in found), _signs(found)

    def over(self, point, box):
        point, back, values = point.distinct(self.leaves(point))
        key = (*box.values(), values)
        if key not in self.known:
            if len(self.known) > 64:
                self.known.clear()
            self.known[key] = self._integrals(point, box)
        log, sign = self.known[key]
        return log[back], sign[back]

    def _integrals(self, point, box):
        rows = point.rows
        given, weight, count = {}, np.ones(rows), 1
        for name in self.observables:
            x, w = self._axis(point, name, box[name], given)
            n = x.shape[1]
            x, w = (np.broadcast_to(a, (point.rows, n)).ravel() for a in (x, w))
            point = point.repeated(n)
            given = {other: np.repeat(values, n) for other, values in given.items()} | {name: x}
            weight, count = np.repeat(weight, n) * w, count * n
        log, sign = self._shape(point, given, 0)
        weight = weight.reshape(rows, count)
        log, sign = (np.broadcast_to(a, rows * count).reshape(rows, count) for a in (log, sign))
        return panels.log_sum(log, sign, weight, 1)

    def leaves(self, point):
        found: set[str] = set()
        for part in self.parts:
            if isinstance(part, str):
                found |= expressions.names(part)
            else:
                flat = [b for a in part.values() for b in (a if isinstance(a, list) else [a])]
                found |= {a for a in flat if isinstance(a, str)}
        return point.leaves(found)

    def _near(self, point, name, given):
        """Peaks of an observable for each row, given those before it."""
        pairs = self.hints.get("peaks", {}).get(name, [])
        return [tuple(point.evaluate(str(e), given, 0) for e in pair) for pair in pairs]

    def _axis(self, point, name, sides, given):
        low, high = sides
        near = self._near(point, name, given)
        breaks = [point.evaluate(str(e), given, 0) for e in self.hints.get("breaks", {}).get(name, [])]
        power = self.hints.get("power", {}).get(name)
        if power:
            # Nodes of u, of which the observable is a power.
            start = self.axes[name][0]
            ends = panels.edges(*(((x - start) / (high - start)) ** (1 / power) for x in (low, high)))
            u, w = panels.nodes(ends, NODES)
            return start + (high - start) * u**power, w * (high - start) * power * u ** (power - 1)
        ends = panels.edges(low, high, near, breaks, graded=len(self.observables) == 1)
        return panels.nodes(ends, NODES if len(self.observables) == 1 else 8)

    def peaks(self, point, given=None):
        """Peaks of every observable whose predecessors are given."""
        given = given or {}
        before: set[str] = set()
        found = {}
        for name in self.observables:
            if before <= set(given):
                found[name] = self._near(point, name, given)
            before.add(name)
        return found

    def breaks(self, point):
        found = {
            name: [point.evaluate(str(e), {}, 0) for e in self.hints.get("breaks", {}).get(name, [])] for name in self.observables
        }
        for name in self.hints.get("power", {}):
            low, high = self.axes[name]
            found.setdefault(name, []).extend(low + (high - low) * 0.25 ** np.arange(1, 30))
        return found

    @property
    def conditional(self) -> bool:
        return len(self.observables) > 1


class MultivariateNormal(Density):
    """A normal density of several observables. Integrals over boxes are those of conditional densities, the last one closed."""

    conditional = True

    def __init__(self, dist):
        self.observables, self.mean = tuple(dist["x"]), dist["mean"]
        self.covariance = np.asarray(dist["covariances"], dtype=float)
        # Row i of the lower factor gives the mean of observable i from the standard normal numbers before it.
        self.factor = np.linalg.cholesky(self.covariance)
        self.known: dict = {}

    def _standard(self, means, given):
        """Standard normal numbers of the observables that are given, in order."""
        numbers = []
        for i, name in enumerate(self.observables):
            if name not in given:
                break
            shift = sum(self.factor[i, j] * z for j, z in enumerate(numbers))
            numbers.append((given[name] - means[i] - shift) / self.factor[i, i])
        return numbers

    def shape(self, point, columns):
        ndim = next(iter(columns.values())).ndim
        means = [along(point.value(m), ndim) for m in self.mean]
        numbers = self._standard(means, {name: columns[name][None] for name in self.observables})
        return -sum(z * z for z in numbers) / 2, 1

    def over(self, point, box):
        means = np.stack(np.broadcast_arrays(*(point.value(m) for m in self.mean)), axis=-1)
        means, back = np.unique(means, axis=0, return_inverse=True)
        key = (*box.values(), means.tobytes())
        if key not in self.known:
            if len(self.known) > 64:
                self.known.clear()
            self.known[key] = self._integrals(means, box)
        return self.known[key][back.ravel()], 1.0

    def _integrals(self, means, box):
        n, rows = len(self.observables), len(means)
        given: dict[str, np.ndarray] = {}
        weight = np.zeros(rows)
        current, count = means, 1
        for i in range(n):
            numbers = self._standard(list(current.T), given)
            centre = current[:, i] + sum(self.factor[i, j] * z for j, z in enumerate(numbers))
            low, high = box[self.observables[i]]
            if i == n - 1:
                width = self.factor[i, i]
                last = log_normal_mass((low - centre) / width, (high - centre) / width)
                break
            near = [(centre, np.full(centre.shape, self.factor[i, i]))] + self._steps(i, current, numbers, box)
            x, w = panels.nodes(panels.edges(low, high, near, graded=False), 10)
            x, w = (np.broadcast_to(a, (len(current), x.shape[1])) for a in (x, w))
            m = x.shape[1]
            z = (x - centre[:, None]) / self.factor[i, i]
            with np.errstate(divide="ignore"):
                here = np.log(w) - z * z / 2 - np.log(self.factor[i, i] * np.sqrt(2 * np.pi))
            weight = (weight[:, None] + here).ravel()
            given = {name: np.repeat(v, m) for name, v in given.items()} | {self.observables[i]: x.ravel()}
            current, count = np.repeat(current, m, axis=0), count * m
        logs = (weight + last).reshape(rows, count)
        log, _ = panels.log_sum(logs, 1.0, np.ones(1), 1)
        norm = 0.5 * np.linalg.slogdet(2 * np.pi * self.covariance)[1]
        return log + norm

    def _steps(self, i, means, numbers, box):
        """Where the mass of a later observable falls to zero because its mean leaves the box, as peaks of observable `i`."""
        steps = []
        for k in range(i + 1, len(self.observables)):
            slope = self.factor[k, i] / self.factor[i, i]
            if slope == 0:
                continue
            rest = np.sqrt(np.sum(self.factor[k, i + 1 : k + 1] ** 2))
            known = means[:, k] + sum(self.factor[k, j] * z for j, z in enumerate(numbers))
            centre = means[:, i] + sum(self.factor[i, j] * z for j, z in enumerate(numbers))
            for side in box[self.observables[k]]:
                steps.append((centre + (side - known) / slope, np.full(known.shape, rest / abs(slope))))
        return steps

    def peaks(self, point, given=None):
        means = [point.value(m) for m in self.mean]
        given, found = given or {}, {}
        numbers = self._standard(means, given)
        i = len(numbers)
        if i < len(self.observables):
            centre = means[i] + sum(self.factor[i, j] * z for j, z in enumerate(numbers))
            found[self.observables[i]] = [(centre, np.full(np.shape(centre), self.factor[i, i]))]
        return found
