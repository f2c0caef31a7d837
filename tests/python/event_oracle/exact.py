"""`-ln L` with 50 digits: densities of one observable, their products and mixtures."""

from __future__ import annotations

import functools
import types

import mpmath
import numpy as np

from . import panels
from .compound import Compound
from .densities import Leaf, Mixture, Product
from .expressions import evaluate, names
from .joint import Joint
from .likelihood import Likelihood, Point
from .shapes import breaks, peaks, singular
from .tables import Spline, Table

_MP = mpmath.MPContext()
_MP.dps = 50

#: The elementary functions of mpmath.
DIGITS = types.SimpleNamespace(
    log=_MP.log,
    exp=_MP.exp,
    sqrt=_MP.sqrt,
    asinh=_MP.asinh,
    abs=abs,
    cos=_MP.cos,
    sin=_MP.sin,
    tan=_MP.tan,
    sign=_MP.sign,
    pi=_MP.pi,
    inf=_MP.inf,
    where=lambda condition, a, b: a if condition else b,
    maximum=max,
    minimum=min,
    power=lambda a, b: _MP.mpf(a) ** b,
    log_faddeeva=lambda z: _MP.log(_MP.re(_MP.exp(-z * z) * _MP.erfc(-1j * z))),
)


class Unsupported(Exception):
    """The model has a density that is not computed with 50 digits."""


@functools.cache
def rule(n: int = 30):
    """Nodes and weights of Gauss and Legendre on [0, 1]."""
    pairs = []
    for x in np.polynomial.legendre.leggauss(n)[0]:
        x = _MP.mpf(float(x))
        for _ in range(5):
            p, q = _MP.mpf(1), x
            for k in range(2, n + 1):
                p, q = q, ((2 * k - 1) * x * q - (k - 1) * p) / k
            slope = n * (x * q - p) / (x * x - 1)
            x -= q / slope
        pairs.append(((x + 1) / 2, 1 / ((1 - x * x) * slope * slope)))
    return pairs


class Exact:
    """One parameter point of a likelihood."""

    def __init__(self, model: Likelihood, x):
        self.model, self.point = model, Point(model, x)
        self.values = {name: _MP.mpf(float(v)) for name, v in zip(model.names, self.point.rows_of[0])}

    def value(self, argument, given=None):
        if isinstance(argument, list):
            return [self.value(a, given) for a in argument]
        if not isinstance(argument, str):
            return _MP.mpf(float(argument))
        if given and argument in given:
            return given[argument]
        if argument in self.values:
            return self.values[argument]
        function = self.model.functions[argument]
        if function["type"] == "sum":
            return sum(self.value(a, given) for a in function["summands"])
        if function["type"] == "product":
            return _MP.fprod(self.value(a, given) for a in function["factors"])
        return self.expression(function["expression"], given)

    def expression(self, text, given):
        return _MP.mpf(evaluate(text, DIGITS, {name: self.value(name, given) for name in names(text)}))

    def shape(self, density, event):
        if isinstance(density, Compound) or getattr(density, "kind", None) == "landau_dist":
            raise Unsupported(type(density).__name__)
        if isinstance(density, Leaf):
            p = {k: self.value(v) for k, v in density.arguments.items()} | {"axis": [_MP.mpf(v) for v in density.axis]}
            log, sign = density.formula(DIGITS, event[density.name], p)
            return sign * _MP.exp(log)
        if isinstance(density, Joint) and len(density.observables) == 1 and all(isinstance(p, str) for p in density.parts):
            return _MP.fprod(self.expression(text, event) for text in density.parts)
        if isinstance(density, Product):
            return _MP.fprod(self.shape(part, event) for part in density.parts)
        if isinstance(density, Mixture):
            return sum(
                c * self.shape(part, event) / self.total(part, density.boxes)
                for c, part in zip(self.shares(density), density.parts)
            )
        if isinstance(density, Table | Spline):
            # Sums of few products of the numbers of the file, in which nothing cancels.
            log, sign = density.shape(self.point, {name: np.array([float(x)]) for name, x in event.items()})
            return float(sign[0, 0]) * _MP.exp(_MP.mpf(float(log[0, 0])))
        raise Unsupported(type(density).__name__)

    def shares(self, density):
        given = [self.value(c) for c in density.coefficients]
        return [*given, 1 - sum(given)] if len(given) < len(density.parts) else [c / sum(given) for c in given]

    def over(self, density, box):
        if isinstance(density, Product):
            return _MP.fprod(self.over(part, box) for part in density.parts)
        if isinstance(density, Mixture):
            return sum(
                c * self.over(part, box) / self.total(part, density.boxes) for c, part in zip(self.shares(density), density.parts)
            )
        if isinstance(density, Table | Spline):
            log, sign = density.over(self.point, box)
            return float(sign[0]) * _MP.exp(_MP.mpf(float(log[0])))
        (name,) = density.observables
        low, high = box[name]
        if isinstance(density, Leaf):
            p = density.parameters(self.point)
            ends = panels.edges(low, high, peaks(density.kind, p), breaks(density.kind, p), singular(density.kind, p))[0]
        elif isinstance(density, Joint) and not density.hints.get("power"):
            stops = [self.point.evaluate(str(e), {}, 0) for e in density.hints.get("breaks", {}).get(name, [])]
            ends = panels.edges(low, high, density._near(self.point, name, {}), stops)[0]
        else:
            raise Unsupported(type(density).__name__)
        ends = [_MP.mpf(float(e)) for e in np.unique(ends)]
        total = _MP.mpf(0)
        for a, b in zip(ends, ends[1:]):
            total += (b - a) * sum(w * self.shape(density, {name: a + (b - a) * t}) for t, w in rule())
        return total

    @functools.lru_cache(maxsize=None)
    def _total(self, key):
        density, boxes = key.density, key.boxes
        own = []
        for box in boxes:
            sides = {name: box[name] for name in density.observables}
            if sides not in own:
                own.append(sides)
        return sum(self.over(density, box) for box in own)

    def total(self, density, boxes):
        return self._total(_Key(density, boxes))

    def nll(self):
        """`-ln L`, without data given in bins."""
        value = _MP.mpf(float(self.model.penalty(self.point)[0]))
        for channel in self.model.channels:
            if channel.binned or any(channel.responses):
                raise Unsupported("bins")
            rates = [self.value(r) for r in channel.rates]
            rates = [*rates, 1 - sum(rates)] if len(rates) < len(channel.parts) else rates
            value += sum(rates) if channel.extended else 0
            for i, weight in enumerate(channel.weights):
                event = {name: _MP.mpf(float(c[i])) for name, c in channel.columns.items()}
                f = sum(r * self.shape(part, event) / self.total(part, channel.boxes) for r, part in zip(rates, channel.parts))
                value -= _MP.mpf(float(weight)) * _MP.log(f)
        return float(value)


class _Key:
    """A density and its boxes, by identity."""

    def __init__(self, density, boxes):
        self.density, self.boxes = density, boxes

    def __hash__(self):
        return hash(id(self.density))

    def __eq__(self, other):
        return self.density is other.density
