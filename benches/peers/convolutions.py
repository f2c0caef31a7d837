"""A Landau density convolved with a Gaussian: the events, the HS3 file, and the same model in RooFit (`RooFFTConvPdf`).

    python benches/peers/convolutions.py 100000     # CPU times of fits, one thread, in one run
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import numpy as np

SEED = 20261129
AXIS = (-10.0, 30.0)
#: Start value and bounds of the parameters.
PARAMETERS = {"place": (5.5, -20.0, 20.0), "width": (0.9, 0.1, 10.0), "sigma": (1.8, 0.1, 10.0)}


def events(n: int) -> np.ndarray:
    """Returns about `n` events. A Landau density is stable (Chambers, Mallows and Stuck, 1976)."""
    rng = np.random.default_rng([SEED, n])
    angle, wait = rng.uniform(-np.pi / 2, np.pi / 2, 2 * n), rng.exponential(1.0, 2 * n)
    half = np.pi / 2
    landau = (half + angle) * np.tan(angle) - np.log(half * wait * np.cos(angle) / (half + angle)) + np.log(half)
    x = 5.0 + landau + rng.normal(0.0, 2.0, 2 * n)
    return x[(x > AXIS[0]) & (x < AXIS[1])][:n]


def document(n: int) -> dict:
    """Returns the HS3 document of the model, with its events."""
    return {
        "metadata": {"hs3_version": "0.2.9"},
        "distributions": [
            {"name": "model", "type": "fft_conv_pdf", "conv_var": "x", "pdf1": "landau", "pdf2": "gauss"},
            {"name": "landau", "type": "landau_dist", "x": "x", "mean": "place", "sigma": "width"},
            {"name": "gauss", "type": "gaussian_dist", "x": "x", "mean": 0, "sigma": "sigma"},
        ],
        "data": [{"name": "data", "type": "unbinned", "axes": [{"name": "x", "min": AXIS[0], "max": AXIS[1]}],
                  "entries": events(n)[:, None].tolist()}],
        "likelihoods": [{"name": "likelihood", "distributions": ["model"], "data": ["data"]}],
        "domains": [{"name": "bounds", "type": "product_domain",
                     "axes": [{"name": name, "min": low, "max": high} for name, (_, low, high) in PARAMETERS.items()]}],
        "parameter_points": [{"name": "start", "parameters": [
            {"name": name, "value": value} for name, (value, _, _) in PARAMETERS.items()]}],
        "analyses": [{"name": "fit", "likelihood": "likelihood", "domain": "bounds", "init": "start",
                      "parameters_of_interest": ["place"]}],
    }


def roofit(n: int) -> dict:
    """Fits with RooFit. Returns the minimum and the CPU time."""
    import ROOT as root

    root.RooMsgService.instance().setGlobalKillBelow(root.RooFit.ERROR)
    root.gErrorIgnoreLevel = root.kError
    x = root.RooRealVar("x", "x", 0.0, *AXIS)
    x.setBins(10000, "cache")
    p = {name: root.RooRealVar(name, name, *given) for name, given in PARAMETERS.items()}
    zero = root.RooRealVar("zero", "zero", 0.0)
    landau = root.RooLandau("landau", "landau", x, p["place"], p["width"])
    gauss = root.RooGaussian("gauss", "gauss", x, zero, p["sigma"])
    model = root.RooFFTConvPdf("model", "model", x, landau, gauss)
    data = root.RooDataSet.from_numpy({"x": events(n)}, [x])
    nll = model.createNLL(data, EvalBackend="cpu")
    start = time.process_time()
    minimiser = root.RooMinimizer(nll)
    minimiser.setPrintLevel(-1)
    minimiser.setStrategy(1)
    minimiser.minimize("Minuit2", "migrad")
    minimiser.hesse()
    return {"seconds": time.process_time() - start, "minimum": {name: v.getVal() for name, v in p.items()}}


def main() -> None:
    n = int(sys.argv[-1])
    if sys.argv[1] == "--roofit":
        print(json.dumps(roofit(n)), flush=True)
        os._exit(0)  # ROOT's destructors may crash at exit
    import nextstat

    done = subprocess.run([sys.executable, __file__, "--roofit", str(n)], capture_output=True, text=True, check=True)
    theirs = json.loads(done.stdout.strip().splitlines()[-1])
    model = nextstat.load_workspace(document(n))
    seconds = []
    for _ in range(3):
        start = time.process_time()
        fit = nextstat.fit(model, threads=1)
        seconds.append(time.process_time() - start)
    away = max(abs(theirs["minimum"][name] - fit.value(name)) / fit.uncertainty(name) for name in PARAMETERS)
    print(f"Landau and Gauss: {n} events, RooFit {theirs['seconds']:.3f} s, NextStat {min(seconds):.4f} s, "
          f"ratio {theirs['seconds'] / min(seconds):.1f}, largest distance {away:.2g} sigma, converged {fit.converged}")


if __name__ == "__main__":
    main()
