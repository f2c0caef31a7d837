"""Seeded random pyhf workspaces: valid ones of every shape, and broken ones.

``draw_case(seed, index)`` is a pure function of its arguments, so a failing case is
reproduced by its two numbers alone.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, fields

import numpy as np
from scalar_model import ScalarModel

NORMSYS_CODES = ("code4", "code1")
HISTOSYS_CODES = ("code4p", "code0", "code2")


@dataclass
class Case:
    """A workspace, and the measurement and interpolation codes to read it with."""

    seed: int
    index: int
    spec: dict
    measurement: str | None
    poi: str | None  # the `poi_name` for pyhf: None if the model lacks the parameter of interest
    normsys_code: str
    histosys_code: str

    def scalar(self) -> ScalarModel:
        return ScalarModel(self.spec, self.measurement, self.normsys_code, self.histosys_code)

    def label(self) -> str:
        return f"seed {self.seed} index {self.index} ({self.normsys_code}, {self.histosys_code})"


class _Draw:
    """The random number generator of one case, and functions that draw from it."""

    def __init__(self, seed, index):
        self.rng = np.random.default_rng([seed, index])

    def chance(self, p):
        return bool(self.rng.random() < p)

    def between(self, a, b):
        return float(self.rng.uniform(a, b))

    def integer(self, a, b):
        """Draws an integer n with a <= n <= b."""
        return int(self.rng.integers(a, b + 1))

    def pick(self, items):
        return items[int(self.rng.integers(len(items)))]

    def some(self, items, least=0):
        k = self.integer(least, len(items))
        return [items[i] for i in sorted(self.rng.permutation(len(items))[:k])]

    def shuffled(self, items):
        return [items[i] for i in self.rng.permutation(len(items))]

    def rounded(self, x):
        """Rounds a random half of all numbers to four digits, as an analysis would write them."""
        return float(f"{x:.4g}") if self.chance(0.5) else float(x)


def _yields(d, n, scale, main):
    out = []
    for _ in range(n):
        y = scale * d.between(0.4, 1.6)
        if not main:
            if d.chance(0.06):
                y = 0.0
            elif d.chance(0.04):
                y = -0.05 * y
        out.append(d.rounded(y))
    return out


def _channels(d):
    names = d.shuffled(["SR", "CR_top", "A channel", "vr-2", "Z", "région"])[: d.pick([1, 1, 2, 2, 3])]
    channels = []
    for name in names:
        n = d.pick([1, 2, 2, 3, 4, 6])
        scale = 10 ** d.between(6, 8) if d.chance(0.08) else 10 ** d.between(0.5, 3.5)
        pool = d.shuffled(["signal", "bkg", "ttbar", "W jets"])
        samples = pool[: d.integer(1, 3)]
        channels.append(
            {
                "name": name,
                "samples": [
                    {
                        "name": s,
                        "data": _yields(d, n, scale * (0.1 if s == "signal" and i > 0 else 1.0), i == 0),
                        "modifiers": [],
                    }
                    for i, s in enumerate(samples)
                ],
            }
        )
        if len(samples) > 1 and d.chance(0.05):
            # A bin in which no sample has expected events.
            b = d.integer(0, n - 1)
            for sample in channels[-1]["samples"]:
                sample["data"][b] = 0.0
        channels[-1]["samples"] = d.shuffled(channels[-1]["samples"])
    return channels


def _add(sample, name, kind, data):
    if all((m["name"], m["type"]) != (name, kind) for m in sample["modifiers"]):
        sample["modifiers"].append({"name": name, "type": kind, "data": data})


def _shape_variation(d, nominal):
    size = d.between(0.02, 0.25)
    lo, hi = [], []
    for y in nominal:
        base = abs(y) if y != 0 else d.pick([0.0, 0.5])
        up, down = size * base * d.between(-0.3, 1.3), size * base * d.between(-0.3, 1.3)
        if d.chance(0.1):
            down = -down  # the low and the high variation shift the bin in the same direction
        lo.append(d.rounded(y - down))
        hi.append(d.rounded(y + up))
    return {"lo_data": lo, "hi_data": hi}


def _modifiers(d, channels):
    every = [(c, s) for c in channels for s in c["samples"]]
    # Parameters with a Gaussian constraint. A normsys and a histosys may share a name, and thus the parameter.
    alphas = d.shuffled(["np_a", "np_b", "JES", "alpha [3]", "θ"])[: d.integer(0, 4)]
    for name in alphas:
        kinds = d.pick([["normsys"], ["histosys"], ["normsys", "histosys"]])
        for _, sample in d.some(every, 1):
            for kind in d.some(kinds, 1):
                if kind == "histosys":
                    _add(sample, name, kind, _shape_variation(d, sample["data"]))
                else:
                    lo, hi = d.between(0.6, 1.05), d.between(0.95, 1.5)
                    if d.chance(0.1):
                        lo, hi = hi, lo
                    _add(sample, name, kind, {"lo": d.rounded(lo), "hi": d.rounded(hi)})
    # One factor for all bins: normfactor and lumi. The signal has the normfactor mu in most workspaces.
    for _, sample in every:
        if (sample["name"] == "signal" and d.chance(0.9)) or d.chance(0.05):
            _add(sample, "mu", "normfactor", None)
    if d.chance(0.3):
        for _, sample in d.some(every, 1):
            _add(sample, "k_bkg", "normfactor", None)
    if d.chance(0.3):
        for _, sample in d.some(every, 1):
            _add(sample, "lumi", "lumi", None)
    # One parameter per bin: shapesys and staterror.
    for channel, sample in every:
        if d.chance(0.15):
            u = [d.rounded(abs(y) * d.between(0.05, 0.4)) if not d.chance(0.1) else 0.0 for y in sample["data"]]
            if d.chance(0.05):
                u[0] = -u[0]
            _add(sample, f"shapesys_{channel['name']}_{sample['name']}", "shapesys", u)
    for channel in channels:
        if d.chance(0.4):
            _staterror(d, f"staterror_{channel['name']}", d.some(channel["samples"], 1))
        if d.chance(0.08):
            _staterror(d, f"mcstat_{channel['name']}", d.some(channel["samples"], 1))
    common = [s["name"] for s in channels[0]["samples"] if all(_sample(c, s["name"]) for c in channels[1:])]
    if len(channels) > 1 and common and d.chance(0.15):
        # One staterror name in several channels: pyhf requires the same samples in each of them.
        for name in d.some(common, 1):
            _staterror(d, "stat_all", [_sample(c, name) for c in channels])
    if d.chance(0.2):
        # A shapefactor that channels share. The first of them in alphabetical order sets the number of parameters.
        owner = d.pick(channels)
        n = len(owner["samples"][0]["data"])
        for channel in channels:
            same = channel is owner
            fits = len(channel["samples"][0]["data"]) <= n and channel["name"] >= owner["name"]
            if same or (fits and d.chance(0.7)):
                for sample in d.some(channel["samples"], 1):
                    _add(sample, "sf shared", "shapefactor", None)
    if not any(s["modifiers"] for _, s in every):
        _add(channels[0]["samples"][0], "mu", "normfactor", None)
    for _, sample in every:
        sample["modifiers"] = d.shuffled(sample["modifiers"])


def _sample(channel, name):
    return next((s for s in channel["samples"] if s["name"] == name), None)


def _staterror(d, name, samples):
    for sample in samples:
        data = [d.rounded(abs(y) * d.between(0.01, 0.2)) if not d.chance(0.08) else 0.0 for y in sample["data"]]
        _add(sample, name, "staterror", data)


def _settings(d, model, histosys_names, histosys_code):
    """Draws the parameter settings of a measurement: optional ones, and those of lumi, which are required."""
    out = []
    for group in model.sets.values():
        n, settings = len(group.init), {"name": group.name}
        if not group.init:  # lumi
            nominal, n = d.rounded(d.between(0.9, 1.1)), 1
            settings |= {
                "inits": [nominal],
                "auxdata": [nominal],
                "sigmas": [d.rounded(d.between(0.01, 0.05))],
                "bounds": [[0.5, 1.5]],
            }
        if d.chance(0.12):
            settings["fixed"] = d.chance(0.75)
        if group.kind == "free":
            if d.chance(0.2):
                settings["bounds"] = [d.pick([[-5.0, 10.0], [0.0, 30.0], [-100.0, 100.0], [0.2, 5.0]])] * n
            if d.chance(0.2):
                settings["inits"] = [d.rounded(d.between(0.5, 1.5)) for _ in range(n)]
        elif group.name != "lumi":
            centre = 0.0 if group.kind == "gaussian" and group.scalar else 1.0
            if d.chance(0.1):
                settings["inits"] = [d.rounded(centre + d.between(-0.1, 0.1)) for _ in range(n)]
            if d.chance(0.1):
                width = d.between(2, 6) if centre == 0 else d.between(0.5, 0.99)
                settings["bounds"] = [[centre - width, centre + width] for _ in range(n)]
            if d.chance(0.1):
                scale = group.tau if group.kind == "poisson" else [1.0] * n
                settings["auxdata"] = [d.rounded(s * (centre + d.between(-0.1, 0.1))) for s in scale]
            if group.kind == "gaussian" and not group.scalar and d.chance(0.1):
                settings["sigmas"] = [d.rounded(s * d.between(0.5, 2)) for s in group.sigma]
            if group.kind == "poisson" and d.chance(0.08):
                settings["factors"] = [d.rounded(t * d.between(0.5, 2)) for t in group.tau]
            # Outside -1 to 1, pyhf's vectorised code2 is not continuous, so it is compared only inside.
            if histosys_code == "code2" and group.name in histosys_names:
                settings["bounds"] = [[-1.0, 1.0]]
        if len(settings) > 1:
            out.append(settings)
    if d.chance(0.05):
        out.append({"name": "declared_but_unused", "fixed": True, "inits": [1.0]})
    return d.shuffled(out)


def random_point(rng, model, spread=1.0):
    """Draws a point within the bounds. Some values are exactly -1, 0, 1 or a bound."""
    x = []
    for group in model.sets.values():
        for i, (init, (lo, hi)) in enumerate(zip(group.init, group.bounds)):
            if group.kind == "free":
                value = init + spread * rng.uniform(-0.9, 1.5)
            elif group.kind == "poisson":
                value = init + spread * rng.normal() / math.sqrt(max(group.tau[i], 4.0))
            elif group.scalar and group.sigma[i] == 1.0:
                value = rng.normal() * 1.3 * spread
                if rng.random() < 0.15:
                    value = float(rng.choice([-1.0, 0.0, 1.0]))
            else:
                value = init + spread * rng.normal() * min(group.sigma[i], 0.3)
            if rng.random() < 0.05 * spread:
                value = max(lo, 0.0)
            x.append(float(min(max(value, lo), hi)))
    return x


def _observations(d, model):
    """Draws counts at a random point. Bins without expected events, there or at the initial point, have none."""
    at_init, _ = model.expected_main(model.init)
    truth, _ = model.expected_main(random_point(d.rng, model, 0.4))
    asimov, start, out = d.chance(0.1), 0, []
    for channel in model.channels:
        counts = []
        for b in range(len(channel["samples"][0]["data"])):
            rate = truth[start + b]
            count = 0.0
            if at_init[start + b] > 0 and rate > 0 and not d.chance(0.04):
                count = float(rate if asimov else d.rng.poisson(rate))
            counts.append(count if count != int(count) or d.chance(0.5) else int(count))
        start += len(counts)
        out.append({"name": channel["name"], "data": counts})
    return d.shuffled(out)


def draw_case(seed: int, index: int) -> Case:
    """Draws a random valid workspace."""
    d = _Draw(seed, index)
    normsys_code = d.pick(["code4", "code4", "code1"])
    histosys_code = d.pick(["code4p", "code4p", "code0", "code0", "code2"])
    channels = _channels(d)
    _modifiers(d, channels)
    spec = {
        "channels": channels,
        "observations": [{"name": c["name"], "data": [0.0] * len(c["samples"][0]["data"])} for c in channels],
        "measurements": [],
        "version": "1.0.0",
    }
    types = {m["name"]: m["type"] for c in channels for s in c["samples"] for m in s["modifiers"]}
    histosys_names = {
        m["name"] for c in channels for s in c["samples"] for m in s["modifiers"] if m["type"] == "histosys"
    }
    spec["measurements"] = [{"name": "bare", "config": {"poi": "", "parameters": []}}]
    bare = ScalarModel(spec)
    measurements = []
    for name in d.shuffled(["NormalMeasurement", "m2", "a third"])[: d.pick([1, 1, 1, 2, 3])]:
        measurements.append(
            {
                "name": name,
                "config": {"poi": _poi(d, types), "parameters": _settings(d, bare, histosys_names, histosys_code)},
            }
        )
    spec["measurements"] = measurements
    chosen = d.pick([None, *(m["name"] for m in measurements)])
    poi = next(m for m in measurements if chosen in (None, m["name"]))["config"]["poi"]
    case = Case(seed, index, spec, chosen, poi if poi in types else None, normsys_code, histosys_code)
    spec["observations"] = _observations(d, case.scalar())
    return case


def _poi(d, types):
    scalar = [n for n, t in types.items() if t in ("normsys", "histosys", "normfactor", "lumi")]
    choice = d.integer(0, 19)
    if choice == 0:
        return ""
    if choice == 1:
        return "not in the model"
    if choice == 2 and scalar:
        return d.pick(sorted(scalar))
    return "mu" if "mu" in types else ""


# --- Broken workspaces -------------------------------------------------------------------


def _all_samples(spec):
    return [(c, s) for c in spec["channels"] for s in c["samples"]]


def _all_modifiers(spec, *kinds):
    return [(c, s, m) for c, s in _all_samples(spec) for m in s["modifiers"] if not kinds or m["type"] in kinds]


def _drop_key(d, spec):
    where = d.pick([spec, d.pick(spec["channels"]), d.pick(_all_samples(spec))[1], d.pick(spec["observations"])])
    del where[d.pick(sorted(where.keys() - {"version"}))]  # a missing version is accepted


def _drop_modifier_key(d, spec):
    modifier = d.pick(_all_modifiers(spec))[2]
    # Data that can only be null may be left out.
    del modifier[d.pick(sorted(key for key in modifier if modifier[key] is not None))]


def _unknown_key(d, spec):
    where = [spec, *spec["channels"], *spec["observations"], *spec["measurements"]]
    where += [s for _, s in _all_samples(spec)] + [m for _, _, m in _all_modifiers(spec)]
    d.pick(where)["remark"] = "not in the schema"


def _unknown_type(d, spec):
    d.pick(_all_modifiers(spec))[2]["type"] = d.pick(["histoSys", "overallsys", "", "norm"])


def _wrong_sample_length(d, spec):
    channel, sample = d.pick(_all_samples(spec))
    if len(channel["samples"]) == 1:
        channel["samples"].append({"name": "second", "data": [*sample["data"], 1.0], "modifiers": []})
    else:
        sample["data"].append(1.0)


def _wrong_modifier_length(d, spec):
    kinds = ("histosys", "staterror", "shapesys")
    found = _all_modifiers(spec, *kinds)
    if not found:
        raise LookupError
    data = d.pick(found)[2]["data"]
    (data["hi_data"] if isinstance(data, dict) else data).append(0.5)


def _clash_of_types(d, spec):
    """Gives two modifiers of a sample the same name, but types whose constraints do not agree."""
    channel, sample = d.pick(_all_samples(spec))
    n = len(sample["data"])
    pairs = [
        ("normfactor", None, "normsys", {"lo": 0.9, "hi": 1.1}),
        ("staterror", [1.0] * n, "normfactor", None),
        ("shapesys", [1.0] * n, "normsys", {"lo": 0.9, "hi": 1.1}),
        ("shapefactor", None, "normfactor", None),
    ]
    a, x, b, y = d.pick(pairs)
    sample["modifiers"] += [{"name": "clash", "type": a, "data": x}, {"name": "clash", "type": b, "data": y}]


def _shapesys_reused(d, spec):
    # If there is only one sample, it gets both. They differ, because two equal modifiers would count once.
    for i, (_, sample) in enumerate((_all_samples(spec) * 2)[:2]):
        sample["modifiers"].append({"name": "reused", "type": "shapesys", "data": [1.0 + i] * len(sample["data"])})


def _lumi_without_settings(d, spec):
    for measurement in spec["measurements"]:
        config = measurement["config"]
        config["parameters"] = [p for p in config["parameters"] if p["name"] != "lumi"]
    _add(d.pick(_all_samples(spec))[1], "lumi", "lumi", None)


def _lumi_misnamed(d, spec):
    d.pick(_all_samples(spec))[1]["modifiers"].append({"name": "luminosity", "type": "lumi", "data": None})


def _settings_of(spec):
    return spec["measurements"][0]["config"]["parameters"]


def _settings_doubled(d, spec):
    _settings_of(spec).extend([{"name": "twice"}, {"name": "twice", "fixed": True}])


def _settings_wrong_length(d, spec):
    name = d.pick([m for _, _, m in _all_modifiers(spec) if m["type"] != "lumi"])["name"]
    kept = [p for p in _settings_of(spec) if p["name"] != name]
    bad = d.pick([{"inits": [1.0] * 9}, {"bounds": [[0.0, 2.0]] * 9}])
    spec["measurements"][0]["config"]["parameters"] = [*kept, {"name": name, **bad}]


def _settings_not_used(d, spec):
    found = _all_modifiers(spec, "normfactor", "shapefactor")
    if not found:
        raise LookupError
    name = d.pick(found)[2]["name"]
    kept = [p for p in _settings_of(spec) if p["name"] != name]
    bad = d.pick([{"auxdata": [1.0]}, {"sigmas": [1.0]}, {"factors": [1.0]}])
    spec["measurements"][0]["config"]["parameters"] = [*kept, {"name": name, **bad}]


def _wrong_value_type(d, spec):
    choice = d.integer(0, 4)
    if choice == 0:
        d.pick(_all_samples(spec))[1]["data"][0] = "12"
    elif choice == 1:
        d.pick(_all_samples(spec))[1]["data"] = "3.0"
    elif choice == 2:
        d.pick(spec["observations"])["data"] = {"0": 1.0}
    elif choice == 3:
        d.pick(spec["measurements"])["config"]["poi"] = None
    else:
        d.pick(spec["channels"])["name"] = 7


def _empty_list(d, spec):
    where, key = d.pick(
        [
            (spec, "channels"),
            (spec, "measurements"),
            (spec, "observations"),
            (d.pick(spec["channels"]), "samples"),
            (d.pick(_all_samples(spec))[1], "data"),
        ]
    )
    where[key] = []


def _no_observation(d, spec):
    gone = d.pick(spec["observations"])
    spec["observations"] = [o for o in spec["observations"] if o is not gone] or [{"name": "else", "data": [1.0]}]


def _wrong_version(d, spec):
    spec["version"] = d.pick(["1.0", "2.0.0", 1, ""])


def _normsys_data(d, spec):
    modifier = {"name": "broken", "type": "normsys", "data": d.pick([None, {"hi": 1.1}, [0.9, 1.1], {"lo": "a", "hi": 1}])}
    d.pick(_all_samples(spec))[1]["modifiers"].append(modifier)


def _no_data(d, spec):
    for _, sample in _all_samples(spec):
        sample["data"] = []


def _staterror_uneven(d, spec):
    """Uses one staterror name for different samples in two channels."""
    first, second = copy.deepcopy(spec["channels"][0]), copy.deepcopy(spec["channels"][0])
    first["name"], second["name"] = "uneven 1", "uneven 2"
    for channel, name in ((first, "one"), (second, "two")):
        n = len(channel["samples"][0]["data"])
        data = [10.0] * n
        channel["samples"] = [
            {"name": s, "data": data, "modifiers": [{"name": "uneven", "type": "staterror", "data": [1.0] * n}] if s == name else []}
            for s in ("one", "two")
        ]
        spec["observations"].append({"name": channel["name"], "data": data})
    spec["channels"] += [first, second]


MUTATIONS = (
    _drop_key,
    _drop_modifier_key,
    _unknown_key,
    _unknown_type,
    _wrong_sample_length,
    _wrong_modifier_length,
    _clash_of_types,
    _shapesys_reused,
    _lumi_without_settings,
    _lumi_misnamed,
    _settings_doubled,
    _settings_wrong_length,
    _settings_not_used,
    _wrong_value_type,
    _empty_list,
    _no_observation,
    _wrong_version,
    _normsys_data,
    _no_data,
    _staterror_uneven,
)


def draw_broken(seed: int, index: int):
    """Draws a workspace with one fault. Returns it with the fault's name; ``None`` if the fault is impossible."""
    case = draw_case(seed, index)
    d = _Draw(seed + 1_000_003, index)
    mutation = MUTATIONS[index % len(MUTATIONS)]
    case.spec = copy.deepcopy(case.spec)
    case.measurement = case.spec["measurements"][0]["name"]
    case.poi = None
    try:
        mutation(d, case.spec)
    except LookupError:
        return None
    return case, mutation.__name__.strip("_")


# --- Saved cases -------------------------------------------------------------------------


def to_document(case: Case, problems=()) -> dict:
    """Returns a case as a dictionary that is written as JSON, for a regression test."""
    return {**{f.name: getattr(case, f.name) for f in fields(Case)}, "problems": list(problems)}


def from_document(document: dict) -> Case:
    """Returns the case of a dictionary that ``to_document`` returned."""
    return Case(**{f.name: document[f.name] for f in fields(Case)})
