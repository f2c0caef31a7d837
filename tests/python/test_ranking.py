"""Rankings of nuisance parameters, compared with a loop of pyhf fits, and consistency of the results."""

import json
import os
import pathlib

import numpy as np
import pyhf
import pytest

import nextstat

SMALL = ["simple_workspace.json", "all_modifiers.json", "shared_names.json", "overrides.json"]
SIDES = ["up", "down", "prefit_up", "prefit_down"]
# The JSON keys of `nextstat ranking`.
KEYS = {
    "param", "mu_hat", "mu_uncertainty", "impacts", "prefit", "ranking", "n_ranked", "groups", "group_sums", "sequential", "breakdown",
    "twice_nll", "converged", "n_fits", "n_failed", "interrupted", "warnings", "device", "device_reason", "gpu_check", "interpolation", "model_digest", "wall_s",
}  # fmt: skip


@pytest.fixture(scope="module")
def model(fixtures):
    return nextstat.load_workspace(fixtures / "simple_workspace.json")


@pytest.fixture(scope="module")
def result(model):
    return nextstat.ranking(model, ["refit", "covariance", "global"], prefit=True, groups={"jets": ["jet_*"]})


class Loop:
    """pyhf's fits of one workspace, by MINUIT."""

    def __init__(self, spec):
        workspace = pyhf.Workspace(spec)
        self.model = workspace.model()
        self.data = np.asarray(workspace.data(self.model), float)
        pyhf.set_backend("numpy", pyhf.optimize.minuit_optimizer(tolerance=1e-4))
        self.best = self.fit(self.data)

    def fit(self, data, held=None):
        config = self.model.config
        init, fixed = list(config.suggested_init()), list(config.suggested_fixed())
        if held is not None:
            index = config.par_names.index(held[0])
            init[index], fixed[index] = held[1], True
        return np.asarray(pyhf.infer.mle.fit(list(data), self.model, init, fixed_params=fixed), float)

    def shift(self, data=None, held=None):
        poi = self.model.config.poi_index
        return self.fit(self.data if data is None else data, held)[poi] - self.best[poi]

    def datum(self, name):
        """Position of a parameter's auxiliary datum among all data."""
        config = self.model.config
        order = [p for p in config.auxdata_order for p in config.par_names[config.par_slice(p)]]
        return len(self.data) - config.nauxdata + order.index(name)


class TestAgainstPyhf:
    @pytest.mark.parametrize("name", SMALL)
    def test_refits_are_those_of_a_loop(self, fixtures, name):
        spec = json.loads((fixtures / name).read_text())
        ranking = nextstat.ranking(spec, prefit=True)
        loop = Loop(spec)
        assert ranking.mu_hat == pytest.approx(loop.best[loop.model.config.poi_index], abs=1e-4)
        assert ranking.n_failed == 0 and len(ranking) == ranking.n_ranked
        # Only every third parameter, because MINUIT is slow.
        for entry in ranking.ranking[::3]:
            for side in SIDES:
                if entry[f"delta_mu_{side}"] is not None:
                    expected = loop.shift(held=(entry["name"], entry[f"value_{side}"]))
                    assert entry[f"delta_mu_{side}"] == pytest.approx(expected, abs=2e-4), (entry["name"], side)

    @pytest.mark.parametrize("name", ["simple_workspace.json", "all_modifiers.json"])
    def test_shifted_auxiliary_data_are_those_of_a_loop(self, fixtures, name):
        spec = json.loads((fixtures / name).read_text())
        ranking = nextstat.ranking(spec, "global")
        loop = Loop(spec)
        for entry in ranking.ranking[::3]:
            for side in ("up", "down"):
                if entry[f"delta_mu_{side}"] is not None:
                    data = loop.data.copy()
                    data[loop.datum(entry["name"])] = entry[f"value_{side}"]
                    expected = loop.shift(data)
                    assert entry[f"delta_mu_{side}"] == pytest.approx(expected, abs=2e-4), (entry["name"], side)

    @pytest.mark.skipif("NEXTSTAT_REFERENCE_DIR" not in os.environ, reason="NEXTSTAT_REFERENCE_DIR is not set")
    @pytest.mark.parametrize("name", ["tHu.json", "tttt_prod.json"])
    def test_published_pulls_and_uncertainties(self, name):
        folder = pathlib.Path(os.environ["NEXTSTAT_REFERENCE_DIR"])
        model = nextstat.load_workspace(folder / "workspaces" / name)
        ranking, fit = nextstat.ranking(model, "covariance", prefit=True), nextstat.fit(model)
        sigma = np.sqrt(np.diag(fit.covariance))
        poi = fit.poi_index
        for entry in ranking.ranking:
            i = fit.parameter_names.index(entry["name"])
            assert entry["uncertainty"] == pytest.approx(sigma[i], rel=1e-6)
            assert entry["delta_mu_up"] == pytest.approx(fit.covariance[poi, i] / sigma[i], abs=1e-8)
            if entry["constraint"] is not None:
                assert entry["constraint"] == pytest.approx(sigma[i] / entry["prefit_uncertainty"], rel=1e-6)


