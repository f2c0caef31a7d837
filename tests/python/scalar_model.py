"""HistFactory in scalar Python: a slow, independent reference for the tests.

Written from the definitions in ``docs/numerics`` alone, one bin and one term at a
time, without arrays and without any code of the package. Every value comes with the sums
of absolute terms in which the accuracy contract (``docs/numerics.md``) is stated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

EPS = 2.0**-52

# The modifier types, in the order in which pyhf orders their parameters.
TYPES = ("histosys", "lumi", "normfactor", "normsys", "shapefactor", "shapesys", "staterror")


@dataclass
class ParameterSet:
    """A named group of parameters with its constraint."""

    name: str
    kind: str  # "free", "gaussian" or "poisson"
    scalar: bool
    init: list
    bounds: list
    fixed: list
    aux: list = field(default_factory=list)
    sigma: list = field(default_factory=list)
    tau: list = field(default_factory=list)
    first: int = 0


@dataclass
class Value:
    """``-2 ln L`` with its parts and the errors that rounding may cause."""

    twice_nll: float
    main: float
    constraint: float
    # Error that the contract allows: 8 eps S + 1e-12, and the effect of the rounding of expected yields.
    tolerance: float
    # Additional error of pyhf, which computes the Poisson terms with log-gamma.
    pyhf_tolerance: float
    # Whether the expected yield of a bin is zero within rounding, so that its sign is not defined.
    ambiguous: bool


def stirling_constant(n: float) -> float:
    """``n - n ln n + ln Gamma(n + 1)``: minus the log of the saturated Poisson term."""
    if n == 0.0:
        return 0.0
    if n < 16.0:
        return n - n * math.log(n) + math.lgamma(n + 1.0)
    return 0.5 * math.log(2.0 * math.pi * n) + 1 / (12 * n) - 1 / (360 * n**3) + 1 / (1260 * n**5) - 1 / (1680 * n**7)


def half_deviance(n: float, rate: float) -> float:
    """``rate - n - n ln(rate / n)`` without cancellation near ``rate = n``."""
    if n == 0.0:
        return rate
    if rate <= 0.0:
        return math.inf
    z = (rate - n) / n
    if abs(z) > 0.05:
        # Not log1p(z): if the rate is tiny, z = -1 + rate/n has already lost its digits.
        return n * (z - math.log(rate / n))
    total, power = 0.0, -z
    for k in range(2, 40):
        power *= -z
        term = power / k
        total += term
        if abs(term) <= 1e-18 * abs(total):
            break
    return n * total


def normsys_factor(code: str, lo: float, hi: float, alpha: float) -> float:
    """Interpolated factor of a normsys."""
    if code == "code0":
        return 1 + alpha * (hi - 1 if alpha >= 0 else 1 - lo)
    if code == "code6":
        return 1 + histosys_shift("code4p", lo, 1.0, hi, alpha)
    if code == "lnN":
        # AsymPow of CMS Combine.
        up, down, x = math.log(hi), -math.log(lo), max(-1.0, min(1.0, 2 * alpha))
        smooth = x * (x * x * (3 * x * x - 10) + 15) / 8
        return math.exp(alpha * ((up + down) / 2 + (up - down) / 2 * smooth))
    if code == "code1":
        return hi**alpha if alpha >= 0 else lo**-alpha
    if alpha >= 1.0:
        return hi**alpha
    if alpha <= -1.0:
        return lo**-alpha
    # Sixth-order polynomial that meets the exponentials at -1 and +1 with two derivatives:
    # even and odd part, each fixed by value, slope and curvature at 1.
    up, down = math.log(hi), math.log(lo)
    e0, o0 = (hi + lo) / 2 - 1, (hi - lo) / 2
    e1, o1 = (hi * up + lo * down) / 2, (hi * up - lo * down) / 2
    e2, o2 = (hi * up**2 + lo * down**2) / 2, (hi * up**2 - lo * down**2) / 2
    a6 = (e2 - 5 * e1 + 8 * e0) / 8
    a4 = (e1 - 2 * e0 - 4 * a6) / 2
    a2 = e0 - a4 - a6
    a5 = (o2 - 3 * (o1 - o0)) / 8
    a3 = (o1 - o0 - 4 * a5) / 2
    a1 = o0 - a3 - a5
    return 1 + alpha * (a1 + alpha * (a2 + alpha * (a3 + alpha * (a4 + alpha * (a5 + alpha * a6)))))


def histosys_shift(code: str, lo: float, nominal: float, hi: float, alpha: float) -> float:
    """Interpolated shift of one bin by a histosys."""
    up, down = hi - nominal, nominal - lo
    if code == "code0":
        return alpha * (up if alpha >= 0 else down)
    if code == "code2":
        a, b = (up - down) / 2, (up + down) / 2
        if alpha > 1:
            return (b + 2 * a) * (alpha - 1) + a + b
        if alpha < -1:
            return (b - 2 * a) * (alpha + 1) + a - b
        return a * alpha**2 + b * alpha
    if abs(alpha) > 1:
        return alpha * (up if alpha > 0 else down)
    s, a = (up + down) / 2, (up - down) / 16
    return alpha * s + a * (alpha**2 * (15 + alpha**2 * (3 * alpha**2 - 10)))


def _names(spec, kind):
    """Uses of one type of modifier by name, in the order in which pyhf meets the names; staterror sorted by name."""
    seen = {}
    channels = sorted(spec["channels"], key=lambda c: c["name"])
    samples = sorted({s["name"] for c in channels for s in c["samples"]})
    for channel in channels:
        for name in samples:
            for sample in channel["samples"]:
                if sample["name"] == name:
                    for modifier in sorted(sample["modifiers"], key=lambda m: m["name"]):
                        if modifier["type"] == kind:
                            seen.setdefault(modifier["name"], []).append((channel, sample, modifier))
    return dict(sorted(seen.items())) if kind == "staterror" else seen


def _staterror(uses):
    """Relative widths of one staterror name, for each bin of all channels that use it, one after another."""
    widths = []
    for channel_name in sorted({channel["name"] for channel, _, _ in uses}):
        members = [(s, m) for c, s, m in uses if c["name"] == channel_name]
        for b in range(len(members[0][0]["data"])):
            total = sum(s["data"][b] for s, _ in members)
            square = sum((m["data"][b] / total) ** 2 for _, m in members) if total > 0 else 0.0
            widths.append(math.sqrt(square))
    return widths


def _default_set(name, kind, uses):
    if kind in ("histosys", "normsys"):
        return ParameterSet(name, "gaussian", True, [0.0], [(-5.0, 5.0)], [False], aux=[0.0], sigma=[1.0])
    if kind == "lumi":
        return ParameterSet(name, "gaussian", True, [], [], [False])
    if kind == "normfactor":
        return ParameterSet(name, "free", True, [1.0], [(0.0, 10.0)], [False])
    _, sample, modifier = uses[0]
    if kind == "shapefactor":
        n = len(sample["data"])
        return ParameterSet(name, "free", False, [1.0] * n, [(0.0, 10.0)] * n, [False] * n)
    if kind == "shapesys":
        pairs = list(zip(sample["data"], modifier["data"]))
        valid = [y > 0 and u > 0 for y, u in pairs]
        tau = [y**2 / u**2 if ok else 1.0 for (y, u), ok in zip(pairs, valid)]
        n = len(tau)
        return ParameterSet(
            name, "poisson", False, [1.0] * n, [(1e-10, 10.0)] * n, [not ok for ok in valid], aux=list(tau), tau=tau
        )
    widths = _staterror(uses)
    n = len(widths)
    return ParameterSet(
        name,
        "gaussian",
        False,
        [1.0] * n,
        [(1e-10, 10.0)] * n,
        [w == 0 for w in widths],
        aux=[1.0] * n,
        sigma=[w or 1.0 for w in widths],
    )


class ScalarModel:
    """The model of one measurement of a workspace, which must be valid because nothing is checked."""

    def __init__(self, spec, measurement=None, normsys_code="code4", histosys_code="code4p"):
        self.codes = (normsys_code, histosys_code)
        chosen = next(m for m in spec["measurements"] if measurement in (None, m["name"]))
        self.channels = sorted(spec["channels"], key=lambda c: c["name"])
        self.sets = {}
        for kind in TYPES:
            for name, uses in _names(spec, kind).items():
                self.sets.setdefault(name, _default_set(name, kind, uses))
        for settings in chosen["config"]["parameters"]:
            if settings["name"] in self.sets:
                self._configure(self.sets[settings["name"]], settings)
        first = 0
        for group in self.sets.values():
            group.first, first = first, first + len(group.init)
        # Index of the first parameter of each channel in a staterror that several channels share.
        self.offset, length = {}, {}
        for channel in self.channels:
            here = {m["name"] for s in channel["samples"] for m in s["modifiers"] if m["type"] == "staterror"}
            for name in here:
                self.offset[name, channel["name"]] = length.get(name, 0)
                length[name] = length.get(name, 0) + len(channel["samples"][0]["data"])
        data = {o["name"]: o["data"] for o in spec["observations"]}
        self.main = [float(n) for c in self.channels for n in data[c["name"]]]
        self.aux = [float(a) for group in self.sets.values() if group.kind != "free" for a in group.aux]

    @staticmethod
    def _configure(group, settings):
        group.init = list(settings.get("inits", group.init))
        group.bounds = [tuple(b) for b in settings.get("bounds", group.bounds)]
        group.aux = list(settings.get("auxdata", group.aux))
        group.sigma = list(settings.get("sigmas", group.sigma))
        group.tau = list(settings.get("factors", group.tau))
        if "fixed" in settings:
            group.fixed = [settings["fixed"]] * len(group.init)

    @property
    def parameter_names(self):
        return [
            group.name if group.scalar else f"{group.name}[{i}]"
            for group in self.sets.values()
            for i in range(len(group.init))
        ]

    @property
    def init(self):
        return [float(x) for group in self.sets.values() for x in group.init]

    @property
    def bounds(self):
        return [tuple(map(float, b)) for group in self.sets.values() for b in group.bounds]

    @property
    def fixed(self):
        return [bool(f) for group in self.sets.values() for f in group.fixed]

    def expected_main(self, x):
        """Expected counts, and for each bin the sum of the absolute terms of its count."""
        counts, sizes = [], []
        for channel in self.channels:
            for b in range(len(channel["samples"][0]["data"])):
                count = size = 0.0
                for sample in channel["samples"]:
                    value, absolute = self._sample(channel["name"], sample, b, x)
                    count += value
                    size += absolute
                counts.append(count)
                sizes.append(size)
        return counts, sizes

    def _sample(self, channel, sample, b, x):
        nominal = float(sample["data"][b])
        added, size, factor = nominal, abs(nominal), 1.0
        for m in sample["modifiers"]:
            first, kind = self.sets[m["name"]].first, m["type"]
            if kind == "histosys":
                lo, hi = m["data"]["lo_data"][b], m["data"]["hi_data"][b]
                shift = histosys_shift(self.codes[1], lo, nominal, hi, x[first])
                added += shift
                size += abs(shift) + abs(x[first]) * (abs(nominal) + abs(lo) + abs(hi))
            elif kind == "normsys":
                factor *= normsys_factor(self.codes[0], m["data"]["lo"], m["data"]["hi"], x[first])
            elif kind in ("normfactor", "lumi"):
                factor *= x[first]
            elif kind == "staterror":
                factor *= x[first + self.offset[m["name"], channel] + b]
            else:
                factor *= x[first + b]
        return added * factor, size * abs(factor)

    def expected_aux(self, x):
        """Expected auxiliary data, in the order of the parameters."""
        out = []
        for group in self.sets.values():
            for i in range(len(group.init)):
                theta = x[group.first + i]
                if group.kind == "gaussian":
                    out.append(theta)
                elif group.kind == "poisson":
                    out.append(group.tau[i] * theta)
        return out

    def evaluate(self, x) -> Value:
        counts, sizes = self.expected_main(x)
        main, terms, passed_on, textbook, ambiguous = [], 0.0, 0.0, 0.0, False
        for n, rate, size in zip(self.main, counts, sizes):
            deviance, constant = half_deviance(n, rate), stirling_constant(n)
            main += [deviance, constant]
            terms += abs(deviance) + abs(constant)
            ambiguous |= abs(rate) <= 1e-13 * size and (size > 0 and n > 0)
            if rate > 0 or n == 0:
                slope = 1.0 if n == 0 else abs(1.0 - n / rate)
                passed_on += slope * size
                textbook += abs(rate) + (n * abs(math.log(rate)) + math.lgamma(n + 1) if n > 0 else 0.0)
        constraint = []
        for group in self.sets.values():
            for i in range(len(group.init)):
                theta = x[group.first + i]
                if group.kind == "gaussian":
                    sigma, a = group.sigma[i], group.aux[i]
                    pull, constant = ((theta - a) / sigma) ** 2 / 2, math.log(sigma) + math.log(2 * math.pi) / 2
                    constraint += [pull, constant]
                    terms += pull + abs(constant)
                    passed_on += abs(theta - a) / sigma**2 * (abs(theta) + abs(a))
                elif group.kind == "poisson":
                    rate, a = group.tau[i] * theta, group.aux[i]
                    deviance, constant = half_deviance(a, rate), stirling_constant(a)
                    constraint += [deviance, constant]
                    terms += abs(deviance) + abs(constant)
                    if rate > 0:
                        passed_on += abs(rate - a)
                        textbook += rate + a * abs(math.log(rate)) + math.lgamma(a + 1)
        finite = all(map(math.isfinite, main + constraint))
        main = 2 * math.fsum(main) if finite else math.inf
        constraint = 2 * math.fsum(constraint) if finite else math.inf
        return Value(
            twice_nll=main + constraint,
            main=main,
            constraint=constraint,
            tolerance=2 * (8 * EPS * terms + 1e-12 + 32 * EPS * passed_on),
            pyhf_tolerance=2 * (8 * EPS * textbook + 64 * EPS * passed_on),
            ambiguous=ambiguous,
        )
