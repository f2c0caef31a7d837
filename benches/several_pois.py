#!/usr/bin/env python3
"""Time of the rankings of several parameters of interest, which share fits, over the time of one.

    python3 benches/several_pois.py NEXTSTAT WORKSPACE.json POI,POI,POI [--repeats 9]

Runs the command in turn for the first parameter of interest and for all, on one thread. Prints the median of the times, the
numbers of fits, and the median of the ratios of neighbouring runs with quartiles.
"""

import argparse
import json
import statistics
import subprocess


def ranked(program, workspace, pois, more):
    command = [program, "ranking", "-i", workspace, "--poi", pois, "--device", "cpu", "--threads", "1", "--quiet", "--format", "json"]
    result = json.loads(subprocess.run([*command, *more], check=True, capture_output=True).stdout)
    first = result.get("results", [result])[0]
    assert first["converged"] and first["n_failed"] == 0
    return result["wall_s"], first["n_fits"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("workspace")
    parser.add_argument("pois")
    parser.add_argument("--repeats", type=int, default=9)
    args = parser.parse_args()
    for more in ([], ["--prefit", "--impact", "refit,covariance,global"]):
        one, all_ = [], []
        for _ in range(args.repeats):
            one.append(ranked(args.program, args.workspace, args.pois.split(",")[0], more))
            all_.append(ranked(args.program, args.workspace, args.pois, more))
        ratios = [a[0] / o[0] for o, a in zip(one, all_)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        times = [statistics.median(run[0] for run in runs) for runs in (one, all_)]
        what = " ".join(more) or "refit"
        print(f"{what}: one {times[0]:.3f} s ({one[0][1]} fits), all {times[1]:.3f} s ({all_[0][1]} fits), ratio {middle:.2f} ({low:.2f} .. {high:.2f})")


if __name__ == "__main__":
    main()
