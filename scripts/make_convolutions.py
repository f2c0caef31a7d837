"""Writes `-ln L` of a Landau density convolved with a Gaussian with mpmath, for the tests of `ns-compute`.

    python3 scripts/make_convolutions.py > crates/ns-compute/tests/event/convolutions.txt

A line has the place and the width of the Landau density, the width of the Gaussian, and `-ln L` of 40 events.
"""

import mpmath as mp

mp.mp.dps = 20
LOW, HIGH = -10, 30
STEP = 0.618033988749895
EVENTS = [mp.mpf(40 * ((0.5 + STEP * (i + 1.0)) % 1.0) - 10.0) for i in range(40)]


def landau_smeared(mean, scale, sigma):
    """The transform of the Landau density along a line to the right of its singularities, times that of the Gaussian:
    `1/pi Re int_0^inf exp(u ln u + u z + (sigma u / scale)^2 / 2) dy` with `u = c + i y`."""
    r = (sigma / scale) ** 2

    def value(x):
        z = (x - mean) / scale
        # The saddle point on the real axis.
        c = mp.findroot(lambda u: mp.log(u) + 1 + z + r * u, mp.exp(-1 - z) if z > 0 else mp.mpf(1) / 2, verify=False).real
        c = max(c, mp.mpf("1e-6"))
        top = c * mp.log(c) + c * z + r * c * c / 2
        of = lambda y: mp.exp((c + mp.j * y) * mp.log(c + mp.j * y) + (c + mp.j * y) * z + r * (c + mp.j * y) ** 2 / 2 - top).real
        return mp.exp(top) * mp.quad(of, [0, c, 4 * c, 1, 2, 4, 8, 16] if 4 * c < 1 else [0, 1, 2, 4, 8, 16]) / mp.pi

    return value


for mean, scale, sigma in ((5, 1, 2),):
    h = landau_smeared(mp.mpf(mean), mp.mpf(scale), mp.mpf(sigma))
    ends = [LOW + 2 * i for i in range(21)]
    total = mp.quad(h, ends)
    nll = -sum(mp.log(h(x) / total) for x in EVENTS)
    print(mean, scale, sigma, mp.nstr(nll, 16))
