"""Toys in Python: results, stages (prepare, run, summarise), generated data, older names, interrupts."""

import json
import signal
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

import nextstat

SIMPLE = "simple_workspace.json"


@pytest.fixture(scope="module")
def model(fixtures):
    return nextstat.load_workspace(fixtures / SIMPLE)


class TestHypotest:
    def test_result_has_the_keys_of_the_command(self, model):
        result = nextstat.hypotest_toys(model, 1.0, n_toys=500, seed=3, expected_set=True)
        known = nextstat.hypotest(model, 1.0)
        assert result.q_obs == known.q_obs and result.mu_hat == known.mu_hat
        assert result.n_toys == {"b": 500, "sb": 500} and result.seed == 3
        assert result.n_nonconverged == result.n_error == {"b": 0, "sb": 0}
        assert abs(result.cls - result.clsb / result.clb) < 1e-15
        # From docs/numerics: cls_error = CLs sqrt((1 - CLsb) / (N CLsb) + (1 - CLb) / (N CLb))
        error = result.cls * np.sqrt(
            (1 - result.clsb) / (500 * result.clsb) + (1 - result.clb) / (500 * result.clb)
        )
        assert result.cls_error == pytest.approx(error, rel=1e-12)
        assert result.cls_failed_low == result.cls == result.cls_failed_high
        band = result.expected_set["cls"]
        assert len(band) == 5 and band == sorted(band)
        assert result.toys_per_s > 0 and result.converged
        assert json.loads(json.dumps(result.to_dict()))["n_toys"]["sb"] == 500
        assert "tested with qtilde and toys" in repr(result) and "<table>" in result._repr_html_()

    def test_seeds_and_shards(self, model):
        def statistics(**options):
            return nextstat.hypotest_toys(model, 1.0, n_toys=300, **options).clsb

        assert statistics(seed=1) == statistics(seed=1, threads=2)
        assert len({statistics(seed=seed) for seed in range(5)}) > 1
        parts = [nextstat.hypotest_toys(model, 1.0, n_toys=300, seed=1, shard=f"{k}/3") for k in (1, 2, 3)]
        assert [part.n_toys["b"] for part in parts] == [100, 100, 100]
        assert sum(part.clsb for part in parts) / 3 == pytest.approx(statistics(seed=1), rel=1e-12)
        assert parts[1].shard == "2/3"

    def test_wrong_questions(self, model, fixtures):
        for options, what in [
            ({"n_toys": 0}, "ask for 1 to"),
            ({"shard": "4/3"}, "K/N"),
            ({"test_stat": "t"}, "qtilde"),
        ]:
            with pytest.raises(ValueError, match=what):
                nextstat.hypotest_toys(model, 1.0, **options)
        with pytest.raises(ValueError, match="parameter of interest"):
            nextstat.hypotest_toys(fixtures / "background_only.json", 1.0, n_toys=5)


class TestStages:
    def test_parts_in_any_order_are_the_whole(self, model, fixtures):
        whole = nextstat.hypotest_toys(model, 1.0, n_toys=200, seed=9, expected_set=True)
        test = nextstat.toys_prepare(model, 1.0, n_toys=200, seed=9)
        assert "200 toys" in repr(test) and test.n_toys == 200
        other = nextstat.load_workspace(fixtures / SIMPLE)
        worker = nextstat.toys_from_header(other, test.header, threads=1)
        parts = [
            (which, *runner.run(which, start, stop))
            for runner, which, start, stop in [
                (worker, "sb", 150, 200),
                (test, "b", 0, 200),
                (worker, "sb", 0, 150),
            ]
        ]
        index, q, mu_hat, status, reasons = parts[0][1:]
        assert index.tolist() == list(range(150, 200)) and reasons == {}
        assert (index.dtype, q.dtype, status.dtype) == (np.uint64, np.float64, np.uint8)
        assert (q >= 0).all() and (status == 0).all() and ((mu_hat > 1.0) == (q == 0)).all()
        merged = nextstat.toys_summarise(test.header, parts, expected_set=True, wall_s=2.0)
        for key in ("cls", "clsb", "clb", "cls_error", "expected_set", "n_toys", "q_obs", "warnings", "model_digest"):
            assert getattr(merged, key) == getattr(whole, key), key
        assert merged.toys_per_s == 200.0

        missing = nextstat.toys_summarise(test.header, parts[:2])
        assert any("only 250 of 400 toys" in w for w in missing.warnings)
        with pytest.raises(ValueError, match="toy 150 of sb comes twice"):
            nextstat.toys_summarise(test.header, [*parts, parts[0]])
        with pytest.raises(ValueError, match="not among the 200"):
            test.run("b", 100, 201)
        with pytest.raises(ValueError, match='use "b" or "sb"'):
            test.run("c", 0, 1)
        with pytest.raises(ValueError, match="no header"):
            nextstat.toys_from_header(other, "{}")
        with pytest.raises(ValueError, match="model's digest"):
            nextstat.toys_from_header(fixtures / "all_modifiers.json", test.header)

    def test_the_toys_of_a_test_are_those_of_toy_data(self, model):
        test = nextstat.toys_prepare(model, 1.0, n_toys=30, seed=4)
        header = json.loads(test.header)
        data = model.toy_data(header["point_sb"], 30, 4, hypothesis="sb")
        _, q, mu_hat, _, _ = test.run("sb", 0, 30)
        for row, q, mu_hat in zip(data, q, mu_hat):
            known = nextstat.hypotest(model, 1.0, data=row)
            assert q == pytest.approx(known.q_obs, abs=1e-8)
            assert mu_hat == pytest.approx(known.mu_hat, abs=1e-5)


