"""Compares an engine with pyhf on one workspace and lists every disagreement.

The engine is anything with the methods of :class:`NextstatEngine`; the tests run it with
the package, and against a deliberately wrong engine to see that faults are noticed.
"""

from __future__ import annotations

import contextlib
import logging
import math
import warnings

import numpy as np
import pyhf
from _tolerances import EXPECTED_DATA, FIT_MINIMUM
from random_workspaces import Case, random_point

logging.getLogger("pyhf").setLevel(logging.CRITICAL)


class NextstatEngine:
    """The package under test, on one workspace."""

    def __init__(self, case: Case):
        import nextstat

        self.package = nextstat
        self.model = nextstat.load_workspace(
            case.spec,
            measurement=case.measurement,
            normsys_code=case.normsys_code,
            histosys_code=case.histosys_code,
        )

    @property
    def parameter_names(self):
        return list(self.model.parameter_names)

    @property
    def init(self):
        return [float(x) for x in self.model.init]

    @property
    def bounds(self):
        return [tuple(map(float, b)) for b in self.model.bounds]

    @property
    def fixed(self):
        return [bool(f) for f in self.model.fixed]

    def expected_data(self, point):
        return np.asarray(self.model.expected_data(np.asarray(point)))

    def twice_nll(self, point):
        return 2 * float(self.model.nll(np.asarray(point)))

    def fit(self):
        """Returns the best fit, twice the NLL there, and whether the fit converged."""
        result = self.package.fit(self.model)
        return [float(x) for x in result.bestfit], float(result.twice_nll), bool(result.converged)


