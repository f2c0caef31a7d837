#!/usr/bin/env python3
"""Writes flows with known densities, their models and the numbers of an oracle to tests/fixtures/flows.

    scripts/make_flow_fixtures.py [FOLDER]

Needs NumPy, SciPy and onnx. The bytes are the same on every machine: graphs have no dates, and the generator is
seeded.

| flow | density | graphs |
|---|---|---|
| peak | normal, mean 125, width 2 | 32 bits; sampler from normal numbers |
| falling | rational-quadratic spline on [100, 160] | 32 bits; sampler from uniform numbers |
| tabled | the same without a sampler | |
| plane | two correlated normal features | 64 bits; sampler |
| plane_tabled | the same without a sampler | |
| shifted | normal with mean and width given by a context | 64 bits; derivatives by the context; sampler |
| stepped | the same with finite differences | |
| curved | normal, with a mean and a width that a network gives | 32 bits; in crates/ns-selftest/models |
| rounded | the same with 32 bits; derivatives by the context; sampler | |
| tilted | the spline with slopes that a context changes | 64 bits; finite differences; sampler |
| broken_* | for messages: NaN, a wrong shape, a wrong name | |

The oracle does not share code with the graphs: normal densities are those of SciPy, and the derivative of the spline is
taken in the complex plane (W. Squire and G. Trapp, SIAM Review 40 (1998) 110).
"""

import hashlib
import json
import math
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from scipy import stats

LOW, HIGH = 100.0, 160.0
MEAN, WIDTH = 125.0, 2.0
CENTRE = np.array([125.0, 1.5])
LOWER = np.array([[2.0, 0.0], [0.6, 0.5]])
# Knots of the spline, which maps [0, 1] to [0, 1], and the slopes at the knots. The spectrum falls and has a
# shoulder.
X = np.array([0.0, 0.1, 0.22, 0.35, 0.5, 0.68, 1.0])
Y = np.array([0.0, 0.22, 0.44, 0.62, 0.78, 0.9, 1.0])
ROOT = pathlib.Path(__file__).resolve().parents[1]
# Width of the network in the flow of the self-test.
HIDDEN = 64
SLOPES = np.array([2.4, 2.0, 1.6, 1.2, 0.95, 0.5, 0.2])
# The context `tilt` multiplies the slopes by exp(tilt TILT).
TILT = np.array([0.5, 0.4, 0.2, 0.0, -0.2, -0.4, -0.5])


class Graph:
    """A graph that is built operation by operation. Numbers become constants of the graph's type."""

    def __init__(self, kind):
        self.kind, self.nodes, self.constants = kind, [], {}

    def constant(self, value, kind=None):
        array = np.asarray(value, dtype=kind or self.kind)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self.constants:
            self.constants[key] = numpy_helper.from_array(array, f"c{len(self.constants)}")
        return self.constants[key].name

    def __call__(self, operation, *inputs, **attributes):
        inputs = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(operation, inputs, [name], **attributes))
        return name

    def write(self, path, inputs, output, result, width):
        self.nodes.append(helper.make_node("Identity", [result], [output]))
        kind = TensorProto.FLOAT if self.kind == np.float32 else TensorProto.DOUBLE
        given = [helper.make_tensor_value_info(name, kind, ["n", d]) for name, d in inputs]
        shape = ["n"] if width is None else ["n", width]
        found = [helper.make_tensor_value_info(output, kind, shape)]
        graph = helper.make_graph(self.nodes, "flow", given, found, list(self.constants.values()))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8,
                                  producer_name="nextstat")
        onnx.checker.check_model(model)
        path.write_bytes(model.SerializeToString(deterministic=True))


def column(g, name, index):
    """Returns a column of an input, with shape [n]."""
    return g("Gather", name, g.constant(index, np.int64), axis=1)


def normal_log(g, z, log_scale):
    """Returns `-z^2/2 - ln sqrt(2 pi) - ln scale`."""
    half = g("Mul", g("Mul", z, z), -0.5)
    return g("Sub", half, 0.5 * math.log(2 * math.pi) + log_scale)


def peak(folder):
    g = Graph(np.float32)
    z = g("Mul", g("Sub", column(g, "x", 0), MEAN), 1 / WIDTH)
    g.write(folder / "peak.onnx", [("x", 1)], "log_prob", normal_log(g, z, math.log(WIDTH)), None)
    g = Graph(np.float32)
    g.write(folder / "peak_sampler.onnx", [("z", 1)], "x", g("Add", g("Mul", "z", WIDTH), MEAN), 1)


