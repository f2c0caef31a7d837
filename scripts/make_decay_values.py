"""Writes values of smeared decays and of the Faddeeva function with mpmath, for the tests of `ns-compute`.

    python3 scripts/make_decay_values.py crates/ns-compute/src/events/special
"""

import sys
from pathlib import Path

import mpmath as mp

mp.mp.dps = 60
DERIVATIVES = ((0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2))


def smeared(u, c):
    return mp.exp(c * c / 2 - c * u) * mp.erfc((c - u) / mp.sqrt(2)) / 2


def faddeeva(x, y):
    z = mp.mpc(x, y)
    return mp.exp(-z * z) * mp.erfc(mp.mpc(0, -1) * z)


def rows(function, points):
    for a, b in points:
        at = (mp.mpf(a), mp.mpf(b))
        values = [function(*at) if order == (0, 0) else mp.diff(function, at, order) for order in DERIVATIVES]
        yield " ".join([a, b, *(mp.nstr(value, 20) for value in values)])


SMEARED = [(u, c) for u in ("-1", "0", "0.375", "3", "20", "200") for c in ("0.0009765625", "0.25", "1.5", "3")]
PLANE = [(x, y) for x in ("-2.5", "-0.4375", "0.0625", "1.75", "40") for y in ("0.001953125", "0.5", "1.25", "40")]

folder = Path(sys.argv[1])
(folder / "smeared.txt").write_text("\n".join(rows(smeared, SMEARED)) + "\n")

(folder / "faddeeva.txt").write_text("\n".join(rows(lambda x, y: mp.im(faddeeva(x, y)), PLANE)) + "\n")
