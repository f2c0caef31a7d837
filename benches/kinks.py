"""How often the default search ends above a thorough one in models with piecewise interpolation codes.

    python benches/kinks.py WORKSPACE... [--refits N] [--toys N]

Compares the refits of a ranking, and toys of both hypotheses at mu = 1, with those of a thorough search, and prints how many
differ by more than 1e-6, and the CPU seconds of the toys.
"""

from __future__ import annotations

import argparse
import pathlib
import random
import tempfile
import time
import warnings

import nextstat
import pyarrow.parquet

SAME = 1e-6


def refits(model, most: int) -> tuple[int, int]:
    """Number of refits of a ranking that were repeated, and of those that differ."""
    result = nextstat.ranking(model).to_dict()
    fits = [(entry["name"], entry[f"value_{side}"], entry[f"delta_mu_{side}"])
            for entry in result["ranking"] for side in ("up", "down") if entry[f"delta_mu_{side}"] is not None]
    chosen = random.Random(1).sample(fits, min(most, len(fits)))
    differ = 0
    for name, value, change in chosen:
        fit = nextstat.fit(model, fixed={name: value}, uncertainties=False, search="thorough")
        differ += abs(fit.value(result["param"]) - result["mu_hat"] - change) > SAME
    return len(chosen), differ


def toys(model, count: int) -> tuple[int, int, float, float]:
    """Number of toys, and of those that differ, and the CPU seconds of the default and of the thorough search."""
    found, seconds = [], []
    for search in ("standard", "thorough"):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "toys.parquet"
            begin = time.process_time()
            nextstat.hypotest_toys(model, 1.0, n_toys=count, seed=5, threads=1, device="cpu", search=search, save=file)
            seconds.append(time.process_time() - begin)
            table = pyarrow.parquet.read_table(file, columns=["hypothesis", "index", "statistic"])
            found.append([row["statistic"] for row in table.sort_by([("hypothesis", "ascending"), ("index", "ascending")]).to_pylist()])
    differ = sum(a != b if None in (a, b) else not abs(a - b) <= SAME for a, b in zip(*found))
    return len(found[0]), differ, *seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workspaces", nargs="+", type=pathlib.Path)
    parser.add_argument("--refits", type=int, default=100)
    parser.add_argument("--toys", type=int, default=60)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| workspace | refits that differ | toys that differ | toys, default: CPU s | thorough |\n|---|---|---|---|---|")
    for file in args.workspaces:
        model = nextstat.load_workspace(file, interp_defaults="piecewise")
        n_refits, refits_differ = refits(model, args.refits)
        n_toys, toys_differ, default, thorough = toys(model, args.toys)
        print(f"| {file.stem} | {refits_differ} of {n_refits} | {toys_differ} of {n_toys} | {default:.2f} | {thorough:.1f} |",
              flush=True)


if __name__ == "__main__":
    main()
