"""The property test at length: random workspaces against pyhf, with a report.

    python tests/python/property_run.py --n 10000 --seed 7 --jobs 2

Every failing workspace is saved as JSON; moved to `tests/python/regressions/` it becomes
a test. Exits with 1 if anything disagrees.
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
import warnings
from collections import Counter

# The cases are shared among processes. More threads in each process would only slow them down.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from comparison import compare_case, pyhf_rejects  # noqa: E402
from random_workspaces import draw_broken, draw_case, to_document  # noqa: E402


def kind_of(problem):
    """A problem without its numbers, for counting."""
    text = re.sub(r"\[[^\]]*\]", "[..]", problem.split(":")[0])
    return re.sub(r"[-+]?\d[\d.e+-]*", "#", text)[:90]


def run_valid(job):
    seed, index = job
    warnings.simplefilter("ignore")
    case = draw_case(seed, index)
    try:
        problems = compare_case(case)
    except Exception as error:  # an error of the comparison itself is reported together with the case
        problems = [f"the comparison raised {type(error).__name__}: {error}"]
    scalar = case.scalar()
    return case, problems, len(scalar.init), len(scalar.main)


def run_broken(job):
    import nextstat

    seed, index = job
    warnings.simplefilter("ignore")
    drawn = draw_broken(seed, index)
    if drawn is None:
        return None
    case, fault = drawn
    if pyhf_rejects(case) is None:
        return case, [f"the fault '{fault}' is none: pyhf accepts it"]
    try:
        nextstat.load_workspace(case.spec, measurement=case.measurement)
    except nextstat.WorkspaceError:
        return case, []
    except BaseException as error:
        return case, [f"'{fault}' raises {type(error).__name__} instead of WorkspaceError: {error}"]
    return case, [f"'{fault}' is accepted, while pyhf rejects it"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--n", type=int, default=10_000, help="valid workspaces; a fifth as many broken ones follow")
    parser.add_argument("--first", type=int, default=0, help="first index")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--save", type=pathlib.Path, default=pathlib.Path("target/property-failures"))
    arguments = parser.parse_args()

    began, failures, kinds = time.monotonic(), 0, Counter()
    codes, parameters, bins, broken = Counter(), 0, 0, 0

    def fail(case, problems, what):
        nonlocal failures
        failures += 1
        kinds.update({kind_of(problem) for problem in problems})
        arguments.save.mkdir(parents=True, exist_ok=True)
        path = arguments.save / f"{what}_{case.seed}_{case.index}.json"
        path.write_text(json.dumps(to_document(case, problems), indent=1, ensure_ascii=False), encoding="utf-8")
        print(f"DISAGREES {case.label()} -> {path}", *problems, sep="\n    ", flush=True)

    indices = range(arguments.first, arguments.first + arguments.n)
    with multiprocessing.get_context("spawn").Pool(arguments.jobs) as pool:
        jobs = [(arguments.seed, index) for index in indices]
        for done, (case, problems, n_parameters, n_bins) in enumerate(pool.imap(run_valid, jobs, chunksize=8), 1):
            codes[case.normsys_code, case.histosys_code] += 1
            parameters, bins = max(parameters, n_parameters), max(bins, n_bins)
            if problems:
                fail(case, problems, "valid")
            if done % 500 == 0:
                rate = done / (time.monotonic() - began)
                print(f"{done} of {len(jobs)}, {failures} disagree, {rate:.1f} per second", flush=True)
        for result in pool.imap(run_broken, jobs[: max(1, arguments.n // 5)], chunksize=8):
            if result is not None:
                broken += 1
                if result[1]:
                    fail(*result, "broken")

    print(f"\n{arguments.n} valid workspaces (seed {arguments.seed}, up to {parameters} parameters and {bins} bins),")
    print("interpolation: " + ", ".join(f"{a}+{b} {n}" for (a, b), n in sorted(codes.items())))
    print(f"{broken} broken ones; {time.monotonic() - began:.0f} s with {arguments.jobs} processes")
    for kind, count in kinds.most_common():
        print(f"  {count:6d}  {kind}")
    print(f"{failures} disagreements")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
