#!/usr/bin/env python3
"""Compares fits of single events with RooFit, on one thread and in one run.

    benches/peers/events.py --ours PYTHON --roofit PYTHON [CASE[:EVENTS]...] [--repeats N]

PYTHON is an interpreter. For `--ours` it has pyarrow and the wheel of this project in the release profile. For
`--roofit` it has `pip install root==0.1a12`. Without `--roofit`, only this project is measured. Cases:
gauss_exp:1000000, gauss_exp:10000, crystal_ball, two_channels, two_dimensions, argus.

Every repetition has other events. Each program runs in a process of its own, and the programs take turns. Times are
CPU seconds. Ours go from the loaded model to the fit with uncertainties. RooFit's are for the creation of the
likelihood, MIGRAD and HESSE with its vectorised backend. Loading is measured separately. `above` is the difference of
twice_nll between RooFit's minimum and ours, evaluated with our likelihood at both points.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import event_models as models  # noqa: E402

CASES = ["gauss_exp:10000", "gauss_exp:1000000", "crystal_ball", "two_channels", "two_dimensions", "argus"]


def ours(path: str, point: str) -> dict:
    """Fits a model. Also evaluates the model at a point, if a file with the point exists."""
    import nextstat

    warm = nextstat.load_workspace(path)
    nextstat.fit(warm, threads=1)
    load, began = time.process_time(), time.perf_counter()
    model = nextstat.load_workspace(path)
    load, loaded = time.process_time() - load, time.perf_counter() - began
    begin = time.process_time()
    result = nextstat.fit(model, threads=1)
    cpu = time.process_time() - begin
    names = model.parameter_names
    answer = {"cpu": cpu, "load": load, "load_wall": loaded, "converged": result.converged, "twice_nll": 2 * result.nll,
              "values": dict(zip(names, map(float, result.bestfit))),
              "errors": {name: result.uncertainty(name) for name in names}}
    if pathlib.Path(point).exists():
        theirs = json.loads(pathlib.Path(point).read_text())
        answer["twice_nll_at"] = 2 * model.nll([theirs[name] for name in names])
    return answer


def roofit(path: str, case: str, n: int, backend: str) -> dict:
    """Fits a model with RooFit."""
    import numpy
    import ROOT as root

    fits = root.RooFit
    root.RooMsgService.instance().setGlobalKillBelow(fits.ERROR)
    keep: list = []

    def make(columns):
        density, parameters, observables, category, measured = models.roofit(case, n, root, keep)
        if category is None:
            data = root.RooDataSet.from_numpy(columns, list(observables.values()), name="data")
        else:
            parts = {key: root.RooDataSet.from_numpy({f"x{key}": columns[f"x{key}"]}, [observables[f"x{key}"]], name=key)
                     for key in "ab"}
            keep.append(parts)
            data = root.RooDataSet("data", "data", root.RooArgSet(*observables.values()), Index=category, Import=parts)
        keep.append(data)
        return density, parameters, measured, data

    def fit(density, measured, data):
        begin = time.process_time()
        options = {"EvalBackend": backend, "Extended": True}
        if measured:
            options["GlobalObservables"] = root.RooArgSet(*measured)
        nll = density.createNLL(data, **options)
        keep.append(nll)
        minimiser = root.RooMinimizer(nll)
        minimiser.setPrintLevel(-1)
        minimiser.setStrategy(1)
        status = minimiser.minimize("Minuit2", "migrad")
        minimiser.hesse()
        return time.process_time() - begin, status

    columns = dict(numpy.load(path))
    # The first fit also loads libraries. A fit of a few events is therefore made before it.
    few = {name: numpy.ascontiguousarray(column[:500]) for name, column in columns.items()}
    density, _, measured, data = make(few)
    fit(density, measured, data)
    density, parameters, measured, data = make(columns)
    cpu, status = fit(density, measured, data)
    return {"cpu": cpu, "status": status, "values": {name: v.getVal() for name, v in parameters.items()},
            "errors": {name: v.getError() for name, v in parameters.items()}}


def run(python: str, *arguments: str) -> dict:
    """Runs this file as a worker. Returns the JSON object in the last line of its output."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}
    done = subprocess.run([python, __file__, "--worker", *arguments], capture_output=True, text=True, env=environment)
    if done.returncode != 0 and not done.stdout.strip():
        raise SystemExit(f"{python} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=CASES, metavar="CASE")
    parser.add_argument("--ours", default=sys.executable)
    parser.add_argument("--roofit")
    parser.add_argument("--backend", default="cpu", help="RooFit's evaluation backend")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--worker", nargs="+", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        what, *rest = args.worker
        answer = ours(*rest) if what == "ours" else roofit(rest[0], rest[1], int(rest[2]), rest[3])
        print(json.dumps(answer), flush=True)
        os._exit(0)  # ROOT's destructors may crash at exit
    print("| model | events | ours: fit | load | RooFit: fit | ratio | RooFit's minimum above | largest difference of uncertainties |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    with tempfile.TemporaryDirectory() as place:
        for given in args.cases:
            case, _, number = given.partition(":")
            n = int(number or 100_000)
            times, loads, peers, ratios, above, errors = [], [], [], [], 0.0, 0.0
            for seed in range(args.repeats):
                made = subprocess.run([args.ours, "-c", "import sys; sys.path.insert(0, sys.argv[1]); import event_models as m, pathlib;"
                                       "print(m.write(sys.argv[2], int(sys.argv[3]), pathlib.Path(sys.argv[4]), int(sys.argv[5])))",
                                       str(pathlib.Path(__file__).parent), case, str(n), place, str(seed)],
                                      capture_output=True, text=True, check=True)
                path = made.stdout.strip()
                point = path.replace(".hs3.json", ".point.json")
                if args.roofit:
                    peer = run(args.roofit, "roofit", path.replace(".hs3.json", ".npz"), case, str(n), args.backend)
                    pathlib.Path(point).write_text(json.dumps(peer["values"]))
                mine = run(args.ours, "ours", path, point)
                if not mine["converged"]:
                    raise SystemExit(f"{case}: our fit does not converge")
                times.append(mine["cpu"])
                loads.append(mine["load"])
                if args.roofit:
                    peers.append(peer["cpu"])
                    ratios.append(peer["cpu"] / mine["cpu"])
                    above = max(above, mine["twice_nll_at"] - mine["twice_nll"])
                    errors = max(errors, *(abs(peer["errors"][k] / mine["errors"][k] - 1) for k in mine["errors"]))
            middle = statistics.median
            row = [case, str(n), f"{1e3 * middle(times):.2f} ms", f"{1e3 * middle(loads):.1f} ms"]
            row += [f"{1e3 * middle(peers):.0f} ms", f"{middle(ratios):.0f}", f"{above:.1e}", f"{100 * errors:.2g} %"] if peers else ["-"] * 4
            print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
