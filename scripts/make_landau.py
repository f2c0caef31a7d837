"""Writes the Landau density as Chebyshev series with mpmath, for `ns-core`.

    python3 scripts/make_landau.py > crates/ns-core/src/events/landau_terms.rs

The density is `1/pi int_0^inf exp(-t ln t - x t) sin(pi t) dt` (L. Landau, J. Phys. USSR 8 (1944) 201). Below LEFT the series
is that of `ln p + s - ln(s / 2 pi) / 2` with `s = exp(-x - 1)`, in `1 / s`. From LEFT to RIGHT it is that of `ln p`, in `x`,
and above that of `ln p + 2 ln x`, in `ln x`.
"""

import mpmath as mp

mp.mp.dps = 40
LEFT, RIGHT = mp.mpf(-1), mp.mpf(4)
#: The last series ends at exp(END).
END = mp.mpf(21)


def density(x):
    if x < 6:
        # Along the vertical line through the saddle point there is no cancellation.
        c = mp.exp(-x - 1)
        top = c * mp.log(c) + x * c
        of = lambda y: mp.exp((c + mp.j * y) * mp.log(c + mp.j * y) + x * (c + mp.j * y) - top).real
        width = mp.sqrt(c)
        ends = [0, width, 2 * width, 4 * width, 8 * width, 16 * width, 16 * width + 8, 16 * width + 24, 16 * width + 64]
        return mp.exp(top) * mp.quad(of, ends) / mp.pi
    of = lambda u: mp.exp(-u / x * mp.log(u / x) - u) * mp.sin(mp.pi * u / x) / x
    return mp.quad(of, [0, 1, 4, 8, 16, 32, 64, 128]) / mp.pi


def series(function, low, high, terms):
    nodes = terms + 6
    angles = [mp.pi * (j + mp.mpf(1) / 2) / nodes for j in range(nodes)]
    values = [function((low + high) / 2 + (high - low) / 2 * mp.cos(a)) for a in angles]
    found = [2 * sum(v * mp.cos(n * a) for v, a in zip(values, angles)) / nodes for n in range(nodes)]
    found[0] /= 2
    return found[:terms], max(abs(c) for c in found[terms:])


def below(r):
    s = 1 / r
    if s > 60000:
        return mp.log(1 - r / 24 - 23 * r**2 / 1152 - 11237 * r**3 / 414720)
    x = -mp.log(s) - 1
    return mp.log(density(x)) + s - mp.log(s / (2 * mp.pi)) / 2


if __name__ == "__main__":
    import sys

    terms = 20
    tables = {"BELOW": [], "MIDDLE": [], "ABOVE": []}
    what = {"BELOW": "Series in `1 / s` on the quarters of [0, 1].", "MIDDLE": "Series in `x` on four equal parts of [-1, 4].",
            "ABOVE": "Series in `ln x` on equal parts of [ln 4, END]."}
    worst = 0
    jobs = [("BELOW", below, [mp.mpf(i) / 4 for i in range(5)]),
            ("MIDDLE", lambda x: mp.log(density(x)), [LEFT + mp.mpf(5) * i / 4 for i in range(5)])]
    count = 14
    first = mp.log(RIGHT)
    jobs.append(("ABOVE", lambda q: mp.log(density(mp.exp(q))) + 2 * q, [first + (END - first) * i / count for i in range(count + 1)]))
    for name, function, edges in jobs:
        for low, high in zip(edges, edges[1:]):
            found, left = series(function, low, high, terms)
            worst = max(worst, left)
            tables[name].append(found)
            print(name, low, mp.nstr(left, 3), file=sys.stderr, flush=True)
    print("//! Written by `scripts/make_landau.py`.\n")
    print(f"/// Number of terms of a series. Largest omitted coefficient: {mp.nstr(worst, 2)}.")
    print(f"pub(super) const TERMS: usize = {terms};\n")
    print("/// Logarithm of the argument at which the last series ends.")
    print(f"pub(super) const END: f64 = {mp.nstr(END, 5)};\n")
    for name, rows in tables.items():
        print(f"/// {what[name]}\n#[rustfmt::skip]")
        print(f"pub(super) const {name}: [[f64; TERMS]; {len(rows)}] = [")
        for row in rows:
            print("    [" + ", ".join(mp.nstr(c, 19) if abs(c) > 1e-22 else "0.0" for c in row) + "],")
        print("];\n")
