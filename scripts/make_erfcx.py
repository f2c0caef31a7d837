"""Writes the Chebyshev coefficients of the scaled complementary error function with mpmath, for `ns-compute`.

    python3 scripts/make_erfcx.py > crates/ns-compute/src/events/special/erfcx_terms.rs
"""

import mpmath as mp

mp.mp.dps = 40
PLACE, NODES, TERMS = mp.mpf("3.75"), 64, 25


def scaled(x):
    """Returns `(1 + 2 x) exp(x^2) erfc(x)`; the asymptotic series is used where `exp(x^2)` is very large."""
    if x < 1000:
        return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)
    series = sum(mp.fac2(2 * k - 1) / (-2 * x * x) ** k for k in range(6))
    return (1 + 2 * x) / (x * mp.sqrt(mp.pi)) * series


angles = [mp.pi * (j + mp.mpf(1) / 2) / NODES for j in range(NODES)]
values = [scaled(PLACE * (1 + mp.cos(a)) / (1 - mp.cos(a))) for a in angles]
print("//! Written by `scripts/make_erfcx.py`.\n")
print(f"/// The argument at which the variable of the polynomials is 0.\npub(super) const PLACE: f64 = {PLACE};\n")
print("/// Coefficients of the Chebyshev polynomials of `(x - PLACE) / (x + PLACE)` whose sum is `(1 + 2 x) erfcx(x)`.")
print("#[rustfmt::skip]")
print(f"pub(super) const TERMS: [f64; {TERMS}] = [")
for n in range(TERMS):
    total = 2 * sum(v * mp.cos(n * a) for v, a in zip(values, angles)) / NODES
    print(f"    {mp.nstr(total / 2 if n == 0 else total, 20)},")
print("];")
