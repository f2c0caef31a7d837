"""Runs one tool in its own interpreter. Reads requests as JSON lines, and answers with times.

compare.py runs this script as `python worker.py TOOL`, where TOOL is ours, peer or pyhf. Only the work itself is
timed. Reading JSON requests, building changed inputs and moving numbers between processes are not timed. Every
request has new inputs.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from worker_inputs import perturbed


# Values of the parameter of interest in a scan.
SCAN = np.linspace(0.0, 2.0, 21)

# The analyses that `analyse` can run.
ANALYSES = ("scan", "hypotest", "limit", "ranking", "ranking with pre-fit")


class Ours:
    """This project's package."""

    def __init__(self):
        import nextstat

        self.package, self.version = nextstat, getattr(nextstat, "__version__", "?")

    def load(self, text):
        return self.package.load_workspace(json.loads(text))

    def load_timed(self, path):
        return self.package.load_workspace(path)

    def init(self, model):
        return np.asarray(model.init)

    def points(self, array):
        return list(array)

    def value(self, model, point):
        return model.nll(point)

    def gradient(self, model, point):
        # An optimiser needs the value too, so it is computed.
        return model.nll_and_grad(point)

    def fit(self, model):
        result = self.package.fit(model, threads=1)
        # These attributes may be computed on demand, so they are read in the timed region.
        return result, result.uncertainties, result.covariance

    def minimum(self, outcome):
        return float(outcome[0].twice_nll)

    def analyse(self, what, model, threads):
        package = self.package
        if what == "scan":
            # The peer does not find intervals.
            return package.profile_scan(model, SCAN, intervals=False, threads=threads).twice_delta_nll
        if what == "hypotest":
            return package.hypotest(model, 1.0, threads=threads).cls
        if what == "limit":
            return package.upper_limit(model, threads=threads).expected
        prefit = what == "ranking with pre-fit"
        return package.ranking(model, prefit=prefit, threads=threads).ranking


class Peer:
    """nextstat 0.10.1 from PyPI."""

    def __init__(self):
        import nextstat

        self.package, self.version = nextstat, getattr(nextstat, "__version__", "?")
        nextstat.set_threads(1)

    def load(self, text):
        return self.package.from_pyhf(text)

    def load_timed(self, path):
        with open(path, encoding="utf-8") as file:
            return self.package.from_pyhf(file.read())

    def init(self, model):
        return np.asarray(model.init)

    def points(self, array):
        return list(array)  # measured: not slower than lists

    def value(self, model, point):
        return model.nll(point)

    def gradient(self, model, point):
        return model.grad_nll(point)

    def fit(self, model):
        result = self.package.fit(model)
        return result, result.uncertainties

    def minimum(self, outcome):
        return 2 * float(outcome[0].nll)

    def analyse(self, what, model, threads):
        package = self.package
        if what == "scan":
            return package.profile_scan(model, list(SCAN))
        if what == "hypotest":
            return package.hypotest(model, 1.0)
        if what == "limit":
            # The peer finds only the observed limit. Ours also finds the five expected limits.
            return package.upper_limit(model)
        return package.ranking(model)


class Pyhf:
    """pyhf 0.7.6 with NumPy and MINUIT. It gives values and fits, but no gradient."""

    def __init__(self):
        import pyhf

        self.package, self.version = pyhf, pyhf.__version__
        pyhf.set_backend("numpy", "minuit")

    def load(self, text):
        workspace = self.package.Workspace(json.loads(text))
        poi = workspace["measurements"][0]["config"]["poi"] or None
        model = workspace.model(poi_name=poi)
        return model, np.asarray(workspace.data(model))

    def load_timed(self, path):
        with open(path, encoding="utf-8") as file:
            return self.load(file.read())

    def init(self, model):
        return np.asarray(model[0].config.suggested_init(), float)

    def points(self, array):
        return list(array)

    def value(self, model, point):
        return -model[0].logpdf(point, model[1])

    def gradient(self, model, point):
        raise NotImplementedError

    def fit(self, model):
        return self.package.infer.mle.fit(model[1], model[0], return_uncertainties=True, return_fitted_val=True)

    def minimum(self, outcome):
        return float(outcome[1])

    def analyse(self, what, model, threads):
        raise NotImplementedError


def evaluate(tool, model, function, key, calls):
    """Returns the seconds per call for `calls` different points."""
    init, rng = tool.init(model), np.random.default_rng(key)
    points = tool.points(init + 1e-3 * rng.uniform(-1, 1, (calls, len(init))))
    began = time.perf_counter()
    for point in points:
        function(model, point)
    return (time.perf_counter() - began) / calls


def serve(tool):
    text = model = path = None
    for line in sys.stdin:
        request = json.loads(line)
        what, key = request["what"], request.get("key", 0)
        answer = {}
        try:
            if what == "hello":
                answer["version"] = tool.version
            elif what == "open":
                path = request["path"]
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                model = tool.load(text)
                answer["parameters"] = len(tool.init(model))
            elif what == "load":
                began = time.perf_counter()
                tool.load_timed(path)
                answer["seconds"] = time.perf_counter() - began
            elif what in ("value", "gradient"):
                answer["seconds"] = evaluate(tool, model, getattr(tool, what), key, request["calls"])
            elif what == "fit":
                fresh = tool.load(perturbed(text, key))
                began = time.perf_counter()
                outcome = tool.fit(fresh)
                answer["seconds"] = time.perf_counter() - began
                answer["twice_nll"] = tool.minimum(outcome)
            elif what in ANALYSES:
                fresh = tool.load(perturbed(text, key))
                began = time.perf_counter()
                tool.analyse(what, fresh, request.get("threads", 1))
                answer["seconds"] = time.perf_counter() - began
            else:
                answer["error"] = f"unknown request {what}"
        except NotImplementedError:
            answer["absent"] = True
        except Exception as error:
            answer["error"] = f"{type(error).__name__}: {error}"
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    serve({"ours": Ours, "peer": Peer, "pyhf": Pyhf}[sys.argv[1]]())
