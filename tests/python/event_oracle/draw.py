"""Random models of events as HS3 documents, each by its seed and its index."""

from __future__ import annotations

import dataclasses
import re

import numpy as np

from . import asimov
from .likelihood import Likelihood, Point
from .draft import Draft
from .pieces import peak, smooth

#: Models of this seed and of larger ones have decays, convolutions and Landau densities too. Models of smaller seeds stay what they
#: were when the list of densities grew.
WIDE = 1000


@dataclasses.dataclass
class Case:
    """A model with the point at which its events were drawn, and what it has that decides which checks apply."""

    seed: int
    index: int
    document: dict
    truth: np.ndarray
    traits: set[str]

    def label(self) -> str:
        return f"event model {self.index} of seed {self.seed} ({', '.join(sorted(self.traits))})"


def draw(seed: int, index: int) -> Case:
    """The model `index` of a seed. Models without a density at the point where their events are drawn are drawn again."""
    for attempt in range(100):
        case = _attempt(seed, index, np.random.default_rng([seed, index, attempt]))
        if case is not None:
            return case
    raise ValueError(f"event model {index} of seed {seed} cannot be drawn")


def _attempt(seed: int, index: int, rng) -> Case | None:
    d, traits = Draft(rng, wide=seed >= WIDE), set()
    n_channels = d.pick([1, 1, 1, 1, 2])
    strength = d.power(0.0, 2.0)
    background = d.pick([0.0, d.power(0.0, 1.0), d.power(1.0, 2.4), d.power(1.0, 2.4), d.power(1.0, 2.4)])
    truth = d.pick([0.0, 0.3, 1.0, 1.0, 2.0])
    extended = d.chance(0.85)
    reach = float(f"{(20 + 12 * np.sqrt(background + strength)) / strength * 4:.2g}")
    if extended:
        # With negative signals and free shapes likelihoods have many minima at their ends, where a density becomes negative.
        d.shapes_free = not d.chance(0.15)
        lowest = float(f"{-0.3 * reach:.2g}") if not d.shapes_free and d.chance(0.6) else 0.0
        poi = d.parameter("mu", 1.0, lowest, reach, truth)
    else:
        poi, n_channels = d.parameter("fraction", 0.2, 0.0, 1.0, d.between(0.0, 0.5)), 1
        traits.add("not extended")
    channels = [_channel(d, i, poi, strength, background, extended, traits) for i in range(n_channels)]
    if n_channels > 1:
        traits.add("two channels")
    ranges = channels[0].pop("ranges", {})
    for channel in channels[1:]:
        channel.pop("ranges", None)
    document = _document(d, poi, channels, ranges if n_channels == 1 else {})
    model = Likelihood(document)
    at = np.array([d.parameters[name]["truth"] for name in model.names], dtype=float)
    if not _events(d, document, model, at, traits):
        return None
    return Case(seed, index, document, at, traits)


def _channel(d: Draft, i: int, poi: str, strength: float, background: float, extended: bool, traits: set) -> dict:
    """The name of the mixture of a channel, and its axes."""
    n = d.pick([1, 1, 1, 1, 1, 2, 2, 3])
    names = [f"{letter}{i}" for letter in "xyz"[:n]]
    axes = {}
    for name in names:
        kind = d.pick(["unit", "mass", "wide", "symmetric", "time"])
        low, high = {
            "unit": (0.0, 1.0),
            "mass": (100.0, 160.0),
            "wide": (-1000.0, 1000.0),
            "symmetric": (-1.0, 1.0),
            "time": (0.0, d.power(-3, 3)),
        }[kind]
        axes[name] = (low, high)
    traits.add(f"{n}d")
    signal = _signal(d, names, axes, traits)
    if extended:
        rate = _rate(d, poi, strength)
        summands, coefficients = [signal], [rate]
        if background > 0.0:
            summands.append(_background(d, names, axes))
            if d.chance(0.6):
                nb = d.parameter("nb", float(f"{background:.3g}"), 0.0, float(f"{10 * background + 50:.3g}"))
                coefficients.append(nb)
                if d.chance(0.2):
                    factor = d.between(0.5, 3.0)
                    d.poisson_constraint(nb, factor, int(d.rng.poisson(factor * background)))
            else:
                coefficients.append(d.function(f"{background!r}*exp(0.1*{d.nuisance()})") if d.chance(0.5) else background)
            if not d.shapes_free and d.chance(0.6):
                summands.append(_signal(d, names, axes, traits, wide=True))
                if d.chance(0.5):
                    coefficients.append(d.function(f"-{0.15 * strength!r}*{poi}"))
                else:
                    coefficients.append(float(f"{-0.1 * background:.4g}"))
                traits.add("negative coefficient")
        mixture = d.add("mixture_dist", summands=summands, coefficients=coefficients, extended=True)
    else:
        mixture = d.add("mixture_dist", summands=[signal, _background(d, names, axes)], coefficients=[poi], extended=False)
    channel = {"mixture": mixture, "axes": axes}
    if d.chance(0.1):
        name = names[0]
        low, high = axes[name]
        a, b = (float(f"{low + (high - low) * f:.6g}") for f in (d.between(0.3, 0.5), d.between(0.5, 0.7)))
        channel["ranges"] = {name: [[low, a], [b, high]]}
        traits.add("ranges")
    elif n == 1 and extended and d.chance(0.08):
        channel["bins"] = int(d.pick([10, 25, 40]))
        traits.add("binned")
    return channel