class TestStudy:
    def test_pulls_and_generating_points(self, model):
        init = model.init
        result = nextstat.fit_toys(model, init, 2000, 5, parameters=["background_norm"])
        (study,) = result.parameters
        assert study["name"] == "background_norm" and study["generated"] == 1.0
        assert abs(study["pull_mean"]) < 5 * study["pull_mean_error"]
        assert abs(study["pull_width"] - 1) < 0.1
        assert result.n_toys == 2000 and result.n_failed == 0
        assert "coverage" in repr(result) and "<table>" in result._repr_html_()
        for same in ("init", {"mu": init[model.poi_index]}):
            again = nextstat.fit_toys(model, same, 2000, 5, parameters=["background_norm"])
            assert again.parameters == result.parameters
        best = nextstat.fit_toys(model, n_toys=20)
        assert len(best.parameters) == 13
        assert best.parameters[0]["generated"] == nextstat.fit(model).bestfit[0]
        with pytest.raises(ValueError, match="unknown params"):
            nextstat.fit_toys(model, "median")

    def test_the_toys_are_those_of_toy_data(self, model):
        init = model.init
        fits = nextstat.fit_batch(model, model.toy_data(init, 40, 8))
        study = {p["name"]: p for p in nextstat.fit_toys(model, init, 40, 8).parameters}
        for i, name in enumerate(fits.parameter_names):
            values = fits.bestfit[:, i]
            assert study[name]["mean"] == pytest.approx(values.mean(), abs=1e-5)
            assert study[name]["spread"] == pytest.approx(values.std(ddof=1), abs=1e-5)
            assert study[name]["median"] == pytest.approx(np.median(values), abs=1e-5)


def test_goodness_and_limit_with_toys(model):
    good = nextstat.goodness_of_fit(model, toys=2000, seed=2)
    assert good.chi2 == nextstat.goodness_of_fit(model).chi2
    assert abs(good.p_value_toys - good.p_value) < 0.1
    assert good.p_value_toys_error == pytest.approx(np.sqrt(good.p_value_toys * (1 - good.p_value_toys) / 2000))
    assert good.toys["n_toys"] == 2000 and "p-value with toys" in repr(good)

    known = nextstat.upper_limit(model)
    limit = nextstat.upper_limit(model, toys=2000, seed=1)
    assert limit.observed_asymptotic == known.observed
    # The counts are small, so the asymptotic formula is not exact.
    assert abs(limit.observed - known.observed) < 0.15 * known.observed + 4 * limit.observed_error
    assert len(limit.expected) == 5 and limit.expected == sorted(limit.expected)
    assert limit.n_evaluations == len(limit.points)
    near = min(limit.points, key=lambda p: abs(p["mu"] - limit.observed))
    assert abs(near["cls"] - 0.05) < 2 * near["cls_error"]
    assert "±" in repr(limit)
    assert nextstat.upper_limit(model, toys=200, observed_only=True).expected == []
    with pytest.raises(ValueError, match="no meaning with toys"):
        nextstat.upper_limit(model, toys=10, scan_values=[1.0])


