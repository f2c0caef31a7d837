"""Writes values and derivatives of special functions with mpmath, for the tests of `ns-core`.

    python3 scripts/make_special_functions.py > crates/ns-core/src/events/special.txt
"""

import mpmath as mp
from make_landau import density as landau

mp.mp.dps = 60
FUNCTIONS = {
    "erf": (mp.erf, ["-3.5", "-0.25", "0", "0.4375", "1.5", "4"]),
    "erfc": (mp.erfc, ["-2.5", "-0.25", "0", "0.4375", "3.25", "5.5"]),
    "sinh": (mp.sinh, ["-20.5", "-0.0009765625", "0", "0.75", "3.25"]),
    "cosh": (mp.cosh, ["-20.5", "-0.0009765625", "0", "0.75", "3.25"]),
    "tanh": (mp.tanh, ["-20.5", "-0.0009765625", "0", "0.75", "3.25"]),
    "asinh": (mp.asinh, ["-20.5", "-0.0009765625", "0", "0.75", "3.25"]),
    "gamma": (mp.gamma, ["0.0078125", "0.75", "1.375", "6.5", "40.25"]),
    "lngamma": (mp.loggamma, ["0.0078125", "0.75", "3.375", "6.5", "140.25"]),
    "j0": (lambda x: mp.besselj(0, x), ["-3.5", "0", "0.0625", "2.5", "30.25"]),
    "j1": (lambda x: mp.besselj(1, x), ["-3.5", "0", "0.0625", "2.5", "30.25"]),
    "landau": (landau, ["-3.25", "-1.5", "-0.75", "0", "2.75", "4.5", "40", "3000"]),
    "j4": (lambda x: mp.besselj(4, x), ["-3.5", "0", "0.0625", "2.5", "30.25"]),
}

for name, (function, arguments) in FUNCTIONS.items():
    for text in arguments:
        x = mp.mpf(text)
        values = [function(x), mp.diff(function, x), mp.diff(function, x, 2)]
        print(name, text, *(mp.nstr(v, 20) if abs(v) > mp.mpf("1e-30") else "0.0" for v in values))
