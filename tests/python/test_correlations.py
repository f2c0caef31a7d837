"""Correlated constraints, blinded channels and decorrelated parameters, compared with pyhf, NumPy and iminuit."""

import json
import math
import pickle
from pathlib import Path

import iminuit
import numpy as np
import pyhf
import pytest

import nextstat

SIMPLE = "tests/fixtures/simple_workspace.json"
ROOT = Path(__file__).resolve().parents[2]
NAMES = ["lumi", "jet_scale", "signal_theory", "stat_SR[1]"]
MATRIX = np.array([[1.0, 0.3, -0.2, 0.1], [0.3, 1.0, 0.6, -0.4], [-0.2, 0.6, 1.0, 0.1], [0.1, -0.4, 0.1, 1.0]])


def workspace():
    return json.loads((ROOT / SIMPLE).read_text())


def table(names=NAMES, matrix=MATRIX):
    return {"parameters": list(names), "correlations": np.asarray(matrix).tolist()}


class Likelihood:
    """-2 ln L of pyhf's model, with the joint normal density of the correlated auxiliary data in place of independent ones."""

    def __init__(self, names, matrix):
        settings = {"normsys": {"interpcode": "code4"}, "histosys": {"interpcode": "code4p"}}
        spec = pyhf.Workspace(workspace())
        self.model = spec.model(modifier_settings=settings)
        self.data = np.asarray(spec.data(self.model))
        order = self.model.config.par_names
        self.places = [order.index(name) for name in names]
        widths = np.concatenate([
            np.asarray(getattr(self.model.config.param_set(name), "sigmas", np.ones(1)), dtype=float)
            if hasattr(self.model.config.param_set(name), "sigmas") else
            np.ones(self.model.config.param_set(name).n_parameters)
            for name in self.model.config.par_order
        ])
        self.widths = widths[self.places]
        aux = np.asarray(self.model.config.auxdata)
        by_name = dict(zip(
            [name for key in self.model.config.auxdata_order
             for name in order[self.model.config.par_slice(key)]], aux, strict=True))
        self.aux = np.array([by_name[name] for name in names])
        self.covariance = np.outer(self.widths, self.widths) * matrix

    def __call__(self, theta):
        value = -2.0 * float(self.model.logpdf(theta, self.data)[0])
        away = np.asarray(theta)[self.places] - self.aux
        independent = np.sum((away / self.widths) ** 2 + 2 * np.log(self.widths)) + len(away) * math.log(2 * math.pi)
        sign, log_det = np.linalg.slogdet(2 * math.pi * self.covariance)
        assert sign > 0
        return value - independent + away @ np.linalg.solve(self.covariance, away) + log_det


def test_values_fits_and_covariances_are_those_of_an_independent_likelihood():
    own = Likelihood(NAMES, MATRIX)
    model = nextstat.load_workspace(SIMPLE, correlations=table())
    assert model.parameter_names == own.model.config.par_names
    rng = np.random.default_rng(5)
    start = np.asarray(model.init)
    for _ in range(5):
        theta = start + 0.05 * rng.normal(size=len(start))
        assert math.isclose(2 * model.nll(theta), own(theta), rel_tol=0, abs_tol=1e-8)
    result = nextstat.fit(model)
    minuit = iminuit.Minuit(own, start, name=model.parameter_names)
    minuit.limits = [tuple(bounds) for bounds in model.bounds]
    minuit.errordef, minuit.strategy, minuit.tol = 1.0, 2, 1e-4
    minuit.migrad()
    minuit.hesse()
    assert minuit.valid
    assert abs(result.twice_nll - minuit.fval) < 1e-6
    assert result.twice_nll < minuit.fval + 1e-8
    sigma = np.asarray(minuit.errors)
    assert np.all(np.abs(np.asarray(result.bestfit) - np.asarray(minuit.values)) < 5e-4 * sigma)
    theirs = np.asarray(minuit.covariance)
    scale = np.sqrt(np.outer(np.diag(theirs), np.diag(theirs)))
    # MINUIT differentiates numerically.
    assert np.max(np.abs(np.asarray(result.covariance) - theirs) / scale) < 2e-3
    again = pickle.loads(pickle.dumps(model))
    assert again.model_digest == model.model_digest


