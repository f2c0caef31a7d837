"""Plugin of pytest: runs tests that spey publishes with this package's backend, where they ask for a model that HistFactory can express.

    pip download --no-binary :all: --no-deps spey==0.2.7 spey-pyhf==0.2.2 && for f in *.tar.gz; do tar xzf "$f"; done
    PYTHONPATH=tests/python python -m pytest -p spey_published spey-0.2.7/tests spey_pyhf-0.2.2/tests

`spey.get_backend` then gives the same models of another backend:

| asked for | made of |
|---|---|
| `pyhf` | the same workspace and patch |
| `pyhf.uncorrelated_background` | a `shapesys` |
| `default.uncorrelated_background` | a `histosys` per bin, linear; uncertainties of the signal are `normsys`, a channel per bin |
| `default.correlated_background` | the same, with correlated constraints |
| `default.poisson` | no uncertainties |

Other models, and arguments that HistFactory cannot express, stay those of spey. The last line says which tests asked for a model of ours.
"""

import numpy as np
import pytest
import spey

published = spey.get_backend
used, outcomes = set(), {}
running = None


def workspace(signal_yields, background_yields, data, absolute_uncertainties=None, modifiers=(), kind="histosys"):
    """A channel for each bin: the signal with its uncertainties, and the background with its own."""
    channels, observations = [], []
    for at, (signal, background, count) in enumerate(zip(signal_yields, background_yields, data)):
        scales = [{"name": "mu", "type": "normfactor", "data": None}]
        for modifier in modifiers:
            up, down = np.broadcast_to(modifier["uncertainties"][at], 2)
            # spey takes 1 + down / signal to the power of the parameter where that is negative.
            factors = {"hi": 1 + float(up) / signal, "lo": 1 / (1 + float(down) / signal)}
            scales.append({"name": f"signal_{modifier['name']}", "type": "normsys", "data": factors})
        shifts = []
        if absolute_uncertainties is not None:
            sigma = float(absolute_uncertainties[at])
            size = [sigma] if kind == "shapesys" else {"lo_data": [background - sigma], "hi_data": [background + sigma]}
            shifts = [{"name": f"bin_{at}", "type": kind, "data": size}]
        samples = [
            {"name": "signal", "data": [float(signal)], "modifiers": scales},
            {"name": "background", "data": [float(background)], "modifiers": shifts},
        ]
        channels.append({"name": f"channel_{at}", "samples": samples})
        observations.append({"name": f"channel_{at}", "data": [float(count)]})
    measurement = {"name": "search", "config": {"poi": "mu", "parameters": []}}
    return {"channels": channels, "observations": observations, "measurements": [measurement], "version": "1.0.0"}


class InOrder:
    """A model in the conventions of spey's own models: the signal strength first, and Asimov sets with the measured auxiliary data.

    Asimov sets of HistFactory have auxiliary data at the fitted parameters, in this package and in pyhf.
    """

    poi_index = 0

    def __init__(self, model, modifiers):
        self.model = model
        names = model.parameter_names
        bins = sorted(name for name in names if name.startswith("bin_"))
        rest = [f"signal_{modifier['name']}" for modifier in modifiers]
        # Where spey's order has a parameter of ours, and the other way round.
        self.order = [names.index(name) for name in ["mu", *bins, *rest]]
        self.back = np.argsort(self.order)
        self.parameter_names = [names[at] for at in self.order]
        self.init, self.bounds, self.fixed = model.init[self.order], model.bounds[self.order], model.fixed[self.order]
        self.toy_data = lambda pars, *positional, **named: model.toy_data(np.asarray(pars)[self.back], *positional, **named)
        self.observed_data = model.observed_data

    def expected_data(self, pars, include_auxdata=True):
        main = self.model.expected_data(np.asarray(pars)[self.back], include_auxdata=False)
        return np.concatenate([main, self.model.observed_data()[len(main) :]]) if include_auxdata else main

    def nll(self, pars, data=None):
        return self.model.nll(np.asarray(pars)[self.back], data)

    def nll_and_grad(self, pars, data=None):
        value, gradient = self.model.nll_and_grad(np.asarray(pars)[self.back], data)
        return value, gradient[self.order]

    def hessian(self, pars, data=None):
        return self.model.hessian(np.asarray(pars)[self.back], data)[np.ix_(self.order, self.order)]


def plain(arguments):
    """Arguments of spey's models without those that HistFactory cannot express. None if there are such."""
    modifiers = arguments.get("modifiers") or ()
    if any(modifier.get("type") != "normalization" for modifier in modifiers) or callable(arguments["signal_yields"]):
        return None
    return {name: np.atleast_1d(arguments[name]).tolist() for name in ("signal_yields", "background_yields", "data")} | {
        "modifiers": modifiers
    }


def instead(name, arguments):
    """The background workspace and the further arguments of this package's backend for a model of spey, or None."""
    arguments = dict(arguments)
    if name == "pyhf":
        return arguments.pop("background_only_model"), arguments
    told = {key: arguments.pop(key) for key in ("analysis", "xsection", "ntoys") if key in arguments}
    yields = plain(arguments) if "signal_yields" in arguments else None
    if yields is None:
        return None
    sigmas, options = arguments.get("absolute_uncertainties"), {"normsys_code": "code1"}
    if name == "default.poisson" and sigmas is None:
        return workspace(**yields), told
    if name == "default.uncorrelated_background":
        return workspace(**yields, absolute_uncertainties=sigmas), told | options
    if name == "pyhf.uncorrelated_background":
        return workspace(**yields, absolute_uncertainties=sigmas, kind="shapesys"), told
    if name == "default.correlated_background":
        covariance = np.asarray(arguments["covariance_matrix"], dtype=float)
        sigmas = np.sqrt(np.diag(covariance))
        # Published matrices need not be symmetric; SciPy's normal distribution reads the lower triangle.
        lower = np.tril(covariance / np.outer(sigmas, sigmas), -1)
        names = [f"bin_{at}" for at in range(len(sigmas))]
        correlations = {"parameters": names, "correlations": (lower + lower.T + np.eye(len(sigmas))).tolist()}
        return workspace(**yields, absolute_uncertainties=sigmas), told | options | {"correlations": correlations}
    return None


def get_backend(name):
    """`spey.get_backend`, with models of this package where HistFactory can express those asked for."""

    def model(*positional, **arguments):
        ours = None if positional else instead(name, arguments)
        if ours is None:
            return published(name)(*positional, **arguments)
        used.add(running)
        document, options = ours
        made = published("nextstat")(background_only_model=document, **options)
        if name.startswith("default."):
            made.backend._model, made.backend._poi = InOrder(made.backend.model, arguments.get("modifiers") or ()), 0
        return made

    return model if name == "pyhf" or name.endswith(("poisson", "correlated_background")) else published(name)


def pytest_configure(config):
    spey.get_backend = get_backend


def pytest_runtest_setup(item):
    global running
    running = item.nodeid


def pytest_runtest_logreport(report):
    if report.when == "call":
        outcomes[report.nodeid] = report.outcome


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter):
    for test in sorted(used):
        terminalreporter.write_line(f"with nextstat: {outcomes[test]} {test}")
