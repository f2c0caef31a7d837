"""Results as tables of documents and as data frames."""

import csv
import io
import json
import pathlib
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
    "toy test": lambda m: nextstat.hypotest_toys(m, 1.0, n_toys=20, seed=1),
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


def test_a_frame_says_which_package_it_needs(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match=r"to_polars\(\) needs polars: pip install polars"):
        nextstat.fit(model).to_polars()
