#!/usr/bin/env python3
"""Writes the datacards of tests/fixtures/cards, which documents and tests use.

    scripts/make_card_fixtures.py            write them
    scripts/make_card_fixtures.py --check    fail if they are not what this script writes
"""

from __future__ import annotations

import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "tests" / "fixtures" / "cards"

COUNTING = """\
# Two channels with one count each, and two signals
imax 2
jmax 2
kmax *
------------
bin          incl  dijet
observation  121   9
------------
bin          incl  incl  incl  dijet  dijet  dijet
process      ggH   qqH   bkg   ggH    qqH    bkg
process      -1    0     1     -1     0      1
rate         14.0  1.5   100   0.5    1.2    4.0
------------
lumi      lnN   1.03  1.03       -     1.03  1.03       -
QCDscale  lnN   1.12  -          -     1.25  -          -
jets      lnN   -     0.97/1.04  -     -     0.85/1.12  0.9/1.15
sideband  gmN 16  -   -          -     -     -          0.25
bkg_incl  rateParam  incl  bkg  1  [0,5]
bkg_incl  param  1.0  0.05  [0,5]
theory group = QCDscale
"""

SHAPES = """\
# One channel with templates
imax 1
jmax 1
kmax *
------------
shapes * * shapes.csv $CHANNEL:$PROCESS $CHANNEL:$PROCESS:$SYSTEMATIC
------------
bin          sr
observation  -1
------------
bin          sr      sr
process      signal  background
process      0       1
rate         -1      -1
------------
lumi   lnN    1.03  1.03
scale  shape  1     1
slope  shape  -     1
* autoMCStats 10
"""

TEMPLATES = {
    ("data_obs", "nominal"): [42, 33, 31, 21, 12],
    ("signal", "nominal"): [0.5, 2.0, 6.0, 3.0, 0.5],
    ("signal", "scaleUp"): [0.4, 1.7, 5.9, 3.6, 0.8],
    ("signal", "scaleDown"): [0.7, 2.4, 5.8, 2.4, 0.3],
    ("background", "nominal"): [40.0, 32.0, 25.0, 18.0, 11.0],
    ("background", "scaleUp"): [41.0, 33.5, 26.5, 19.5, 12.5],
    ("background", "scaleDown"): [39.5, 30.5, 23.0, 16.5, 9.5],
    ("background", "slopeUp"): [46.0, 34.0, 24.0, 15.0, 8.0],
    ("background", "slopeDown"): [35.0, 30.0, 26.0, 20.0, 13.0],
}


def table() -> str:
    rows = ["channel,process,systematic,bin,sum_w,sum_ww"]
    for (process, systematic), values in TEMPLATES.items():
        rows += [f"sr,{process},{systematic},{b},{float(v)!r},{0.2 * v:.4g}" for b, v in enumerate(values)]
    return "\n".join(rows) + "\n"


def main() -> int:
    files = {"counting.txt": COUNTING, "shapes.txt": SHAPES, "shapes.csv": table()}
    if "--check" in sys.argv[1:]:
        stale = [n for n, text in files.items() if not (FOLDER / n).is_file() or (FOLDER / n).read_text() != text]
        for name in stale:
            print(f"{FOLDER / name} is not what {pathlib.Path(__file__).name} writes", file=sys.stderr)
        return 1 if stale else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
