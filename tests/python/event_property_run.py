"""The property test of event models at length: random models against the oracle, with a report.

    python tests/python/event_property_run.py --n 3000 --seed 7 --jobs 2

Every failing model is saved as JSON. Exits with 1 if anything disagrees.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import pathlib
import re
import sys
import time
import traceback
import warnings
from collections import Counter

# The models are shared among processes. More threads in each process would only slow them down.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from event_oracle import checks, draw  # noqa: E402


def run(job):
    seed, index, quick = job
    warnings.simplefilter("ignore")
    began, case = time.monotonic(), None
    try:
        case = draw.draw(seed, index)
        problems = checks.compare(case, quick)
    except Exception:  # an error of the comparison itself is reported together with the model
        problems = ["the comparison failed: " + traceback.format_exc(limit=-3)]
    return job[:2], case, problems, time.monotonic() - began


def kind_of(problem: str) -> str:
    """A problem without its numbers, for counting."""
    return re.sub(r"\{[^}]*\}|[-+]?\d[\d.e+-]*", "#", problem.split(": NextStat")[0])[:90]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--n", type=int, default=3000)
    parser.add_argument("--first", type=int, default=0, help="first index")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--quick", action="store_true", help="without toys, Asimov data of three observables, and half of the limits")
    parser.add_argument("--save", type=pathlib.Path, default=pathlib.Path("target/event-property-failures"))
    arguments = parser.parse_args()

    began, failures, kinds, slowest = time.monotonic(), 0, Counter(), []
    with multiprocessing.get_context("spawn").Pool(arguments.jobs) as pool:
        jobs = [(arguments.seed, index, arguments.quick) for index in range(arguments.first, arguments.first + arguments.n)]
        for done, (job, case, problems, seconds) in enumerate(pool.imap(run, jobs, chunksize=1), 1):
            slowest = sorted([*slowest, (seconds, job[1])])[-5:]
            if problems:
                failures += 1
                kinds.update({kind_of(problem) for problem in problems})
                label = case.label() if case else str(job)
                if case:
                    arguments.save.mkdir(parents=True, exist_ok=True)
                    (arguments.save / f"{job[0]}_{job[1]}.json").write_text(json.dumps(case.document))
                print(f"DISAGREES {label}", *problems, sep="\n    ", flush=True)
            if done % 100 == 0:
                print(
                    f"{done} of {len(jobs)}, {failures} disagree, {done / (time.monotonic() - began):.2f} per second", flush=True
                )
    print(
        f"\n{arguments.n} event models (seed {arguments.seed}); {time.monotonic() - began:.0f} s with {arguments.jobs} processes"
    )
    print("slowest: " + ", ".join(f"model {index} {seconds:.1f} s" for seconds, index in reversed(slowest)))
    for kind, count in kinds.most_common():
        print(f"  {count:6d}  {kind}")
    print(f"{failures} models disagree")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
