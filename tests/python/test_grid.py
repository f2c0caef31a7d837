"""Upper limits of many signals: `nextstat.grid`, and rows of the same type from a cluster."""

from __future__ import annotations

import copy
import json
import pathlib
import pickle

import pytest

import nextstat

FIXTURES = pathlib.Path(__file__).resolve().parents[1] / "fixtures"
BACKGROUND = FIXTURES / "background_only.json"
PATCHSET = FIXTURES / "patchset.json"


def patchset():
    return json.loads(PATCHSET.read_text())


def limits(rows):
    return [(row.result.observed, row.result.expected) for row in rows]


@pytest.fixture(scope="module")
def grid():
    return nextstat.grid(BACKGROUND, PATCHSET)


def test_rows_are_the_limits_of_single_models(grid):
    assert [row.name for row in grid] == ["gluino_1400_200", "gluino_1600_400", "gluino_1800_600"]
    for row in grid:
        single = nextstat.upper_limit(nextstat.load_workspace(BACKGROUND, patch=f"{PATCHSET}:{row.name}"))
        assert (row.result.observed, row.result.expected) == (single.observed, single.expected)
        assert row.status == "done" and row.reason is None and row.wall_s > 0
        assert repr(row.result).splitlines()[:5] == repr(single).splitlines()[:5]
    assert grid["gluino_1800_600"].values == {"m_gluino": 1800, "m_lsp": 600}
    assert grid.labels == ["m_gluino", "m_lsp"] and not grid.failed and grid.warnings == []


def test_patches_come_in_every_form(grid):
    members = {member["metadata"]["name"]: member["patch"] for member in patchset()["patches"]}
    background = json.loads(BACKGROUND.read_text())
    for patches in (patchset(), members, list(members.values()), str(PATCHSET)):
        rows = nextstat.grid(background, patches, threads=1)
        assert limits(rows) == limits(grid)
    assert [row.name for row in nextstat.grid(background, list(members.values()))] == ["0", "1", "2"]
    chosen = nextstat.grid(background, members, names=["*_400", "gluino_14*"])
    assert [row.name for row in chosen] == ["gluino_1400_200", "gluino_1600_400"]


def test_a_grid_of_parameters():
    simple = FIXTURES / "simple_workspace.json"
    grid = nextstat.grid(simple, parameters={"jet_scale": [-1, 1.0], "background_norm": [0.9]})
    assert [row.name for row in grid] == ["jet_scale=-1,background_norm=0.9", "jet_scale=1,background_norm=0.9"]
    assert grid.labels == ["jet_scale", "background_norm"] and grid.warnings == []
    model = nextstat.load_workspace(simple)
    for row in grid:
        single = nextstat.upper_limit(model, fixed=row.values)
        assert row.result.observed == pytest.approx(single.observed, rel=1e-9)
    assert grid.plot(labels="jet_scale").svg.startswith("<svg")
    for wrong, error, message in [
        ({}, TypeError, "give patches"),
        ({"parameters": ["jet_scale"]}, TypeError, "must map names to lists"),
        ({"parameters": {"jet_scale": 3}}, TypeError, "'jet_scale' must have a list of values"),
        ({"parameters": {"nobody": [1.0]}}, ValueError, "'nobody' is no parameter with a single value"),
        ({"parameters": {"jet_scale": [0.0]}, "patches": PATCHSET}, ValueError, "not both"),
    ]:
        with pytest.raises(error, match=message):
            nextstat.grid(simple, **wrong)


def test_a_signal_that_fails_is_a_row():
    patches = patchset()
    patches["patches"][1]["patch"][0]["path"] = "/channels/7/samples/0"
    with pytest.warns(UserWarning, match="1 of 3 points failed"):
        rows = nextstat.grid(BACKGROUND, patches)
    assert [row.status for row in rows] == ["done", "failed", "done"]
    [failed] = rows.failed
    assert "/channels/7/samples/0" in failed.reason and failed.result is None
    assert "1 failed" in repr(rows) and "gluino_1600_400" in rows.to_latex().replace("\\_", "_")
    assert rows.plot(labels="m_lsp").svg.startswith("<svg")


