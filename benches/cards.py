"""Measures how long a large datacard takes to become a model, and pyhf for the same analysis as a workspace.

    python3 benches/cards.py [--processes 100] [--channels 20] [--systematics 200] [--pyhf]

Needs the package nextstat, and pyhf for the comparison. Files are written into a temporary folder. Each repetition reads
another file with other numbers.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import random
import statistics
import tempfile
import time


def card(rng, n_processes, n_channels, n_systematics):
    """The text of a counting card in which every second effect is there."""
    columns = [(c, p) for c in range(n_channels) for p in range(n_processes)]
    lines = [
        "imax *\njmax *\nkmax *",
        "bin " + " ".join(f"ch{c}" for c in range(n_channels)),
        "observation " + " ".join(str(rng.randint(900, 1100)) for _ in range(n_channels)),
        "bin " + " ".join(f"ch{c}" for c, _ in columns),
        "process " + " ".join(f"p{p}" for _, p in columns),
        "process " + " ".join(str(p) for _, p in columns),
        "rate " + " ".join(f"{rng.uniform(5, 15):.4f}" for _ in columns),
    ]
    for s in range(n_systematics):
        words = [f"{rng.uniform(1.01, 1.2):.3f}" if rng.random() < 0.5 else "-" for _ in columns]
        lines.append(f"s{s} lnN " + " ".join(words))
    return "\n".join(lines) + "\n"


def workspace(text):
    """The same analysis as a workspace."""
    rows = [line.split() for line in text.splitlines()]
    bins, names, rates = rows[5][1:], rows[6][1:], rows[8][1:]
    channels = {}
    for at, (channel, process, rate) in enumerate(zip(bins, names, rates)):
        modifiers = [{"name": "r", "type": "normfactor", "data": None}] if process == "p0" else []
        for row in rows[9:]:
            if row[2 + at] != "-":
                k = float(row[2 + at])
                modifiers.append({"name": row[0], "type": "normsys", "data": {"hi": k, "lo": 1 / k}})
        channels.setdefault(channel, []).append({"name": process, "data": [float(rate)], "modifiers": modifiers})
    return {
        "channels": [{"name": name, "samples": samples} for name, samples in channels.items()],
        "observations": [{"name": name, "data": [float(n)]} for name, n in zip(rows[3][1:], rows[4][1:])],
        "measurements": [{"name": "m", "config": {"poi": "r", "parameters": []}}],
        "version": "1.0.0",
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=100)
    parser.add_argument("--channels", type=int, default=20)
    parser.add_argument("--systematics", type=int, default=200)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--pyhf", action="store_true", help="also pyhf, once")
    args = parser.parse_args()
    import nextstat

    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "card.txt"
        times = []
        for _ in range(args.repetitions):
            text = card(rng, args.processes, args.channels, args.systematics)
            path.write_text(text)
            begin = time.perf_counter()
            nextstat.load_datacard(path)
            times.append(time.perf_counter() - begin)
        print(f"card of {len(text) / 1e6:.1f} MB: {statistics.median(times):.3f} s (median of {len(times)})")
        if args.pyhf:
            import pyhf

            path.write_text(json.dumps(workspace(text)))
            begin = time.perf_counter()
            with open(path) as file:
                pyhf.Workspace(json.load(file)).model()
            print(f"workspace of {path.stat().st_size / 1e6:.1f} MB, pyhf {pyhf.__version__}: {time.perf_counter() - begin:.1f} s")


if __name__ == "__main__":
    main()
