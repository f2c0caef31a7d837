#!/usr/bin/env python3
"""Times the limits of many signals on one background: `nextstat upper-limit -i background.json --patchset patchset.json`.

    python benches/many_signals.py WORKSPACE.json [--signals 100] [--threads 2] [--search standard] [--program nextstat]
                                   [--device cpu|cuda|cuda:all]

The signal of the workspace (the samples with the normfactor of its parameter of interest) is taken out, and put back by
patches that scale it by factors from 5 to 0.4, and each bin by 0.8 to 1.25. Prints signals per second.
"""

import argparse
import copy
import hashlib
import json
import pathlib
import random
import resource
import subprocess
import tempfile
import time


def split(workspace: dict) -> tuple[dict, list[tuple[int, dict]]]:
    """Returns the background, and the samples of the signal, each with the index of its channel."""
    poi = workspace["measurements"][0]["config"]["poi"]
    background, signal = copy.deepcopy(workspace), []
    for index, channel in enumerate(background["channels"]):
        is_signal = [
            any(m["type"] == "normfactor" and m["name"] == poi for m in sample["modifiers"]) for sample in channel["samples"]
        ]
        signal += [(index, sample) for sample, chosen in zip(channel["samples"], is_signal) if chosen]
        channel["samples"] = [sample for sample, chosen in zip(channel["samples"], is_signal) if not chosen]
    return background, signal


def scaled(sample: dict, factors: list[float]) -> dict:
    """Returns a sample with each bin scaled by its factor, absolute variations included."""
    by_bin = lambda values: [value * factor for value, factor in zip(values, factors)]
    sample = copy.deepcopy(sample)
    sample["data"] = by_bin(sample["data"])
    for modifier in sample["modifiers"]:
        if modifier["type"] == "histosys":
            modifier["data"] = {key: by_bin(values) for key, values in modifier["data"].items()}
        elif modifier["type"] in ("staterror", "shapesys"):
            modifier["data"] = by_bin(modifier["data"])
    return sample


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workspace", type=pathlib.Path)
    parser.add_argument("--signals", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--search", default="standard")
    parser.add_argument("--program", default="nextstat")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    draw = random.Random(1)
    background, signal = split(json.loads(args.workspace.read_text()))
    digest = hashlib.sha256(json.dumps(background, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
    patches = []
    for number in range(args.signals):
        whole = 5 * 0.08 ** (number / max(1, args.signals - 1))
        patch = []
        for index, sample in signal:
            factors = [whole * draw.uniform(0.8, 1.25) for _ in sample["data"]]
            patch.append({"op": "add", "path": f"/channels/{index}/samples/0", "value": scaled(sample, factors)})
        patches.append({"metadata": {"name": f"signal_{number}", "values": [number]}, "patch": patch})
    metadata = {
        "references": {"hepdata": "ins1"},
        "description": "scaled signals",
        "digests": {"sha256": digest},
        "labels": ["number"],
    }
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "background.json").write_text(json.dumps(background))
        (path / "patchset.json").write_text(json.dumps({"metadata": metadata, "patches": patches, "version": "1.0.0"}))
        command = [args.program, "upper-limit", "-i", path / "background.json", "--patchset", path / "patchset.json"]
        command += ["--threads", str(args.threads), "--search", args.search, "-q", "-o", path / "rows.json"]
        command += ["--device", args.device]
        start = time.perf_counter()
        subprocess.run(command, check=True)
        wall = time.perf_counter() - start
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = used.ru_utime + used.ru_stime
    print(f"{args.signals} signals, {args.threads} threads: {wall:.2f} s, {args.signals / wall:.1f} a second; processor time {cpu:.2f} s")


if __name__ == "__main__":
    main()
