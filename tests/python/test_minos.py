"""MINOS intervals, compared with those of iminuit on pyhf's likelihood."""

import json

import iminuit
import numpy as np
import pyhf
import pytest

import nextstat


def iminuit_intervals(spec, names):
    """iminuit's MINOS on pyhf's `-2 logpdf`, after a fit with a small tolerance."""
    pyhf.set_backend("numpy")
    workspace = pyhf.Workspace(spec)
    model = workspace.model()
    data = np.asarray(workspace.data(model))
    function = lambda x: -2.0 * float(np.asarray(model.logpdf(x, data))[0])  # noqa: E731
    minuit = iminuit.Minuit(function, np.asarray(model.config.suggested_init(), float), name=model.config.par_names)
    minuit.errordef = 1.0
    minuit.limits = [tuple(bounds) for bounds in model.config.suggested_bounds()]
    minuit.fixed = model.config.suggested_fixed()
    minuit.strategy, minuit.tol = 2, 1e-5
    minuit.migrad()
    minuit.hesse()
    minuit.minos(*names)
    return minuit


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("simple_workspace.json", ["mu", "jet_scale", "background_norm"]),
        ("asymmetric.json", None),
    ],
)
def test_crossings_are_those_of_iminuit(fixtures, name, parameters):
    spec = json.loads((fixtures / name).read_text())
    model = nextstat.load_workspace(spec)
    fixed = set(nextstat.fit(model).fixed)
    parameters = parameters or [p for p in model.parameter_names if p not in fixed][:4]
    minuit = iminuit_intervals(spec, parameters)
    ours = nextstat.fit(model, minos=parameters)
    assert minuit.valid and ours.converged
    compared = 0
    for parameter in parameters:
        theirs, interval = minuit.merrors[parameter], ours.minos[parameter]
        sigma = ours.uncertainty(parameter)
        sides = (
            ("lower", interval.lower, theirs.lower, theirs.lower_valid, theirs.at_lower_limit),
            ("upper", interval.upper, theirs.upper, theirs.upper_valid, theirs.at_upper_limit),
        )
        for side, value, reference, valid, at_limit in sides:
            if at_limit:
                assert value is None and "bound" in getattr(interval, f"{side}_reason")
            elif valid:
                assert value == pytest.approx(reference, abs=2e-3 * sigma), (parameter, side)
                compared += 1
    assert compared >= 4


def test_the_level_is_met_exactly(fixtures):
    """iminuit's crossings are exact to about a per mille; at ours, twice_nll is 1 above its minimum up to rounding."""
    model = nextstat.load_workspace(fixtures / "asymmetric.json")
    names = [p for p in model.parameter_names if p not in nextstat.fit(model).fixed][:3]
    result = nextstat.fit(model, minos=names)
    for name in names:
        for crossing in (result.minos[name].lower_crossing, result.minos[name].upper_crossing):
            if crossing is not None:
                held = nextstat.fit(model, fixed={name: crossing})
                assert held.twice_nll - result.twice_nll == pytest.approx(1.0, abs=1e-7)


def test_a_crossing_beyond_a_bound_is_none_with_the_reason(fixtures):
    spec = json.loads((fixtures / "simple_workspace.json").read_text())
    config = spec["measurements"][0]["config"]
    config["parameters"] = [p for p in config["parameters"] if p["name"] != "mu"]
    config["parameters"].append({"name": "mu", "bounds": [[0.7, 1.1]], "inits": [0.9]})
    result = nextstat.fit(spec, minos=["mu"])
    interval = result.minos["mu"]
    assert interval.lower is None and "only at the lower bound 0.7" in interval.lower_reason
    assert interval.upper is None and "only at the upper bound 1.1" in interval.upper_reason
    assert sum("crossing of mu is null" in w for w in result.warnings) == 2
