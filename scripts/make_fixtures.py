#!/usr/bin/env python3
"""Writes the project's own small workspaces and HS3 models into tests/fixtures.

The script is plain Python 3 without dependencies, and writes the same bytes on every run:

    python3 scripts/make_fixtures.py            # write
    python3 scripts/make_fixtures.py --check    # fail if a committed file differs
"""

import argparse
import hashlib
import json
import math
import pathlib
import random
import sys

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "fixtures"


# --- building blocks -----------------------------------------------------------------------


def modifier(kind, name, data=None):
    return {"name": name, "type": kind, "data": data}


def normfactor(name):
    return modifier("normfactor", name)


def normsys(name, lo, hi):
    return modifier("normsys", name, {"lo": lo, "hi": hi})


def histosys(name, lo, hi):
    return modifier("histosys", name, {"lo_data": lo, "hi_data": hi})


def lumi():
    return modifier("lumi", "lumi")


def sample(name, data, *modifiers):
    return {"name": name, "data": data, "modifiers": list(modifiers)}


def channel(name, *samples):
    return {"name": name, "samples": list(samples)}


def measurement(name, poi, *parameters):
    return {"name": name, "config": {"poi": poi, "parameters": list(parameters)}}


LUMI = {"name": "lumi", "inits": [1.0], "bounds": [[0.5, 1.5]], "auxdata": [1.0], "sigmas": [0.017]}


def workspace(channels, observations, measurements):
    return {
        "channels": channels,
        "observations": [{"name": name, "data": data} for name, data in observations.items()],
        "measurements": measurements,
        "version": "1.0.0",
    }


def rounded(numbers, digits=4):
    return [round(x, digits) for x in numbers]


def scaled(data, *factors):
    """Returns the product of an array with one factor per bin, or with a single factor for all bins."""
    if len(factors) == 1:
        factors = factors * len(data)
    return rounded([x * f for x, f in zip(data, factors)])


# --- the workspaces ------------------------------------------------------------------------


def simple_workspace():
    """A search for a bump over a falling background. A control region determines the rate of the background."""
    signal = [1.5, 6.0, 9.0, 3.5]
    background = [60.0, 42.0, 25.0, 14.0]
    control = [310.0, 205.0, 120.0]
    return workspace(
        [
            channel(
                "SR",
                sample(
                    "signal",
                    signal,
                    normfactor("mu"),
                    lumi(),
                    normsys("signal_theory", 0.9, 1.12),
                    histosys("jet_scale", scaled(signal, 0.94, 0.96, 0.97, 0.95), scaled(signal, 1.05, 1.04, 1.03, 1.06)),
                ),
                sample(
                    "background",
                    background,
                    normfactor("background_norm"),
                    histosys("jet_scale", scaled(background, 0.97, 0.96, 0.94, 0.91), scaled(background, 1.02, 1.04, 1.07, 1.10)),
                    modifier("staterror", "stat_SR", [3.2, 2.6, 2.0, 1.5]),
                ),
            ),
            channel(
                "CR",
                sample(
                    "background",
                    control,
                    normfactor("background_norm"),
                    normsys("extrapolation", 0.95, 1.05),
                    histosys("jet_scale", scaled(control, 0.98, 0.97, 0.95), scaled(control, 1.02, 1.03, 1.06)),
                    modifier("staterror", "stat_CR", [7.0, 5.7, 4.4]),
                ),
            ),
        ],
        {"SR": [64.0, 50.0, 34.0, 16.0], "CR": [318.0, 199.0, 127.0]},
        [measurement("bump", "mu", LUMI, {"name": "mu", "bounds": [[0.0, 10.0]], "inits": [1.0]})],
    )


def all_modifiers():
    """A workspace with each of the seven modifier types at least once."""
    return workspace(
        [
            channel(
                "SR",
                sample("signal", [4.0, 11.0, 6.0], normfactor("mu"), lumi(), normsys("trigger", 0.97, 1.03)),
                sample(
                    "top",
                    [30.0, 22.0, 12.0],
                    lumi(),
                    normsys("trigger", 0.98, 1.02),
                    histosys("top_shape", [33.0, 22.5, 10.5], [27.5, 21.8, 13.6]),
                    modifier("staterror", "stat_SR", [1.8, 1.5, 1.1]),
                ),
                sample(
                    "fakes",
                    [8.0, 5.0, 2.0],
                    modifier("shapesys", "fake_rate", [2.4, 1.6, 0.9]),
                    modifier("staterror", "stat_SR", [0.9, 0.7, 0.5]),
                ),
                sample("multijet", [15.0, 9.0, 4.0], modifier("shapefactor", "multijet_shape")),
            ),
            channel(
                "VR",
                sample("multijet", [140.0, 90.0, 45.0], modifier("shapefactor", "multijet_shape")),
                sample("top", [21.0, 15.0, 9.0], lumi(), normsys("trigger", 0.98, 1.02)),
            ),
        ],
        {"SR": [60.0, 49.0, 27.0], "VR": [158.0, 108.0, 50.0]},
        [measurement("all", "mu", LUMI)],
    )


def several_measurements():
    """Four measurements of the same channels, with different fixed parameters, bounds and parameters of interest."""
    channels = [
        channel(
            "counting",
            sample("signal", [12.0, 7.0], normfactor("mu"), lumi(), normsys("acceptance", 0.92, 1.08)),
            sample("background", [55.0, 31.0], normfactor("k_bkg"), lumi(), normsys("shape_x", 0.96, 1.05)),
        ),
        channel("control", sample("background", [240.0], normfactor("k_bkg"), lumi())),
    ]
    fixed_lumi = dict(LUMI, fixed=True)
    return workspace(
        channels,
        {"counting": [71.0, 35.0], "control": [251.0]},
        [
            measurement("nominal", "mu", LUMI, {"name": "mu", "bounds": [[0.0, 5.0]]}),
            measurement("fixed_lumi", "mu", fixed_lumi, {"name": "mu", "bounds": [[0.0, 5.0]]}),
            measurement("negative_mu", "mu", LUMI, {"name": "mu", "bounds": [[-2.0, 5.0]], "inits": [0.0]}),
            measurement("background_rate", "k_bkg", LUMI, {"name": "acceptance", "fixed": True, "inits": [0.5]}),
        ],
    )


