"""Five models of single events. For each there are the events, the HS3 file, and the same model in RooFit."""

from __future__ import annotations

import hashlib
import json
import pathlib

import numpy as np

SEED = 20261123

#: Start value and bounds of every parameter of a model. `None` stands for two yields that depend on the number of
#: events.
PARAMETERS = {
    "gauss_exp": {"nsig": None, "nbkg": None, "mean": (90.0, 80.0, 100.0), "sigma": (3.0, 0.5, 10.0),
                  "slope": (0.03, 0.0001, 0.2)},
    "crystal_ball": {"nsig": (35000.0, 0.0, 2e5), "nbkg": (65000.0, 0.0, 2e5), "mean": (124.5, 120.0, 130.0),
                     "sigma": (2.3, 0.5, 6.0), "alpha_l": (1.5, 0.3, 5.0), "alpha_r": (1.2, 0.3, 5.0),
                     "c1": (-0.2, -1.5, 1.5), "c2": (0.0, -1.5, 1.5)},
    "two_channels": {"mu": (0.8, 0.0, 10.0), "theta": (0.0, -5.0, 5.0), "mean": (124.5, 120.0, 130.0),
                     "sigma": (2.3, 0.5, 6.0), "nbkg_a": (44000.0, 0.0, 2e5), "nbkg_b": (42000.0, 0.0, 2e5),
                     "slope_a": (0.02, 0.0001, 0.2), "slope_b": (0.02, 0.0001, 0.2)},
    "two_dimensions": {"nsig": (25000.0, 0.0, 2e5), "nbkg": (75000.0, 0.0, 2e5), "mean_x": (0.1, -2.0, 2.0),
                       "sigma_x": (0.9, 0.2, 4.0), "mean_y": (3.2, 1.0, 6.0), "sigma_y": (0.6, 0.1, 3.0),
                       "slope": (0.1, -1.0, 1.0), "c1": (0.0, -0.99, 0.99)},
    "argus": {"nsig": (8000.0, 0.0, 1e5), "nbkg": (42000.0, 0.0, 1e5), "mean": (5.278, 5.27, 5.285),
              "sigma": (0.003, 0.0005, 0.01), "c": (-15.0, -100.0, -1.0)},
}
#: Observables with their axes, for each channel.
AXES = {
    "gauss_exp": {"all": {"x": (60.0, 120.0)}},
    "crystal_ball": {"all": {"x": (100.0, 160.0)}},
    "two_channels": {"a": {"xa": (100.0, 160.0)}, "b": {"xb": (100.0, 160.0)}},
    "two_dimensions": {"all": {"x": (-5.0, 5.0), "y": (0.0, 6.0)}},
    "argus": {"all": {"x": (5.20, 5.29)}},
}
#: Mean and width of the constraint terms.
CONSTRAINTS = {"crystal_ball": {"mean": (125.0, 0.2), "sigma": (2.0, 0.1), "alpha_l": (1.3, 0.1)},
               "two_channels": {"theta": (0.0, 1.0)}}
#: Expected signal of the two channels at mu = 1, and its relative uncertainty.
SIGNAL, KAPPA = {"a": 6000.0, "b": 8000.0}, 1.05
POWERS = (4.0, 5.0)


def starts(case: str, n: int) -> dict[str, tuple[float, float, float]]:
    """Returns start values and bounds of the parameters of a model with about `n` events."""
    yields = {"nsig": (0.35 * n, 0.0, 2.0 * n), "nbkg": (0.65 * n, 0.0, 2.0 * n)}
    return {name: given or yields[name] for name, given in PARAMETERS[case].items()}


def _normal(rng, mean, sigma, low, high, n):
    x = rng.normal(mean, sigma, 3 * n + 100)
    return x[(x > low) & (x < high)][:n]


def _falling(rng, slope, low, high, n):
    return low - np.log1p(rng.random(n) * np.expm1(-slope * (high - low))) / slope