def bins(g, x, knots):
    """Returns the index of the bin of each number."""
    inner = g("Unsqueeze", x, g.constant([1], np.int64))
    above = g("Cast", g("GreaterOrEqual", inner, knots[1:-1].reshape(1, -1)), to=TensorProto.INT64)
    return g("ReduceSum", above, g.constant([1], np.int64), keepdims=0)


def slopes(g, k, tilt):
    """Returns the slopes at both ends of the bin of each number."""
    of = lambda ends: g("Gather", SLOPES[ends], k)
    if tilt is None:
        return of(slice(None, -1)), of(slice(1, None))
    factor = lambda ends: g("Exp", g("Mul", tilt, g("Gather", TILT[ends], k)))
    return tuple(g("Mul", of(ends), factor(ends)) for ends in (slice(None, -1), slice(1, None)))


def falling(folder):
    spline_graphs(folder, "falling", np.float32, [])


def tilted(folder):
    spline_graphs(folder, "tilted", np.float64, [("context", 1)])


def spline_graphs(folder, name, kind, context):
    width, height = np.diff(X), np.diff(Y)
    ratio = height / width
    g = Graph(kind)
    tilt = column(g, "context", 0) if context else None
    # With 32 bits, subtracting before dividing is more accurate.
    u = g("Mul", g("Sub", column(g, "x", 0), LOW), 1 / (HIGH - LOW))
    u = g("Clip", u, 0.0, 1.0)
    k = bins(g, u, X)
    of = lambda array: g("Gather", array, k)
    t = g("Div", g("Sub", u, of(X[:-1])), of(width))
    rest = g("Sub", 1.0, t)
    both = g("Mul", t, rest)
    s, (left, right) = of(ratio), slopes(g, k, tilt)
    above = g("Add", g("Mul", right, g("Mul", t, t)), g("Mul", left, g("Mul", rest, rest)))
    above = g("Add", above, g("Mul", g("Mul", s, 2.0), both))
    bend = g("Sub", g("Add", left, right), g("Mul", s, 2.0))
    below = g("Add", s, g("Mul", bend, both))
    log = g("Sub", g("Add", g("Log", above), g("Mul", g("Log", s), 2.0)), g("Mul", g("Log", below), 2.0))
    result = g("Sub", log, math.log(HIGH - LOW))
    g.write(folder / f"{name}.onnx", [("x", 1), *context], "log_prob", result, None)

    g = Graph(np.float64)
    tilt = column(g, "context", 0) if context else None
    y = column(g, "z", 0)
    k = bins(g, y, Y)
    of = lambda array: g("Gather", array, k)
    s, (left, right) = of(ratio), slopes(g, k, tilt)
    rise = g("Sub", y, of(Y[:-1]))
    bend = g("Mul", rise, g("Sub", g("Add", left, right), g("Mul", s, 2.0)))
    a = g("Add", g("Mul", of(height), g("Sub", s, left)), bend)
    b = g("Sub", g("Mul", of(height), left), bend)
    c = g("Neg", g("Mul", s, rise))
    root = g("Sqrt", g("Sub", g("Mul", b, b), g("Mul", g("Mul", a, c), 4.0)))
    t = g("Div", g("Mul", c, -2.0), g("Add", b, root))
    x = g("Add", g("Mul", g("Add", of(X[:-1]), g("Mul", t, of(width))), HIGH - LOW), LOW)
    result = g("Unsqueeze", x, g.constant([1], np.int64))
    g.write(folder / f"{name}_sampler.onnx", [("z", 1), *context], "x", result, 1)


def plane(folder):
    g = Graph(np.float64)
    (a, _), (b, c) = LOWER.tolist()
    inverse = np.array([[1 / a, 0.0], [-b / (a * c), 1 / c]])
    z = g("MatMul", g("Sub", "x", CENTRE), inverse.T)
    square = g("ReduceSum", g("Mul", z, z), g.constant([1], np.int64), keepdims=0)
    log = g("Sub", g("Mul", square, -0.5), math.log(2 * math.pi * a * c))
    g.write(folder / "plane.onnx", [("x", 2)], "log_prob", log, None)
    g = Graph(np.float64)
    g.write(folder / "plane_sampler.onnx", [("z", 2)], "x", g("Add", g("MatMul", "z", LOWER.T), CENTRE), 2)


def shifted(folder):
    normal_with_context(folder, "shifted", np.float64)


def rounded(folder):
    normal_with_context(folder, "rounded", np.float32)