def background_only():
    """A background-only workspace, as it is published with a patchset. Its parameter of interest is the signal
    strength. Only the patches add this parameter."""
    return workspace(
        [
            channel(
                "SR_high",
                sample("top", [6.1, 2.2], normfactor("mu_top"), histosys("jes", [5.5, 1.9], [6.8, 2.6]), modifier("staterror", "stat_SR_high", [0.6, 0.35])),
                sample("other", [1.4, 0.9], lumi(), normsys("other_xsec", 0.7, 1.3), modifier("staterror", "stat_SR_high", [0.3, 0.2])),
            ),
            channel(
                "CR_top",
                sample("top", [148.0], normfactor("mu_top"), histosys("jes", [141.0], [156.5])),
                sample("other", [22.0], lumi(), normsys("other_xsec", 0.7, 1.3)),
            ),
        ],
        {"SR_high": [9.0, 3.0], "CR_top": [171.0]},
        [measurement("search", "mu_sig", LUMI, {"name": "mu_top", "bounds": [[0.0, 5.0]]})],
    )


def signal_patch(name, yields, control):
    """Adds a signal to both channels of the background-only workspace."""
    up = scaled(yields, 1.06)
    down = scaled(yields, 0.95)
    return [
        {
            "op": "add",
            "path": "/channels/0/samples/0",
            "value": sample(name, yields, normfactor("mu_sig"), lumi(), histosys("jes", down, up)),
        },
        {
            "op": "add",
            "path": "/channels/1/samples/0",
            "value": sample(name, control, normfactor("mu_sig"), lumi()),
        },
    ]


POINTS = {
    "gluino_1400_200": ([1400, 200], [5.2, 3.9], [0.6]),
    "gluino_1600_400": ([1600, 400], [3.1, 3.3], [0.3]),
    "gluino_1800_600": ([1800, 600], [1.7, 2.4], [0.15]),
}


def patchset(document):
    text = json.dumps(document, sort_keys=True, ensure_ascii=False).encode("utf8")
    return {
        "metadata": {
            "references": {"hepdata": "ins1234567"},
            "description": "signals of a simplified model, made up for tests",
            "digests": {"sha256": hashlib.sha256(text).hexdigest(), "md5": hashlib.md5(text).hexdigest()},
            "labels": ["m_gluino", "m_lsp"],
        },
        "patches": [
            {"metadata": {"name": name, "values": values}, "patch": signal_patch(name, yields, control)}
            for name, (values, yields, control) in POINTS.items()
        ],
        "version": "1.0.0",
    }


def empty_poi():
    """A background-only workspace whose measurement has no parameter of interest."""
    document = background_only()
    document["measurements"][0]["config"]["poi"] = ""
    return document


def many_bins():
    """A bump hunt in 120 bins and two categories, with correlated and uncorrelated effects."""
    n = 120
    mass = [100.0 + 0.5 * (i + 0.5) for i in range(n)]
    channels, observations = [], {}
    for name, rate, purity in (("central", 900.0, 1.0), ("forward", 420.0, 0.45)):
        background = rounded([rate * math.exp(-(m - 100.0) / 25.0) for m in mass])
        signal = rounded([40.0 * purity * math.exp(-0.5 * ((m - 125.0) / 1.8) ** 2) for m in mass])
        tilt = [(m - 130.0) / 300.0 for m in mass]
        channels.append(
            channel(
                name,
                sample(
                    "signal",
                    signal,
                    normfactor("mu"),
                    lumi(),
                    histosys(
                        "energy_scale",
                        rounded([40.0 * purity * math.exp(-0.5 * ((m - 124.6) / 1.8) ** 2) for m in mass]),
                        rounded([40.0 * purity * math.exp(-0.5 * ((m - 125.4) / 1.8) ** 2) for m in mass]),
                    ),
                    normsys("efficiency", 0.95, 1.04),
                ),
                sample(
                    "background",
                    background,
                    normfactor(f"norm_{name}"),
                    histosys(
                        "slope",
                        rounded([b * (1.0 - t) for b, t in zip(background, tilt)]),
                        rounded([b * (1.0 + t) for b, t in zip(background, tilt)]),
                    ),
                    modifier("staterror", f"stat_{name}", rounded([0.3 * math.sqrt(b) for b in background])),
                ),
            )
        )
        # Fluctuations without a random number generator: a fixed, irregular pattern.
        wiggle = [math.sin(12.9898 * (i + 1) * (1.0 + purity)) for i in range(n)]
        observations[name] = [
            float(max(0, round(b + 0.8 * s + w * math.sqrt(b)))) for b, s, w in zip(background, signal, wiggle)
        ]
    return workspace(channels, observations, [measurement("bump", "mu", LUMI)])


def asymmetric():
    """A workspace with one-sided and strongly asymmetric systematics. The piecewise codes have kinks at 0."""
    first = [20.0, 35.0, 50.0]
    second = [90.0, 80.0, 60.0]
    return workspace(
        [
            channel(
                "A",
                sample("signal", [5.0, 8.0, 12.0], normfactor("mu"), normsys("radiation", 0.98, 1.25)),
                sample(
                    "background",
                    first,
                    histosys("model", first, scaled(first, 1.2, 1.1, 0.95)),
                    histosys("scale", scaled(first, 0.8, 0.85, 0.9), scaled(first, 1.02)),
                    normsys("rate", 0.7, 1.05),
                ),
            ),
            channel(
                "B",
                sample(
                    "background",
                    second,
                    histosys("model", second, scaled(second, 1.05, 0.97, 0.9)),
                    histosys("scale", scaled(second, 0.9), scaled(second, 1.01)),
                    normsys("rate", 0.85, 1.3),
                ),
            ),
        ],
        {"A": [27.0, 41.0, 63.0], "B": [84.0, 83.0, 58.0]},
        [measurement("kinks", "mu")],
    )


def shared_names():
    """A workspace with names that types, samples and channels share, in every way that is allowed."""
    return workspace(
        [
            channel(
                "two_bins",
                sample("signal", [5.0, 6.0], normfactor("mu")),
                sample(
                    "background",
                    [50.0, 40.0],
                    normsys("syst", 0.9, 1.1),
                    histosys("syst", [48.0, 41.0], [52.0, 39.0]),
                    modifier("staterror", "stat", [3.0, 2.0]),
                ),
                sample("template", [10.0, 12.0], modifier("shapefactor", "shape"), modifier("staterror", "stat", [1.0, 1.0])),
            ),
            channel(
                "three_bins",
                sample("background", [70.0, 60.0, 20.0], normsys("syst", 0.95, 1.04), modifier("staterror", "stat", [4.0, 3.0, 2.0])),
                sample("template", [100.0, 90.0, 80.0], modifier("shapefactor", "shape"), modifier("staterror", "stat", [2.0, 2.0, 2.0])),
            ),
        ],
        {"two_bins": [66.0, 57.0], "three_bins": [171.0, 148.0, 103.0]},
        [measurement("shared", "mu", {"name": "syst", "bounds": [[-3.0, 3.0]]})],
    )