def test_a_file_continues(tmp_path, grid):
    file = tmp_path / "grid.json"
    nextstat.grid(BACKGROUND, PATCHSET, names="*_400", save=file)
    text = file.read_text()
    observed = grid["gluino_1600_400"].result.observed
    assert repr(observed) in text
    file.write_text(text.replace(repr(observed), "1234.5"))
    rows = nextstat.grid(BACKGROUND, PATCHSET, save=file, resume=True)
    assert [row.result.observed for row in rows] == [limits(grid)[0][0], 1234.5, limits(grid)[2][0]]
    with pytest.raises(ValueError, match="resume=True"):
        nextstat.grid(BACKGROUND, PATCHSET, save=file)
    with pytest.raises(ValueError, match="cl is 0.95 there and 0.9 here"):
        nextstat.grid(BACKGROUND, PATCHSET, save=file, resume=True, cl=0.9)
    with pytest.raises(ValueError, match="give save"):
        nextstat.grid(BACKGROUND, PATCHSET, resume=True)


def test_progress_counts_signals_and_an_interrupt_keeps_rows():
    seen = []
    nextstat.grid(BACKGROUND, PATCHSET, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (3, 3)

    def stop(done, total):
        if done:
            raise KeyboardInterrupt

    members = [member["patch"] for member in patchset()["patches"]]
    with pytest.raises(KeyboardInterrupt) as caught:
        nextstat.grid(BACKGROUND, {f"{i}": members[i % 3] for i in range(300)}, threads=1, progress=stop)
    statuses = [row.status for row in caught.value.result]
    assert len(statuses) == 300 and "done" in statuses


def test_wrong_arguments_are_named():
    with pytest.raises(TypeError, match="one patch"):
        nextstat.grid(BACKGROUND, patchset()["patches"][0]["patch"])
    with pytest.raises(TypeError, match="patches must be a patchset"):
        nextstat.grid(BACKGROUND, 3)
    with pytest.raises(nextstat.WorkspaceError, match="made for another workspace"):
        nextstat.grid(FIXTURES / "simple_workspace.json", PATCHSET)
    with pytest.raises(nextstat.WorkspaceError, match="squark"):
        nextstat.grid(BACKGROUND, PATCHSET, names="squark*")
    with pytest.raises(FileNotFoundError):
        nextstat.grid(BACKGROUND, "nowhere.json")
    with pytest.raises(ValueError, match="nothing to find"):
        nextstat.grid(BACKGROUND, PATCHSET, expected_only=True, observed_only=True)


def test_tables_and_pictures(grid, tmp_path):
    assert "m_gluino" in repr(grid) and "3 of 3 points done" in repr(grid)
    assert "<table" in grid._repr_html_()
    assert grid.to_csv().splitlines()[0].startswith("name,m_gluino,m_lsp,observed,-2 sigma")
    assert grid.to_markdown().count("|") > 20 and "tabular" in grid.to_latex()
    assert "excludes" in grid.plot(tmp_path / "grid.svg").svg and (tmp_path / "grid.svg").exists()
    plane = grid.plot(labels=["m_gluino", "m_lsp"], title="a title", subtitle="more")
    assert "a title" in plane.svg and "more" in plane.svg
    with pytest.raises(ValueError, match="no label 'm_squark'"):
        grid.plot(labels="m_squark")
    with pytest.raises(ValueError, match=r"\.svg"):
        grid.plot("grid.txt")


def test_data_frames(grid):
    pandas = pytest.importorskip("pandas")
    frame = grid.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and len(frame) == 3
    assert list(frame["m_lsp"]) == [200, 400, 600]
    assert list(frame["expected median"]) == [row.result.expected[2] for row in grid]
    assert "scan" in frame and "cls_at_limit" not in frame


def test_rows_can_be_copied_and_sent(grid):
    for rows in (copy.deepcopy(grid), pickle.loads(pickle.dumps(grid))):
        assert limits(rows) == limits(grid) and repr(rows) == repr(grid)
    assert [row.name for row in grid[1:]] == ["gluino_1600_400", "gluino_1800_600"]
    assert grid[1:].to_csv().count("\n") == 3