def normal_with_context(folder, name, kind):
    """Writes a normal density with mean 125 + shift and width 2 exp(stretch), where shift and stretch are the
    context."""
    def start(g):
        shift, stretch = column(g, "context", 0), column(g, "context", 1)
        inverse = g("Mul", g("Exp", g("Neg", stretch)), 1 / WIDTH)
        return g("Mul", g("Sub", g("Sub", column(g, "x", 0), MEAN), shift), inverse), stretch, inverse

    ones = lambda g: g.constant([1], np.int64)
    inputs = [("x", 1), ("context", 2)]
    g = Graph(kind)
    z, stretch, _ = start(g)
    log = g("Sub", normal_log(g, z, math.log(WIDTH)), stretch)
    # The shape [n, 1] is also allowed.
    g.write(folder / f"{name}.onnx", inputs, "log_prob", g("Unsqueeze", log, g.constant([1], np.int64)), 1)
    g = Graph(kind)
    z, _, inverse = start(g)
    by_shift = g("Unsqueeze", g("Mul", z, inverse), ones(g))
    by_stretch = g("Unsqueeze", g("Sub", g("Mul", z, z), 1.0), ones(g))
    g.write(folder / f"{name}_gradient.onnx", inputs, "gradient", g("Concat", by_shift, by_stretch, axis=1), 2)
    g = Graph(kind)
    shift, stretch = column(g, "context", 0), column(g, "context", 1)
    x = g("Mul", g("Mul", column(g, "z", 0), g("Exp", stretch)), WIDTH)
    x = g("Add", g("Add", x, shift), MEAN)
    g.write(folder / f"{name}_sampler.onnx", [("z", 1), ("context", 2)], "x", g("Unsqueeze", x, ones(g)), 1)


def broken(folder):
    g = Graph(np.float32)
    # The log-density is not a number below 120.
    g.write(folder / "broken_nan.onnx", [("x", 1)], "log_prob", g("Log", g("Sub", column(g, "x", 0), 120.0)), None)
    g = Graph(np.float32)
    g.write(folder / "broken_shape.onnx", [("x", 1)], "log_prob", g("Concat", "x", "x", axis=1), 2)
    g = Graph(np.float32)
    g.write(folder / "broken_name.onnx", [("x", 1)], "density", column(g, "x", 0), None)
    # Normal densities that are wrong: one is NaN if the context is above 1, one is not normalised if the context is
    # not 0.
    for name in ("context", "norm"):
        g = Graph(np.float64)
        z = g("Mul", g("Sub", column(g, "x", 0), MEAN), 1 / WIDTH)
        log, c = normal_log(g, z, math.log(WIDTH)), column(g, "context", 0)
        if name == "context":
            # ln of a negative number
            log = g("Add", log, g("Mul", g("Log", g("Sub", 1.0, c)), 0.0))
        else:
            log = g("Add", log, c)
        g.write(folder / f"broken_{name}.onnx", [("x", 1), ("context", 1)], "log_prob", log, None)


def curved():
    """Writes the flow of `nextstat selftest`. Its x is standard normal, and its y is normal. A network of x with
    products of matrices gives the mean and the width of y."""
    folder = ROOT / "crates" / "ns-selftest" / "models"
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(64)
    g = Graph(np.float32)
    x, y = column(g, "x", 0), column(g, "x", 1)
    layer = g("Unsqueeze", x, g.constant([1], np.int64))
    for rows, columns in ((1, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, 2)):
        weights = random.normal(0, 1 / math.sqrt(rows), (rows, columns))
        layer = g("Add", g("MatMul", layer, weights), random.normal(0, 0.3, (1, columns)))
        layer = g("Tanh", layer)
    of = lambda index: g("Gather", layer, g.constant(index, np.int64), axis=1)
    scale = g("Mul", of(1), 0.5)
    z = g("Mul", g("Sub", y, of(0)), g("Exp", g("Neg", scale)))
    log = g("Add", normal_log(g, x, 0.0), g("Sub", normal_log(g, z, 0.0), scale))
    g.write(folder / "curved.onnx", [("x", 2)], "log_prob", log, None)
    manifest(folder, "curved", support=((None, None), (None, None)), features=("x", "y"))


def manifest(folder, name, graph=None, support=((None, None),), features=("m",), **more):
    """Writes a manifest. Each graph has its file and further keys."""
    def of(file, **keys):
        return {"file": file, "sha256": hashlib.sha256((folder / file).read_bytes()).hexdigest(), **keys}

    content = {"format": "nextstat-flow/1", "name": name, "features": list(features),
               "support": [list(side) for side in support], "log_prob": of(graph or f"{name}.onnx")}
    for key in ("sampler", "context_gradient"):
        if key in more:
            file, keys = more.pop(key)
            content[key] = of(file, **keys)
    content.update(more)
    (folder / f"{name}.flow.json").write_text(json.dumps(content, indent=1) + "\n")


