"""Distributions of the test statistic, compared with those of pyhf, which draws and fits toys as in its
toy calculator.

pyhf takes minutes for thousands of toys: by default 150 are compared, with NEXTSTAT_PYHF_TOYS=5000 it is 5000.
(`ToyCalculator` itself fails with NumPy 2.4 and newer, so its loop is written out here.)
"""

import copy
import json
import os

import numpy as np
import pyhf
import pytest
from scipy import stats

import nextstat

N_PYHF = int(os.environ.get("NEXTSTAT_PYHF_TOYS", "100"))
N_OURS = 50_000

# A statistic below this value counts as 0, because pyhf's fits are not exact.
ATOM = 1e-3

COUNTING = {
    "channels": [
        {
            "name": "SR",
            "samples": [
                {
                    "name": "signal",
                    "data": [12.0, 11.0],
                    "modifiers": [{"name": "mu", "type": "normfactor", "data": None}],
                },
                {
                    "name": "background",
                    "data": [50.0, 52.0],
                    "modifiers": [{"name": "unc", "type": "shapesys", "data": [3.0, 7.0]}],
                },
            ],
        }
    ],
    "observations": [{"name": "SR", "data": [51.0, 48.0]}],
    "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": []}}],
    "version": "1.0.0",
}

SHAPE = copy.deepcopy(COUNTING)
SHAPE["channels"][0]["samples"][0]["data"] = [2.0, 7.0]
SHAPE["channels"][0]["samples"][1] = {
    "name": "background",
    "data": [20.0, 6.0],
    "modifiers": [
        {"name": "norm", "type": "normsys", "data": {"lo": 0.8, "hi": 1.25}},
        {"name": "shape", "type": "histosys", "data": {"lo_data": [18.0, 6.5], "hi_data": [22.5, 5.6]}},
        {"name": "stat", "type": "staterror", "data": [1.5, 0.9]},
    ],
}
SHAPE["observations"][0]["data"] = [22.0, 9.0]

# Workspace, tested value, statistic.
CASES = {
    "counting": (COUNTING, 1.0, "qtilde"),
    "shape": (SHAPE, 0.9, "qtilde"),
    "discovery": (SHAPE, 0.0, "q0"),
}


def pyhf_statistics(workspace, mu, points, statistic):
    """Statistics of toys drawn and fitted by pyhf, for both hypotheses."""
    pyhf.set_backend("numpy", "scipy")
    model = pyhf.Workspace(workspace).model()
    config = model.config
    arguments = (config.suggested_init(), config.suggested_bounds(), config.suggested_fixed())
    of = pyhf.infer.utils.get_test_stat(statistic)
    np.random.seed(1234)
    found = {}
    for name, point in points.items():
        toys = model.make_pdf(pyhf.tensorlib.astensor(point)).sample((N_PYHF,))
        values = []
        for toy in toys:
            try:
                q = of(mu, toy, model, *arguments)
            except pyhf.exceptions.FailedMinimization:
                pyhf.set_backend("numpy", "minuit")
                q = of(mu, toy, model, *arguments)
                pyhf.set_backend("numpy", "scipy")
            values.append(float(q))
        found[name] = np.array(values)
    return found


@pytest.mark.parametrize("case", CASES)
def test_distributions(case):
    workspace, mu, statistic = CASES[case]
    test = nextstat.toys_prepare(nextstat.load_workspace(workspace), mu, n_toys=N_OURS, seed=77, test_stat=statistic)
    header = json.loads(test.header)
    points = {"b": header["point_b"], "sb": header["point_sb"]}

    # The generating points are the same as pyhf's.
    pyhf.set_backend("numpy", "scipy")
    spec = pyhf.Workspace(workspace)
    model = spec.model()
    for name, value in (("b", 1.0 if statistic == "q0" else 0.0), ("sb", mu)):
        known = pyhf.infer.mle.fixed_poi_fit(value, spec.data(model), model)
        np.testing.assert_allclose(points[name], known, atol=2e-3)

    theirs = pyhf_statistics(workspace, mu, points, statistic)
    for name in ("b", "sb"):
        _, ours, _, status, _ = test.run(name, 0, N_OURS)
        assert (status == 0).all()
        known = theirs[name]
        zeros = [[(q < ATOM).sum(), (q >= ATOM).sum()] for q in (ours, known)]
        atom = stats.fisher_exact(zeros).pvalue
        rest = stats.ks_2samp(ours[ours >= ATOM], known[known >= ATOM]).pvalue
        print(f"{case}, {name}: {N_PYHF} toys of pyhf, atom p = {atom:.3g}, rest p = {rest:.3g}")
        assert atom > 1e-3, (case, name, zeros)
        assert rest > 1e-3, (case, name)


def test_expected_band_and_p_values_are_those_of_empirical_distributions():
    """Our p-values, CLs and expected band are those that pyhf computes from the same toys."""
    workspace, mu, _ = CASES["counting"]
    model = nextstat.load_workspace(workspace)
    result = nextstat.hypotest_toys(model, mu, n_toys=700, seed=5, expected_set=True)
    test = nextstat.toys_prepare(model, mu, n_toys=700, seed=5)
    b, sb = (test.run(name, 0, 700)[1] for name in ("b", "sb"))
    calculator = pyhf.infer.calculators.ToyCalculator
    empirical = pyhf.infer.calculators.EmpiricalDistribution
    pyhf.set_backend("numpy", "scipy")
    pair = (empirical(sb), empirical(b))
    this = calculator(None, pyhf.Workspace(workspace).model())
    for found, known in zip((result.clsb, result.clb, result.cls), this.pvalues(result.q_obs, *pair)):
        assert found == pytest.approx(float(known), abs=1e-12)
    # `expected_pvalues` uses an argument that NumPy 2.4 no longer has; its percentiles are NumPy's default.
    every = np.array([this.pvalues(q, *pair) for q in b], dtype=float)
    bands = np.percentile(every, [2.27501319, 15.86552539, 50.0, 84.13447461, 97.72498681], axis=0).T
    for key, band in zip(("clsb", "clb", "cls"), bands):
        np.testing.assert_allclose(result.expected_set[key], np.asarray(band, dtype=float), atol=1e-9)
