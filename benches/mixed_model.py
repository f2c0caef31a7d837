#!/usr/bin/env python3
"""Adds a channel of events to a workspace: `benches/mixed_model.py HS3.json OUT.json [EVENTS [SEED]]`.

`nextstat convert` writes HS3.json for a workspace. The new channel has one observable, with a peak on an exponential
background. It shares parameters with the workspace. The parameter of interest scales the peak, and the first two
constrained parameters change the yield of the peak and its position. Its events are drawn at the initial values.
"""

import json
import random
import sys


def main() -> None:
    source, target, *rest = sys.argv[1:]
    events = int(rest[0]) if rest else 40_000
    draw = random.Random(int(rest[1]) if len(rest) > 1 else 1)
    model = json.loads(open(source).read())
    analysis = model["analyses"][0]
    poi = analysis["parameters_of_interest"][0]
    likelihood = next(one for one in model["likelihoods"] if one["name"] == analysis["likelihood"])
    constrained = [one["x"] for one in model["distributions"] if one["type"] == "gaussian_dist"]
    first, second = [name for name in constrained if name != "lumi"][:2]
    peak, background = 0.05 * events, 0.95 * events

    model["functions"] += [
        {"name": "peak_yield", "type": "generic_function", "expression": f"{peak} * {poi} * pow(1.1, {first})"},
        {"name": "peak_position", "type": "generic_function", "expression": f"125 + 0.2 * {second}"},
    ]
    model["distributions"] += [
        {"name": "peak_shape", "type": "gaussian_dist", "x": "mass", "mean": "peak_position", "sigma": "peak_width"},
        {"name": "background_shape", "type": "exponential_dist", "x": "mass", "c": "slope"},
        {"name": "events_model", "type": "mixture_dist", "extended": True,
         "summands": ["peak_shape", "background_shape"], "coefficients": ["peak_yield", "background_yield"]},
    ]
    start = {"peak_width": (2.0, 0.5, 8.0), "slope": (0.03, 0.001, 0.2),
             "background_yield": (background, 0.0, 10.0 * events)}
    domain = next(one for one in model["domains"] if one["name"] == analysis["domain"])
    domain["axes"] += [{"name": name, "min": low, "max": high} for name, (_, low, high) in start.items()]
    point = next(one for one in model["parameter_points"] if one["name"] == analysis["init"])
    point["parameters"] += [{"name": name, "value": value} for name, (value, _, _) in start.items()]

    entries = []
    while len(entries) < events:
        mass = draw.gauss(125.0, 2.0) if draw.random() < 0.05 else 100.0 + draw.expovariate(0.03)
        if 100.0 <= mass <= 180.0:
            entries.append([mass])
    model["data"].append({"name": "events_data", "type": "unbinned",
                          "axes": [{"name": "mass", "min": 100.0, "max": 180.0}], "entries": entries})
    likelihood["distributions"].append("events_model")
    likelihood["data"].append("events_data")
    open(target, "w").write(json.dumps(model))


if __name__ == "__main__":
    main()
