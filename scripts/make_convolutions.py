"""Writes `-ln L` of convolutions with a Gaussian with mpmath, for the tests of `ns-compute`.

    python3 scripts/make_convolutions.py > crates/ns-compute/tests/event/convolutions.txt

A line has the name of the first density, its parameters, the width of the Gaussian, and `-ln L` of 40 events.
"""

import sys

import mpmath as mp

mp.mp.dps = 20
LOW, HIGH = -10, 30
STEP = 0.618033988749895
#: Gauss rules with 24 nodes between neighbouring ends.
GAUSS = {"method": "gauss-legendre", "maxdegree": 4}
EVENTS = [mp.mpf(40 * ((0.5 + STEP * (i + 1.0)) % 1.0) - 10.0) for i in range(40)]


def landau(mean, scale, sigma):
    """The transform of the Landau density along a line to the right of its singularities, times that of the Gaussian:
    `1/pi Re int_0^inf exp(u ln u + u z + (sigma u / scale)^2 / 2) dy` with `u = c + i y`."""
    r = (sigma / scale) ** 2

    def value(x):
        z = (x - mean) / scale
        # The saddle point on the real axis: u falls with z.
        slope = lambda u: mp.log(u) + 1 + z + r * u
        low, high = mp.mpf("1e-30"), mp.mpf(1)
        while slope(high) < 0:
            high *= 2
        for _ in range(30):
            middle = mp.sqrt(low * high)
            low, high = (low, middle) if slope(middle) > 0 else (middle, high)
        c = max(high, mp.mpf("1e-6"))
        top = c * mp.log(c) + c * z + r * c * c / 2
        of = lambda y: mp.exp((c + mp.j * y) * mp.log(c + mp.j * y) + (c + mp.j * y) * z + r * (c + mp.j * y) ** 2 / 2 - top).real
        # Far away from the axis the integrand falls as exp(-pi y / 2 - r y^2 / 2).
        ends = [mp.mpf(k) / 2 for k in range(9)] + [5, 6, 8, 10, 13, 17, 22, 28]
        if 4 * c < 1:
            ends = sorted({*ends, *(c * 4**k for k in range(-1, 12) if c * 4**k < 1)})
        return mp.exp(top) * mp.quad(of, ends, **GAUSS) / mp.pi

    return value


def smeared(density, edges, sigma):
    """The integral of a density over the ranges between its kinks, times the Gaussian."""

    def value(x):
        near = [x + k * sigma for k in (-13, -6, -3, -1, 0, 1, 3, 6, 13)]
        inner = [s for s in near if edges[0] < s < edges[-1]]
        # What is further away than 13 widths is below 1e-36.
        low, high = max(edges[0], near[0]), min(edges[-1], near[-1])
        if low >= high:
            low, high = edges[0], edges[-1]
        places = sorted({low, high, *(s for s in (*inner, *edges) if low < s < high)})
        return mp.quad(lambda s: density(s) * mp.exp(-((x - s) / sigma) ** 2 / 2), places, **GAUSS)

    return value


def crystal_ball(mean, scale, sigma):
    alpha, n = mp.mpf("1.1"), mp.mpf("2.5")

    def density(s):
        t = (s - mean) / scale
        if t > -alpha:
            return mp.exp(-t * t / 2)
        return mp.exp(-alpha * alpha / 2) * (n / alpha / (n / alpha - alpha - t)) ** n

    return smeared(density, [mp.mpf(-4000), mean - alpha * scale, mp.mpf(4000)], sigma)


def uniform(low, length, sigma):
    cdf = lambda t: mp.erfc(-t / mp.sqrt(2))
    # The difference of two small numbers has few digits, and the smaller ones are on the side of negative numbers.
    return lambda x: (lambda a, b: cdf(a) - cdf(b) if a < 0 else cdf(-b) - cdf(-a))((x - low) / sigma, (x - low - length) / sigma)


def decay(start, length, sigma):
    """An exponential that begins at a place."""
    return lambda x: (lambda t: mp.exp(sigma**2 / (2 * length**2) - t / length) * mp.erfc((sigma / length - t / sigma) / mp.sqrt(2)))(x - start)


def parabola(centre, half, sigma):
    """A polynomial between its zeros."""
    return smeared(lambda s: 1 - ((s - centre) / half) ** 2, [centre - half, centre + half], sigma)


def two_peaks(mean, scale, sigma):
    """Two Gaussians, normalised on the axis: each remains one."""

    def part(x, m, w):
        z = lambda end: mp.erfc(-(end - m) / w / mp.sqrt(2)) / 2
        total = w * mp.sqrt(2 * mp.pi) * (z(HIGH) - z(LOW))
        wide = mp.sqrt(w * w + sigma * sigma)
        return w / wide * mp.exp(-((x - m) / wide) ** 2 / 2) / total

    return lambda x: mp.mpf("0.3") * part(x, mean, mp.mpf("0.4")) + mp.mpf("0.7") * part(x, 12, scale)


CASES = [
    ("landau", landau, [(5, 1, 2), (5, 0.25, 2), (14, 0.5, 0.75)]),
    ("crystal_ball", crystal_ball, [(9, 1.5, 2), (2, 0.5, 3)]),
    ("uniform", uniform, [(2, 7, 3), (-20, 60, 2)]),
    ("decay", decay, [(0, 4, 2), (-4, 9, 1.5)]),
    ("parabola", parabola, [(8, 6, 4), (10, 15, 2)]),
    ("two_peaks", two_peaks, [(3, 1.125, 2), (3, 2.5, 4)]),
]


def main() -> None:
    for name, make, points in CASES:
        for point in points:
            h = make(*(mp.mpf(x) for x in point))
            total = mp.quad(h, list(range(LOW, HIGH + 1, 2)), **GAUSS)
            nll = -sum(mp.log(h(x) / total) for x in EVENTS)
            print(name, *point, mp.nstr(nll, 16), flush=True)
            print(name, *point, file=sys.stderr)


main()
