#!/usr/bin/env python3
"""Writes tests/fixtures/hs3/lifetime.hs3.json: decays with a flavour tag, whose times have an error of each event. Plain Python 3.

The numbers are the same on every machine, because the generator is seeded.
"""

import math
import pathlib
import random

from event_fixture import write

PATH = pathlib.Path(__file__).resolve().parents[1] / "tests" / "fixtures" / "hs3" / "lifetime.hs3.json"
EVENTS, TAU, MASS_DIFFERENCE, ASYMMETRY = 1500, 1.5, 0.5, 0.7


def events():
    draw = random.Random(1519)
    while True:
        time, tag = draw.expovariate(1 / TAU), draw.choice((-1, 1))
        if draw.random() * (1 + ASYMMETRY) > 1 + tag * ASYMMETRY * math.sin(MASS_DIFFERENCE * time):
            continue
        error = draw.gammavariate(5, 0.04)
        time += draw.gauss(0, 1.2 * error)
        if 0.02 < error < 0.8 and -3 < time < 12:
            yield [round(time, 4), round(error, 4), tag]


def main():
    stream = events()
    start = {"tau": (1.3, 0.2, 5), "scale": (1, 0.3, 3), "delta_m": (0.45, 0.1, 2), "asymmetry": (0.5, -1, 1)}
    model = {
        "metadata": {"hs3_version": "0.2.9"},
        "distributions": [
            {"name": "decay", "type": "nextstat.b_decay_dist", "t": "t", "tau": "tau", "delta_m": "delta_m", "sin": "sine",
             "decayType": 0, "resolutionModel": "resolution"},
            {"name": "resolution", "type": "gauss_model_function", "x": "t", "mean": 0, "sigma": "width"},
            {"name": "error", "type": "gamma_dist", "x": "dt", "gamma": 5, "beta": 0.04, "mu": 0},
            {"name": "flavour", "type": "uniform_dist", "x": "tag"},
            {"name": "model", "type": "product_dist", "factors": ["decay", "error", "flavour"]},
        ],
        "functions": [
            {"name": "width", "type": "generic_function", "expression": "@0*@1", "arguments": ["scale", "dt"]},
            {"name": "sine", "type": "product", "factors": ["tag", "asymmetry"]},
        ],
        "data": [{"name": "events", "type": "unbinned",
                  "axes": [{"name": "t", "min": -3, "max": 12}, {"name": "dt", "min": 0.02, "max": 0.8},
                           {"name": "tag", "min": -1, "max": 1}],
                  "entries": [next(stream) for _ in range(EVENTS)]}],
        "likelihoods": [{"name": "L", "distributions": ["model"], "data": ["events"]}],
        "domains": [{"name": "bounds", "type": "product_domain",
                     "axes": [{"name": name, "min": low, "max": high} for name, (_, low, high) in start.items()]}],
        "parameter_points": [{"name": "start", "parameters": [
            {"name": name, "value": value} for name, (value, _, _) in start.items()]}],
        "analyses": [{"name": "lifetime", "likelihood": "L", "domain": "bounds", "init": "start",
                      "parameters_of_interest": ["asymmetry"]}],
    }
    write(PATH, model)


if __name__ == "__main__":
    main()