def edge_yields():
    """A workspace with zero and negative yields, bins without uncertainty, and an empty observed bin."""
    return workspace(
        [
            channel(
                "edge",
                sample("signal", [0.0, 2.0, 3.0, 0.0], normfactor("mu")),
                sample(
                    "background",
                    [10.0, 0.0, 4.0, 6.0],
                    modifier("shapesys", "poisson", [2.0, 1.0, 0.0, 1.5]),
                    modifier("staterror", "stat", [0.0, 0.2, 0.5, 0.4]),
                ),
                sample("interference", [-1.0, 0.4, -0.5, 1.0], modifier("staterror", "stat", [0.0, 0.1, 0.2, 0.3])),
            )
        ],
        {"edge": [9.0, 1.0, 7.0, 0.0]},
        [measurement("edge", "mu", {"name": "mu", "bounds": [[0.0, 20.0]]})],
    )


def overrides():
    """A measurement that sets every property that can be set."""
    return workspace(
        [
            channel(
                "region",
                sample("signal", [10.0, 12.0], normfactor("mu"), lumi()),
                sample(
                    "background",
                    [80.0, 60.0],
                    lumi(),
                    normsys("norm", 0.9, 1.1),
                    modifier("shapesys", "poisson", [8.0, 6.0]),
                    modifier("staterror", "stat", [4.0, 3.0]),
                    modifier("shapefactor", "shape"),
                ),
            )
        ],
        {"region": [93.0, 75.0]},
        [
            measurement(
                "overridden",
                "mu",
                {"name": "lumi", "inits": [0.98], "bounds": [[0.9, 1.1]], "auxdata": [0.99], "sigmas": [0.02]},
                {"name": "mu", "inits": [0.5], "bounds": [[-1.0, 4.0]]},
                {"name": "norm", "inits": [0.1], "bounds": [[-4.0, 4.0]], "auxdata": [0.2]},
                {"name": "poisson", "inits": [1.0, 1.1], "auxdata": [90.0, 110.0], "factors": [95.0, 105.0]},
                {"name": "stat", "bounds": [[0.5, 1.5], [0.4, 1.6]], "auxdata": [1.01, 0.99], "sigmas": [0.05, 0.06]},
                {"name": "shape", "inits": [1.0, 1.0], "fixed": True},
            )
        ],
    )


def large_counts():
    """A workspace with counts up to 1e8. A simple sum of logarithms loses digits for such counts."""
    return workspace(
        [
            channel(
                "bulk",
                sample("signal", [4.0e3, 6.0e4, 2.0e3], normfactor("mu")),
                sample("background", [1.0e8, 3.0e7, 2.5e6], normsys("rate", 0.999, 1.001), histosys("tilt", [1.001e8, 3.0e7, 2.49e6], [0.999e8, 3.0e7, 2.51e6])),
            )
        ],
        {"bulk": [100012345.0, 30050000.0, 2501234.0]},
        [measurement("bulk", "mu", {"name": "mu", "bounds": [[-10.0, 10.0]]})],
    )


