#!/usr/bin/env python3
"""Compares models of random workspaces, valid and broken, with pyhf 0.7.6.

    cargo build -p ns-translate --example describe_models
    python tests/compare_with_pyhf.py PATH/TO/describe_models [N] [SEED]

Needs pyhf. For each workspace, the following is compared: parameter names, order, start values, bounds, fixed flags,
constraint widths, auxiliary data, observed data, parameter of interest, and the expected data at points where every
interpolation is exact (alpha in -1, 0, 1). A workspace that pyhf rejects must be rejected, or must have only one
meaning and give a warning. If only our reader rejects a workspace, the reason must be one of the intended additional
reasons.
"""

import copy
import json
import logging
import random
import subprocess
import sys
import warnings

import numpy as np
import pyhf

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

# Reasons that pyhf does not have, or finds only when the model is used.
STRICTER = (
    "is already taken by", "already has the", "must be positive", "cannot be negative", "There is no channel",
    "is above the upper bound", "in all, but channel", "unknown key", "has no default", "has no observation",
    "must be a pair", "'lumi' is a single parameter", "must be a number, but is true", "must be a number, but is false", "The observation of channel", "outside the range of numbers",
)


# Warnings about workspaces that pyhf refuses although they have only one meaning.
LENIENT = (
    "which can only be null", "is read as a list of one", "is read as version", "is no part of the format",
    "once; pyhf refuses it", "One setting is used; pyhf refuses two",
)


def leniently(model):
    """Returns whether our model has a warning of this kind."""
    return any(words in warning for words in LENIENT for warning in model.get("warnings", []))


def number(rng):
    return rng.choice(
        [0.0, round(rng.uniform(0, 50), 3), round(rng.uniform(0, 50), 3), rng.uniform(1, 2000), float(rng.randint(1, 100)), -round(rng.uniform(0, 3), 2), rng.randint(0, 9)]
    )


def modifier(rng, kind, name, nominal):
    n = len(nominal)
    positive = lambda: [abs(number(rng)) * 0.1 for _ in range(n)]
    data = {
        "histosys": lambda: {"lo_data": [number(rng) for _ in range(n)], "hi_data": [number(rng) for _ in range(n)]},
        "normsys": lambda: {"lo": rng.uniform(0.3, 1.2), "hi": rng.uniform(0.8, 2.0)},
        "shapesys": positive,
        "staterror": positive,
    }.get(kind, lambda: None)()
    return {"name": name, "type": kind, "data": data}