def _from(rng, density, low, high, n):
    """Draws numbers from a density by inverting its cumulative sum on a fine grid."""
    x = np.linspace(low, high, 200_001)
    y = density(x)
    total = np.concatenate([[0.0], np.cumsum(0.5 * (y[1:] + y[:-1]))])
    return np.interp(rng.random(n), total / total[-1], x)


def _crystal_ball(x, mean, sigma, left, n_left, right, n_right):
    t = (x - mean) / sigma
    tail = lambda a, n, u: (n / a) ** n * np.exp(-0.5 * a * a) * np.maximum(n / a - a + u, 1e-9) ** -n  # noqa: E731
    return np.where(t < -left, tail(left, n_left, -t), np.where(t > right, tail(right, n_right, t), np.exp(-0.5 * t * t)))


def events(case: str, n: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Returns the columns of the events of a model, in random order. Only `gauss_exp` uses `n`."""
    rng = np.random.default_rng([SEED, seed, n, list(PARAMETERS).index(case)])
    if case == "two_channels":
        parts = {"xa": (6000, 44000, 0.015), "xb": (8000, 42000, 0.03)}
        columns = {name: np.concatenate([_normal(rng, 125.0, 2.0, 100, 160, rng.poisson(s)),
                                         _falling(rng, slope, 100, 160, rng.poisson(b))])
                   for name, (s, b, slope) in parts.items()}
        return {name: rng.permutation(column) for name, column in columns.items()}
    if case == "gauss_exp":
        parts = [{"x": _normal(rng, 91.2, 2.5, 60, 120, rng.poisson(0.3 * n))},
                 {"x": _falling(rng, 0.02, 60, 120, rng.poisson(0.7 * n))}]
    elif case == "crystal_ball":
        signal = _from(rng, lambda x: _crystal_ball(x, 125.0, 2.0, 1.3, 4.0, 1.4, 5.0), 100, 160, rng.poisson(40000))
        z = lambda x: (x - 130) / 30  # noqa: E731
        parts = [{"x": signal},
                 {"x": _from(rng, lambda x: 1 - 0.35 * z(x) + 0.1 * (2 * z(x) ** 2 - 1), 100, 160, rng.poisson(60000))}]
    elif case == "two_dimensions":
        s, b = rng.poisson(30000), rng.poisson(70000)
        parts = [{"x": rng.normal(0.0, 1.0, s).clip(-4.99, 4.99), "y": rng.normal(3.0, 0.45, s).clip(0.01, 5.99)},
                 {"x": _falling(rng, 0.15, -5, 5, b), "y": _from(rng, lambda y: 1 + 0.1 * (y - 3), 0, 6, b)}]
    else:
        u = lambda x: np.clip(1 - (x / 5.29) ** 2, 0, None)  # noqa: E731
        parts = [{"x": _normal(rng, 5.279, 0.0026, 5.20, 5.29, rng.poisson(10000))},
                 {"x": _from(rng, lambda x: x * np.sqrt(u(x)) * np.exp(-20 * u(x)), 5.20, 5.2899999, rng.poisson(40000))}]
    together = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = rng.permutation(len(next(iter(together.values()))))
    return {name: column[order] for name, column in together.items()}


def _distributions(case: str):
    """Returns the distributions, and the name of the distribution of each channel."""
    gauss = lambda name, x, mean, sigma: {"name": name, "type": "gaussian_dist", "x": x, "mean": mean, "sigma": sigma}  # noqa: E731
    falling = lambda name, x, c: {"name": name, "type": "exponential_dist", "x": x, "c": c}  # noqa: E731
    mixed = lambda name, summands, yields: {"name": name, "type": "mixture_dist", "summands": summands,  # noqa: E731
                                            "coefficients": yields, "extended": True}
    if case == "gauss_exp":
        parts = [gauss("sig", "x", "mean", "sigma"), falling("bkg", "x", "slope")]
    elif case == "crystal_ball":
        parts = [{"name": "sig", "type": "crystalball_doublesided_dist", "m": "x", "m0": "mean", "sigma_L": "sigma",
                  "sigma_R": "sigma", "alpha_L": "alpha_l", "alpha_R": "alpha_r", "n_L": POWERS[0], "n_R": POWERS[1]},
                 {"name": "bkg", "type": "chebychev_dist", "x": "x", "coefficients": ["c1", "c2"]}]
    elif case == "two_dimensions":
        parts = [gauss("sig_x", "x", "mean_x", "sigma_x"), gauss("sig_y", "y", "mean_y", "sigma_y"),
                 falling("bkg_x", "x", "slope"),
                 {"name": "bkg_y", "type": "chebychev_dist", "x": "y", "coefficients": ["c1"]},
                 {"name": "sig", "type": "product_dist", "factors": ["sig_x", "sig_y"]},
                 {"name": "bkg", "type": "product_dist", "factors": ["bkg_x", "bkg_y"]}]
    elif case == "argus":
        parts = [gauss("sig", "x", "mean", "sigma"),
                 {"name": "bkg", "type": "argus_dist", "mass": "x", "resonance": 5.29, "slope": "c", "power": 0.5}]
    else:
        parts = []
        for key in "ab":
            parts += [gauss(f"sig_{key}", f"x{key}", "mean", "sigma"), falling(f"bkg_{key}", f"x{key}", f"slope_{key}"),
                      mixed(f"channel_{key}", [f"sig_{key}", f"bkg_{key}"], [f"nsig_{key}", f"nbkg_{key}"])]
        return parts, {key: f"channel_{key}" for key in "ab"}
    return [*parts, mixed("channel_all", ["sig", "bkg"], ["nsig", "nbkg"])], {"all": "channel_all"}


def write(case: str, n: int, folder: pathlib.Path, seed: int = 0) -> pathlib.Path:
    """Writes the HS3 file of a model. The events are written to Parquet files and to an archive of NumPy in the same
    folder."""
    import pyarrow
    import pyarrow.parquet

    folder.mkdir(parents=True, exist_ok=True)
    columns = events(case, n, seed)
    stem = f"{case}_{n}_{seed}"
    np.savez(folder / f"{stem}.npz", **columns)
    distributions, channels = _distributions(case)
    data = []
    for channel, axes in AXES[case].items():
        file = folder / f"{stem}_{channel}.parquet"
        pyarrow.parquet.write_table(pyarrow.table({name: columns[name] for name in axes}), file)
        data.append({"name": f"data_{channel}", "type": "unbinned",
                     "axes": [{"name": name, "min": low, "max": high} for name, (low, high) in axes.items()],
                     "nextstat.source": {"file": file.name, "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}})
    constraints = [{"name": f"{name}_constraint", "type": "gaussian_dist", "x": name, "mean": mean, "sigma": width}
                   for name, (mean, width) in CONSTRAINTS.get(case, {}).items()]
    functions = [{"name": f"nsig_{key}", "type": "generic_function", "expression": f"{SIGNAL[key]}*mu*pow({KAPPA},theta)"}
                 for key in "ab" if case == "two_channels"]
    begin = starts(case, n)
    document = {
        "metadata": {"hs3_version": "0.2.9"},
        "distributions": distributions + constraints,
        "functions": functions,
        "data": data,
        "likelihoods": [{"name": "likelihood", "distributions": list(channels.values()),
                         "data": [entry["name"] for entry in data],
                         "aux_distributions": [entry["name"] for entry in constraints]}],
        "domains": [{"name": "bounds", "type": "product_domain",
                     "axes": [{"name": name, "min": low, "max": high} for name, (_, low, high) in begin.items()]}],
        "parameter_points": [{"name": "start", "parameters": [
            {"name": name, "value": value} for name, (value, _, _) in begin.items()]}],
        "analyses": [{"name": "fit", "likelihood": "likelihood", "domain": "bounds", "init": "start",
                      "parameters_of_interest": ["mu" if case == "two_channels" else "nsig"]}],
    }
    path = folder / f"{stem}.hs3.json"
    path.write_text(json.dumps(document, indent=1))
    return path


def roofit(case: str, n: int, root, keep: list):
    """Returns the model in RooFit: its density, its parameters by name, its observables, the category of its channels
    or None, and its global observables."""

    def own(value):
        keep.append(value)
        return value

    def constant(name, value):
        variable = own(root.RooRealVar(name, name, value))
        variable.setConstant(True)
        return variable

    parameters = {name: own(root.RooRealVar(name, name, *given)) for name, given in starts(case, n).items()}
    observables = {name: own(root.RooRealVar(name, name, 0.5 * (low + high), low, high))
                   for axes in AXES[case].values() for name, (low, high) in axes.items()}
    gauss = lambda name, *args: own(root.RooGaussian(name, name, *args))  # noqa: E731

    def falling(name, x, slope):
        inverted = own(root.RooFormulaVar(f"{name}_c", f"-{slope.GetName()}", root.RooArgList(slope)))
        return own(root.RooExponential(name, name, x, inverted))

    chebychev = lambda name, x, *c: own(root.RooChebychev(name, name, x, root.RooArgList(*c)))  # noqa: E731
    product = lambda name, parts: own(root.RooProdPdf(name, name, root.RooArgList(*parts)))  # noqa: E731
    mixed = lambda name, parts, yields: own(root.RooAddPdf(name, name, root.RooArgList(*parts), root.RooArgList(*yields)))  # noqa: E731
    constraints, measured = [], []
    for name, (mean, width) in CONSTRAINTS.get(case, {}).items():
        measured.append(constant(f"nom_{name}", mean))
        constraints.append(gauss(f"{name}_constraint", parameters[name], measured[-1], constant(f"{name}_width", width)))
    p, x = parameters, observables.get("x")
    if case == "two_channels":
        category = own(root.RooCategory("channel", "channel"))
        whole = own(root.RooSimultaneous("model", "model", category))
        for key in "ab":
            category.defineType(key)
        for key in "ab":
            formula = f"{SIGNAL[key]}*mu*pow({KAPPA},theta)"
            signal = own(root.RooFormulaVar(f"nsig_{key}", formula, root.RooArgList(p["mu"], p["theta"])))
            x = observables[f"x{key}"]
            parts = [gauss(f"sig_{key}", x, p["mean"], p["sigma"]), falling(f"bkg_{key}", x, p[f"slope_{key}"])]
            shape = mixed(f"shape_{key}", parts, [signal, p[f"nbkg_{key}"]])
            whole.addPdf(product(f"channel_{key}", [shape, *constraints]), key)
        return whole, parameters, observables, category, measured
    if case == "gauss_exp":
        parts = [gauss("sig", x, p["mean"], p["sigma"]), falling("bkg", x, p["slope"])]
    elif case == "crystal_ball":
        signal = own(root.RooCrystalBall("sig", "sig", x, p["mean"], p["sigma"], p["alpha_l"], constant("n_l", POWERS[0]),
                                         p["alpha_r"], constant("n_r", POWERS[1])))
        parts = [signal, chebychev("bkg", x, p["c1"], p["c2"])]
    elif case == "two_dimensions":
        y = observables["y"]
        parts = [product("sig", [gauss("sig_x", x, p["mean_x"], p["sigma_x"]), gauss("sig_y", y, p["mean_y"], p["sigma_y"])]),
                 product("bkg", [falling("bkg_x", x, p["slope"]), chebychev("bkg_y", y, p["c1"])])]
    else:
        background = root.RooArgusBG("bkg", "bkg", x, constant("edge", 5.29), p["c"], constant("power", 0.5))
        parts = [gauss("sig", x, p["mean"], p["sigma"]), own(background)]
    whole = mixed("shape", parts, [p["nsig"], p["nbkg"]])
    return (product("model", [whole, *constraints]) if constraints else whole), parameters, observables, None, measured