def manifests(folder):
    whole = ((LOW, HIGH),)
    manifest(folder, "peak", sampler=("peak_sampler.onnx", {"base": "normal", "numbers": 1}))
    manifest(folder, "falling", support=whole, sampler=("falling_sampler.onnx", {"base": "uniform", "numbers": 1}))
    manifest(folder, "tabled", "falling.onnx", support=whole)
    manifest(folder, "plane", support=((None, None), (None, None)), features=("m", "t"),
             sampler=("plane_sampler.onnx", {"base": "normal", "numbers": 2}))
    manifest(folder, "plane_tabled", "plane.onnx", support=((None, None), (None, None)), features=("m", "t"))
    both, normal = ["shift", "stretch"], {"base": "normal", "numbers": 1}
    for name in ("shifted", "rounded"):
        manifest(folder, name, context=both, context_gradient=(f"{name}_gradient.onnx", {}),
                 sampler=(f"{name}_sampler.onnx", normal))
    manifest(folder, "stepped", "shifted.onnx", context=both, finite_differences=[1e-3, 1e-3])
    manifest(folder, "tilted", support=whole, context=["tilt"], finite_differences=[1e-3],
             sampler=("tilted_sampler.onnx", {"base": "uniform", "numbers": 1}))
    for name in ("broken_context", "broken_norm"):
        manifest(folder, name, context=["c"], finite_differences=[1e-3])
    for name in ("broken_nan", "broken_shape", "broken_name"):
        manifest(folder, name)


def spline(u, tilt=0.0):
    """Returns the value of the spline at a number in [0, 1]. The number may have an imaginary part."""
    own = SLOPES * np.exp(tilt * TILT)
    k = min(max(int(np.searchsorted(X, u.real, side="right")) - 1, 0), len(X) - 2)
    w, h = X[k + 1] - X[k], Y[k + 1] - Y[k]
    s, t = h / w, (u - X[k]) / w
    above = h * (s * t * t + own[k] * t * (1 - t))
    return Y[k] + above / (s + (own[k + 1] + own[k] - 2 * s) * t * (1 - t))


def spline_log(x, tilt=0.0):
    u = (x - LOW) / (HIGH - LOW)
    return np.log(spline(complex(u, 1e-30), tilt).imag / 1e-30 / (HIGH - LOW))


def slope(f, at, h=1e-3):
    """Returns the derivative of a smooth function by finite differences of sixth order."""
    return sum(w * (f(at + k * h) - f(at - k * h)) for k, w in ((1, 45), (2, -9), (3, 1))) / (60 * h)


def oracle(folder):
    m = np.linspace(100.5, 159.5, 119)
    inner = np.linspace(115.0, 135.0, 81)
    both = np.stack([np.repeat(np.linspace(119, 131, 9), 9), np.tile(np.linspace(-2, 5, 9), 9)], axis=1)
    plane_of = stats.multivariate_normal(CENTRE, LOWER @ LOWER.T)
    context = [0.7, -0.2]
    width = WIDTH * np.exp(context[1])
    z = (inner - MEAN - context[0]) / width
    box = [[124.0, 127.0], [1.0, 2.0]]
    inside = sum(sign * plane_of.cdf([x, y]) for x, y, sign in
                 ((127, 2, 1), (124, 2, -1), (127, 1, -1), (124, 1, 1)))
    numbers = {
        "peak": {"events": inner.tolist(), "log_prob": stats.norm.logpdf(inner, MEAN, WIDTH).tolist(),
                 "box": [[123.0, 130.0]],
                 "integral": float(np.diff(stats.norm.cdf([123, 130], MEAN, WIDTH))[0])},
        "falling": {"events": m.tolist(), "log_prob": [float(spline_log(x)) for x in m],
                    "box": [[110.0, 140.0]],
                    "integral": float(spline(complex(40 / 60)).real - spline(complex(10 / 60)).real)},
        "plane": {"events": both.ravel().tolist(), "log_prob": plane_of.logpdf(both).tolist(), "box": box,
                  "integral": float(inside)},
        "shifted": {"events": inner.tolist(), "context": context,
                    "log_prob": stats.norm.logpdf(inner, MEAN + context[0], width).tolist(),
                    "box": [[123.0, 130.0]],
                    "integral": float(np.diff(stats.norm.cdf([123, 130], MEAN + context[0], width))[0]),
                    "by_shift": (z / width).tolist(), "by_stretch": (z * z - 1).tolist()},
    }
    tilt = 0.3
    integral = lambda tilt: float(spline(complex(40 / 60), tilt).real - spline(complex(10 / 60), tilt).real)
    numbers["tilted"] = {
        "events": m.tolist(), "context": [tilt], "log_prob": [float(spline_log(x, tilt)) for x in m],
        "by_tilt": [float(slope(lambda c: spline_log(x, c), tilt)) for x in m],
        "by_tilt_twice": [float(slope(lambda c: slope(lambda e: spline_log(x, e), c), tilt)) for x in m],
        "box": [[110.0, 140.0]], "integral": integral(tilt),
        "integral_by_tilt": [slope(integral, tilt), slope(lambda c: slope(integral, c), tilt)],
    }
    (folder / "oracle.json").write_text(json.dumps(numbers) + "\n")


