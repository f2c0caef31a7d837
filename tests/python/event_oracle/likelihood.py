"""Reads an HS3 file of event channels and constraint terms, and evaluates `-ln L` for many parameter points at once."""

from __future__ import annotations

import numpy as np
import scipy.special

from . import expressions, panels
from .compound import Convolved, Decay
from .densities import Leaf, Mixture, Product, along
from .joint import Joint, MultivariateNormal
from .shapes import ARRAYS
from .tables import Spline, tables
from .templates import Template


class Point:
    """Rows of parameter values, with the values of numbers, parameters and functions of the file."""

    def __init__(self, likelihood, rows):
        self.likelihood = likelihood
        self.rows_of = np.atleast_2d(np.asarray(rows, dtype=float))
        self.rows = len(self.rows_of)
        self._known: dict[str, np.ndarray] = {}

    def value(self, argument):
        """A value per row, or one value for all rows."""
        if not isinstance(argument, str):
            return np.array([float(argument)])
        if argument not in self._known:
            self._known[argument] = self._compute(argument)
        return self._known[argument]

    def _compute(self, name):
        model = self.likelihood
        if name in model.index:
            return self.rows_of[:, model.index[name]]
        function = model.functions[name]
        kind = function["type"]
        if kind == "sum":
            return sum(self.value(a) for a in function["summands"])
        if kind == "product":
            return np.prod(np.stack(np.broadcast_arrays(*(self.value(a) for a in function["factors"]))), axis=0)
        assert kind == "generic_function", kind
        return self.evaluate(function["expression"], {}, 0)

    def evaluate(self, expression, columns, ndim):
        """An expression, whose names may be observables of `columns`."""
        values = {name: self.of_events(name, columns, ndim) for name in expressions.names(expression)}
        with np.errstate(all="ignore"):
            return np.asarray(expressions.evaluate(expression, ARRAYS, values), dtype=float)

    def of_events(self, argument, columns, ndim):
        if isinstance(argument, str) and argument in columns:
            return columns[argument]
        function = self.likelihood.functions.get(argument) if isinstance(argument, str) else None
        if function and function["type"] == "generic_function" and expressions.names(function["expression"]) & set(columns):
            return self.evaluate(function["expression"], columns, ndim)
        value = self.value(argument)
        return along(value, ndim) if ndim else value

    def leaves(self, names):
        """The parameters behind names."""
        found, model = set(), self.likelihood
        for name in names:
            if name in model.index:
                found.add(name)
            elif name in model.functions:
                function = model.functions[name]
                inner = function.get("summands") or function.get("factors") or expressions.names(function["expression"])
                found |= self.leaves(a for a in inner if isinstance(a, str))
        return found

    def distinct(self, names):
        """A point with the rows that differ in the parameters `names`, the position of every row in it, and the bytes of these values."""
        columns = sorted(self.likelihood.index[name] for name in names)
        if not columns:
            return Point(self.likelihood, self.rows_of[:1]), np.zeros(self.rows, dtype=int), b""
        values, first, back = np.unique(self.rows_of[:, columns], axis=0, return_index=True, return_inverse=True)
        return Point(self.likelihood, self.rows_of[first]), back.ravel(), values.tobytes()

    def repeated(self, n):
        return Point(self.likelihood, np.repeat(self.rows_of, n, axis=0))