def workspace(rng):
    names = rng.sample(["SR", "CR", "A", "b", "_c", "Z9", "\u00e9t\u00e9", "channel 1", "B", "a"], rng.randint(1, 4))
    pool = [f"s{i}" for i in range(rng.randint(1, 4))] + ["Background"]
    shape_n = {}
    channels, used = [], []
    shapesys = 0
    stat_everywhere = rng.random() < 0.15
    for c in names:
        n = rng.choice([1, 1, 2, 3, 5])
        samples = []
        chosen = pool if stat_everywhere else rng.sample(pool, rng.randint(1, len(pool)))
        for s in rng.sample(chosen, len(chosen)):
            nominal = [number(rng) for _ in range(n)]
            mods = []
            for kind in rng.sample(["histosys", "lumi", "normfactor", "normsys", "shapefactor", "shapesys", "staterror"], rng.randint(0, 6)):
                if kind in ("histosys", "normsys"):
                    name = rng.choice(["JES", "alpha", "x/y", "syst1", "a0", "Zed", f"only_{c}"])
                elif kind == "lumi":
                    name = "lumi"
                elif kind == "normfactor":
                    name = rng.choice(["mu", "k_top", "mu2"])
                elif kind == "shapefactor":
                    name = rng.choice(["free", f"free_{c}"])
                    if shape_n.setdefault(name, n) != n:
                        name = f"free_{c}_{n}"
                elif kind == "shapesys":
                    shapesys += 1
                    name = f"pois{shapesys * 7 % 13}_{shapesys}"
                else:
                    if stat_everywhere:
                        continue
                    name = f"stat_{c}"
                if rng.random() < 0.01:
                    name = rng.choice(["mu", "JES", "lumi", "free", "pois7_1"])
                    if kind == "lumi":
                        name = "lumi"
                mods.append(modifier(rng, kind, name, nominal))
            if stat_everywhere:
                mods.append(modifier(rng, "staterror", "stat", nominal))
            used += [(m["name"], m["type"], n) for m in mods]
            samples.append({"name": s, "data": nominal, "modifiers": mods})
        channels.append({"name": c, "samples": samples})
    observations = [{"name": c["name"], "data": [float(rng.choice([0, 1, 7, 55, 1234])) for _ in c["samples"][0]["data"]]} for c in channels]
    rng.shuffle(observations)
    measurements = []
    for m in range(rng.choice([1, 1, 2, 3])):
        settings = []
        if any(t == "lumi" for _, t, _ in used) or rng.random() < 0.1:
            settings.append({"name": "lumi", "inits": [rng.choice([1.0, 0.95])], "bounds": [[0.5, 1.5]], "auxdata": [rng.choice([1.0, 0.97])], "sigmas": [0.02]})
        for name, kind, n in {u[0]: u for u in used if u[1] != "lumi" and u[0] != "lumi"}.values():
            if rng.random() < 0.25:
                n = n if kind in ("shapefactor", "shapesys") or name.startswith("stat_") else 1
                setting = {"name": name}
                if rng.random() < 0.4:
                    setting["inits"] = [rng.choice([0.5, 1.0, 1.2]) for _ in range(n)]
                if rng.random() < 0.4:
                    setting["bounds"] = [[rng.choice([0, 0.1, -2.0]), rng.choice([3, 5.0, 1e30])] for _ in range(n)]
                if rng.random() < 0.3:
                    setting["fixed"] = rng.random() < 0.5
                if rng.random() < 0.2 and kind not in ("normfactor", "shapefactor"):
                    setting["auxdata"] = [rng.choice([0.9, 1.0, 1.1]) for _ in range(n)]
                if rng.random() < 0.2 and kind == "staterror":
                    setting["sigmas"] = [0.1] * n
                if rng.random() < 0.2 and kind == "shapesys":
                    setting["factors"] = [25.0] * n
                if rng.random() < 0.02:
                    setting[rng.choice(["sigmas", "factors", "auxdata", "inits"])] = [1.0] * rng.choice([1, 2, 9])
                settings.append(setting)
        if rng.random() < 0.1:
            settings.append({"name": "alpha_JES", "fixed": True})
        rng.shuffle(settings)
        poi = rng.choice(["mu", "mu", "mu", "k_top", "JES", "", "nowhere", "free", f"stat_{names[0]}"])
        measurements.append({"name": f"m{m}", "config": {"poi": poi, "parameters": settings}})
    return {"channels": channels, "observations": observations, "measurements": measurements, "version": "1.0.0"}


