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
series = [2 * sum(v * mp.cos(n * a) for v, a in zip(values, angles)) / NODES for n in range(TERMS)]
series[0] /= 2
# The sum of Chebyshev polynomials as powers of their variable: T_(n+1) = 2 t T_n - T_(n-1).
powers = [mp.mpf(0)] * TERMS
before, here = [mp.mpf(1)], [mp.mpf(0), mp.mpf(1)]
for n, coefficient in enumerate(series):
    polynomial = before if n == 0 else here
    for k, c in enumerate(polynomial):
        powers[k] += coefficient * c
    if n > 0:
        later = [2 * a - b for a, b in zip([0, *here], [*before, 0, 0])]
        before, here = here, later
print("//! Written by `scripts/make_erfcx.py`.\n")
print(f"/// The argument at which the variable of the polynomial is 0.\npub(super) const PLACE: f64 = {PLACE};\n")
print("/// Coefficients of the polynomial in `(x - PLACE) / (x + PLACE)` that is `(1 + 2 x) erfcx(x)`, from the highest power to the")
print("/// constant. It is a truncated series of Chebyshev polynomials.")
print("#[rustfmt::skip]")
print(f"pub(super) const TERMS: [f64; {TERMS}] = [")
for power in reversed(powers):
    print(f"    {mp.nstr(power, 20)},")
print("];")
