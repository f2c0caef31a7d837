"""Models of events beside RooFit and zfit, where they are installed: `pip install root==0.1a12`, `pip install zfit`."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import subprocess
import sys

import pytest

import nextstat

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parents[1] / "benches" / "peers"))
import event_models as models  # noqa: E402

EVENTS = 5000
MODULES = {"roofit": "ROOT", "zfit": "zfit"}
CASES = [("roofit", case) for case in models.PARAMETERS]
CASES += [("zfit", case) for case in ("gauss_exp", "crystal_ball", "two_dimensions")]
#: Largest relative difference of `-ln L` between two points. zfit normalises Crystal Balls and products with numbers of
#: its own precision.
TOLERANCE = {"roofit": 1e-9, "zfit": 1e-7}


def points(case: str) -> list[dict[str, float]]:
    """The starting point, and three others within the bounds."""
    begin = models.starts(case, EVENTS)
    shifts = [0.0, 0.01, -0.02, 0.03]
    return [{name: min(max(value + shift * (1 + i % 3) * min(value - low, high - value), low), high)
             for i, (name, (value, low, high)) in enumerate(begin.items())} for shift in shifts]


@pytest.mark.parametrize(("peer", "case"), CASES, ids=["-".join(pair) for pair in CASES])
def test_values_and_minima_are_those_of_the_peer(peer: str, case: str, tmp_path: pathlib.Path) -> None:
    """Differences of `-ln L` agree, and the peer's minimum is not below ours."""
    if importlib.util.find_spec(MODULES[peer]) is None:
        pytest.skip(f"{MODULES[peer]} is not installed: {case} was NOT compared with {peer}")
    path = models.write(case, EVENTS, tmp_path)
    where = tmp_path / "points.json"
    where.write_text(json.dumps(points(case)))
    arguments = [peer, case, str(EVENTS), str(path).replace(".hs3.json", ".npz"), str(where)]
    done = subprocess.run([sys.executable, str(FOLDER / "event_peer.py"), *arguments], capture_output=True, text=True,
                          timeout=600)
    assert done.stdout.strip(), done.stderr[-2000:]
    theirs = json.loads(done.stdout.strip().splitlines()[-1])

    model = nextstat.load_workspace(path)
    names = model.parameter_names
    ours = [model.nll([point[name] for name in names]) for point in points(case)]
    first = theirs["nll"][0]
    for mine, value in zip(ours[1:], theirs["nll"][1:]):
        assert mine - ours[0] == pytest.approx(value - first, rel=TOLERANCE[peer], abs=TOLERANCE[peer] * abs(first))

    fit = nextstat.fit(model)
    there = model.nll([theirs["minimum"][name] for name in names])
    assert fit.converged
    assert -1e-7 < there - fit.nll < 1e-2
    for name, best in zip(names, fit.bestfit):
        assert theirs["minimum"][name] == pytest.approx(best, abs=0.1 * fit.uncertainty(name)), name