class TestResult:
    def test_keys_of_the_command(self, result):
        values = result.to_dict()
        assert set(values) == KEYS
        assert json.loads(json.dumps(values)) == values
        for key in KEYS - {"ranking"}:
            assert getattr(result, key) == values[key]
        with pytest.raises(AttributeError, match="nothing_of_the_kind"):
            result.nothing_of_the_kind

    def test_columns_follow_the_list(self, result):
        assert result.names == [entry["name"] for entry in result.ranking]
        for key in ("pull", "constraint", "delta_mu_up", "delta_mu_down", "delta_mu_prefit_up", "delta_mu_prefit_down"):
            column = getattr(result, key)
            assert column.dtype == np.float64 and column.shape == (len(result),)
            expected = [np.nan if entry[key] is None else entry[key] for entry in result.ranking]
            np.testing.assert_array_equal(column, expected)
        by_covariance = result.column("delta_mu_up", impact="covariance")
        np.testing.assert_allclose(by_covariance, -result.column("delta_mu_down", impact="covariance"))
        np.testing.assert_array_equal(result.column("delta_mu_up", impact="refit"), result.delta_mu_up)
        largest = np.fmax(abs(result.delta_mu_up), abs(result.delta_mu_down))
        assert (np.diff(largest) <= 0).all()

    def test_entries_by_name_and_position(self, result):
        assert result["jet_scale"]["kinds"] == ["histosys"]
        assert result[0] == result.ranking[0] and result[-1] == result.ranking[-1]
        with pytest.raises(KeyError, match="nobody"):
            result["nobody"]
        with pytest.raises(IndexError):
            result[len(result)]
        with pytest.raises(KeyError, match="was not asked for"):
            nextstat.ranking({**_counting(), "version": "1.0.0"}).column("delta_mu_up", impact="global")

    def test_tables(self, result):
        text, html = repr(result), result._repr_html_()
        assert "jet_scale" in text and "impact on mu" in text
        assert html.startswith("<table>") and "jet_scale" in html

    def test_groups_and_breakdown(self, result):
        group = result.groups[0]
        assert group["name"] == "jets" and group["parameters"] == ["jet_scale"]
        parts = result.breakdown
        assert np.hypot(parts["statistical"], parts["systematic"]) == pytest.approx(result.mu_uncertainty, rel=1e-9)


def _counting():
    return {
        "channels": [
            {
                "name": "SR",
                "samples": [
                    {
                        "name": "signal",
                        "data": [10.0],
                        "modifiers": [{"name": "mu", "type": "normfactor", "data": None}],
                    },
                    {
                        "name": "background",
                        "data": [50.0],
                        "modifiers": [{"name": "rate", "type": "normsys", "data": {"lo": 0.9, "hi": 1.1}}],
                    },
                ],
            }
        ],
        "observations": [{"name": "SR", "data": [58.0]}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": []}}],
    }


class TestArguments:
    def test_one_definition_or_several(self, model):
        assert nextstat.ranking(model, impact="covariance").impacts == ["covariance"]
        assert nextstat.ranking(model, impact=["global", "refit"], top=3).impacts == ["global", "refit"]
        with pytest.raises(ValueError, match="unknown impact 'breakdown'"):
            nextstat.ranking(model, impact="breakdown")

    def test_another_parameter(self, model):
        result = nextstat.ranking(model, param="background_norm", top=2)
        assert result.param == "background_norm" and len(result) == 2
        with pytest.raises(ValueError, match="did you mean 'jet_scale'"):
            nextstat.ranking(model, param="jet_scael")
        with pytest.raises(ValueError, match="group 'jets'"):
            nextstat.ranking(model, groups={"jets": ["JES_*"]})

    def test_progress_counts_every_fit(self, model):
        seen = []
        result = nextstat.ranking(model, prefit=True, threads=1, progress=lambda done, total: seen.append((done, total)))
        assert seen[-1][0] == result.n_fits <= seen[-1][1]

    def test_an_exception_of_the_progress_function_stops_the_ranking(self, model):
        def stop(done, total):
            raise RuntimeError("enough")

        with pytest.raises(RuntimeError, match="enough"):
            nextstat.ranking(model, progress=stop)