def test_auxiliary_data_of_toys_have_the_covariance():
    own = Likelihood(NAMES, MATRIX)
    model = nextstat.load_workspace(SIMPLE, correlations=table())
    theta = np.asarray(model.init)
    toys = np.asarray(model.toy_data(theta, 20000, 11))
    aux = toys[:, -len(own.model.config.auxdata):]
    names = [name for key in own.model.config.auxdata_order
             for name in own.model.config.par_names[own.model.config.par_slice(key)]]
    drawn = aux[:, [names.index(name) for name in NAMES]] / own.widths
    found = np.corrcoef(drawn, rowvar=False)
    assert np.max(np.abs(found - MATRIX)) < 5.0 / math.sqrt(20000)
    assert np.max(np.abs(drawn.std(axis=0) - 1.0)) < 5.0 / math.sqrt(40000)


def test_correlations_can_come_from_files(tmp_path):
    path = tmp_path / "rho.csv"
    rows = [",".join(["", *NAMES])] + [",".join([name, *map(str, row)]) for name, row in zip(NAMES, MATRIX, strict=True)]
    path.write_text("\n".join(rows))
    of_file = nextstat.load_workspace(SIMPLE, correlations=path)
    assert of_file.model_digest == nextstat.load_workspace(SIMPLE, correlations=[table()]).model_digest
    with pytest.raises(nextstat.WorkspaceError, match="smallest eigenvalue"):
        nextstat.load_workspace(SIMPLE, correlations=table(NAMES[:2], [[1.0, 1.1], [1.1, 1.0]]))
    with pytest.raises(TypeError, match="correlations must be"):
        nextstat.load_workspace(SIMPLE, correlations=3)


def test_blinded_channels_have_expected_data():
    model = nextstat.load_workspace(SIMPLE)
    control = nextstat.load_workspace(SIMPLE, channels="CR")
    of_cr = nextstat.fit(control)
    expected = nextstat.yields(model, of_cr)
    assert "signal_theory" in expected.to_dict()["not_in_fit"]
    blinded = nextstat.yields(model, blind="SR")
    pairs = {channel["name"]: channel for channel in blinded.channels}
    there = {channel["name"]: channel for channel in expected.channels}
    assert np.allclose(pairs["SR"]["data"], there["SR"]["total"], rtol=1e-8)
    assert pairs["SR"]["blinded"] and np.array_equal(pairs["CR"]["data"], there["CR"]["data"])
    assert blinded.blind == {"channels": ["SR"], "poi": None}
    result = nextstat.fit(model, blind=["SR"], asimov=0.5)
    assert result.blind == {"channels": ["SR"], "poi": 0.5} and "blinded" in repr(result)
    assert abs(result.bestfit[model.poi_index] - 0.5) < 1e-5
    assert nextstat.fit(model).blind is None
    for call in (lambda: nextstat.goodness_of_fit(model, blind="SR"), lambda: nextstat.fit(model, blind="XX")):
        with pytest.raises(ValueError, match="cannot blind"):
            call()
    with pytest.raises(ValueError, match="give data or blind"):
        nextstat.fit(model, data=model.observed_data(), blind="SR")


def test_decorrelated_parameters_are_independent():
    apart = nextstat.decorrelate(SIMPLE, "jet_scale", "channel")
    names = nextstat.load_workspace(apart).parameter_names
    assert {"jet_scale_CR", "jet_scale_SR"} <= set(names) and "jet_scale" not in names
    regions = {"low": ["CR"], "signal": {"samples": ["signal"]}}
    some, report = nextstat.decorrelate(SIMPLE, "jet_scale", regions, return_report=True)
    assert {"low", "signal", "jet_scale"} <= set(nextstat.load_workspace(some).parameter_names)
    assert len(report["changes"]) == 2
    # Fully correlated parameters are one parameter, so a strong correlation comes near the original.
    names = ["jet_scale_CR", "jet_scale_SR"]
    near = nextstat.load_workspace(apart, correlations=table(names, [[1.0, 0.999999], [0.999999, 1.0]]))
    shift = math.log(1 - 0.999999**2) + math.log(2 * math.pi)
    ours, whole = nextstat.fit(near), nextstat.fit(SIMPLE)
    assert abs(ours.twice_nll - shift - whole.twice_nll) < 1e-4
    with pytest.raises(ValueError, match="unknown by"):
        nextstat.decorrelate(SIMPLE, "jet_scale", "chanel")
    with pytest.raises(TypeError, match="by must be"):
        nextstat.decorrelate(SIMPLE, "jet_scale", 3)