class Channel:
    """A density of events with its data."""

    def __init__(self, model, dist, data, ranges, rule):
        self.model, self.name = model, dist["name"]
        self.axes = {a["name"]: (a["edges"][0], a["edges"][-1]) if "edges" in a else (a["min"], a["max"]) for a in data["axes"]}
        names = list(self.axes)
        one = [{}]
        for name in names:
            parts = ranges.get(name, [self.axes[name]])
            one = [box | {name: tuple(part)} for box in one for part in parts]
        self.boxes = one
        self.extended, self.rates, self.parts = False, [1.0], None
        if dist["type"] == "mixture_dist":
            coefficients, summands = dist["coefficients"], dist["summands"]
            self.rates = list(coefficients)
            self.extended = len(coefficients) == len(summands) and dist.get("extended", True)
        else:
            summands = [dist["name"]]
        self.parts = [self.complete(model.density(name, self)) for name in summands]
        self.responses = [self._responses(part) if self.extended else [] for part in self.parts]
        self.binned = data["type"] == "binned"
        self.integral = self.binned and rule == "integral"
        if self.binned:
            self.edges = [
                np.asarray(a["edges"]) if "edges" in a else np.linspace(a["min"], a["max"], a["nbins"] + 1) for a in data["axes"]
            ]
            centres = np.meshgrid(*((e[1:] + e[:-1]) / 2 for e in self.edges), indexing="ij")
            self.columns = {name: c.ravel() for name, c in zip(names, centres)}
            self.weights = np.asarray(data["contents"], dtype=float)
        else:
            entries = np.reshape(np.asarray(data["entries"], dtype=float), (-1, len(names)))
            self.columns = {name: entries[:, i] for i, name in enumerate(names)}
            self.weights = np.asarray(data.get("weights", np.ones(len(entries))), dtype=float)
            inside = np.zeros(len(entries), dtype=bool)
            for box in self.boxes:
                inside |= np.all([(self.columns[n] >= box[n][0]) & (self.columns[n] <= box[n][1]) for n in names], axis=0)
            self.columns = {name: c[inside] for name, c in self.columns.items()}
            self.weights = self.weights[inside]

    def complete(self, density):
        """The density, uniform in the observables that it does not have."""
        missing = [name for name in self.axes if name not in density.observables]
        return (
            Product([density, *(Leaf({"type": "uniform_dist", "x": name}, self.axes) for name in missing)])
            if missing
            else density
        )

    def _responses(self, part):
        inner = part.parts if isinstance(part, Product) else [part]
        return [p for p in inner if isinstance(p, Template)]

    def shares(self, point):
        """Rates or fractions of the processes, one value per row each."""
        rates = [np.broadcast_to(point.value(r), point.rows).astype(float) for r in self.rates]
        if len(rates) < len(self.parts):
            rates.append(1 - sum(rates))
        return [
            rate * np.prod([r.response(point, self.boxes) for r in rs], axis=0) if rs else rate
            for rate, rs in zip(rates, self.responses)
        ]

    def density(self, point, columns):
        """Logarithm and sign of the sum of rates times densities at events. The first axis is that of the rows."""
        ndim = next(iter(columns.values())).ndim
        shape = (point.rows, *np.broadcast_shapes(*(c.shape for c in columns.values())))
        terms = [part.normalised(point, columns, self.boxes) for part in self.parts]
        logs = np.stack([np.broadcast_to(log, shape) for log, _ in terms])
        signs = np.stack([np.broadcast_to(sign, shape) * along(rate, ndim) for (_, sign), rate in zip(terms, self.shares(point))])
        return panels.log_sum(logs, signs, 1.0, 0)

    def contents(self, point):
        """Logarithm and sign of the mean of the density over every bin of one observable."""
        (name,) = self.axes
        terms = []
        for part in self.parts:
            whole, side = part.total(point, self.boxes)
            pairs = [
                np.broadcast_arrays(*part.over(point, {name: ends}), np.zeros(point.rows))[:2]
                for ends in zip(self.edges[0], self.edges[0][1:])
            ]
            log, sign = (np.stack(p, axis=1) for p in zip(*pairs))
            terms.append((log - along(whole, 1) - np.log(np.diff(self.edges[0])), sign * along(side, 1)))
        logs = np.stack([log for log, _ in terms])
        signs = np.stack([sign * along(rate, 1) for (_, sign), rate in zip(terms, self.shares(point))])
        return panels.log_sum(logs, signs, 1.0, 0)

    def nll(self, point, columns=None, weights=None):
        """`-ln L` per row; infinite where the total or the density at an event is negative, or where it is zero."""
        columns = self.columns if columns is None else columns
        weights = self.weights if weights is None else weights
        total = sum(self.shares(point)) if self.extended else np.zeros(point.rows)
        # A minimum with no expected events at all has a total of 0 but for rounding.
        size = sum(np.abs(share) for share in self.shares(point)) if self.extended else 0.0
        value = np.where(total < -1e-13 * size, np.inf, total)
        if weights.size:
            log, sign = self.contents(point) if self.integral else self.density(point, columns)
            used = np.broadcast_to(weights != 0, log.shape[1:])
            bad = ((sign <= 0) | ~np.isfinite(log)) & used
            flat = tuple(range(1, log.ndim))
            value = value - np.sum(np.where(bad | ~used, 0.0, log) * weights, axis=flat)
            value = np.where(bad.any(axis=flat), np.inf, value)
        return value


