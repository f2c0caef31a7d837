"""Evaluates a model of events with RooFit or zfit: `event_peer.py PEER CASE EVENTS COLUMNS.npz POINTS.json`.

A process of its own, because both change the state of their process. The models are those of `benches/peers/event_models.py`.
Prints JSON: `-ln L` at each point, up to a constant, and the parameters where the peer's own minimiser ends.
"""

from __future__ import annotations

import json
import os
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "benches" / "peers"))
import event_models as models  # noqa: E402


def roofit(case: str, n: int, columns: dict, points: list[dict]) -> dict:
    """Evaluates and fits with RooFit's vectorised backend."""
    import ROOT as root

    root.RooMsgService.instance().setGlobalKillBelow(root.RooFit.ERROR)
    root.gErrorIgnoreLevel = root.kError
    keep: list = []
    density, parameters, observables, category, measured = models.roofit(case, n, root, keep)
    if category is None:
        data = root.RooDataSet.from_numpy({name: columns[name] for name in observables}, list(observables.values()))
    else:
        parts = {key: root.RooDataSet.from_numpy({f"x{key}": columns[f"x{key}"]}, [observables[f"x{key}"]], name=key)
                 for key in "ab"}
        keep.append(parts)
        data = root.RooDataSet("data", "data", root.RooArgSet(*observables.values()), Index=category, Import=parts)
    options = dict(Extended=True, EvalBackend="cpu")
    if measured:
        options["GlobalObservables"] = root.RooArgSet(*measured)
    nll = density.createNLL(data, **options)
    values = []
    for point in points:
        for name, value in point.items():
            parameters[name].setVal(value)
        values.append(nll.getVal())
    minimiser = root.RooMinimizer(nll)
    minimiser.setPrintLevel(-1)
    minimiser.setStrategy(2)
    minimiser.minimize("Minuit2", "migrad")
    return {"nll": values, "minimum": {name: parameter.getVal() for name, parameter in parameters.items()}}


def zfit(case: str, n: int, columns: dict, points: list[dict]) -> dict:
    """Evaluates and fits with zfit."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("ZFIT_DISABLE_TF_WARNINGS", "1")
    import zfit as z

    given = models.starts(case, n)
    p = {name: z.Parameter(name, value, low, high) for name, (value, low, high) in given.items()}
    axes = models.AXES[case]["all"]
    spaces = {name: z.Space(name, limits) for name, limits in axes.items()}
    falling = lambda slope, space: z.pdf.Exponential(  # noqa: E731
        z.ComposedParameter(f"minus_{slope}", lambda params: -params["s"], params={"s": p[slope]}), space)
    if case == "gauss_exp":
        x = spaces["x"]
        parts = [z.pdf.Gauss(p["mean"], p["sigma"], x), falling("slope", x)]
    elif case == "crystal_ball":
        x = spaces["x"]
        signal = z.pdf.DoubleCB(mu=p["mean"], sigma=p["sigma"], alphal=p["alpha_l"], nl=models.POWERS[0],
                                alphar=p["alpha_r"], nr=models.POWERS[1], obs=x)
        parts = [signal, z.pdf.Chebyshev(x, [p["c1"], p["c2"]])]
    else:
        x, y = spaces["x"], spaces["y"]
        parts = [z.pdf.ProductPDF([z.pdf.Gauss(p["mean_x"], p["sigma_x"], x), z.pdf.Gauss(p["mean_y"], p["sigma_y"], y)]),
                 z.pdf.ProductPDF([falling("slope", x), z.pdf.Chebyshev(y, [p["c1"]])])]
    whole = z.pdf.SumPDF([part.create_extended(p[name]) for part, name in zip(parts, ("nsig", "nbkg"))])
    space = next(iter(spaces.values())) if len(spaces) == 1 else spaces["x"] * spaces["y"]
    data = z.Data.from_numpy(obs=space, array=np.stack([columns[name] for name in axes], axis=1))
    constraints = [z.constraint.GaussianConstraint(p[name], observation=mean, sigma=width)
                   for name, (mean, width) in models.CONSTRAINTS.get(case, {}).items()]
    loss = z.loss.ExtendedUnbinnedNLL(whole, data, constraints=constraints)
    values = []
    for point in points:
        for name, value in point.items():
            p[name].set_value(value)
        values.append(float(loss.value(full=True)))
    for name, (value, _, _) in given.items():
        p[name].set_value(value)
    result = z.minimize.Minuit(gradient="zfit").minimize(loss)
    return {"nll": values, "minimum": {name: float(result.params[parameter]["value"]) for name, parameter in p.items()}}


def main() -> None:
    peer, case, n, columns, points = sys.argv[1:]
    run = {"roofit": roofit, "zfit": zfit}[peer]
    answer = run(case, int(n), dict(np.load(columns)), json.loads(pathlib.Path(points).read_text()))
    print(json.dumps(answer), flush=True)
    os._exit(0)  # ROOT's destructors may crash at exit


if __name__ == "__main__":
    main()