def test_old_spellings_say_what_is_missing_or_do_it(model):
    init = model.init
    data = model.toy_data(init, 3)
    calls = [
        (nextstat.compat.fit_toys_batch_gpu, nextstat.compat.fit_toys_batch_metal, (model, init), {"n_toys": 3, "seed": 1}),
        (nextstat.compat.fit_toys_from_data_gpu, nextstat.compat.fit_toys_from_data_metal, (model, data), {"init": init}),
        (nextstat.compat.hypotest_qtilde_toys_gpu, nextstat.compat.hypotest_qtilde_toys_metal, (1.0, model), {"n_toys": 3}),
    ]
    for cuda, metal, positional, named in calls:
        for function, available in ((cuda, nextstat.has_cuda()), (metal, nextstat.has_metal())):
            if available:
                function(*positional, **named)
            else:
                with pytest.raises(nextstat.DeviceError, match="device (cuda:0|metal) is not available|CUDA device|no device cuda"):
                    function(*positional, **named)
        cuda(*positional, **named, device="cpu")
    within = nextstat.compat.fit_toys_from_data_gpu(model, data, bounds=[(0, 1)] * 13, device="cpu").bestfit
    assert ((within >= 0) & (within <= 1)).all()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_keeps_what_is_done_and_gives_cls_with_its_error(fixtures):
    script = f"""
import os, signal, nextstat
model = nextstat.load_workspace({str(fixtures / SIMPLE)!r})
stopped = []
def progress(done, total):
    if done > 20_000 and not stopped:
        stopped.append(done)
        os.kill(os.getpid(), signal.SIGINT)
try:
    nextstat.hypotest_toys(model, 1.0, n_toys=2_000_000, progress=progress)
except KeyboardInterrupt as error:
    result = error.result
    assert 0 < result.n_toys["b"] < 2_000_000 and result.n_toys["sb"] > 0, result.n_toys
    assert 0 < result.cls < 1 and 0 < result.cls_error < 0.1, result
    assert any(w.startswith("interrupted") for w in result.warnings)
    print("kept")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "kept", done.stderr


# Means over the whole range of the Poisson generators.
MEANS = [1e-8, 1e-3, 0.1, 0.5, 1.0, 3.0, 7.5, 9.99, 10.01, 12.5, 29.0, 31.0, 64.3, 150.0, 1e3, 1e4, 1e5, 1e6, 1e7, 1e9]
N = 100_000


@pytest.fixture(scope="module")
def drawn():
    """Toys of a model with these means and with Gaussian and Poisson auxiliary data, the expected data, and the
    means of the Poisson auxiliary data."""
    relative = [0.5, 0.1, 0.02, 0.004]
    workspace = {
        "channels": [
            {
                "name": "A",
                "samples": [
                    {
                        "name": "s",
                        "data": MEANS,
                        "modifiers": [
                            {"name": "mu", "type": "normfactor", "data": None},
                            {"name": "alpha", "type": "normsys", "data": {"lo": 0.9, "hi": 1.1}},
                        ],
                    }
                ],
            },
            {
                "name": "B",
                "samples": [
                    {
                        "name": "s",
                        "data": [100.0] * 4,
                        "modifiers": [{"name": "g", "type": "shapesys", "data": [100 * r for r in relative]}],
                    }
                ],
            },
        ],
        "observations": [{"name": "A", "data": [0.0] * 20}, {"name": "B", "data": [100.0] * 4}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": []}}],
        "version": "1.0.0",
    }
    model = nextstat.load_workspace(workspace)
    point = {name: 1.0 for name in model.parameter_names} | {"alpha": 0.0}
    values = [point[name] for name in model.parameter_names]
    return model.toy_data(values, N, 12), model.expected_data(values), [1 / r**2 for r in relative]


def chi2_p(counts, distribution):
    """The p-value of a chi2 test of integer counts against a distribution, in bins with more than 50 expected toys."""
    quantiles = np.unique(distribution.ppf(np.linspace(0, 1, 102)[1:-1]))
    edges = np.concatenate([[-np.inf], quantiles, [np.inf]])
    expected = N * np.diff(np.concatenate([[0.0], distribution.cdf(quantiles), [1.0]]))
    found = np.histogram(counts, bins=np.nextafter(edges, np.inf))[0]
    keep = expected > 50
    found = np.append(found[keep], N - found[keep].sum())
    expected = np.append(expected[keep], N - expected[keep].sum())
    if expected[-1] < 5:
        found = np.append(found[:-2], found[-2:].sum())
        expected = np.append(expected[:-2], expected[-2:].sum())
    return stats.chisquare(found, expected).pvalue if len(found) > 1 else 1.0


class TestDraws:
    def test_main_counts_are_poisson(self, drawn):
        data, expected, _ = drawn
        np.testing.assert_allclose(expected[:20], MEANS, rtol=1e-12)
        for column, mean in zip(data.T, MEANS):
            assert (column >= 0).all() and (column == np.floor(column)).all()
            assert abs(column.mean() - mean) < 5 * np.sqrt(mean / N) + 1e-3 * np.sqrt(mean / N), mean
            # Error of a sample variance: the fourth central moment of Poisson is mean + 3 mean^2.
            error = np.sqrt((mean + 2 * mean**2) / N)
            assert abs(column.var() - mean) < 5 * error + 1e-12, mean
            if mean >= 1e-3:
                assert chi2_p(column, stats.poisson(mean)) > 1e-4, mean
            if mean >= 1e6:
                # With so large a mean, N toys cannot be told from those of a continuous distribution.
                assert stats.kstest(column + 0.5, stats.poisson(mean).cdf).pvalue > 1e-4, mean

    def test_auxiliary_data(self, drawn):
        data, expected, tau = drawn
        alpha, gammas = data[:, 24], data[:, 25:]
        assert stats.kstest(alpha, "norm").pvalue > 1e-4
        assert abs(alpha.mean()) < 5 / np.sqrt(N) and abs(alpha.var() - 1) < 5 * np.sqrt(2 / N)
        for column, mean in zip(gammas.T, tau):
            assert (column == np.floor(column)).all()
            assert chi2_p(column, stats.poisson(mean)) > 1e-4, mean

    def test_columns_and_neighbours_are_independent(self, drawn):
        data, *_ = drawn
        wide = data[:, [7, 11, 15, 20, 24, 25]]
        correlation = np.corrcoef(wide.T) - np.eye(6)
        assert np.abs(correlation).max() < 5 / np.sqrt(N)
        lagged = [np.corrcoef(column[1:], column[:-1])[0, 1] for column in wide.T]
        assert np.abs(lagged).max() < 5 / np.sqrt(N)

    def test_numbers_of_toys_seeds_and_hypotheses(self, model):
        init = model.init
        ten = model.toy_data(init, 10, 3)
        assert ten.shape == (10, len(model.observed_data()))
        assert (model.toy_data(init, 4, 3, first=5) == ten[5:9]).all()
        assert (model.toy_data(init, 10, 3, include_auxdata=False) == ten[:, :7]).all()
        assert not (model.toy_data(init, 10, 4) == ten).all()
        others = [model.toy_data(init, 10, 3, hypothesis=h) for h in ("b", "sb")]
        assert not (others[0] == others[1]).all() and not (others[0] == ten).all()
        with pytest.raises(ValueError, match="hypothesis"):
            model.toy_data(init, 1, hypothesis="c")
        with pytest.raises(ValueError, match="cannot draw toys"):
            bad = nextstat.load_workspace(
                {
                    "channels": [
                        {
                            "name": "A",
                            "samples": [
                                {
                                    "name": "s",
                                    "data": [-5.0, 5.0],
                                    "modifiers": [{"name": "mu", "type": "normfactor", "data": None}],
                                }
                            ],
                        }
                    ],
                    "observations": [{"name": "A", "data": [0.0, 5.0]}],
                    "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": []}}],
                    "version": "1.0.0",
                }
            )
            bad.toy_data([1.0], 1)


class Stop(Exception):
    """What a progress function raises in place of Ctrl-C."""


def test_a_saved_run_that_was_interrupted_is_continued(model, tmp_path):
    place = tmp_path / "toys.parquet"
    many = {"n_toys": 20_000, "seed": 5, "threads": 1}
    whole = nextstat.hypotest_toys(model, 1.0, **many)

    def stop(done, total):
        if done > 2_000:
            raise Stop

    with pytest.raises(Stop) as caught:
        nextstat.hypotest_toys(model, 1.0, save=place, progress=stop, **many)
    part = caught.value.result
    assert 0 < part.n_toys["b"] < 20_000
    assert any("resume=True" in warning for warning in part.warnings)
    assert part.cls == pytest.approx(whole.cls, abs=6 * part.cls_error)
    with pytest.raises(ValueError, match="resume=True"):
        nextstat.hypotest_toys(model, 1.0, save=place, **many)
    with pytest.raises(ValueError, match="seed"):
        nextstat.hypotest_toys(model, 1.0, save=place, resume=True, n_toys=20_000, seed=6)
    again = nextstat.hypotest_toys(model, 1.0, save=place, resume=True, **many)
    assert (again.cls, again.clsb, again.n_toys) == (whole.cls, whole.clsb, whole.n_toys)
    assert place.is_file()
    with pytest.raises(ValueError, match="resume=True needs save"):
        nextstat.hypotest_toys(model, 1.0, resume=True, **many)
