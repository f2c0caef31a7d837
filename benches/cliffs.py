"""Random binned models of many shapes: what a search costs beside the fit, and toys per second.

    python benches/cliffs.py --count 1000 --first 0 --save cliffs.csv
    python benches/cliffs.py --count 1000 --no-toys --save cliffs.csv
    python benches/cliffs.py FILE.json ...        the same for workspaces

Models have 1 to 60 channels, 1 to 24 bins per channel, 2 to 12 samples and about 20 to 300 parameters. Half of them
have asymmetric effects. For each, in one process and one thread, the CPU time of

* `fit(search="local")` and `fit(search="standard")`, the least of three, and
* toys of a hypothesis test at `mu = 1`, with the default search and with `search="local"`.

Prints the median, the 99th percentile and the worst of the ratio standard/local and of toys per second. The CPU time
of the process counts, so that other programs disturb less.
"""

import argparse
import csv
import json
import pathlib
import sys
import time
import warnings

import numpy as np

import nextstat

# A search may cost this many milliseconds beside its multiple of the fit.
ALWAYS_MS = 2.0


def draw(index):
    """A random workspace. Equal indices give equal workspaces."""
    rng = np.random.default_rng([20261129, index])
    n_channels = int(np.exp(rng.uniform(0, np.log(60))))
    n_samples = int(rng.integers(2, 13))
    n_systematics = int(np.exp(rng.uniform(np.log(15), np.log(240))))
    asymmetric = rng.random() < 0.5
    size = np.exp(rng.uniform(np.log(0.02), np.log(0.25)))
    free_factors = int(rng.integers(0, min(4, n_samples - 1) + 1))
    own_bins = rng.random() < 0.7
    kinds = rng.choice(["normsys", "histosys", "both"], n_systematics, p=[0.6, 0.25, 0.15])
    touched = [rng.random(n_samples) < rng.uniform(0.15, 0.8) for _ in range(n_systematics)]
    channels, observations = [], []
    for c in range(n_channels):
        n_bins = int(rng.integers(1, 25)) if n_channels < 8 else int(rng.integers(1, 7))
        scale = np.exp(rng.uniform(np.log(3), np.log(3000)))
        samples, total = [], np.zeros(n_bins)
        for s in range(n_samples):
            share = 0.05 if s == 0 else rng.dirichlet(np.ones(n_samples))[s] + 0.02
            data = scale * share * np.exp(0.5 * rng.standard_normal(n_bins)) * np.exp(-np.linspace(0, rng.uniform(0, 3), n_bins))
            total += data
            modifiers = []
            if s == 0:
                modifiers.append({"name": "mu", "type": "normfactor", "data": None})
            elif s <= free_factors:
                modifiers.append({"name": f"norm_{s}", "type": "normfactor", "data": None})
            if own_bins:
                error = data * rng.uniform(0.01, 0.1, n_bins)
                modifiers.append({"name": f"stat_{c}", "type": "staterror", "data": error.tolist()})
            for k in range(n_systematics):
                if not touched[k][s] or rng.random() < 0.3:
                    continue
                up = size * rng.standard_normal()
                down = -up * (rng.uniform(-0.5, 2.0) if asymmetric else 1.0)
                if kinds[k] != "histosys":
                    factors = {"hi": float(max(1 + up, 0.05)), "lo": float(max(1 + down, 0.05))}
                    modifiers.append({"name": f"syst_{k}", "type": "normsys", "data": factors})
                if kinds[k] != "normsys":
                    tilt = 0.5 * np.linspace(-1, 1, n_bins) * rng.standard_normal()
                    hi, lo = data * (1 + up * tilt), data * (1 + down * tilt)
                    shifted = {"hi_data": np.maximum(hi, 0).tolist(), "lo_data": np.maximum(lo, 0).tolist()}
                    modifiers.append({"name": f"syst_{k}", "type": "histosys", "data": shifted})
            samples.append({"name": f"sample_{s}", "data": data.tolist(), "modifiers": modifiers})
        channels.append({"name": f"channel_{c}", "samples": samples})
        observations.append({"name": f"channel_{c}", "data": rng.poisson(total).astype(float).tolist()})
    parameters = [{"name": "mu", "bounds": [[0, 20]], "inits": [1.0]}]
    return {
        "channels": channels,
        "observations": observations,
        "measurements": [{"name": "all", "config": {"poi": "mu", "parameters": parameters}}],
        "version": "1.0.0",
    }