def places(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def mutate(rng, document):
    """Makes one small random change. Most changes break the workspace."""
    document = copy.deepcopy(document)
    path = rng.choice([p for p in places(document) if p])
    parent = document
    for key in path[:-1]:
        parent = parent[key]
    key = path[-1]
    change = rng.randint(0, 5)
    if change == 0:
        del parent[key]
    elif change == 1:
        parent[key] = rng.choice([None, "text", 3.5, [], {}, [1.0], [[0.0, 1.0]], -1.0, "mu", "lumi", 0])
    elif change == 2 and isinstance(parent, list):
        parent.append(copy.deepcopy(parent[key]))
    elif change == 3 and isinstance(parent, dict):
        parent[rng.choice(["extra", "name", "data", "fixed"])] = rng.choice([True, None, "SR", [1.0, 2.0]])
    elif change == 4 and isinstance(parent[key], list) and parent[key]:
        parent[key].pop()
    else:
        other = rng.choice([p for p in places(document) if p])
        source = document
        for k in other:
            source = source[k]
        parent[key] = copy.deepcopy(source)
    return document


def in_pyhf(document):
    """Returns pyhf's models by measurement, or the reason why pyhf has no model."""
    try:
        ws = pyhf.Workspace(document)
    except Exception as error:  # noqa: BLE001 - pyhf raises bare errors of many kinds
        return f"{type(error).__name__}: {error}"
    models = {}
    for m in document["measurements"]:
        name = m["name"]
        if name in models:
            continue
        poi = m["config"]["poi"]
        known = {x["name"] for c in document["channels"] for s in c["samples"] for x in s["modifiers"]}
        try:
            model = ws.model(measurement_name=name, poi_name=poi if poi in known else None)
            model.config.suggested_bounds()
            models[name] = (model, ws.data(model))
            float(model.logpdf(model.config.suggested_init(), models[name][1])[0])
        except Exception as error:  # noqa: BLE001
            models[name] = f"{type(error).__name__}: {error}"
    return models


def expected(ours, values):
    """Returns the expected main data at values where every alpha is -1, 0 or 1."""
    out = []
    for channel in ours["channels"]:
        total = np.zeros(channel["n_bins"])
        for sample in channel["samples"]:
            nominal = np.array(sample["nominal"], dtype=float)
            nu, factor = nominal.copy(), np.ones(channel["n_bins"])
            for m in sample["modifiers"]:
                first, theta = m["first"], values[m["first"]]
                if m["type"] == "histosys":
                    nu = nu + {-1.0: np.array(m["data"][0]) - nominal, 0.0: 0.0, 1.0: np.array(m["data"][1]) - nominal}[theta]
                elif m["type"] == "normsys":
                    factor = factor * {-1.0: m["data"][0], 0.0: 1.0, 1.0: m["data"][1]}[theta]
                elif m["type"] in ("normfactor", "lumi"):
                    factor = factor * theta
                else:
                    factor = factor * np.array(values[first : first + channel["n_bins"]])
            total = total + nu * factor
        out.extend(total)
    return np.array(out)


def compare(rng, ours, model, data):
    config = model.config
    parameters = ours["parameters"]
    assert [p["name"] for p in parameters] == config.par_names, "names"
    assert [p["init"] for p in parameters] == config.suggested_init(), "inits"
    assert [tuple(p["bounds"]) for p in parameters] == [tuple(b) for b in config.suggested_bounds()], "bounds"
    assert [p["fixed"] for p in parameters] == config.suggested_fixed(), "fixed"
    assert ours["poi"] == config.poi_index, "poi"
    np.testing.assert_allclose(ours["main"] + ours["aux"], data, rtol=1e-15)
    widths, kinds, order = [], [], []
    for name in config.par_order:
        paramset = config.param_set(name)
        order += [paramset.constrained] * paramset.n_parameters
        if paramset.constrained:
            kinds += [paramset.pdf_type] * paramset.n_parameters
            widths += list(paramset.factors if paramset.pdf_type == "poisson" else paramset.width())
    constrained = [p for p in parameters if p["constraint"] != "none"]
    assert [p["constraint"] != "none" for p in parameters] == order, "constrained"
    assert [{"gaussian": "normal"}.get(p["constraint"], p["constraint"]) for p in constrained] == kinds, "constraint"
    np.testing.assert_allclose([p["width"] for p in constrained], widths, rtol=4e-16)
    # Modifiers are compared by type and not by name, because a normsys may be called lumi.
    modifiers = [m for c in ours["channels"] for s in c["samples"] for m in s["modifiers"]]
    alphas = {m["first"] for m in modifiers if m["type"] in ("histosys", "normsys")}
    for _ in range(3):
        values = [rng.choice([-1.0, 0.0, 1.0]) if i in alphas else rng.uniform(0.2, 3.0) for i in range(len(parameters))]
        theirs = np.asarray(model.expected_actualdata(values))
        samples = [s for c in ours["channels"] for s in c["samples"]]
        terms = [x for s in samples for x in s["nominal"]]
        terms += [x for s in samples for m in s["modifiers"] if m["type"] == "histosys" for t in m["data"] for x in t]
        scale = sum(map(abs, terms)) * 100.0
        np.testing.assert_allclose(expected(ours, values), theirs, rtol=1e-11, atol=1e-14 * scale)


def main():
    program = sys.argv[1]
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    documents = []
    for _ in range(n):
        document = workspace(rng)
        documents += [document, mutate(rng, document)]
    text = "".join(json.dumps(d) + "\n" for d in documents)
    lines = subprocess.run([program], input=text, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(lines) == len(documents), (len(lines), len(documents))
    counts = dict(same=0, both_reject=0, only_we_reject=0, only_pyhf_rejects=0)
    bad = 0
    for document, line in zip(documents, map(json.loads, lines)):
        theirs = in_pyhf(document)
        try:
            if isinstance(theirs, str):
                models = line.get("models", {}).values()
                assert all("error" in m or leniently(m) for m in models), f"only pyhf rejects: {theirs}"
                counts["both_reject" if "error" in line else "only_pyhf_rejects"] += 1
                continue
            if "error" in line:
                assert any(reason in line["error"] for reason in STRICTER), f"only we reject: {line['error']}"
                counts["only_we_reject"] += 1
                continue
            for name, their in theirs.items():
                our = line["models"][name]
                if isinstance(their, str):
                    assert "error" in our or leniently(our), f"{name}: only pyhf rejects: {their}"
                    counts["both_reject" if "error" in our else "only_pyhf_rejects"] += 1
                elif "error" in our:
                    assert any(reason in our["error"] for reason in STRICTER), f"{name}: only we reject: {our['error']}"
                    counts["only_we_reject"] += 1
                else:
                    compare(rng, our, *their)
                    counts["same"] += 1
        except AssertionError as error:
            bad += 1
            if bad <= 10:
                print(f"DISAGREEMENT: {error}\n{json.dumps(document)}\n")
    print(counts, f"disagreements: {bad}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
