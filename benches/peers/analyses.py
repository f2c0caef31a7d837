#!/usr/bin/env python3
"""Measures the analyses of this project, of cabinetry and of pyhf on one workspace, and prints a Markdown table.

    benches/peers/setup --analyses
    benches/peers/analyses.py WS.json [--repeat 3] [--ranking]

Each tool runs in its own interpreter on one thread, one tool after another. Times are medians. Analyses that a tool
does not offer are left out. cabinetry's ranking makes four fits for each parameter and can take hours, so it is left
out without --ranking.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = {"ours": "ours", "cabinetry": "cabinetry", "pyhf numpy+minuit": "cabinetry", "pyhf jax+scipy": "cabinetry"}
ROWS = ["fit", "hypotest", "upper limit", "scan, 21 points", "significance", "goodness of fit", "ranking"]
SCAN = [0.1 * i for i in range(21)]


def ours(path):
    import nextstat

    model = nextstat.load_workspace(path)
    yield "fit", lambda: nextstat.fit(model, threads=1)
    yield "hypotest", lambda: nextstat.hypotest(model, 1.0, threads=1)
    yield "upper limit", lambda: nextstat.upper_limit(model, threads=1)
    yield "scan, 21 points", lambda: nextstat.profile_scan(model, SCAN, threads=1)
    yield "significance", lambda: nextstat.significance(model, threads=1)
    yield "goodness of fit", lambda: nextstat.goodness_of_fit(model, threads=1)
    yield "ranking", lambda: nextstat.ranking(model, prefit=True, threads=1)


def cabinetry(path):
    import cabinetry
    import pyhf

    pyhf.set_backend("numpy", "minuit")
    workspace = json.loads(pathlib.Path(path).read_text())
    model, data = cabinetry.model_utils.model_and_data(workspace)
    poi = model.config.poi_name
    yield "fit", lambda: cabinetry.fit.fit(model, data)
    yield "upper limit", lambda: cabinetry.fit.limit(model, data)
    yield "scan, 21 points", lambda: cabinetry.fit.scan(model, data, poi, par_range=(0.0, 2.0), n_steps=21)
    yield "significance", lambda: cabinetry.fit.significance(model, data)
    yield "goodness of fit", lambda: cabinetry.fit.fit(model, data, goodness_of_fit=True)
    yield "ranking", lambda: cabinetry.fit.ranking(model, data)


def pyhf_with(backend, optimizer):
    def tool(path):
        import pyhf

        pyhf.set_backend(backend, optimizer)
        workspace = pyhf.Workspace(json.loads(pathlib.Path(path).read_text()))
        model = workspace.model()
        data = workspace.data(model)
        infer = pyhf.infer
        yield "fit", lambda: infer.mle.fit(data, model)
        yield "hypotest", lambda: infer.hypotest(1.0, data, model, test_stat="qtilde", return_expected_set=True)
        yield "upper limit", lambda: infer.intervals.upper_limits.upper_limit(data, model)
        yield "significance", lambda: infer.hypotest(0.0, data, model, test_stat="q0", return_expected_set=True)

    return tool


WORKERS = {
    "ours": ours,
    "cabinetry": cabinetry,
    "pyhf numpy+minuit": pyhf_with("numpy", "minuit"),
    "pyhf jax+scipy": pyhf_with("jax", "scipy"),
}


def work(tool, path, repeat, ranking):
    """Times every analysis of one tool. Prints one JSON line for each analysis."""
    for what, analysis in WORKERS[tool](path):
        if what == "ranking" and tool != "ours" and not ranking:
            continue
        seconds = []
        try:
            if tool == "ours" or "jax" in tool:
                analysis()  # this first call is not timed: it compiles and allocates memory
            for _ in range(repeat):
                began = time.perf_counter()
                analysis()
                seconds.append(time.perf_counter() - began)
            answer = {"what": what, "seconds": statistics.median(seconds)}
        except Exception as error:
            answer = {"what": what, "error": f"{type(error).__name__}: {error}".splitlines()[0][:100]}
        print(json.dumps(answer), flush=True)


def readable(seconds):
    for unit, scale in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds:.1e} s"


def main():
    place = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "peers"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workspace", type=pathlib.Path)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--ranking", action="store_true", help="cabinetry's ranking too")
    parser.add_argument("--limit", type=int, default=1800, help="seconds that one tool may take")
    parser.add_argument("--place", type=pathlib.Path, default=place)
    parser.add_argument("--work", choices=list(WORKERS), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work(arguments.work, str(arguments.workspace), arguments.repeat, arguments.ranking)
        return
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = {**os.environ, **{name: "1" for name in threads}}
    environment["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    answers = {}
    for tool, venv in TOOLS.items():
        command = [arguments.place / venv / "bin" / "python", __file__, str(arguments.workspace), "--work", tool]
        command += ["--repeat", str(arguments.repeat)] + (["--ranking"] if arguments.ranking else [])
        try:
            done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=arguments.limit)
            lines = done.stdout
        except subprocess.TimeoutExpired as stopped:
            lines = (stopped.stdout or b"").decode()
            print(f"{tool}: stopped after {arguments.limit} s", file=sys.stderr)
        for line in lines.splitlines():
            if line.startswith("{"):
                answer = json.loads(line)
                answers[tool, answer["what"]] = answer
                if "error" in answer:
                    print(f"{tool}, {answer['what']}: {answer['error']}", file=sys.stderr)
    print("| " + " | ".join([arguments.workspace.stem, *TOOLS]) + " |")
    print("|" + "---|" * (1 + len(TOOLS)))
    for what in ROWS:
        mine = answers.get(("ours", what), {}).get("seconds")
        cells = []
        for tool in TOOLS:
            answer = answers.get((tool, what))
            if answer is None:
                cells.append("-")
            elif "error" in answer:
                cells.append("fails")
            elif tool == "ours" or not mine:
                cells.append(readable(answer["seconds"]))
            else:
                cells.append(f"{readable(answer['seconds'])} ({answer['seconds'] / mine:.0f} times)")
        print("| " + " | ".join([what, *cells]) + " |")


if __name__ == "__main__":
    main()
