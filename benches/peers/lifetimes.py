"""Decays with a resolution: the events, the HS3 file, and the same model in RooFit.

    python benches/peers/lifetimes.py 100000     # CPU times of fits, one thread, in one run

Cases: `per_event` has a Gaussian resolution whose width is a free scale times the error of each event, conditional on these
errors (as ROOT's tutorial rf306). `two_gaussians` has the sum of two Gaussians, and decays on both sides of 0. `truth` has no
resolution. `oscillation` has a cosine and a sine, with the flavour tag of each event.
"""

from __future__ import annotations

import json
import pathlib
import sys
import time

import numpy as np

SEED = 20261129
CASES = ("per_event", "two_gaussians", "truth", "oscillation")
AXIS = (-5.0, 15.0)
ERRORS = (0.02, 1.0)
#: Start value and bounds of the parameters.
PARAMETERS = {
    "per_event": {"tau": (1.3, 0.2, 5.0), "bias": (0.0, -1.0, 1.0), "scale": (1.0, 0.2, 4.0)},
    "two_gaussians": {"tau": (1.3, 0.2, 5.0), "bias": (0.0, -1.0, 1.0), "narrow": (0.3, 0.05, 1.0), "wide": (1.0, 0.5, 4.0),
                      "fraction": (0.6, 0.0, 1.0)},
    "truth": {"tau": (1.3, 0.2, 5.0)},
    "oscillation": {"tau": (1.5, 0.2, 5.0), "delta_m": (0.5, 0.1, 2.0), "asymmetry": (0.3, -0.9, 0.9), "c": (0.0, -0.9, 0.9)},
}


