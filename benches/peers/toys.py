#!/usr/bin/env python3
"""Measures the toys per second of this project, of the peer and of pyhf's toy calculator, and prints Markdown tables.

    benches/peers/setup
    NEXTSTAT_REFERENCE_DIR=... benches/peers/toys.py [--repeat 3] [--only NAME...]

The peer: both command lines run `hypotest-toys --mu 1` on one thread, as whole processes that take turns (ours, peer,
ours, peer, ...). Every repetition has another seed. In both programs the number of toys is that of each hypothesis,
so a run draws and fits twice as many. The time of a run with one toy (start-up, reading, fits of the observed data)
is subtracted for both. Ours runs more toys than the peer, so that its runs also take a second.

Threads: our run with one thread and with two, in turns, with the same toys.

pyhf: `pyhf.infer.calculators.ToyCalculator` with NumPy and SciPy, as installed by its users, and our command line, on
two small models.
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

from make_synthetic import gammas

ROOT = pathlib.Path(__file__).resolve().parents[2]
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")}

# Toys per hypothesis of the peer and of ours, and the required ratio.
MODELS = {
    "tHu": (8, 1_500, 400),
    "tttt_prod": (14, 1_500, 300),
    "gammas 50 4": (1_000, 30_000, 40),
    "complex_all_modifiers": (10_000, 200_000, 15),
}
TWO_THREADS = 1.8
SMALL = ("simple_workspace", "all_modifiers")


def process(command, path, n_toys, threads, seed):
    """Returns the wall seconds and the result of one run. Ends the script if the run fails."""
    arguments = [str(command), "hypotest-toys", "--input", str(path), "--mu", "1", "--n-toys", str(n_toys)]
    arguments += ["--threads", str(threads), "--seed", str(seed)]
    environment = {**os.environ, **ONE_THREAD} if threads == 1 else os.environ
    began = time.perf_counter()
    done = subprocess.run(arguments, capture_output=True, text=True, env=environment)
    seconds = time.perf_counter() - began
    if done.returncode:
        sys.exit(f"{' '.join(arguments)} ended with {done.returncode}: {done.stderr[-500:]}")
    answer = json.loads(done.stdout)
    if answer["n_toys"] != {"b": n_toys, "sb": n_toys}:
        print(f"warning: {arguments[0]} counts {answer['n_toys']} of {n_toys} toys per hypothesis", file=sys.stderr)
    return seconds, answer


class Pace:
    """Collects the times of repeated runs of one program, minus the time without toys."""

    def __init__(self, command, path, n_toys, threads=1):
        self.command, self.path, self.n_toys, self.threads = command, path, n_toys, threads
        self.without = min(process(command, path, 1, threads, seed)[0] for seed in range(3))
        self.seconds = []

    def run(self, seed):
        seconds, answer = process(self.command, self.path, self.n_toys, self.threads, seed)
        self.seconds.append(seconds)
        return answer

    def per_s(self):
        return 2 * (self.n_toys - 1) / (statistics.median(self.seconds) - self.without)

    def cells(self):
        return [f"{self.n_toys}", f"{statistics.median(self.seconds):.3g} s", f"{self.without:.2g} s", f"{self.per_s():.4g}"]


def against_peer(name, path, place, binary, repeat):
    """Returns a row of the first table."""
    n_peer, n_ours, asked = MODELS[name]
    ours, peer = Pace(binary, path, n_ours), Pace(place / "peer" / "bin" / "nextstat", path, n_peer)
    for seed in range(1, repeat + 1):
        ours.run(seed)
        peer.run(seed)
    ratio = ours.per_s() / peer.per_s()
    row("", name, *ours.cells(), *peer.cells(), f"{ratio:.0f}", asked)


def over_threads(name, path, binary, repeat):
    """Returns a row of the second table."""
    _, n_toys, _ = MODELS[name]
    one, two = Pace(binary, path, n_toys, 1), Pace(binary, path, n_toys, 2)
    for seed in range(1, repeat + 1):
        # Both runs must give the same toys. Otherwise their times cannot be compared.
        a, b = one.run(seed), two.run(seed)
        if (a["cls"], a["clsb"]) != (b["cls"], b["clsb"]):
            sys.exit(f"{name}: two threads give another result")
    row("", name, f"{one.per_s():.4g}", f"{two.per_s():.4g}", f"{two.per_s() / one.per_s():.2f}", TWO_THREADS)


def pyhf_toys(path, n_toys, seed):
    """Runs in the environment with pyhf. Prints the seconds of pyhf's toy calculator as JSON."""
    import numpy
    import pyhf

    pyhf.set_backend("numpy", "scipy")
    workspace = pyhf.Workspace(json.loads(pathlib.Path(path).read_text(encoding="utf-8")))
    model = workspace.model()
    data = workspace.data(model)
    numpy.random.seed(seed)
    began = time.perf_counter()
    calculator = pyhf.infer.calculators.ToyCalculator(data, model, ntoys=n_toys, track_progress=False)
    calculator.distributions(1.0)
    print(json.dumps({"seconds": time.perf_counter() - began, "numpy": numpy.__version__}))