# Yields and modifiers of each channel and sample of `strongly_bent`. They are chosen so that many asymmetric effects
# act on the same few bins. Variations are given as low and high.
STRONGLY_BENT = {
    "CR_S": {
        "single": ([90.0], [
            normfactor("mu_S"),
            histosys("interference", [130.5], [49.5]),
            normsys("model_S", 0.85, 1.15),
            histosys("jet0", [91.79], [99.21]),
            histosys("jet1", [92.24], [88.32]),
            histosys("jet2", [85.26], [85.42]),
            histosys("jet3", [89.32], [81.96]),
            histosys("jet4", [90.51], [91.19]),
            histosys("jet5", [94.67], [89.99]),
            histosys("jet6", [90.19], [89.86]),
            histosys("jet7", [82.19], [84.95]),
            histosys("jet8", [85.25], [97.49]),
            histosys("jet9", [91.24], [90.5]),
            histosys("jet10", [94.75], [95.77]),
            histosys("jet11", [94.82], [92.94]),
            modifier("staterror", "stat_CR_S", [7.2]),
        ]),
        "pair": ([100.0], [
            normfactor("mu_T"),
            normsys("model_T", 0.75, 1.25),
            histosys("jet0", [98.22], [103.7]),
            histosys("jet1", [102.8], [103.5]),
            histosys("jet2", [93.93], [96.33]),
            histosys("jet3", [98.4], [102.3]),
            histosys("jet4", [98.03], [103.9]),
            histosys("jet5", [99.22], [100.3]),
            histosys("jet6", [105.9], [100.1]),
            histosys("jet7", [99.54], [96.84]),
            histosys("jet8", [109.2], [108.7]),
            histosys("jet9", [101.3], [104.6]),
            histosys("jet10", [102.9], [94.55]),
            histosys("jet11", [105.4], [103.2]),
            modifier("staterror", "stat_CR_S", [8.0]),
        ]),
    },
    "CR_T": {
        "single": ([160.0], [
            normfactor("mu_S"),
            histosys("interference", [140.8], [179.2]),
            normsys("model_S", 1.1, 0.9),
            histosys("jet0", [168.5], [159.6]),
            histosys("jet1", [153.2], [161.8]),
            histosys("jet2", [172.6], [163.7]),
            histosys("jet3", [152.6], [152.3]),
            histosys("jet4", [163.6], [164.7]),
            histosys("jet5", [165.1], [158.4]),
            histosys("jet6", [159.5], [167.2]),
            histosys("jet7", [162.4], [152.6]),
            histosys("jet8", [153.1], [158.3]),
            histosys("jet9", [150.4], [149.8]),
            histosys("jet10", [154.8], [153.9]),
            histosys("jet11", [158.6], [158.7]),
            modifier("staterror", "stat_CR_T", [12.8]),
        ]),
        "pair": ([1200.0], [
            normfactor("mu_T"),
            normsys("model_T", 1.0, 1.0),
            histosys("jet0", [1219.0], [1227.0]),
            histosys("jet1", [1222.0], [1219.0]),
            histosys("jet2", [1189.0], [1196.0]),
            histosys("jet3", [1156.0], [1155.0]),
            histosys("jet4", [1214.0], [1191.0]),
            histosys("jet5", [1212.0], [1202.0]),
            histosys("jet6", [1164.0], [1160.0]),
            histosys("jet7", [1190.0], [1180.0]),
            histosys("jet8", [1186.0], [1209.0]),
            histosys("jet9", [1202.0], [1201.0]),
            histosys("jet10", [1223.0], [1189.0]),
            histosys("jet11", [1229.0], [1209.0]),
            modifier("staterror", "stat_CR_T", [96.0]),
        ]),
    },
    "CR_W": {
        "single": ([9.0], [
            normfactor("mu_S"),
            histosys("interference", [9.9], [8.1]),
            normsys("model_S", 1.0, 1.0),
            histosys("jet0", [10.51], [8.68]),
            histosys("jet1", [8.003], [7.361]),
            histosys("jet2", [10.99], [12.12]),
            histosys("jet3", [8.415], [7.954]),
            histosys("jet4", [7.473], [7.418]),
            histosys("jet5", [7.642], [8.811]),
            histosys("jet6", [7.439], [6.897]),
            histosys("jet7", [8.445], [7.281]),
            histosys("jet8", [9.858], [10.06]),
            histosys("jet9", [8.827], [10.75]),
            histosys("jet10", [11.66], [9.441]),
            histosys("jet11", [11.15], [8.298]),
            modifier("staterror", "stat_CR_W", [0.72]),
        ]),
        "pair": ([50.0], [
            normfactor("mu_T"),
            normsys("model_T", 0.8, 1.2),
            histosys("jet0", [46.13], [53.46]),
            histosys("jet1", [50.09], [48.68]),
            histosys("jet2", [50.51], [50.58]),
            histosys("jet3", [51.53], [48.64]),
            histosys("jet4", [51.74], [55.14]),
            histosys("jet5", [48.72], [49.93]),
            histosys("jet6", [50.12], [54.07]),
            histosys("jet7", [49.92], [52.58]),
            histosys("jet8", [51.2], [47.12]),
            histosys("jet9", [46.48], [50.37]),
            histosys("jet10", [52.83], [53.39]),
            histosys("jet11", [47.61], [48.78]),
            modifier("staterror", "stat_CR_W", [4.0]),
        ]),
    },
    "SR": {
        "single": ([6.0, 3.0, 1.2], [
            normfactor("mu_S"),
            histosys("interference", [7.5, 3.75, 1.5], [4.5, 2.25, 0.9]),
            normsys("model_S", 0.9, 1.1),
            histosys("jet0", [6.938, 2.488, 0.9959], [8.729, 2.447, 0.3241]),
            histosys("jet1", [6.191, 3.159, 1.221], [6.224, 4.345, 2.002]),
            histosys("jet2", [6.144, 2.137, 1.716], [4.65, 4.643, 1.035]),
            histosys("jet3", [5.324, 1.818, 0.5223], [7.21, 2.57, 1.275]),
            histosys("jet4", [6.665, 4.541, 0.3218], [7.067, 4.159, 1.402]),
            histosys("jet5", [3.58, 3.454, 1.161], [6.488, 2.484, 1.238]),
            histosys("jet6", [6.349, 4.928, 1.004], [6.095, 2.758, 0.8491]),
            histosys("jet7", [9.324, 3.27, 0.6829], [6.688, 2.201, 1.062]),
            histosys("jet8", [5.5, 2.407, 1.473], [7.405, 2.658, 2.007]),
            histosys("jet9", [4.884, 1.437, 1.309], [6.376, 3.123, 1.243]),
            histosys("jet10", [5.737, 4.416, 0.8453], [6.86, 4.284, 1.192]),
            histosys("jet11", [6.161, 3.829, 2.044], [3.917, 3.474, 1.436]),
            modifier("staterror", "stat_SR", [0.48, 0.24, 0.096]),
        ]),
        "pair": ([6.0, 4.0, 1.5], [
            normfactor("mu_T"),
            normsys("model_T", 0.7, 1.3),
            histosys("jet0", [3.113, 3.275, 1.687], [3.487, 5.004, 1.892]),
            histosys("jet1", [6.889, 4.8, 2.052], [6.404, 3.34, 1.52]),
            histosys("jet2", [5.046, 5.368, 2.371], [5.971, 4.28, 1.979]),
            histosys("jet3", [6.291, 4.109, 1.881], [7.55, 4.295, 2.469]),
            histosys("jet4", [7.697, 2.7, 1.923], [5.285, 3.955, 1.291]),
            histosys("jet5", [5.494, 4.409, 2.32], [5.089, 4.826, 1.78]),
            histosys("jet6", [7.419, 2.795, 1.587], [6.755, 4.667, 1.495]),
            histosys("jet7", [6.023, 4.66, 1.834], [5.514, 6.147, 1.956]),
            histosys("jet8", [7.201, 4.19, 1.004], [7.098, 4.624, 2.094]),
            histosys("jet9", [7.059, 1.287, 2.036], [8.81, 3.27, 1.738]),
            histosys("jet10", [5.22, 4.596, 1.566], [6.726, 5.519, 1.589]),
            histosys("jet11", [6.978, 3.528, 1.313], [6.857, 2.855, 1.533]),
            modifier("staterror", "stat_SR", [0.48, 0.32, 0.12]),
        ]),
        "signal": ([2.0, 3.0, 2.0], [
            normfactor("mu"),
        ]),
    },
}


def strongly_bent():
    """A model of few bins with many asymmetric effects, whose toys have several minima."""
    channels = [
        channel(name, *(sample(s, data, *modifiers) for s, (data, modifiers) in samples.items()))
        for name, samples in STRONGLY_BENT.items()
    ]
    observations = {"CR_S": [190.0], "CR_T": [1360.0], "CR_W": [59.0], "SR": [12.0, 7.0, 3.0]}
    parameters = [{"name": name, "bounds": [[0, 5]], "inits": [1.0]} for name in ("mu", "mu_S", "mu_T")]
    return workspace(channels, observations, [measurement("m", "mu", *parameters)])


# --- HS3 models ----------------------------------------------------------------------------