def events(case: str, n: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Returns the columns of about `n` events."""
    rng = np.random.default_rng([SEED, seed, n, CASES.index(case)])
    t = rng.exponential(1.5, 2 * n)
    columns = {}
    if case == "per_event":
        columns["dterr"] = np.clip(rng.gamma(4.0, 0.06, t.size), *ERRORS)
        t = t + rng.normal(0.02, 1.2 * columns["dterr"])
    elif case == "two_gaussians":
        t *= rng.choice([-1.0, 1.0], t.size)
        t += np.where(rng.random(t.size) < 0.7, rng.normal(0.05, 0.25, t.size), rng.normal(0.05, 1.2, t.size))
    elif case == "oscillation":
        columns["tag"] = rng.choice([-1.0, 1.0], t.size)
        wave = 1.0 + columns["tag"] * 0.4 * np.sin(0.51 * t)
        t = np.where(rng.random(t.size) * 1.4 < wave, t, np.nan)
        t = t + rng.normal(0.0, 0.3, t.size)
    columns["t"] = t
    keep = (t > AXIS[0]) & (t < AXIS[1])
    return {name: column[keep][:n] for name, column in columns.items()}


def document(case: str, n: int, seed: int = 0) -> dict:
    """Returns the HS3 document of a model, with its events."""
    columns = events(case, n, seed)
    gauss = lambda name, mean, sigma: {"name": name, "type": "gauss_model_function", "x": "t", "mean": mean, "sigma": sigma}  # noqa: E731
    decay = {"name": "decay", "type": "decay_dist", "t": "t", "tau": "tau", "decayType": 0, "resolutionModel": "resolution"}
    axes = [{"name": "t", "min": AXIS[0], "max": AXIS[1]}]
    functions: list[dict] = []
    if case == "per_event":
        axes.append({"name": "dterr", "min": ERRORS[0], "max": ERRORS[1]})
        functions = [{"name": "mean", "type": "product", "factors": ["bias", "dterr"]},
                     {"name": "width", "type": "product", "factors": ["scale", "dterr"]}]
        models = [gauss("resolution", "mean", "width")]
    elif case == "two_gaussians":
        decay["decayType"] = 1
        models = [gauss("first", "bias", "narrow"), gauss("second", "bias", "wide"),
                  {"name": "resolution", "type": "mixture_model", "summands": ["first", "second"], "coefficients": ["fraction"]}]
    elif case == "truth":
        models = [{"name": "resolution", "type": "truth_model_function", "x": "t"}]
    else:
        axes.append({"name": "tag", "min": -1.0, "max": 1.0})
        decay |= {"type": "nextstat.b_decay_dist", "delta_m": "delta_m", "sin": "s_tag", "cos": "c_tag"}
        functions = [{"name": f"{short}_tag", "type": "product", "factors": ["tag", name]}
                     for short, name in (("s", "asymmetry"), ("c", "c"))]
        models = [gauss("resolution", 0.0, 0.3)]
    begin = PARAMETERS[case]
    entries = np.stack([columns[axis["name"]] for axis in axes], axis=1).tolist()
    return {
        "metadata": {"hs3_version": "0.2.9"},
        "distributions": [decay, *models], "functions": functions,
        "data": [{"name": "data", "type": "unbinned", "axes": axes, "entries": entries}],
        "likelihoods": [{"name": "likelihood", "distributions": ["decay"], "data": ["data"]}],
        "domains": [{"name": "bounds", "type": "product_domain",
                     "axes": [{"name": name, "min": low, "max": high} for name, (_, low, high) in begin.items()]}],
        "parameter_points": [{"name": "start", "parameters": [
            {"name": name, "value": value} for name, (value, _, _) in begin.items()]}],
        "analyses": [{"name": "fit", "likelihood": "likelihood", "domain": "bounds", "init": "start",
                      "parameters_of_interest": ["tau"]}],
    }


def roofit(case: str, root, keep: list):
    """Returns the density in RooFit, its parameters by name, its observables, and those that are given."""

    def own(kind, name, *args):
        keep.append(getattr(root, kind)(name, name, *args))
        return keep[-1]

    p = {name: own("RooRealVar", name, *given) for name, given in PARAMETERS[case].items()}
    t = own("RooRealVar", "t", 0.0, *AXIS)
    one = own("RooRealVar", "one", 1.0)
    if case == "per_event":
        error = own("RooRealVar", "dterr", 0.2, *ERRORS)
        model = own("RooGaussModel", "resolution", t, p["bias"], p["scale"], error)
        return own("RooDecay", "decay", t, p["tau"], model, root.RooDecay.SingleSided), p, [t, error], [error]
    if case == "two_gaussians":
        parts = [own("RooGaussModel", name, t, p["bias"], p[name]) for name in ("narrow", "wide")]
        model = own("RooAddModel", "resolution", root.RooArgList(*parts), root.RooArgList(p["fraction"]))
        return own("RooDecay", "decay", t, p["tau"], model, root.RooDecay.DoubleSided), p, [t], []
    if case == "truth":
        model = own("RooTruthModel", "resolution", t)
        return own("RooDecay", "decay", t, p["tau"], model, root.RooDecay.SingleSided), p, [t], []
    tag = own("RooRealVar", "tag", 1.0, -1.0, 1.0)
    zero, width = own("RooRealVar", "zero", 0.0), own("RooRealVar", "width", 0.3)
    model = own("RooGaussModel", "resolution", t, zero, width)
    wave = {name: own("RooFormulaVar", f"{name}_tag", f"tag*{name}", root.RooArgList(tag, p[name])) for name in ("c", "asymmetry")}
    density = own("RooBDecay", "decay", t, p["tau"], zero, one, zero, wave["c"], wave["asymmetry"], p["delta_m"], model,
                  root.RooBDecay.SingleSided)
    return density, p, [t, tag], [tag]


def evaluate(case: str, n: int, points: list[dict]) -> dict:
    """Evaluates `-ln L` at points with RooFit, and fits. Returns the values, the minimum, the uncertainties and the time."""
    import ROOT as root

    root.RooMsgService.instance().setGlobalKillBelow(root.RooFit.ERROR)
    root.gErrorIgnoreLevel = root.kError
    keep: list = []
    density, parameters, observables, given = roofit(case, root, keep)
    columns = events(case, n)
    data = root.RooDataSet.from_numpy({x.GetName(): columns[x.GetName()] for x in observables}, observables)
    options = {"EvalBackend": "cpu"}
    if given:
        options["ConditionalObservables"] = root.RooArgSet(*given)
    nll = density.createNLL(data, **options)
    values = []
    for point in points:
        for name, value in point.items():
            parameters[name].setVal(value)
        values.append(nll.getVal())
    for name, (value, _, _) in PARAMETERS[case].items():
        parameters[name].setVal(value)
    start = time.process_time()
    minimiser = root.RooMinimizer(nll)
    minimiser.setPrintLevel(-1)
    minimiser.setStrategy(1)
    minimiser.minimize("Minuit2", "migrad")
    minimiser.hesse()
    seconds = time.process_time() - start
    return {"nll": values, "seconds": seconds, "minimum": {name: p.getVal() for name, p in parameters.items()},
            "uncertainties": {name: p.getError() for name, p in parameters.items()}}


def main() -> None:
    if sys.argv[1] == "--roofit":
        case, n, points = sys.argv[2], int(sys.argv[3]), json.loads(pathlib.Path(sys.argv[4]).read_text())
        print(json.dumps(evaluate(case, n, points)), flush=True)
        import os

        os._exit(0)  # ROOT's destructors may crash at exit
    import subprocess
    import tempfile

    import nextstat

    n = int(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        where = pathlib.Path(folder) / "points.json"
        for case in sys.argv[2:] or CASES:
            where.write_text("[]")
            call = [sys.executable, __file__, "--roofit", case, str(n), str(where)]
            done = subprocess.run(call, capture_output=True, text=True, check=True)
            theirs = json.loads(done.stdout.strip().splitlines()[-1])
            model = nextstat.load_workspace(document(case, n))
            seconds = []
            for _ in range(3):
                start = time.process_time()
                fit = nextstat.fit(model, threads=1)
                seconds.append(time.process_time() - start)
            ours = {name: (value, fit.uncertainty(name)) for name, value in zip(model.parameter_names, fit.bestfit)}
            away = max(abs(theirs["minimum"][name] - value) / error for name, (value, error) in ours.items())
            print(f"{case}: {n} events, RooFit {theirs['seconds']:.3f} s, NextStat {min(seconds):.4f} s, "
                  f"ratio {theirs['seconds'] / min(seconds):.1f}, largest distance {away:.2g} sigma, converged {fit.converged}")


if __name__ == "__main__":
    main()
