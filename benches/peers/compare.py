#!/usr/bin/env python3
"""Measures the times of this project and of its peers in one run, and prints a Markdown table.

    benches/peers/setup
    benches/peers/compare.py WS.json... [--repeat 15] [--pyhf] [--no-process]

Each tool runs in its own interpreter on one thread. Repetitions of the tools alternate (ours, peer, ours, peer, ...),
so that other work on the machine affects all of them. The table gives medians and, in brackets, quartiles. Inputs
differ in every repetition: counts are changed by up to a per mille, points by up to 1e-3, and files are rewritten. No
tool can therefore use results of an earlier repetition.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import worker_inputs

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ONE_THREAD = {
    name: "1"
    for name in ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NEXTSTAT_THREADS")
}


class Worker:
    """A tool in its own process."""

    def __init__(self, tool: str, python: pathlib.Path):
        self.tool = tool
        self.process = subprocess.Popen(
            [python, HERE / "worker.py", tool],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **ONE_THREAD},
        )
        self.version = self.ask(what="hello")["version"]

    def ask(self, **request) -> dict:
        print(json.dumps(request), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"the worker of '{self.tool}' ended early")
        answer = json.loads(line)
        if "error" in answer:
            print(f"warning: {self.tool}, {request['what']}: {answer['error']}", file=sys.stderr)
        return answer


def in_process(workers, what, repeat, calls=None):
    """Returns the seconds of each tool and repetition, and the minima of fits. The repetitions of the tools
    alternate."""
    seconds, minima = {w.tool: [] for w in workers}, {w.tool: [] for w in workers}
    for worker in workers:  # this round is not timed: it fills caches and branch predictors
        worker.ask(what=what, key=0, calls=min(calls or 1, 10))
    for key in range(1, repeat + 1):
        for worker in workers:
            n = calls if worker.tool == "ours" or not calls else max(10, calls // 10)
            answer = worker.ask(what=what, key=key, calls=n)
            if "seconds" in answer:
                seconds[worker.tool].append(answer["seconds"])
                if "twice_nll" in answer:
                    minima[worker.tool].append(answer["twice_nll"])
    return seconds, minima


# The analyses of the suite, with their names in the table.
ANALYSES = {
    "scan": "profile scan, 21 points",
    "hypotest": "hypothesis test",
    "limit": "upper limit (peer: observed only)",
    "ranking": "ranking, post-fit",
    "ranking with pre-fit": "ranking, post- and pre-fit (peer: post-fit)",
}


def analysis(workers, what, repeat):
    """Returns the seconds of each tool and repetition. The peer makes `repeat` repetitions, and ours makes three
    times as many. The repetitions of the tools alternate."""
    seconds = {w.tool: [] for w in workers}
    for worker in workers:
        if worker.tool == "ours":
            worker.ask(what=what, key=0)
    for key in range(1, repeat + 1):
        for worker in workers:
            for inner in range(3 if worker.tool == "ours" else 1):
                answer = worker.ask(what=what, key=100 * inner + key)
                if "seconds" in answer:
                    seconds[worker.tool].append(answer["seconds"])
    return seconds


def threads(worker, what, repeat):
    """Returns the median seconds of our tool with one and with two threads, measured in turns."""
    seconds = {1: [], 2: []}
    for key in range(repeat + 1):
        for n in seconds:
            answer = worker.ask(what=what, key=key, threads=n)
            if key and "seconds" in answer:
                seconds[n].append(answer["seconds"])
    return {n: statistics.median(times) for n, times in seconds.items() if times}


def whole_process(commands, text, repeat):
    """Returns the wall time of `nextstat fit` from its start to its exit. Every run has a new file."""
    seconds = {tool: [] for tool in commands}
    with tempfile.TemporaryDirectory() as folder:
        for key in range(repeat + 1):
            path = pathlib.Path(folder) / f"{key}.json"
            path.write_text(worker_inputs.perturbed(text, key), encoding="utf-8")
            for tool, command in commands.items():
                arguments = [*command, "--input", str(path), "--output", os.path.join(folder, f"{tool}.out")]
                began = time.perf_counter()
                done = subprocess.run(arguments, capture_output=True, text=True, env={**os.environ, **ONE_THREAD})
                elapsed = time.perf_counter() - began
                if done.returncode:
                    print(f"warning: {' '.join(arguments)} ended with {done.returncode}: {done.stderr[-300:]}", file=sys.stderr)
                elif key:
                    seconds[tool].append(elapsed)
    return seconds


def readable(seconds: float) -> str:
    for unit, scale in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def cell(times) -> str:
    if not times:
        return "-"
    if len(times) < 4:
        return readable(statistics.median(times))
    low, middle, high = statistics.quantiles(times, n=4, method="inclusive")
    return f"{readable(middle)} ({readable(low)} .. {readable(high)})"


def row(name, parameters, what, seconds, tools):
    ours = statistics.median(seconds["ours"]) if seconds.get("ours") else None
    cells = [name, str(parameters), what, cell(seconds.get("ours"))]
    for tool in tools:
        if tool != "ours":
            theirs = statistics.median(seconds[tool]) if seconds.get(tool) else None
            cells += [cell(seconds.get(tool)), f"{theirs / ours:.1f}" if ours and theirs else "-"]
    return "| " + " | ".join(cells) + " |"


def machine() -> str:
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            model = next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"


def main() -> None:
    place = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workspaces", type=pathlib.Path, nargs="+")
    parser.add_argument("--repeat", type=int, default=15, help="repetitions of every measurement (default 15)")
    parser.add_argument("--calls", type=int, default=2000, help="evaluations per repetition for ours; a tenth for peers")
    parser.add_argument("--pyhf", action="store_true", help="pyhf too: value only, and fits with --pyhf-fit")
    parser.add_argument("--pyhf-fit", action="store_true", help="also pyhf's fit with MINUIT, which can take minutes")
    parser.add_argument("--analyses", type=int, metavar="N", default=0,
                        help="also scan, test, limit and ranking, N repetitions of the peer's (each takes up to a minute)")
    parser.add_argument("--only-analyses", action="store_true", help="nothing but these")
    parser.add_argument("--no-process", action="store_true", help="leave out the whole-process rows")
    parser.add_argument("--place", type=pathlib.Path, default=place / "peers", help="where setup put the environments")
    parser.add_argument("--binary", type=pathlib.Path, default=place / "release" / "nextstat")
    arguments = parser.parse_args()

    tools = ["ours", "peer"] + (["pyhf"] if arguments.pyhf or arguments.pyhf_fit else [])
    workers = [Worker(tool, arguments.place / tool / "bin" / "python") for tool in tools]
    native = [worker for worker in workers if worker.tool != "pyhf"]
    commands = {
        "ours": [str(arguments.binary), "fit", "--threads", "1", "--format", "json"],
        "peer": [str(arguments.place / "peer" / "bin" / "nextstat"), "fit", "--threads", "1"],
    }

    names = ", ".join(f"{worker.tool} = {worker.version}" for worker in workers)
    print(f"{machine()}; {names}; one thread, {arguments.repeat} interleaved repetitions, median (quartiles)\n")
    header = ["workspace", "parameters", "what", "ours"]
    for tool in tools[1:]:
        header += [tool, f"{tool} / ours"]
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header), flush=True)

    for path in arguments.workspaces:
        parameters = [worker.ask(what="open", path=str(path)).get("parameters") for worker in workers][0]

        def show(what, seconds, path=path, parameters=parameters):
            print(row(path.stem, parameters, what, seconds, tools), flush=True)

        if arguments.analyses:
            for what, label in ANALYSES.items():
                show(label, analysis(native, what, arguments.analyses))
            pair = threads(native[0], "ranking", max(5, arguments.analyses))
            if len(pair) == 2:
                print(
                    f"{path.stem}: ranking with one thread {readable(pair[1])}, with two {readable(pair[2])}: "
                    f"{pair[1] / pair[2]:.2f} times",
                    file=sys.stderr,
                )
        if arguments.only_analyses:
            continue
        show("load", in_process(native, "load", arguments.repeat)[0])
        show("value", in_process(workers, "value", arguments.repeat, arguments.calls)[0])
        show("value and gradient (peer: gradient)", in_process(native, "gradient", arguments.repeat, arguments.calls // 4)[0])
        seconds, minima = in_process(workers if arguments.pyhf_fit else native, "fit", arguments.repeat)
        show("fit, uncertainties, covariance", seconds)
        if not arguments.no_process:
            text = path.read_text(encoding="utf-8")
            show("whole process, `nextstat fit`", whole_process(commands, text, arguments.repeat))
        higher = [a - b for a, b in zip(minima["ours"], minima["peer"])]
        if higher:
            print(
                f"{path.stem}: our minima minus the peer's, in twice_nll: {min(higher):+.1e} .. {max(higher):+.1e}",
                file=sys.stderr,
            )


if __name__ == "__main__":
    main()