def _rate(d: Draft, poi: str, strength: float):
    if strength == 1.0 or d.chance(0.2):
        return d.function(f"{strength!r}*{poi}")
    if d.chance(0.4):
        return d.function(f"{poi}*{strength!r}*exp({d.between(0.05, 0.3)}*{d.nuisance()})")
    name = d.name("yield")
    d.functions.append({"name": name, "type": "product", "factors": [poi, strength]})
    return name


def _background(d: Draft, names, axes):
    if len(names) == 1:
        return smooth(d, names[0], axes[names[0]])
    kinds = ["exponential", "chebychev", "uniform", "bernstein", "histogram"]
    return d.add("product_dist", factors=[smooth(d, x, axes[x], d.pick(kinds)) for x in names])


def _signal(d: Draft, names, axes, traits, wide=False):
    """A density with a peak, of all observables."""
    narrowest = -1.5 if wide else -5.0
    kind = d.pick(["product", "product", "normal", "conditional"]) if len(names) > 1 and not wide else "product"
    if kind == "normal":
        traits.add("multivariate")
        return _normal(d, names, axes)
    if kind == "conditional":
        traits.add("conditional")
        return _conditional(d, names, axes)
    several = d.pick(["gaussian", "crystal_ball", "bifurcated", "voigt", "core_and_tail"]) if len(names) > 1 else None
    first, width = peak(d, names[0], axes[names[0]], kind=several, narrowest=narrowest)
    if width < 1e-3:
        traits.add("narrow")
    others = [
        smooth(d, x, axes[x], d.pick(["exponential", "uniform", "wide_gaussian", "chebychev"]))
        if d.chance(0.6)
        else peak(d, x, axes[x], "gaussian", -2.0)[0]
        for x in names[1:]
    ]
    return d.add("product_dist", factors=[first, *others]) if others else first


