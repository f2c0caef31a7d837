"""What a search for lower minima may cost beside the fit."""

import importlib.util
import pathlib

import pytest

import nextstat

CLIFFS = pathlib.Path(__file__).parents[2] / "benches" / "cliffs.py"


@pytest.fixture(scope="module")
def cliffs():
    spec = importlib.util.spec_from_file_location("cliffs", CLIFFS)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("index", [45, 124])
def test_a_small_model_whose_fit_is_slow_is_not_searched_for_hundreds_of_descents(cliffs, index):
    model = nextstat.load_workspace(cliffs.draw(index))
    fit = nextstat.fit(model)
    local = nextstat.fit(model, search="local")
    # With 18 and 25 parameters in 191 and 88 bins these were 404 and 555.
    assert fit.n_search_iter < 150
    assert fit.twice_nll == pytest.approx(local.twice_nll, abs=1e-9)


def test_toys_of_factors_that_make_up_for_each_other_end_where_single_fits_do():
    """Three free factors in three bins: one Jacobian for all toys led to no minimum."""
    samples = []
    for s, (name, share) in enumerate([("mu", [0.2, 0.5, 0.3]), ("norm_a", [0.5, 0.2, 0.3]), ("norm_b", [0.3, 0.28, 0.4])]):
        modifiers = [{"name": name, "type": "normfactor", "data": None}]
        for k in range(40):
            size = 0.02 + 0.01 * ((7 * k + 3 * s) % 11)
            modifiers.append({"name": f"syst_{k}", "type": "normsys", "data": {"hi": 1 + size, "lo": 1 - 0.9 * size}})
        samples.append({"name": f"sample_{s}", "data": [700 * x for x in share], "modifiers": modifiers})
    model = nextstat.load_workspace(
        {
            "channels": [{"name": "SR", "samples": samples}],
            "observations": [{"name": "SR", "data": [700.0, 680.0, 700.0]}],
            "measurements": [
                {
                    "name": "all",
                    "config": {
                        "poi": "mu",
                        "parameters": [
                            {"name": name, "bounds": [[0, 10]], "inits": [1.0]} for name in ("mu", "norm_a", "norm_b")
                        ],
                    },
                }
            ],
            "version": "1.0.0",
        }
    )
    n = 24
    _, together, _, status, _ = nextstat.toys_prepare(model, 1.0, n_toys=n, seed=3).run("sb", 0, n)
    assert set(status) == {0}
    assert sum(value > 0.01 for value in together) > 5
    # The toys of a hypothesis are drawn where the parameters fit the data best with the tested value.
    at = nextstat.fit(model, fixed={"mu": 1.0}).bestfit
    for data, value in zip(model.toy_data(at, n_toys=n, seed=3, hypothesis="sb"), together):
        free, held = nextstat.fit(model, data=data), nextstat.fit(model, data=data, fixed={"mu": 1.0})
        above = free.bestfit[model.poi_index] > 1.0
        assert value == pytest.approx(0.0 if above else held.twice_nll - free.twice_nll, abs=1e-6)
