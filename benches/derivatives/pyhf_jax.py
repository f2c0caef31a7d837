"""Measures pyhf with JAX for comparison with profiled q0 and its gradient by the yields of a sample.

    python benches/derivatives/pyhf_jax.py WORKSPACE:SAMPLE [WORKSPACE:SAMPLE ...]

pyhf's yields are constants, so pyhf has no derivatives with respect to them. The measured time is that of the two
fits of q0 alone (value and gradient compiled by JAX in float64, pyhf's SciPy minimiser). Derivatives of the result,
implicit or unrolled, would take further time. The data are those that the model expects with a signal of strength 1.
Each call has other numbers, so that no earlier result can be used. The first call compiles and is not measured. Needs
pyhf and JAX.
"""

import json
import statistics
import sys
import time

import jax
import numpy as np
import pyhf

import nextstat


def timed(calls):
    times = []
    for call in calls:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


def peer(path, repeat):
    """Return the median time of q0 in ms, and the value of q0 for the expected data."""
    jax.config.update("jax_enable_x64", True)
    pyhf.set_backend("jax", precision="64b")
    with open(path, encoding="utf-8") as file:
        workspace = pyhf.Workspace(json.load(file))
    model = workspace.model(modifier_settings={"normsys": {"interpcode": "code4"}, "histosys": {"interpcode": "code4p"}})
    init, bounds, fixed = (
        model.config.suggested_init(),
        model.config.suggested_bounds(),
        model.config.suggested_fixed(),
    )
    bounds[model.config.poi_index] = (0.0, bounds[model.config.poi_index][1])
    signal = list(init)
    signal[model.config.poi_index] = 1.0
    data = np.asarray(model.expected_data(signal))

    def q0(observed):
        return float(pyhf.infer.test_statistics.q0(0.0, observed, model, init, bounds, fixed))

    value = q0(data)
    changed = [data * (1.0 + 1e-3 * np.random.default_rng(i).uniform(-1.0, 1.0, len(data))) for i in range(repeat)]
    return timed([lambda d=d: q0(d) for d in changed]), value


def ours(path, sample, repeat):
    model = nextstat.load_workspace(path)
    session = nextstat.ProfiledDifferentiableSession(model, [sample], asimov=1.0, threads=1)
    rng = np.random.default_rng(1)
    rows = session.nominal * (1.0 + 1e-3 * rng.uniform(-1.0, 1.0, (repeat, len(session.nominal))))
    value = float(session.statistic("q0", 0.0, session.nominal)[0])
    return timed([lambda row=row: session.statistic("q0", 0.0, row) for row in rows]), value


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for case in sys.argv[1:]:
        path, sample = case.rsplit(":", 1)
        here, value = ours(path, sample, 51)
        there, other = peer(path, 5)
        print(
            f"{path}: ours {here:.3f} ms with gradient (q0 = {value:.6f}), pyhf {pyhf.__version__} with JAX "
            f"{jax.__version__} {there:.0f} ms without (q0 = {other:.6f}): ratio {there / here:.0f}"
        )


if __name__ == "__main__":
    main()
