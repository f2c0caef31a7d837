#!/usr/bin/env python3
"""Measures time and peak memory of fits and other analyses for models of growing size, and prints a Markdown table.

    benches/peers/setup
    benches/peers/scaling.py WS.json... [--copies 1 2 4 8] [--gammas 1000 10] [--peer]
    benches/peers/scaling.py WS.json... --analyses [fit hypotest upper-limit scan ranking yields toys]

Combines copies of the workspaces into one likelihood (make_synthetic.py), and fits each likelihood with the release
binary on one thread. The kernel gives the wall time and the peak resident memory. With --analyses, each row is an
analysis, and the time is processor time, because other work on the machine changes it less.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import tempfile
import time

from compare import ONE_THREAD, ROOT, machine
from make_synthetic import gammas, stack


# All analyses with their flags. MU is two uncertainties above the best fit. The number of toys is the sum for both
# hypotheses.
N_TOYS = 50
ANALYSES = {
    "fit": ["fit"],
    "hypotest": ["hypotest", "--mu", "MU"],
    "upper-limit": ["upper-limit"],
    "scan": ["scan", "--points", "21"],
    "ranking": ["ranking", "--impact", "covariance"],
    "yields": ["yields"],
    "toys": ["hypotest-toys", "--mu", "MU", "--n-toys", str(N_TOYS // 2)],
}


def peak(process: int) -> float:
    """Returns the largest resident memory of a process so far, in MiB. Returns 0 once the process has ended."""
    try:
        lines = pathlib.Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0.0
    found = [int(line.split()[1]) for line in lines if line.startswith("VmHWM")]
    return found[0] / 1024 if found else 0.0


def run(command: list[str], limit: float):
    """Returns wall seconds, peak resident MiB, exit status and processor seconds of a command; `None` beyond the
    limit.

    The peak is read while the command runs. The kernel's value for an ended process would include the memory of this
    script.
    """
    began = time.perf_counter()
    child = os.posix_spawnp(command[0], command, {**os.environ, **ONE_THREAD})
    memory = 0.0
    while True:
        memory = max(memory, peak(child))
        done, status, usage = os.wait4(child, os.WNOHANG)
        elapsed = time.perf_counter() - began
        if done:
            used = usage.ru_utime + usage.ru_stime
            return elapsed, memory, os.waitstatus_to_exitcode(status), used
        if elapsed > limit:
            os.kill(child, 9)
            os.wait4(child, 0)
            return None
        time.sleep(0.0005)


def two_sigma(path: pathlib.Path) -> str:
    """Returns the value of the parameter of interest that is two uncertainties above its best fit."""
    fit = json.loads(path.read_text(encoding="utf-8"))
    poi = fit["poi_index"]
    return str(fit["bestfit"][poi] + 2.0 * (fit["uncertainties"][poi] or 0.5))


def table_of_analyses(models, arguments) -> None:
    """Prints one row per model and analysis: processor time and memory, in absolute terms and relative to the fit."""
    print("| model | parameters | bins | analysis | processor time | x fit | peak memory | x fit |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for name, workspace in models:
        with tempfile.TemporaryDirectory() as folder:
            path, out = pathlib.Path(folder) / "model.json", pathlib.Path(folder) / "out.json"
            path.write_text(json.dumps(workspace), encoding="utf-8")
            n_bins = sum(len(o["data"]) for o in workspace["observations"])
            of_fit, n_parameters, mu = None, "-", "1"
            for analysis in ["fit", *(a for a in arguments.analyses if a != "fit")]:
                flags = [mu if flag == "MU" else flag for flag in ANALYSES[analysis]]
                command = [str(arguments.binary), *flags, "--threads", "1", "--format", "json"]
                runs = []
                for _ in range(arguments.repeat):
                    runs.append(run([*command, "--input", str(path), "--output", str(out)], arguments.limit))
                    if runs[-1] is None or runs[-1][2] != 0:
                        break
                if runs[-1] is None or runs[-1][2] != 0:
                    why = f"> {arguments.limit:.0f} s" if runs[-1] is None else f"failed ({runs[-1][2]})"
                    cells = [why, "-", "-", "-"]
                else:
                    used = statistics.median(seconds for *_, seconds in runs)
                    memory = max(most for _, most, *_ in runs)
                    if of_fit is None:
                        of_fit, n_parameters, mu = (used, memory), str(twice_nll(out)[0]), two_sigma(out)
                    ratios = [f"{used / of_fit[0]:.1f}", f"{memory / of_fit[1]:.1f}"]
                    cells = [f"{used:.3g} s", ratios[0], f"{memory:.0f} MiB", ratios[1]]
                label = f"{N_TOYS} toys" if analysis == "toys" else analysis
                print("| " + " | ".join([name, n_parameters, str(n_bins), label, *cells]) + " |", flush=True)


def twice_nll(path: pathlib.Path):
    document = json.loads(path.read_text(encoding="utf-8"))
    return len(document["bestfit"]), document["twice_nll"]


def main() -> None:
    place = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workspaces", type=pathlib.Path, nargs="+")
    parser.add_argument("--copies", type=int, nargs="*", default=[1, 2, 4, 8])
    parser.add_argument("--gammas", type=int, nargs=2, default=[1000, 10], metavar=("CHANNELS", "BINS"))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds after which a run is given up")
    parser.add_argument("--peer", action="store_true", help="the peer as well")
    parser.add_argument("--analyses", nargs="*", choices=ANALYSES, help="rows for these analyses [default: all]")
    parser.add_argument("--place", type=pathlib.Path, default=place / "peers")
    parser.add_argument("--binary", type=pathlib.Path, default=place / "release" / "nextstat")
    arguments = parser.parse_args()

    tools = {"ours": [str(arguments.binary), "fit", "--threads", "1", "--format", "json"]}
    if arguments.peer:
        tools["peer"] = [str(arguments.place / "peer" / "bin" / "nextstat"), "fit", "--threads", "1"]
    loaded = [json.loads(path.read_text(encoding="utf-8")) for path in arguments.workspaces]
    names = " + ".join(path.stem for path in arguments.workspaces)
    models = [(f"stack {k} of {names}", stack(k, loaded)) for k in arguments.copies]
    models.append(("gammas {} x {}".format(*arguments.gammas), gammas(*arguments.gammas)))

    print(f"{machine()}; one thread, whole process, median of {arguments.repeat}\n")
    if arguments.analyses is not None:
        arguments.analyses = arguments.analyses or list(ANALYSES)
        table_of_analyses(models, arguments)
        return
    print("| model | tool | parameters | bins | wall | peak memory | twice_nll |")
    print("|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, workspace in models:
            path = pathlib.Path(folder) / "model.json"
            path.write_text(json.dumps(workspace), encoding="utf-8")
            n_bins = sum(len(o["data"]) for o in workspace["observations"])
            for tool, command in tools.items():
                out = pathlib.Path(folder) / "out.json"
                runs = []
                for _ in range(arguments.repeat):
                    runs.append(run([*command, "--input", str(path), "--output", str(out)], arguments.limit))
                    if runs[-1] is None or runs[-1][2] != 0:
                        break
                if runs[-1] is None:
                    cells = ["-", str(n_bins), f"> {arguments.limit:.0f} s", "-", "-"]
                elif runs[-1][2] != 0:
                    cells = ["-", str(n_bins), f"failed ({runs[-1][2]})", "-", "-"]
                else:
                    n_parameters, minimum = twice_nll(out)
                    wall = statistics.median(seconds for seconds, *_ in runs)
                    memory = max(most for _, most, *_ in runs)
                    cells = [str(n_parameters), str(n_bins), f"{wall:.3g} s", f"{memory:.0f} MiB", f"{minimum:.6f}"]
                print("| " + " | ".join([name, tool, *cells]) + " |", flush=True)


if __name__ == "__main__":
    main()