def hs3_events():
    """A model of events: a peak at 125 over a falling background between 100 and 160."""
    draw = random.Random(7)
    peak = [round(draw.gauss(125.0, 2.0), 3) for _ in range(60)]
    rest = [round(100.0 - 25.0 * math.log(1.0 - draw.random() * (1.0 - math.exp(-60.0 / 25.0))), 3) for _ in range(240)]
    return [[x] for x in peak + rest]


def hs3_domain(name, ranges):
    axes = [{"name": key, "min": low, "max": high} for key, (low, high) in ranges.items()]
    return {"name": name, "type": "product_domain", "axes": axes}


HS3_RANGES = {
    "mu": (0, 10),
    "eff": (-5, 5),
    "n_bkg": (0, 2000),
    "mass": (120, 130),
    "slope": (0, 0.2),
    "k_top": (0, 5),
    "g_0": (1e-10, 10),
    "g_1": (1e-10, 10),
}
HS3_VALUES = {"mu": 1, "eff": 0, "n_bkg": 250, "mass": 125, "slope": 0.03, "k_top": 1, "g_0": 1, "g_1": 1}


def hs3_mixed():
    """A model of events and counts with a common nuisance parameter, in the words of the HS3 standard."""
    counts = [{"name": "region", "edges": [0, 1, 3]}]
    mass = [{"name": "m", "min": 100, "max": 160}]
    samples = [
        {
            "name": "top",
            "data": {"contents": [80, 45], "errors": [4, 3]},
            "modifiers": [
                {"name": "k_top", "type": "normfactor", "parameter": "k_top"},
                {"name": "stat", "type": "staterror", "parameters": ["g_0", "g_1"], "constraint": "Gauss"},
            ],
        },
        {
            "name": "signal",
            "data": {"contents": [5, 12]},
            "modifiers": [
                {"name": "mu", "type": "normfactor", "parameter": "mu"},
                {"name": "eff", "type": "normsys", "parameter": "eff", "constraint": "eff_term", "data": {"hi": 1.1, "lo": 0.92}},
            ],
        },
    ]
    return {
        "metadata": {"hs3_version": "0.2.9", "description": "events and counts with a common nuisance parameter"},
        "distributions": [
            {"name": "peak", "type": "gaussian_dist", "x": "m", "mean": "mass", "sigma": 2},
            {"name": "falling", "type": "exponential_dist", "x": "m", "c": "slope"},
            {"name": "events", "type": "mixture_dist", "summands": ["peak", "falling"], "coefficients": ["n_sig", "n_bkg"], "extended": True},
            {"name": "counts", "type": "histfactory_dist", "axes": counts, "samples": samples},
            {"name": "eff_term", "type": "gaussian_dist", "x": "eff", "mean": 0, "sigma": 1},
        ],
        "functions": [{"name": "n_sig", "type": "generic_function", "expression": "50*mu*1.1^eff"}],
        "data": [
            {"name": "seen_events", "type": "unbinned", "axes": mass, "entries": hs3_events()},
            {"name": "seen_counts", "type": "binned", "axes": counts, "contents": [88, 60]},
        ],
        "likelihoods": [
            {"name": "all", "distributions": ["events", "counts"], "data": ["seen_events", "seen_counts"], "aux_distributions": ["eff_term"]}
        ],
        "domains": [hs3_domain("ranges", HS3_RANGES)],
        "parameter_points": [{"name": "start", "parameters": [{"name": k, "value": v} for k, v in HS3_VALUES.items()]}],
        "analyses": [{"name": "search", "likelihood": "all", "parameters_of_interest": ["mu"], "domain": "ranges", "init": "start"}],
    }


def hs3_few_events():
    """A peak of few events over a background whose rate is known to 20 %: the example for the coverage of intervals."""
    draw = random.Random(3)
    falling = lambda: 100.0 - 25.0 * math.log(1.0 - draw.random() * (1.0 - math.exp(-60.0 / 25.0)))
    masses = [draw.gauss(125.0, 2.0) for _ in range(6)] + [falling() for _ in range(21)]
    ranges = {"mu": (0, 20), "eff": (-5, 5), "rate": (-5, 5)}
    terms = [{"name": f"{name}_term", "type": "gaussian_dist", "x": name, "mean": 0, "sigma": 1} for name in ("eff", "rate")]
    return {
        "metadata": {"hs3_version": "0.2.9", "description": "few events of a peak over a known background"},
        "distributions": [
            {"name": "peak", "type": "gaussian_dist", "x": "m", "mean": 125, "sigma": 2},
            {"name": "falling", "type": "exponential_dist", "x": "m", "c": 0.04},
            {"name": "events", "type": "mixture_dist", "summands": ["peak", "falling"], "coefficients": ["n_sig", "n_bkg"], "extended": True},
            *terms,
        ],
        "functions": [
            {"name": "n_sig", "type": "generic_function", "expression": "5*mu*1.1^eff"},
            {"name": "n_bkg", "type": "generic_function", "expression": "20*1.2^rate"},
        ],
        "data": [
            {
                "name": "seen",
                "type": "unbinned",
                "axes": [{"name": "m", "min": 100, "max": 160}],
                "entries": [[round(mass, 3)] for mass in masses],
            }
        ],
        "likelihoods": [
            {"name": "all", "distributions": ["events"], "data": ["seen"], "aux_distributions": [term["name"] for term in terms]}
        ],
        "domains": [hs3_domain("ranges", ranges)],
        "parameter_points": [{"name": "start", "parameters": [{"name": k, "value": v} for k, v in {"mu": 1, "eff": 0, "rate": 0}.items()]}],
        "analyses": [{"name": "search", "likelihood": "all", "parameters_of_interest": ["mu"], "domain": "ranges", "init": "start"}],
    }