class Likelihood:
    """The likelihood of the first analysis of a document."""

    def __init__(self, document):
        self.document = document
        analysis = document["analyses"][0]
        self.distributions = {d["name"]: d for d in document["distributions"]}
        self.functions = {f["name"]: f for f in document.get("functions", [])}
        self.hints = document.get("misc", {}).get("hints", {})
        points = {p["name"]: p["parameters"] for p in document["parameter_points"]}
        entries = points[analysis["init"]]
        self.names = [p["name"] for p in entries]
        self.index = {name: i for i, name in enumerate(self.names)}
        self.init = np.array([p["value"] for p in entries], dtype=float)
        self.fixed = np.array([bool(p.get("const")) for p in entries])
        axes = {a["name"]: (a["min"], a["max"]) for d in document["domains"] for a in d["axes"]}
        self.low = np.array([axes.get(name, (-np.inf, np.inf))[0] for name in self.names], dtype=float)
        self.high = np.array([axes.get(name, (-np.inf, np.inf))[1] for name in self.names], dtype=float)
        self.poi = self.index[analysis["parameters_of_interest"][0]]
        likelihood = next(x for x in document["likelihoods"] if x["name"] == analysis["likelihood"])
        data = {d["name"]: d for d in document["data"]}
        ranges, rule = likelihood.get("nextstat.ranges", {}), likelihood.get("nextstat.bins", "center")
        self.channels = [
            Channel(self, self.distributions[d], data[s], ranges, rule)
            for d, s in zip(likelihood["distributions"], likelihood["data"])
        ]
        #: Parameters at whose 0 the likelihood may have a kink.
        self.kinks = sorted(
            {
                self.index[r["parameter"]]
                for d in document["distributions"]
                for r in d.get("responses", [])
                if r["interpolation"]["in"] == "poly1"
            }
        )
        self.constraints = [self.distributions[name] for name in likelihood.get("aux_distributions", [])]

    def density(self, name, channel):
        dist = self.distributions[name]
        kind = dist["type"]
        if kind == "mixture_dist":
            return Mixture([self.density(s, channel) for s in dist["summands"]], dist["coefficients"], channel.boxes)
        if kind == "product_dist":
            if name in self.hints:
                return self._joint(name, [self.distributions[f] for f in dist["factors"]], channel)
            return Product([self.density(f, channel) for f in dist["factors"]])
        if kind == "uniform_dist" and isinstance(dist["x"], list) and len(dist["x"]) > 1:
            return Product([Leaf({"type": kind, "x": x}, channel.axes) for x in dist["x"]])
        if kind == "multivariate_normal_dist":
            return MultivariateNormal(dist)
        if kind in ("decay_dist", "nextstat.b_decay_dist"):
            return Decay(dist, self.distributions, channel.axes)
        if kind == "fft_conv_pdf":
            return Convolved(dist, self.distributions, channel.axes)
        if kind == "histogram_dist":
            return tables(dist)
        if kind == "nextstat.spline_dist":
            return Spline(dist)
        if kind == "nextstat.template_dist":
            return Template(dist)
        if name in self.hints or kind in ("generic_dist", "efficiency_product_pdf_dist"):
            return self._joint(name, [dist], channel)
        return Leaf(dist, channel.axes)

    def _joint(self, name, dists, channel):
        parts = []
        for dist in dists:
            if dist["type"] == "efficiency_product_pdf_dist":
                parts += [self.distributions[dist["pdf"]], self.functions[dist["eff"]]["expression"]]
            else:
                parts.append(dist["expression"] if dist["type"] == "generic_dist" else dist)
        own = set()
        for part in parts:
            own |= self._observables(part, channel)
        return Joint(parts, [n for n in channel.axes if n in own], self.hints.get(name, {}), channel.axes)

    def _observables(self, part, channel):
        flat = (
            expressions.names(part)
            if isinstance(part, str)
            else {b for a in part.values() for b in (a if isinstance(a, list) else [a]) if isinstance(b, str)}
        )
        found = flat & set(channel.axes)
        for name in flat & set(self.functions):
            function = self.functions[name]
            if function["type"] == "generic_function":
                found |= self._observables(function["expression"], channel)
        return found

    def penalty(self, point, measured=None):
        """`-ln` of the constraint terms. `measured` replaces constant parameters, the global observables."""
        total = np.zeros(point.rows)
        for dist in self.constraints:
            if dist["type"] == "poisson_dist":
                n, mean = (measured or {}).get(dist["x"], point.value(dist["x"])), point.value(dist["mean"])
                total = total + mean - scipy.special.xlogy(n, mean) + scipy.special.gammaln(n + 1)
            elif dist["type"] == "lognormal_dist":
                mu = (measured or {}).get(dist["mu"], point.value(dist["mu"]))
                log, sigma = np.log(point.value(dist["x"])), point.value(dist["sigma"])
                total = total + ((log - mu) / sigma) ** 2 / 2 + np.log(sigma * np.sqrt(2 * np.pi)) + log
            elif dist["type"] == "gamma_dist":
                shape = (measured or {}).get(dist["gamma"], point.value(dist["gamma"]))
                x = point.value(dist["x"]) / dist["beta"]
                total = total + x - (shape - 1) * np.log(x) + scipy.special.gammaln(shape) + np.log(dist["beta"])
            else:
                x = (measured or {}).get(dist["mean"], point.value(dist["mean"]))
                sigma = point.value(dist["sigma"])
                total = total + ((point.value(dist["x"]) - x) / sigma) ** 2 / 2 + np.log(sigma * np.sqrt(2 * np.pi))
        return total

    def nll(self, rows, data=None, measured=None):
        """`-ln L` per row. `data` has columns and weights per channel instead of the observed ones."""
        point = Point(self, rows)
        value = self.penalty(point, measured)
        for i, channel in enumerate(self.channels):
            value = value + (channel.nll(point) if data is None else channel.nll(point, *data[i]))
        return value
