#!/usr/bin/env python3
"""Writes tests/fixtures/hs3/straggling.hs3.json: losses of energy, which are a Landau density with a resolution, on a background. A window
is left out of the fit, and the yields are those of the whole axis. Plain Python 3.

The numbers are the same on every machine, because the generator is seeded.
"""

import math
import pathlib
import random

from event_fixture import write

PATH = pathlib.Path(__file__).resolve().parents[1] / "tests" / "fixtures" / "hs3" / "straggling.hs3.json"
LOW, HIGH, MEAN, WIDTH, SIGMA, SLOPE = 0.0, 30.0, 8.0, 0.6, 0.8, 0.08


def landau(draw):
    """A number with the Landau density, which is stable (Chambers, Mallows and Stuck, J. Am. Stat. Assoc. 71 (1976) 340)."""
    half = math.pi / 2
    angle, wait = draw.uniform(-half, half), draw.expovariate(1)
    return (half + angle) * math.tan(angle) - math.log(half * wait * math.cos(angle) / (half + angle)) + math.log(half)


def events():
    draw = random.Random(1944)
    found = []
    while len(found) < 900:
        loss = MEAN + WIDTH * landau(draw) + draw.gauss(0, SIGMA)
        if LOW < loss < HIGH:
            found.append([round(loss, 4)])
    while len(found) < 1200:
        loss = draw.expovariate(SLOPE)
        if LOW < loss < HIGH:
            found.append([round(loss, 4)])
    return found


def main():
    start = {"losses": (800, 0, 1e4), "noise": (400, 0, 1e4), "place": (8.5, 4, 12), "width": (0.5, 0.05, 3),
             "resolution": (0.7, 0.05, 3), "slope": (0.1, 0, 1)}
    model = {
        "metadata": {"hs3_version": "0.2.9"},
        "distributions": [
            {"name": "loss", "type": "fft_conv_pdf", "conv_var": "energy", "pdf1": "ionisation", "pdf2": "blur"},
            {"name": "ionisation", "type": "landau_dist", "x": "energy", "mean": "place", "sigma": "width"},
            {"name": "blur", "type": "gaussian_dist", "x": "energy", "mean": 0, "sigma": "resolution"},
            {"name": "background", "type": "exponential_dist", "x": "energy", "c": "slope"},
            {"name": "model", "type": "mixture_dist", "summands": ["loss", "background"], "coefficients": ["losses", "noise"],
             "extended": True},
        ],
        "data": [{"name": "events", "type": "unbinned", "axes": [{"name": "energy", "min": LOW, "max": HIGH}], "entries": events()}],
        "likelihoods": [{"name": "L", "distributions": ["model"], "data": ["events"], "nextstat.coefficients": "axes",
                         "nextstat.ranges": [{"energy": [0, 14]}, {"energy": [17, 30]}]}],
        "domains": [{"name": "bounds", "type": "product_domain",
                     "axes": [{"name": name, "min": low, "max": high} for name, (_, low, high) in start.items()]}],
        "parameter_points": [{"name": "start", "parameters": [
            {"name": name, "value": value} for name, (value, _, _) in start.items()]}],
        "analyses": [{"name": "straggling", "likelihood": "L", "domain": "bounds", "init": "start",
                      "parameters_of_interest": ["losses"]}],
    }
    write(PATH, model)


if __name__ == "__main__":
    main()