def hs3_template():
    """A peak of simulated events above a falling background. The weights of the events depend on two nuisance
    parameters."""
    draw = random.Random(11)
    simulated = [round(draw.gauss(125.0, 3.0), 2) for _ in range(60)]
    weights = [round(draw.uniform(0.82, 1.18), 3) for _ in simulated]
    scaled = lambda spread, tilt: [  # noqa: E731
        round(w * (1.0 + tilt * (x - 125.0) / 10.0 + draw.uniform(-spread, spread)), 3)
        for x, w in zip(simulated, weights, strict=True)
    ]
    observed = [round(draw.gauss(125.0, 3.0), 2) for _ in range(30)]
    while len(observed) < 150:
        x = round(110.0 + draw.expovariate(0.03), 2)
        if x <= 140.0:
            observed.append(x)
    ranges = {"mu": (0, 10), "alpha_tag": (-5, 5), "alpha_pileup": (-5, 5), "slope": (0, 0.3), "n_background": (0, 1000)}
    values = {"mu": 1, "alpha_tag": 0, "alpha_pileup": 0, "slope": 0.03, "n_background": 120}
    constants = {"nom_alpha_tag": 0, "nom_alpha_pileup": 0}
    response = lambda name, spread, tilt, inside: {  # noqa: E731
        "parameter": name,
        "up": scaled(spread, tilt),
        "down": scaled(spread, -tilt),
        "interpolation": {"type": "add", "in": inside, "out": "poly1"},
        "acts_on": ["shape", "yield"],
    }
    constraint = lambda name: {  # noqa: E731
        "name": f"{name}_constraint",
        "type": "gaussian_dist",
        "x": name,
        "mean": f"nom_{name}",
        "sigma": 1.0,
    }
    signal = {
        "name": "signal",
        "type": "nextstat.template_dist",
        "x": ["m"],
        "estimator": {"type": "histogram", "edges": [[110.0, 118.0, 122.0, 125.0, 128.0, 132.0, 140.0]]},
        "entries": [[x] for x in simulated],
        "weights": weights,
        "responses": [response("alpha_tag", 0.05, 0.1, "poly6"), response("alpha_pileup", 0.1, 0.05, "poly1")],
    }
    mixture = {
        "name": "SR",
        "type": "mixture_dist",
        "summands": ["signal", "background"],
        "coefficients": ["n_signal", "n_background"],
        "extended": True,
    }
    return {
        "metadata": {"hs3_version": "0.2.9", "description": "simulated events with weights that follow nuisance parameters"},
        "distributions": [
            constraint("alpha_tag"),
            constraint("alpha_pileup"),
            signal,
            {"name": "background", "type": "exponential_dist", "x": "m", "c": "slope"},
            mixture,
        ],
        "functions": [{"name": "n_signal", "type": "generic_function", "expression": "30 * mu"}],
        "data": [
            {
                "name": "data_SR",
                "type": "unbinned",
                "axes": [{"name": "m", "min": 110, "max": 140}],
                "entries": [[x] for x in observed],
            }
        ],
        "likelihoods": [
            {
                "name": "templates",
                "distributions": ["SR"],
                "data": ["data_SR"],
                "aux_distributions": ["alpha_tag_constraint", "alpha_pileup_constraint"],
            }
        ],
        "domains": [hs3_domain("default_domain", ranges)],
        "parameter_points": [
            {
                "name": "default_values",
                "parameters": [{"name": name, "value": value} for name, value in values.items()]
                + [{"name": name, "value": value, "const": True} for name, value in constants.items()],
            }
        ],
        "analyses": [
            {
                "name": "templates",
                "likelihood": "templates",
                "parameters_of_interest": ["mu"],
                "domain": "default_domain",
                "init": "default_values",
            }
        ],
    }


def hs3_mixed_root():
    """The model of `hs3_mixed` in ROOT's words. An analysis of Asimov data comes before the analysis of the observed
    data."""
    model = hs3_mixed()
    named = {part["name"]: part for key in ("distributions", "data") for part in model[key]}
    model["metadata"] = {"hs3_version": "0.2", "packages": [{"name": "ROOT", "version": "6.40.00"}]}
    named["falling"]["c"] = "minus_slope_exponential_inverted"
    named["events"].update(name="events_shape")
    named["eff_term"].update(mean="nom_eff", sigma=1.0)
    model["distributions"].append({"name": "events", "type": "product_dist", "factors": ["events_shape", "eff_term"]})
    for sample in named["counts"]["samples"]:
        for modifier in sample["modifiers"]:
            if modifier["type"] == "normsys":
                modifier.update(constraint_name=modifier.pop("constraint"), interpolation=5)
            elif modifier["type"] == "staterror":
                modifier["constraint_type"] = modifier.pop("constraint")
    model["functions"].append({"name": "minus_slope_exponential_inverted", "type": "generic_function", "expression": "-minus_slope"})
    named["seen_events"]["axes"][0]["value"] = 125.0
    asimov = {**named["seen_counts"], "name": "asimovData_counts", "contents": [85, 57]}
    model["data"].append(asimov)
    pairs = {"distributions": ["events", "counts"], "data": ["seen_events", "seen_counts"]}
    model["likelihoods"] = [
        {"name": "asimovData", **pairs, "data": ["seen_events", "asimovData_counts"]},
        {"name": "obsData", **pairs},
    ]
    ranges = {**HS3_RANGES, "minus_slope": (-0.2, 0), "nom_eff": (-10, 10)}
    del ranges["slope"]
    model["domains"] = [hs3_domain("default_domain", ranges)]
    values = {**HS3_VALUES, "minus_slope": -0.03}
    del values["slope"]
    point = [{"name": key, "value": value} for key, value in values.items()]
    point.append({"name": "nom_eff", "value": 0, "const": True})
    model["parameter_points"] = [{"name": "default_values", "parameters": point}]
    interest = {"domains": ["default_domain"], "parameters_of_interest": ["mu"]}
    model["analyses"] = [{"name": name, "likelihood": name, **interest} for name in ("asimovData", "obsData")]
    model["misc"] = {"ROOT_internal": {"attributes": {"nom_eff": {"tags": ["Constant"]}}}}
    return model


def function(name, expression):
    data = {"expression": expression} if isinstance(expression, str) else {"expressions": expression}
    return modifier("function", name, data)


def free(name, init, lower, upper, **more):
    return {"name": name, "inits": [init], "bounds": [[lower, upper]], **more}


def eft():
    """Two couplings of an effective theory: quadratic yields, an interference that is negative, growth with energy."""
    signal = [12.0, 9.0, 6.0, 3.0]
    background = [80.0, 45.0, 20.0, 8.0]
    growth = [f"1 + {a}*cW^2" for a in (0.02, 0.1, 0.4, 1.5)]
    return workspace(
        [
            channel(
                "tail",
                sample(
                    "signal",
                    signal,
                    function("mu_signal", "1 + 0.25*cH + 0.1*cH^2 - 0.2*cW"),
                    function("growth", growth),
                    normsys("theory", 0.93, 1.08),
                ),
                sample("interference", [-2.0, -1.5, -1.0, -0.5], function("mixed", "cH*cW")),
                sample("background", background, normsys("rate", 0.95, 1.05), modifier("staterror", "stat_tail", [3.0, 2.0, 1.2, 0.7])),
            ),
            channel(
                "decay",
                sample("signal", [30.0], function("width", "mu_signal/(1 + 0.02*cH^2 + shift)"), normsys("theory", 0.95, 1.05)),
                sample("background", [200.0], normsys("rate", 0.96, 1.03)),
            ),
        ],
        {"tail": [103.0, 58.0, 33.0, 11.0], "decay": [246.0]},
        [measurement("eft", "cH", free("cH", 0.0, -8.0, 8.0), free("cW", 0.0, -4.0, 4.0), free("shift", 0.0, -0.5, 0.5, sigmas=[0.03]))],
    )