def against_pyhf(name, place, binary, repeat, n_pyhf):
    """Returns a row of the third table."""
    path = ROOT / "tests" / "fixtures" / f"{name}.json"
    ours, seconds = Pace(binary, path, 100_000), []
    for seed in range(1, repeat + 1):
        ours.run(seed)
        command = [str(place / "pyhf" / "bin" / "python"), __file__, "--pyhf-toys", str(path), str(n_pyhf), str(seed)]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **ONE_THREAD})
        if done.returncode:
            print(f"warning: pyhf on {name}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
            break
        seconds.append(json.loads(done.stdout)["seconds"])
    theirs = 2 * n_pyhf / statistics.median(seconds) if seconds else None
    cells = [f"{theirs:.4g}", f"{ours.per_s() / theirs:.0f}"] if theirs else ["fails", "-"]
    row("", name, f"{ours.per_s():.4g}", *cells)


def row(*cells):
    print(" | ".join(str(cell) for cell in [*cells, ""]).strip(), flush=True)


def head(*cells):
    print()
    row("", *cells)
    row("", *["---"] * len(cells))


def main() -> None:
    place = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(MODELS), default=list(MODELS), help="leave out the other models")
    parser.add_argument("--repeat", type=int, default=3, help="runs of every program (default 3); the table has medians")
    parser.add_argument("--pyhf-n", type=int, default=300, help="pyhf's toys per hypothesis and run (default 300)")
    parser.add_argument("--no-pyhf", action="store_true")
    parser.add_argument("--no-threads", action="store_true")
    parser.add_argument("--place", type=pathlib.Path, default=place / "peers", help="where setup put the environments")
    parser.add_argument("--binary", type=pathlib.Path, default=place / "release" / "nextstat", help="our command line")
    parser.add_argument("--pyhf-toys", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.pyhf_toys:
        path, n_toys, seed = arguments.pyhf_toys
        pyhf_toys(path, int(n_toys), int(seed))
        return
    from compare import machine

    folder = os.environ.get("NEXTSTAT_REFERENCE_DIR")
    with tempfile.TemporaryDirectory() as scratch:
        paths = {}
        for name in arguments.only:
            if name.startswith("gammas"):
                paths[name] = pathlib.Path(scratch) / "gammas.json"
                paths[name].write_text(json.dumps(gammas(*map(int, name.split()[1:]))), encoding="utf-8")
            elif folder:
                paths[name] = pathlib.Path(folder) / "workspaces" / f"{name}.json"
            else:
                print(f"left out: {name}, as NEXTSTAT_REFERENCE_DIR is not set", file=sys.stderr)
        print(f"{machine()}; `hypotest-toys --mu 1`, median of {arguments.repeat} runs")
        program = ["toys per hypothesis", "process", "of that without toys", "toys per second"]
        head("model", *[f"ours: {program[0]}", *program[1:]], *[f"peer: {program[0]}", *program[1:]], "ratio", "goal")
        for name, path in paths.items():
            against_peer(name, path, arguments.place, arguments.binary, arguments.repeat)
        if not arguments.no_threads:
            head("model", "toys per second, one thread", "two threads", "ratio", "goal")
            for name, path in paths.items():
                over_threads(name, path, arguments.binary, arguments.repeat)
        if not arguments.no_pyhf:
            head("model", "ours, toys per second", "pyhf's toy calculator", "ratio")
            for name in SMALL:
                against_pyhf(name, arguments.place, arguments.binary, arguments.repeat, arguments.pyhf_n)


if __name__ == "__main__":
    main()