def pyhf_model(case: Case):
    """pyhf's model of the case and its data, observed and auxiliary."""
    workspace = pyhf.Workspace(case.spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = workspace.model(
            measurement_name=case.measurement,
            poi_name=case.poi,
            modifier_settings={
                "normsys": {"interpcode": case.normsys_code},
                "histosys": {"interpcode": case.histosys_code},
            },
        )
    return model, workspace.data(model)


def pyhf_twice_nll(model, point, data) -> float:
    """``-2 ln L`` computed by pyhf. It is not finite where pyhf's `logpdf` is not finite."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return -2 * float(np.asarray(model.logpdf(np.asarray(point, float), np.asarray(data, float)))[0])


def pyhf_minima(model, data, optimizers=("scipy", "minuit")):
    """The points at which pyhf's own optimizers end; those that fail are left out."""
    makers = {"scipy": pyhf.optimize.scipy_optimizer, "minuit": pyhf.optimize.minuit_optimizer}
    lo, hi = np.asarray(model.config.suggested_bounds(), float).T
    points = {}
    for name in optimizers:
        pyhf.set_backend("numpy", makers[name]())
        with (
            contextlib.suppress(Exception),  # pyhf raises errors of many types; only its successes are compared
            np.errstate(all="ignore"),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            points[name] = np.clip(np.asarray(pyhf.infer.mle.fit(data, model)), lo, hi).tolist()
    return points


def compare_parameters(case, engine, model):
    """Lists differences of names, order, initial values, bounds and fixed flags, which must be exactly equal."""
    config = model.config
    pairs = [
        ("parameter names", engine.parameter_names, list(config.par_names)),
        ("initial values", engine.init, [float(x) for x in config.suggested_init()]),
        ("bounds", engine.bounds, [tuple(map(float, b)) for b in config.suggested_bounds()]),
        ("fixed flags", engine.fixed, list(config.suggested_fixed())),
    ]
    return [f"{what}: {ours} but pyhf has {theirs}" for what, ours, theirs in pairs if ours != theirs]


def compare_point(case, engine, model, data, scalar, point):
    """Lists differences of expected data and twice_nll at one point from pyhf and from the scalar model."""
    problems = []
    counts, sizes = scalar.expected_main(point)
    theirs = np.asarray(model.expected_data(point), float)
    ours = np.asarray(engine.expected_data(point), float)
    allowed = EXPECTED_DATA * np.concatenate([sizes, np.abs(theirs[len(counts) :])])
    if ours.shape != theirs.shape:
        return [f"expected data have shape {ours.shape}, pyhf's {theirs.shape}"]
    worst = int(np.argmax(np.abs(ours - theirs) - allowed))
    if not abs(ours[worst] - theirs[worst]) <= allowed[worst]:
        problems.append(
            f"expected data [{worst}]: {ours[worst]!r}, pyhf {theirs[worst]!r}, allowed {allowed[worst]:.1e}"
        )
    value = scalar.evaluate(point)
    if value.ambiguous:
        return problems
    ours, theirs = engine.twice_nll(point), pyhf_twice_nll(model, point, data)
    if not math.isfinite(theirs):
        if math.isfinite(ours):
            problems.append(f"twice_nll: {ours!r} where pyhf has {theirs!r} at {point}")
        return problems
    allowed = value.tolerance + value.pyhf_tolerance
    if not abs(ours - theirs) <= allowed:
        problems.append(f"twice_nll: {ours!r}, pyhf {theirs!r}, allowed {allowed:.1e} at {point}")
    if not abs(ours - value.twice_nll) <= value.tolerance:
        problems.append(f"twice_nll: {ours!r}, exact {value.twice_nll!r}, allowed {value.tolerance:.1e} at {point}")
    return problems


def compare_fit(case, engine, model, data, scalar, optimizers=("scipy", "minuit")):
    """Lists problems of the fit: its minimum must have the value that pyhf computes there, lie inside the bounds,
    and not be above any minimum that pyhf finds."""
    point, ours, converged = engine.fit()
    problems = [] if converged else ["the fit did not converge"]
    for name, x, init, (lo, hi), fixed in zip(
        scalar.parameter_names, point, scalar.init, scalar.bounds, scalar.fixed
    ):
        if fixed and x != init:
            problems.append(f"fixed parameter {name} moved from {init!r} to {x!r}")
        if not fixed and not lo <= x <= hi:
            problems.append(f"{name} = {x!r} is outside [{lo}, {hi}]")
    value, theirs = scalar.evaluate(point), pyhf_twice_nll(model, point, data)
    if not value.ambiguous and not abs(ours - theirs) <= value.tolerance + value.pyhf_tolerance:
        problems.append(f"the minimum is reported as {ours!r}, but pyhf has {theirs!r} at the same point {point}")
    for name, other in pyhf_minima(model, data, optimizers).items():
        found = scalar.evaluate(other).twice_nll
        if math.isfinite(found) and not ours <= found + FIT_MINIMUM + value.tolerance:
            problems.append(f"the minimum {ours!r} is {ours - found:.2e} above what pyhf finds with {name}, {other}")
    return problems


def compare_case(case, make_engine=NextstatEngine, n_points=4, optimizers=("scipy", "minuit")):
    """Lists every disagreement of one case as text. An empty list means that both agree."""
    model, data = pyhf_model(case)
    scalar = case.scalar()
    try:
        engine = make_engine(case)
    except Exception as error:  # any error is wrong, because pyhf accepts this workspace
        return [f"rejected, while pyhf accepts it: {type(error).__name__}: {error}"]
    problems = compare_parameters(case, engine, model)
    if problems:
        return problems
    rng = np.random.default_rng([case.seed, case.index, 7])
    for point in [scalar.init, *(random_point(rng, scalar) for _ in range(n_points - 1))]:
        problems += compare_point(case, engine, model, data, scalar, point)
    try:
        problems += compare_fit(case, engine, model, data, scalar, optimizers)
    except Exception as error:
        problems.append(f"the fit raised {type(error).__name__}: {error}")
    return problems


def pyhf_rejects(case) -> str | None:
    """Returns the reason why pyhf rejects this workspace; ``None`` if pyhf accepts it."""
    try:
        with np.errstate(all="ignore"):
            pyhf_model(case)
    except Exception as error:  # pyhf rejects workspaces by errors of many types, even AssertionError
        return f"{type(error).__name__}: {str(error)[:200]}"
    return None