def abcd():
    """The background of a signal region from three control regions: A = B C / D, with a correction for each of two bins."""
    regions = {"B": 50.0, "C": 100.0, "D": 500.0}
    controls = [channel(name, sample("background", [1.0], normfactor(f"n_{name}"))) for name in regions]
    signal = sample("signal", [2.0, 4.0], normfactor("mu"), normsys("efficiency", 0.95, 1.05))
    background = sample(
        "background", [0.7, 0.3], function("transfer", "n_B*n_C/n_D"), function("closure", ["1 + 0.1*t", "1 - 0.2*t"])
    )
    return workspace(
        [channel("A", signal, background), *controls],
        {"A": [9.0, 7.0], **{name: [count] for name, count in regions.items()}},
        [
            measurement(
                "abcd",
                "mu",
                free("t", 0.0, -5.0, 5.0, sigmas=[1.0]),
                *[free(f"n_{name}", count, 0.0, 10.0 * count) for name, count in regions.items()],
            )
        ],
    )


def two_signals():
    """Two production modes with a signal strength each, which two channels tell apart in part."""
    background = [60.0, 40.0, 25.0]
    return workspace(
        [
            channel(
                "inclusive",
                sample("ggH", [18.0, 24.0, 12.0], normfactor("mu_ggH"), normsys("scale", 0.9, 1.12)),
                sample("qqH", [3.0, 5.0, 4.0], normfactor("mu_qqH")),
                sample("background", background, normsys("rate", 0.95, 1.06), modifier("staterror", "stat", [2.0, 1.5, 1.2])),
            ),
            channel(
                "dijet",
                sample("ggH", [4.0, 3.0], normfactor("mu_ggH"), normsys("scale", 0.8, 1.25), normsys("jets", 0.85, 1.2)),
                sample("qqH", [9.0, 14.0], normfactor("mu_qqH"), normsys("jets", 0.93, 1.06)),
                sample("background", [30.0, 12.0], normfactor("norm"), normsys("rate", 0.97, 1.02)),
            ),
        ],
        {"inclusive": [85.0, 66.0, 46.0], "dijet": [48.0, 37.0]},
        [measurement("two_signals", "mu_ggH", free("mu_ggH", 1.0, 0.0, 10.0), free("mu_qqH", 1.0, 0.0, 10.0), free("norm", 1.0, 0.0, 5.0))],
    )


def counting():
    """Five events over a known background of three, an example of Feldman and Cousins."""
    return workspace(
        [channel("SR", sample("signal", [1.0], normfactor("mu")), sample("background", [3.0]))],
        {"SR": [5]},
        [measurement("counting", "mu", {"name": "mu", "bounds": [[0.0, 30.0]]})],
    )


def correlations():
    """Correlations of two constraints of simple_workspace.json."""
    return {"parameters": ["jet_scale", "signal_theory"], "correlations": [[1.0, 0.4], [0.4, 1.0]]}


# Nominal truth bins of the unfolding: ten of 10 GeV, measured in twenty of 5 GeV.
TRUTH_EDGES = [10.0 * i for i in range(11)]
RECO_EDGES = [5.0 * i for i in range(21)]


def predicted_density(mass):
    """Predicted events per GeV of truth: a falling exponential."""
    return 12000.0 / 35.0 * math.exp(-mass / 35.0)


def true_density(mass):
    """Events per GeV of the truth that the data are drawn from: the prediction with a bump."""
    bump = math.exp(-0.5 * ((mass - 55.0) / 9.0) ** 2)
    return predicted_density(mass) * (1.0 - 0.002 * mass) + 45.0 * bump


def response_column(density, low, high, scale=1.0):
    """Expected measured events, per bin, of the truth between two masses. `scale` is that of the measured mass."""
    steps = 40
    width = (high - low) / steps
    column = [0.0] * (len(RECO_EDGES) - 1)
    for k in range(steps):
        mass = low + (k + 0.5) * width
        found = density(mass) * width * (0.5 + 0.4 * (1.0 - math.exp(-mass / 30.0)))
        sigma = 5.0 + 0.05 * mass
        at = [0.5 * math.erf((edge - scale * mass) / (sigma * math.sqrt(2.0))) for edge in RECO_EDGES]
        for i in range(len(column)):
            column[i] += found * (at[i + 1] - at[i])
    return column


def poisson(mean, generator):
    """Draws a count. It is a sum of counts with small means, whose probabilities do not underflow."""
    parts = math.ceil(mean / 100.0)
    count = 0
    for _ in range(parts):
        uniform, term = generator.random(), math.exp(-mean / parts)
        total, k = term, 0
        while total < uniform and k < 1000:
            k += 1
            term *= mean / parts / k
            total += term
        count += k
    return count


def unfolding():
    """A falling spectrum in ten truth bins, smeared into twenty measured ones. Each truth bin is a sample with a factor."""
    bins = list(zip(TRUTH_EDGES, TRUTH_EDGES[1:]))
    background = [8.0 + 40.0 * math.exp(-i / 6.0) for i in range(20)]
    samples = []
    for i, (low, high) in enumerate(bins):
        column, down, up = (response_column(predicted_density, low, high, scale) for scale in (1.0, 0.99, 1.01))
        samples.append(
            sample(
                f"truth bin {i}",
                rounded(column, 5),
                normfactor(f"truth_{i}"),
                histosys("mass_scale", rounded(down, 5), rounded(up, 5)),
                normsys("efficiency", 0.97, 1.03),
            )
        )
    samples.append(sample("background", rounded(background), normsys("background", 0.9, 1.1)))
    columns = [response_column(true_density, low, high) for low, high in bins]
    generator = random.Random(20)
    data = [float(poisson(sum(c[i] for c in columns) + background[i], generator)) for i in range(20)]
    factors = [{"name": f"truth_{i}", "inits": [1.0], "bounds": [[-5.0, 10.0]]} for i in range(len(bins))]
    return workspace([channel("SR", *samples)], {"SR": data}, [measurement("unfolding", "truth_0", *factors)])


