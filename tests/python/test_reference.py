"""Published workspaces against pyhf's numbers, from the folder NEXTSTAT_REFERENCE_DIR.

The folder holds `workspaces/NAME.json` and `reference/NAME.json`; a reference gives the
likelihood and the expected data at points, and the minimum, in both interpolation settings.
"""

import json
import os
import pathlib

import numpy as np
import pytest
from _tolerances import EXPECTED_DATA, FIT_MINIMUM
from comparison import NextstatEngine, pyhf_model, pyhf_twice_nll
from random_workspaces import Case

FOLDER = pathlib.Path(os.environ.get("NEXTSTAT_REFERENCE_DIR", "not-set"))
CODES = {"smooth": ("code4", "code4p"), "piecewise": ("code1", "code0")}
ROWS = [(path.stem, setting) for path in sorted((FOLDER / "reference").glob("*.json")) for setting in CODES]

pytestmark = pytest.mark.skipif(
    "NEXTSTAT_REFERENCE_DIR" not in os.environ, reason="NEXTSTAT_REFERENCE_DIR is not set"
)


def load(name, setting):
    reference = json.loads((FOLDER / "reference" / f"{name}.json").read_text(encoding="utf-8"))
    spec = json.loads((FOLDER / "workspaces" / f"{name}.json").read_text(encoding="utf-8"))
    normsys, histosys = CODES[setting]
    case = Case(0, 0, spec, reference["measurement"], reference["poi"], normsys, histosys)
    return reference, case, NextstatEngine(case)


def test_the_folder_has_references():
    assert ROWS, f"{FOLDER} has no reference/*.json"


@pytest.mark.parametrize(("name", "setting"), ROWS)
def test_parameters(name, setting):
    reference, _, engine = load(name, setting)
    assert engine.parameter_names == reference["param_names"]
    assert engine.init == reference["init"]
    assert engine.bounds == [tuple(map(float, b)) for b in reference["bounds"]]
    assert engine.fixed == reference["fixed"]


@pytest.mark.parametrize(("name", "setting"), ROWS)
def test_points(name, setting):
    """Likelihood and expected data at the initial and at random points."""
    reference, case, engine = load(name, setting)
    scalar = case.scalar()
    for entry in reference["settings"][setting]["points"]:
        point = [entry["params"][n] for n in reference["param_names"]]
        where = f"{name}, {setting}, point {entry['label']}"
        counts, sizes = scalar.expected_main(point)
        expected = engine.expected_data(point)[: len(counts)]
        assert np.all(np.abs(expected - entry["expected_data"]) <= EXPECTED_DATA * np.asarray(sizes)), where
        value, ours = scalar.evaluate(point), engine.twice_nll(point)
        assert abs(ours - value.twice_nll) <= value.tolerance, where
        assert abs(ours - entry["twice_nll"]) <= value.tolerance + value.pyhf_tolerance, where


@pytest.mark.parametrize(("name", "setting"), ROWS)
def test_minimum(name, setting):
    """The minimum is not above the reference, and pyhf computes the same value at our best fit."""
    reference, case, engine = load(name, setting)
    fits = reference["settings"][setting].get("fits", {})
    if not fits.get("unconditional", {}).get("twice_nll"):
        pytest.skip(f"no tool found a minimum of {name}, {setting} to compare with")
    point, ours, converged = engine.fit()
    assert converged
    theirs = fits["unconditional"]["twice_nll"]
    assert ours <= theirs + FIT_MINIMUM
    model, data = pyhf_model(case)
    value = case.scalar().evaluate(point)
    assert abs(ours - pyhf_twice_nll(model, point, data)) <= value.tolerance + value.pyhf_tolerance