def _normal(d: Draft, names, axes):
    """A multivariate normal density with correlations."""
    n = len(names)
    sigmas = np.array([(axes[x][1] - axes[x][0]) * 10 ** d.rng.uniform(-2.5 if n == 2 else -1.5, -0.6) for x in names])
    rho = np.eye(n)
    for i in range(n):
        for j in range(i):
            rho[i, j] = rho[j, i] = d.rng.uniform(-0.5, 0.5) if n > 2 else d.pick([0.0, 0.5, -0.9, 0.97])
    covariances = [[float(f"{v:.9g}") for v in row] for row in rho * np.outer(sigmas, sigmas)]
    covariances = [[covariances[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]
    means = []
    for x, s in zip(names, sigmas):
        at = float(f"{axes[x][0] + (axes[x][1] - axes[x][0]) * d.rng.uniform(0.05, 0.95):.6g}")
        means.append(d.number("mean", at, float(f"{at - 4 * s:.6g}"), float(f"{at + 4 * s:.6g}"), s, free=0.15))
    return d.add("multivariate_normal_dist", x=names, mean=means, covariances=covariances)


def _conditional(d: Draft, names, axes):
    """A normal density whose mean follows another observable, times a density of that one."""
    x, y = names[:2]
    (xl, xh), (yl, yh) = axes[x], axes[y]
    slope = float(f"{d.rng.uniform(-0.6, 0.6) * (yh - yl) / (xh - xl):.4g}")
    middle = float(f"{yl + (yh - yl) * d.rng.uniform(0.4, 0.6):.6g}")
    line = d.function(f"{middle!r}+({slope!r})*({x}-({(xl + xh) / 2!r}))")
    s = float(f"{(yh - yl) * 10 ** d.rng.uniform(-2.0, -0.5):.4g}")
    ridge = d.add("gaussian_dist", x=y, mean=line, sigma=s)
    length = xh - xl
    base = d.add(
        "exponential_dist",
        x=x,
        c=d.number("c", float(f"{d.rng.uniform(0, 3) / length:.4g}"), -5 / length, 12 / length, 0.5 / length),
    )
    name = d.add("product_dist", factors=[base, ridge])
    expression = next(f["expression"] for f in d.functions if f["name"] == line)
    d.hints[name] = {"order": [x, y], "peaks": {y: [[expression, repr(s)]]}}
    # An observable that no density has would not be one of the channel.
    others = [d.add("uniform_dist", x=z) for z in names[2:]]
    return d.add("product_dist", factors=[name, *others]) if others else name


def _used(d: Draft, poi: str) -> set[str]:
    """Names that the densities, their coefficients and the constraint terms refer to."""
    functions = {f["name"]: f for f in d.functions}
    used, waiting = set(), [poi]

    def texts(value):
        if isinstance(value, str):
            return {value}
        values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
        return set().union(*(texts(v) for v in values)) if values else set()

    waiting += [name for dist in d.distributions for text in texts(dist) for name in re.findall(r"[A-Za-z_]\w*", text)]
    while waiting:
        name = waiting.pop()
        if name not in used:
            used.add(name)
            if name in functions:
                waiting += [n for text in texts(functions[name]) for n in re.findall(r"[A-Za-z_]\w*", text)]
    return used


def _document(d: Draft, poi: str, channels: list[dict], ranges: dict) -> dict:
    used = _used(d, poi)
    d.functions = [f for f in d.functions if f["name"] in used]
    d.parameters = {name: p for name, p in d.parameters.items() if name in used}
    data = []
    for i, channel in enumerate(channels):
        axes = [{"name": name, "min": low, "max": high} for name, (low, high) in channel["axes"].items()]
        if "bins" in channel:
            axes[0]["nbins"] = channel["bins"]
            data.append({"name": f"data{i}", "type": "binned", "axes": axes, "contents": [0.0] * channel["bins"]})
        else:
            data.append({"name": f"data{i}", "type": "unbinned", "axes": axes, "entries": []})
    likelihood = {"name": "L", "distributions": [c["mixture"] for c in channels], "data": [x["name"] for x in data]}
    if d.aux:
        likelihood["aux_distributions"] = d.aux
    if ranges:
        likelihood["nextstat.ranges"] = ranges
    if any("bins" in channel for channel in channels):
        likelihood["nextstat.bins"] = d.pick(["center", "integral"])
    parameters = [{"name": n, "value": p["value"]} | ({"const": True} if p["const"] else {}) for n, p in d.parameters.items()]
    domain = [{"name": n, "min": p["low"], "max": p["high"]} for n, p in d.parameters.items() if p["low"] is not None]
    return {
        "metadata": {"hs3_version": "0.2.9"},
        "distributions": d.distributions,
        "functions": d.functions,
        "data": data,
        "likelihoods": [likelihood],
        "domains": [{"name": "default_domain", "type": "product_domain", "axes": domain}],
        "parameter_points": [{"name": "default_values", "parameters": parameters}],
        "analyses": [
            {
                "name": "a",
                "likelihood": "L",
                "parameters_of_interest": [poi],
                "domain": "default_domain",
                "init": "default_values",
            }
        ],
        "misc": {"hints": d.hints},
    }


def _covered(channel, point) -> bool:
    """Whether every density of a channel has a part within the fit ranges."""
    parts = [(part.total(point, channel.boxes)[0], part.total(point, [channel.axes])[0]) for part in channel.parts]
    return all(np.all(inside - whole > -20) for inside, whole in parts)


def _events(d: Draft, document: dict, model: Likelihood, at: np.ndarray, traits: set) -> bool:
    """Draws events at nodes of a quadrature, each moved at random within the size of its node. Returns whether that is possible."""
    point = Point(model, at)
    for channel, data in zip(model.channels, document["data"]):
        expected = float(sum(channel.shares(point))[0]) if channel.extended else d.pick([3.0, 30.0, 200.0])
        n = int(d.rng.poisson(max(expected, 0.0))) if channel.extended else int(expected)
        if channel.extended and d.chance(0.1):
            n = d.pick([0, 0, 1, 2])
        n = min(n, 600)
        names = list(channel.axes)
        columns, weight = asimov.channel_nodes(channel, point)
        with np.errstate(invalid="ignore"):
            log, sign = channel.density(point, columns)
        p = (weight * (sign * np.exp(log))[0]).ravel()
        if not np.all(p >= 0) or n and p.sum() == 0 or not _covered(channel, point):
            return False
        chosen = d.rng.choice(p.size, n, p=p / p.sum()) if n else np.zeros(0, dtype=int)
        places = []
        for name in names:
            column = np.broadcast_to(columns[name], weight.shape).ravel()
            low, high = channel.axes[name]
            # The distance to the next node that is drawn from.
            nodes = np.unique(column)
            gap = np.concatenate([np.diff(nodes), [0.0]])[np.searchsorted(nodes, column[chosen])]
            moved = column[chosen] + gap * d.rng.random(n)
            places.append(np.array([float(f"{v:.12g}") for v in np.clip(moved, low, high)]))
        if channel.binned:
            counts = np.histogram(places[0], bins=channel.edges[0])[0]
            data["contents"] = [float(c) for c in counts]
        else:
            data["entries"] = [list(map(float, row)) for row in zip(*places)]
        if n < 4:
            traits.add("few events" if n else "no events")
        if not channel.binned and n > 3 and d.chance(0.12):
            weights = np.round(d.rng.uniform(0.3, 2.0, n), 3)
            if d.chance(0.3):
                weights = np.where(d.rng.random(n) < 0.15, -weights, weights)
                traits.add("negative weights")
            data["weights"] = [float(w) for w in weights]
            traits.add("weights")
    return bool(np.isfinite(Likelihood(document).nll(at)[0]))