def unfolding_truth():
    """The predicted truth of `unfolding`."""
    decay = [12000.0 * math.exp(-edge / 35.0) for edge in TRUTH_EDGES]
    yields = rounded([low - high for low, high in zip(decay, decay[1:])])
    return {"title": "Mass [GeV]", "edges": TRUTH_EDGES, "yields": yields}


def mass_spectrum(background, parameter):
    """A narrow signal on a falling background of 1000 regularly spaced events."""
    total = 1.0 - math.exp(-0.03 * 50.0)
    entries = [[round(100.0 - math.log(1.0 - total * (i + 0.5) / 1000) / 0.03, 5)] for i in range(1000)]
    return {
        "metadata": {"hs3_version": "0.2.9"},
        "distributions": [
            {"name": "signal", "type": "gaussian_dist", "x": "m", "mean": "mass", "sigma": 1.5},
            {"name": "background", **background},
            {
                "name": "all",
                "type": "mixture_dist",
                "summands": ["signal", "background"],
                "coefficients": ["n_signal", "n_background"],
                "extended": True,
            },
        ],
        "data": [{"name": "d", "type": "unbinned", "axes": [{"name": "m", "min": 100.0, "max": 150.0}], "entries": entries}],
        "likelihoods": [{"name": "L", "distributions": ["all"], "data": ["d"]}],
        "parameter_points": [
            {
                "name": "default_values",
                "parameters": [
                    {"name": "n_signal", "value": 10.0, "min": -200.0, "max": 500.0},
                    {"name": "mass", "value": 125.0, "min": 105.0, "max": 145.0},
                    {"name": "n_background", "value": 1000.0, "min": 1.0, "max": 5000.0},
                    parameter,
                ],
            }
        ],
        "analyses": [{"name": "search", "likelihood": "L", "parameters_of_interest": ["n_signal"]}],
    }


def exponential_spectrum():
    """A mass spectrum with an exponential background."""
    background = {"type": "exponential_dist", "x": "m", "c": "slope"}
    return mass_spectrum(background, {"name": "slope", "value": 0.03, "min": 0.0, "max": 0.3})


def power_spectrum():
    """The same events with a power law as background."""
    background = {"type": "generic_dist", "expression": "(m / 100)^(-power)"}
    return mass_spectrum(background, {"name": "power", "value": 3.0, "min": 0.0, "max": 20.0})


def fixtures():
    base = background_only()
    points = list(POINTS)
    first = POINTS[points[0]]
    return {
        "simple_workspace.json": simple_workspace(),
        "all_modifiers.json": all_modifiers(),
        "several_measurements.json": several_measurements(),
        "background_only.json": base,
        "patchset.json": patchset(base),
        "signal_patch.json": signal_patch(points[0], first[1], first[2]),
        "empty_poi.json": empty_poi(),
        "many_bins.json": many_bins(),
        "asymmetric.json": asymmetric(),
        "shared_names.json": shared_names(),
        "edge_yields.json": edge_yields(),
        "overrides.json": overrides(),
        "large_counts.json": large_counts(),
        "strongly_bent.json": strongly_bent(),
        "eft.json": eft(),
        "abcd.json": abcd(),
        "two_signals.json": two_signals(),
        "counting.json": counting(),
        "correlations.json": correlations(),
        "unfolding.json": unfolding(),
        "unfolding_truth.json": unfolding_truth(),
        "hs3/mixed.hs3.json": hs3_mixed(),
        "hs3/mixed_root.hs3.json": hs3_mixed_root(),
        "hs3/few_events.hs3.json": hs3_few_events(),
        "hs3/template.hs3.json": hs3_template(),
        "hs3/exponential.hs3.json": exponential_spectrum(),
        "hs3/power.hs3.json": power_spectrum(),
    }


# --- writing -------------------------------------------------------------------------------


def dumps(value, indent=0, width=110):
    """Returns JSON text. Every value that fits on one line is on one line."""
    flat = json.dumps(value)
    if len(flat) + indent <= width or not isinstance(value, (dict, list)):
        return flat
    pad = " " * (indent + 2)
    if isinstance(value, list) and not isinstance(value[0], (dict, list)):
        lines, line = [], ""
        for item in map(json.dumps, value):
            if line and len(pad) + len(line) + len(item) + 3 > width:
                lines.append(line)
                line = ""
            line += (" " if line else "") + item + ","
        lines.append(line)
        body = "\n".join(pad + line for line in lines)[:-1]
        return "[\n" + body + "\n" + " " * indent + "]"
    if isinstance(value, list):
        items = [pad + dumps(item, indent + 2, width) for item in value]
        return "[\n" + ",\n".join(items) + "\n" + " " * indent + "]"
    items = [f"{pad}{json.dumps(key)}: {dumps(item, indent + 2, width)}" for key, item in value.items()]
    return "{\n" + ",\n".join(items) + "\n" + " " * indent + "}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the files instead of writing them")
    parser.add_argument("--output", type=pathlib.Path, default=FOLDER, help="folder to write to")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    wanted = {name: dumps(document) + "\n" for name, document in fixtures().items()}
    if args.check:
        stale = [name for name, text in wanted.items() if not (args.output / name).is_file() or (args.output / name).read_text() != text]
        present = (path.relative_to(args.output).as_posix() for path in args.output.rglob("*.json"))
        # Files of Parquet and of flows need packages, so other scripts write them: make_event_fixtures.py and
        # make_flow_fixtures.py. Some models have a script of their own: make_lifetime_fixture.py and
        # make_straggling_fixture.py.
        others = ("events/", "flows/", "hs3/lifetime.hs3.json", "hs3/straggling.hs3.json")
        foreign = sorted(name for name in present if name not in wanted and not name.startswith(others))
        for name in stale:
            print(f"{name} is not what {pathlib.Path(__file__).name} writes", file=sys.stderr)
        for name in foreign:
            print(f"{name} is not made by {pathlib.Path(__file__).name}", file=sys.stderr)
        return 1 if stale or foreign else 0
    for name, text in wanted.items():
        (args.output / name).parent.mkdir(parents=True, exist_ok=True)
        (args.output / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
