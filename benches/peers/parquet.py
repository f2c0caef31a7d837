#!/usr/bin/env python3
"""Compares the times of nextstat.read_parquet and pyarrow for reading events, both on one thread and in turns.

The Parquet file has 100 000 rows of four columns of doubles in ten row groups, as pyarrow writes it by default. Needs
NumPy, pyarrow and nextstat in one environment:

    python benches/peers/parquet.py [--runs 200]

Prints the median of each time in microseconds. Also prints the time of nextstat with the number of threads that it
chooses itself.
"""

import argparse
import pathlib
import statistics
import tempfile
import time

import nextstat
import numpy as np
import pyarrow
import pyarrow.parquet

NAMES = ["m", "pt", "eta", "w"]
CASES = {
    "four of four columns": (NAMES, None),
    "two of four": (NAMES[:2], None),
    "one of four": (NAMES[1:2], None),
    "a tenth of the rows": (NAMES, [("m", "<", 10_000.0)]),
}


def write(path, **options):
    random = np.random.default_rng(1)
    columns = {name: random.random(100_000) for name in NAMES}
    # The column rises from row to row, so that row groups have different statistics.
    columns["m"] += np.arange(100_000)
    pyarrow.parquet.write_table(pyarrow.table(columns), path, row_group_size=10_000, **options)


def theirs(path, names, where):
    table = pyarrow.parquet.read_table(path, columns=names, filters=where, use_threads=False, memory_map=True)
    return {name: table.column(name).to_numpy() for name in names}


def timed(call):
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    args = parser.parse_args()
    pyarrow.set_cpu_count(1)
    print(f"nextstat {nextstat.__version__}, pyarrow {pyarrow.__version__}; median of {args.runs} runs in microseconds")
    with tempfile.TemporaryDirectory() as folder:
        for kind, options in {"dictionary": {}, "plain": {"use_dictionary": False}}.items():
            path = pathlib.Path(folder) / f"{kind}.parquet"
            write(path, **options)
            for case, (names, where) in CASES.items():
                ways = {
                    "nextstat": lambda: nextstat.read_parquet(path, names, where=where, threads=1),
                    "chosen threads": lambda: nextstat.read_parquet(path, names, where=where),
                    "pyarrow": lambda: theirs(path, names, where),
                }
                times = {way: [] for way in ways}
                for _ in range(args.runs):
                    results = {}
                    for way, call in ways.items():
                        seconds, results[way] = timed(call)
                        times[way].append(1e6 * seconds)
                    for name in names:
                        assert np.array_equal(results["nextstat"][name], results["pyarrow"][name]), name
                shown = {way: f"{statistics.median(values):7.0f}" for way, values in times.items()}
                print(f"{kind:10}  {case:20}", "  ".join(f"{way} {value}" for way, value in shown.items()))


if __name__ == "__main__":
    main()
