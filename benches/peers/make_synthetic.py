#!/usr/bin/env python3
"""Workspaces of any size, for scaling studies; printed as JSON.

    make_synthetic.py gammas CHANNELS BINS      signal over background, one free Poisson gamma per bin
    make_synthetic.py systematics PARAMETERS CHANNELS BINS
                                                signal over three backgrounds, each with a third of PARAMETERS
                                                nuisance parameters that change its yields and its shape
    make_synthetic.py stack COPIES WS.json...   COPIES of each workspace side by side in one likelihood:
                                                one `mu` for all their POIs, one `lumi`, all else its own
"""

from __future__ import annotations

import argparse
import json
import math
import pathlib
import sys


def gammas(n_channels: int, n_bins: int) -> dict:
    """Returns counting experiments, one per bin, which share only the signal strength."""
    channels, observations = [], []
    for c in range(n_channels):
        name = f"region{c:05d}"
        signal = [1.5 + 0.25 * ((b + c) % 4) for b in range(n_bins)]
        background = [40.0 + 0.5 * b + 0.2 * (c % 7) for b in range(n_bins)]
        channels.append(
            {
                "name": name,
                "samples": [
                    {
                        "name": "signal",
                        "data": signal,
                        "modifiers": [{"name": "mu", "type": "normfactor", "data": None}],
                    },
                    {
                        "name": "background",
                        "data": background,
                        "modifiers": [{"name": f"gamma_{name}", "type": "shapesys", "data": [6.0] * n_bins}],
                    },
                ],
            }
        )
        # Observed counts are alternately above and below the expectation, so that every gamma has to move.
        shifts = [3.0, -2.0, 5.0, -4.0, 0.0]
        observations.append(
            {"name": name, "data": [round(y + shifts[(b + 3 * c) % 5]) for b, y in enumerate(background)]}
        )
    return {
        "channels": channels,
        "observations": observations,
        "measurements": [{"name": "gammas", "config": {"poi": "mu", "parameters": []}}],
        "version": "1.0.0",
    }


def systematics(n_systematics: int, n_channels: int, n_bins: int) -> dict:
    """Returns the same model as `systematics` in crates/ns-compute/benches/models."""
    golden, calls = 0.618_033_988_749_894_9, 0

    def wiggle() -> float:
        nonlocal calls
        calls += 1
        return 2.0 * math.fmod(calls * golden, 1.0) - 1.0

    channels, observations = [], []
    for c in range(n_channels):
        signal = [5.0 * math.exp(-0.5 * ((b - 0.5 * n_bins) / 4.0) ** 2) for b in range(n_bins)]
        mu = {"name": "mu", "type": "normfactor", "data": None}
        samples = [{"name": "signal", "data": signal, "modifiers": [mu]}]
        total = list(signal)
        for s in range(3):
            slope = 0.4 + 0.5 * s + 0.05 * c
            nominal = [60.0 * math.exp(-slope * b / n_bins) for b in range(n_bins)]
            total = [t + x for t, x in zip(total, nominal)]
            modifiers = []
            for k in range(s, n_systematics, 3):
                tilt, size, rate = 0.02 * wiggle(), 0.01 * wiggle(), 0.02 * wiggle()
                shape = [size + tilt * (2.0 * b / n_bins - 1.0) for b in range(n_bins)]
                up, down = 1.0, -1.0 + 0.1 * wiggle()
                sides = [[x * (1.0 + side * y) for x, y in zip(nominal, shape)] for side in (up, down)]
                histosys = {"hi_data": sides[0], "lo_data": sides[1]}
                normsys = {"hi": 1.0 + up * rate, "lo": 1.0 + down * rate}
                modifiers.append({"name": f"alpha{k}", "type": "histosys", "data": histosys})
                modifiers.append({"name": f"alpha{k}", "type": "normsys", "data": normsys})
            samples.append({"name": f"background{s}", "data": nominal, "modifiers": modifiers})
        observed = [round(x + math.sqrt(x) * 1.7 * wiggle()) for x in total]
        channels.append({"name": f"region{c:02}", "samples": samples})
        observations.append({"name": f"region{c:02}", "data": observed})
    return {
        "channels": channels,
        "observations": observations,
        "measurements": [{"name": "systematics", "config": {"poi": "mu", "parameters": []}}],
        "version": "1.0.0",
    }


def _renamed(workspace: dict, prefix: str):
    """Returns channels, observations and settings in which every name that is not shared has a prefix."""
    config = workspace["measurements"][0]["config"]

    def name_of(name, kind=None):
        if name == config["poi"]:
            return "mu"
        return name if kind == "lumi" or name == "lumi" else prefix + name

    channels = [
        {
            "name": prefix + channel["name"],
            "samples": [
                {
                    **sample,
                    "modifiers": [{**m, "name": name_of(m["name"], m["type"])} for m in sample["modifiers"]],
                }
                for sample in channel["samples"]
            ],
        }
        for channel in workspace["channels"]
    ]
    observations = [{**o, "name": prefix + o["name"]} for o in workspace["observations"]]
    settings = [{**p, "name": name_of(p["name"])} for p in config["parameters"] if p["name"] != config["poi"]]
    return channels, observations, settings


def stack(copies: int, workspaces: list[dict]) -> dict:
    """Returns one workspace with `copies` copies of each workspace."""
    channels, observations, settings = [], [], {}
    for copy in range(copies):
        for position, workspace in enumerate(workspaces):
            new_channels, new_observations, new_settings = _renamed(workspace, f"c{copy}w{position}_")
            channels += new_channels
            observations += new_observations
            for entry in new_settings:
                settings.setdefault(entry["name"], entry)
    return {
        "channels": channels,
        "observations": observations,
        "measurements": [{"name": "stack", "config": {"poi": "mu", "parameters": list(settings.values())}}],
        "version": "1.0.0",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    one = kinds.add_parser("gammas")
    one.add_argument("channels", type=int)
    one.add_argument("bins", type=int)
    three = kinds.add_parser("systematics")
    three.add_argument("parameters", type=int)
    three.add_argument("channels", type=int)
    three.add_argument("bins", type=int)
    two = kinds.add_parser("stack")
    two.add_argument("copies", type=int)
    two.add_argument("workspaces", type=pathlib.Path, nargs="+")
    arguments = parser.parse_args()
    if arguments.kind == "gammas":
        result = gammas(arguments.channels, arguments.bins)
    elif arguments.kind == "systematics":
        result = systematics(arguments.parameters, arguments.channels, arguments.bins)
    else:
        loaded = [json.loads(path.read_text(encoding="utf-8")) for path in arguments.workspaces]
        result = stack(arguments.copies, loaded)
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main()