def cpu_ms(call):
    """The result of a call, and its CPU time."""
    begin = time.process_time()
    result = call()
    return result, 1e3 * (time.process_time() - begin)


def toys_per_s(model, search, limit_s):
    """Toys per second of CPU time, from at least 16 toys per hypothesis."""
    test = nextstat.toys_prepare(model, 1.0, n_toys=4096, seed=1, search=search, threads=1)
    # The inputs that all toys share are prepared by the first ones.
    for which in ("b", "sb"):
        test.run(which, 4095, 4096)
    done, first, n, begin = 0, 0, 16, time.process_time()
    while first + n <= 4000:
        for which in ("b", "sb"):
            test.run(which, first, first + n)
        done, first, n = done + 2 * n, first + n, 2 * n
        spent = time.process_time() - begin
        if spent > limit_s:
            break
    return done / spent


def measure(document, limit_s, toys):
    model = nextstat.load_workspace(document)
    row = {"parameters": len(model.parameter_names), "bins": len(model.expected_data(model.init, include_auxdata=False))}
    for search in ("local", "standard"):
        fits = [cpu_ms(lambda: nextstat.fit(model, search=search, threads=1, uncertainties=False)) for _ in range(3)]
        row[f"{search}_ms"] = min(ms for _, ms in fits)
        row[f"{search}_nll"] = fits[0][0].twice_nll
    row["ratio"] = max(row["standard_ms"] - ALWAYS_MS, 0) / row["local_ms"]
    row["improved"] = row["standard_nll"] < row["local_nll"] - 1e-6
    if toys:
        row["toys"] = toys_per_s(model, "standard", limit_s)
        row["toys_local"] = toys_per_s(model, "local", limit_s)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--limit", type=float, default=0.3, help="seconds of toys after which no more are made")
    parser.add_argument("--no-toys", action="store_true", help="time fits only")
    parser.add_argument("--save", type=pathlib.Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    named = [(file.stem, lambda file=file: json.loads(file.read_text())) for file in args.files]
    named = named or [(str(i), lambda i=i: draw(i)) for i in range(args.first, args.first + args.count)]
    for name, document in named:
        try:
            row = {"model": name} | measure(document(), args.limit, not args.no_toys)
        except nextstat.NextStatError as error:
            print(f"{name}: {error}", file=sys.stderr)
            continue
        rows.append(row)
        if args.files or row["ratio"] > 3 or row.get("toys", 200) < 200:
            print(" ".join(f"{key} {value:.3g}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items()), flush=True)
    if args.save:
        with args.save.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    print(f"\n{len(rows)} models, {min(r['parameters'] for r in rows)} to {max(r['parameters'] for r in rows)} parameters")
    found = [row for row in rows if not row["improved"]]
    print(f"(standard - {ALWAYS_MS:g} ms) / local where nothing lower was found ({len(found)} models):", *quantiles([r["ratio"] for r in found], (50, 99, 100)))
    if args.no_toys:
        return
    print("toys per second, default search (median, 1 %, worst):", *quantiles([r["toys"] for r in rows], (50, 1, 0)))
    print("toys per second, search local (median, 1 %, worst):", *quantiles([r["toys_local"] for r in rows], (50, 1, 0)))


def quantiles(values, percents):
    return [f"{np.percentile(values, percent):.3g}" for percent in percents]


if __name__ == "__main__":
    main()
