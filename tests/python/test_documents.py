"""Results as tables of documents and as data frames."""

import csv
import io
import json
import pathlib
import pickle
import sys

import nextstat
import pandas
import polars
import pytest

SPEC = pathlib.Path(__file__).parents[1] / "fixtures" / "simple_workspace.json"


@pytest.fixture(scope="module")
def model():
    return nextstat.load_workspace(SPEC)


ANALYSES = {
    "fit": lambda m: nextstat.fit(m, minos=["mu"]),
    "batch": lambda m: nextstat.fit_batch(m, [m.observed_data(), m.observed_data() + 1.0]),
    "ranking": nextstat.ranking,
    "yields": nextstat.yields,
    "scan": lambda m: nextstat.profile_scan(m, [0.0, 1.0, 2.0]),
    "grid": lambda m: nextstat.profile_scan(m, [0.5, 1.0, 1.5], param2="jet_scale", mu2_values=[0.0, 0.5]),
    "limit": nextstat.upper_limit,
    "observed limit": lambda m: nextstat.upper_limit(m, observed_only=True),
    "test": lambda m: nextstat.hypotest(m, 1.0),
    "significance": nextstat.significance,
    "goodness": nextstat.goodness_of_fit,
    "toys": lambda m: nextstat.fit_toys(m, n_toys=5, seed=1),
    "kept toys": lambda m: nextstat.fit_toys(m, n_toys=5, seed=1, keep_toys=True),
    "toy test": lambda m: nextstat.hypotest_toys(m, 1.0, n_toys=20, seed=1),
    "toy test with toys": lambda m: nextstat.hypotest_toys(m, 1.0, n_toys=20, seed=1, keep_toys=True),
    "injection": lambda m: nextstat.injection(m, [0.5, 1.5], n_toys=20, seed=1),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", ANALYSES)
def test_every_result_is_a_table_and_a_frame(model, name):
    result = ANALYSES[name](model)
    latex, markdown = result.to_latex(), result.to_markdown()
    # A goodness of fit is told in sentences.
    n_tables = latex.count(r"\begin{tabular}")
    assert n_tables == latex.count(r"\end{tabular}") == markdown.count("\n| ---")
    assert (n_tables > 0) == (name != "goodness")
    rows = list(csv.reader(io.StringIO(result.to_csv().split("\n\n")[0])))
    assert len(rows) > 1 and (len({len(row) for row in rows}) == 1 or name == "goodness")
    frame, other = result.to_pandas(), result.to_polars()
    assert len(frame) == other.height > 0
    assert list(frame.columns) == other.columns


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_frames_have_all_digits_at_the_right_place(model):
    fit = ANALYSES["fit"](model)
    frame = fit.to_pandas().set_index("parameter")
    assert frame.loc["mu", "bestfit"] == fit.bestfit[fit.poi_index]
    assert frame.loc["mu", "minos_upper"] == fit.minos["mu"].upper
    grid = ANALYSES["grid"](model).to_polars()
    at = grid.filter((polars.col("mu") == 1.5) & (polars.col("jet_scale") == 0.5))["twice_delta_nll"].item()
    alone = nextstat.fit(model, fixed={"mu": 1.5, "jet_scale": 0.5}).twice_nll - nextstat.fit(model).twice_nll
    assert at == pytest.approx(alone, abs=1e-9)
    yields = nextstat.yields(model).to_pandas()
    observed = {o["name"]: o["data"] for o in json.loads(SPEC.read_text())["observations"]}
    data = yields[(yields["channel"] == "SR") & (yields["sample"] == "data")]
    assert data["events"].tolist() == observed["SR"]
    total = yields.groupby(["channel", "sample"])["events"].sum()
    assert total["SR", "total"] == pytest.approx(total["SR", "signal"] + total["SR", "background"])
    assert isinstance(yields, pandas.DataFrame)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_frames_of_toys_have_a_row_per_toy(model, tmp_path):
    kept = nextstat.fit_toys(model, n_toys=40, seed=3, keep_toys=True)
    plain = nextstat.fit_toys(model, n_toys=40, seed=3)
    frame = kept.to_pandas()
    assert len(frame) == 40 and frame["index"].tolist() == list(range(40)) and set(frame["status"]) == {"converged"}
    assert plain.kept_toys is None and plain.to_pandas()["name"].tolist() == [p.name for p in plain.parameters]
    leave = {"wall_s", "toys_per_s"}
    numbers = lambda result: {key: value for key, value in result.to_dict().items() if key not in leave}
    assert numbers(kept) == numbers(plain)
    (mu,) = [p for p in kept.parameters if p.name == "mu"]
    assert frame["value:mu"].mean() == pytest.approx(mu.mean, rel=1e-12)
    pulls = ((frame["value:mu"] - mu.generated) / frame["uncertainty:mu"]).dropna()
    assert len(pulls) == mu.n_pulls and pulls.mean() == pytest.approx(mu.pull_mean, rel=1e-9)

    path = tmp_path / "toys.parquet"
    test = nextstat.hypotest_toys(model, 1.0, n_toys=30, seed=3, keep_toys=True, save=path)
    frame = test.to_polars()
    assert frame.height == 60 and frame["hypothesis"].to_list() == ["b"] * 30 + ["sb"] * 30
    # They are the rows of the file, and of the result.
    saved = polars.read_parquet(path).sort("hypothesis", "index")
    assert set(saved.columns) == set(frame.columns)
    assert frame["statistic"].to_list() == saved["statistic"].to_list() and frame["mu_hat"].to_list() == saved["mu_hat"].to_list()
    signal = frame.filter(polars.col("hypothesis") == "sb")
    assert (signal["statistic"] >= test.q_obs).sum() / 30 == pytest.approx(test.clsb)
    again = pickle.loads(pickle.dumps(test))
    assert again.to_polars().equals(frame) and again.plot().svg == test.plot().svg
    assert nextstat.hypotest_toys(model, 1.0, n_toys=30, seed=3).kept_toys is None


def test_results_are_streams_of_arrow(model, monkeypatch):
    fit = nextstat.fit(model)
    assert polars.DataFrame(fit).equals(fit.to_polars())
    batch = nextstat.fit_batch(model, [model.observed_data()])
    assert polars.DataFrame(batch).columns == batch.to_polars().columns
    pyarrow = pytest.importorskip("pyarrow")
    assert pyarrow.table(nextstat.ranking(model)).num_rows == 12
    for package in ("polars", "pyarrow", "pandas"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match="a stream of Arrow needs polars or pyarrow"):
        fit.__arrow_c_stream__()


def test_a_frame_says_which_package_it_needs(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match=r"to_polars\(\) needs polars: pip install polars"):
        nextstat.fit(model).to_polars()