def model(signal, rate, data):
    """A signal with a rate uncertainty above an exponential background."""
    return {
        "metadata": {"hs3_version": "0.2.9"},
        "distributions": [
            signal,
            {"name": "background", "type": "exponential_dist", "x": "m", "c": "slope"},
            {"name": "SR", "type": "mixture_dist", "summands": ["signal", "background"],
             "coefficients": ["n_signal", "n_background"], "extended": True},
            {"name": "efficiency_term", "type": "gaussian_dist", "x": "efficiency", "mean": "nom_efficiency",
             "sigma": 1},
        ],
        "functions": [
            {"name": "n_signal", "type": "generic_function", "expression": f"{rate}*mu*(1 + 0.05*efficiency)"},
        ],
        "data": [{"name": "observed", "type": "unbinned", "axes": [{"name": "m", "min": LOW, "max": HIGH}],
                  "entries": [[x] for x in data]}],
        "domains": [{"name": "default_domain", "type": "product_domain", "axes": [
            {"name": "mu", "min": 0, "max": 5}, {"name": "n_background", "min": 0, "max": 20000},
            {"name": "slope", "min": -0.1, "max": 0.2}, {"name": "efficiency", "min": -5, "max": 5},
            {"name": "nom_efficiency", "min": -5, "max": 5}]}],
        "parameter_points": [{"name": "default_values", "parameters": [
            {"name": "mu", "value": 1}, {"name": "n_background", "value": 1500},
            {"name": "slope", "value": 0.03}, {"name": "efficiency", "value": 0},
            {"name": "nom_efficiency", "value": 0, "const": True}]}],
        "likelihoods": [{"name": "L", "distributions": ["SR"], "data": ["observed"],
                         "aux_distributions": ["efficiency_term"]}],
        "analyses": [{"name": "search", "likelihood": "L", "parameters_of_interest": ["mu"],
                      "init": "default_values"}],
    }


def models(folder):
    random = np.random.default_rng(19)
    falling = stats.truncexpon.rvs(b=60 * 0.03, loc=LOW, scale=1 / 0.03, size=1500, random_state=random)
    events = np.round(np.concatenate([random.normal(MEAN, WIDTH, 200), falling]), 4)
    random.shuffle(events)
    data = events.tolist()
    flow = {"name": "signal", "type": "nextstat.flow_dist", "x": ["m"], "manifest": "peak.flow.json"}
    normal = {"name": "signal", "type": "gaussian_dist", "x": "m", "mean": MEAN, "sigma": WIDTH}
    for name, signal in (("search", flow), ("search_gaussian", normal)):
        text = json.dumps(model(signal, 200, data))
        (folder / f"{name}.hs3.json").write_text(text + "\n")


def conditional(folder):
    """A model of a flow and an exponential background. The mean and the width of the flow are parameters."""
    text = json.loads((folder / "search.hs3.json").read_text())
    text["distributions"][0] = {"name": "signal", "type": "nextstat.flow_dist", "x": ["m"],
                                "manifest": "shifted.flow.json", "context": ["shift", "stretch"]}
    for name in ("shift", "stretch"):
        text["domains"][0]["axes"].append({"name": name, "min": -2, "max": 2})
        text["parameter_points"][0]["parameters"].append({"name": name, "value": 0})
    (folder / "conditional.hs3.json").write_text(json.dumps(text) + "\n")


def main():
    default = ROOT / "tests" / "fixtures" / "flows"
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    folder.mkdir(parents=True, exist_ok=True)
    for write in (peak, falling, plane, shifted, rounded, tilted, broken, manifests, oracle, models,
                  conditional):
        write(folder)
    if len(sys.argv) == 1:
        curved()


if __name__ == "__main__":
    main()
