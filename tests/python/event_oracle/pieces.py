"""Random densities of one observable: peaks and smooth backgrounds, with parameters that are numbers or free."""

from __future__ import annotations

import numpy as np

from .draft import Draft

PEAKS = [
    "gaussian",
    "gaussian",
    "bifurcated",
    "crystal_ball",
    "one_tail",
    "breit_wigner",
    "voigt",
    "johnson",
    "generalized",
    "lognormal",
    "core_and_tail",
    "generic",
    "efficiency",
    "histogram",
    "template",
    "spline",
]
#: Peaks of models with a large seed alone.
COMPOUND = ["landau", "decay", "decay", "two_resolutions", "oscillation", "exact_times", "convolution", "convolution"]
SMOOTH = [
    "exponential",
    "exponential",
    "chebychev",
    "polynomial",
    "bernstein",
    "uniform",
    "argus",
    "lognormal",
    "gamma",
    "histogram",
    "spline",
    "falling",
    "pole",
    "generic",
    "wide_gaussian",
    "template",
]


def peak(d: Draft, x: str, axis, kind=None, narrowest=-5.0) -> tuple[str, float]:
    """A peak, and its width over the length of the axis."""
    low, high = axis
    length = high - low
    relative = 10 ** d.rng.uniform(narrowest, -0.8)
    w = float(f"{relative * length:.4g}")
    at = float(f"{low + length * d.rng.uniform(0.1, 0.9):.8g}")
    if d.wide and kind is None and d.chance(0.5):
        return compound(d, x, axis, d.pick(COMPOUND), at, w), relative
    kind = kind or d.pick(PEAKS)
    if kind in ("histogram", "template", "spline"):
        return table(d, x, axis, kind, at, max(w, 1e-3 * length)), max(relative, 1e-3)
    if kind == "lognormal" and low < 0:
        kind = "gaussian"
    mean = d.number("mean", at, at - 4 * w, at + 4 * w, w)
    sigma = d.number("sigma", w, 0.4 * w, 2.5 * w, 0.2 * w)
    if kind == "gaussian":
        return d.add("gaussian_dist", x=x, mean=mean, sigma=sigma), relative
    if kind == "bifurcated":
        return d.add(
            "bifurkated_gaussian_dist", x=x, mean=mean, sigmaL=sigma, sigmaR=float(f"{w * d.rng.uniform(0.5, 2):.4g}")
        ), relative
    if kind == "crystal_ball":
        tails = {
            "alpha_L": d.number("a", d.between(0.7, 2.5), 0.3, 5, 0.3),
            "n_L": d.pick([1.0, 2.0, d.between(0.6, 6)]),
            "alpha_R": d.between(0.7, 2.5),
            "n_R": d.between(1.1, 6),
        }
        return d.add("crystalball_doublesided_dist", m=x, m0=mean, sigma_L=sigma, sigma_R=sigma, **tails), relative
    if kind == "one_tail":
        side = d.pick("LR")
        tails = {f"alpha_{side}": d.between(0.7, 2.5), f"n_{side}": d.number("n", d.between(1.1, 6), 0.8, 20, 0.5)}
        return d.add("nextstat.crystalball_dist", m=x, m0=mean, sigma_L=sigma, sigma_R=sigma, **tails), relative
    if kind == "breit_wigner":
        return d.add("nextstat.breit_wigner_dist", x=x, mean=mean, width=sigma), relative
    if kind == "voigt":
        return d.add(
            "nextstat.voigt_dist", x=x, mean=mean, width=float(f"{w * d.rng.uniform(0.1, 3):.4g}"), sigma=sigma
        ), relative
    if kind == "johnson":
        return d.add(
            "nextstat.johnson_su_dist", x=x, mu=mean, **{"lambda": sigma}, gamma=d.between(-1, 1), delta=d.between(0.8, 2)
        ), relative
    if kind == "generalized":
        return d.add(
            "generalized_normal_dist", x=x, mean=at, alpha=sigma, beta=d.number("beta", d.pick([1.0, 1.5, 2.0, 3.0]), 0.8, 4, 0.2)
        ), relative
    if kind == "lognormal":
        return d.add("lognormal_dist", x=x, mu=float(f"{np.log(at):.10g}"), sigma=float(f"{w / at:.4g}")), relative
    if kind == "core_and_tail":
        core = d.add("gaussian_dist", x=x, mean=mean, sigma=sigma)
        wide = d.add("gaussian_dist", x=x, mean=mean, sigma=float(f"{w * d.rng.uniform(1.5, 5):.4g}"))
        fraction = d.number("frac", d.between(0.3, 0.9), 0.05, 1, 0.1)
        return d.add("mixture_dist", summands=[core, wide], coefficients=[fraction], extended=False), relative
    m, s = (v if isinstance(v, str) else repr(v) for v in (mean, sigma))
    if kind == "efficiency":
        inner = d.add("gaussian_dist", x=x, mean=mean, sigma=sigma)
        turn = d.function(f"1/(1+exp(-({x}-{low + 0.4 * length!r})/{0.1 * length!r}))+0.1")
        name = d.add("efficiency_product_pdf_dist", pdf=inner, eff=turn)
    else:
        form = d.pick(
            [
                "exp(-(({x}-{m})/{s})^2/2)",
                "1/(1+(({x}-{m})/{s})^2)^2",
                "exp(-(({x}-{m})/{s})^2/2)*(1+0.3*tan((({x}-{low})/{length})))+1e-6",
            ]
        )
        name = d.add("generic_dist", expression=form.format(x=x, m=f"({m})", s=s, low=repr(low), length=repr(length)))
    d.hints[name] = {"order": [x], "peaks": {x: [[m, s]]}}
    return name, relative


def compound(d: Draft, x: str, axis, kind: str, at: float, w: float) -> str:
    """A density that is made of others, or needs more than elementary functions. Its peak has the width `w` at `at`."""
    low, high = axis
    mean = d.number("mean", at, at - 4 * w, at + 4 * w, w)
    sigma = d.number("sigma", w, 0.4 * w, 2.5 * w, 0.2 * w)
    if kind == "exact_times" and low > 0:
        kind = "decay"
    if kind == "landau":
        return d.add("landau_dist", x=x, mean=mean, sigma=sigma)
    if kind == "convolution":
        blur = d.add("gaussian_dist", x=x, mean=0.0, sigma=sigma)
        inner = float(f"{w * d.rng.uniform(0.4, 2):.4g}")
        first = d.pick(
            [
                ("landau_dist", {"x": x, "mean": mean, "sigma": inner}),
                ("nextstat.johnson_su_dist", {"x": x, "mu": mean, "lambda": inner, "gamma": 0.4, "delta": 1.2}),
                ("nextstat.breit_wigner_dist", {"x": x, "mean": mean, "width": inner}),
            ]
        )
        return d.add("fft_conv_pdf", conv_var=x, pdf1=d.add(first[0], **first[1]), pdf2=blur)
    tau = float(f"{(0.2 * (high - low) if kind == 'exact_times' else w) * d.rng.uniform(0.4, 3):.4g}")
    tau = d.number("tau", tau, 0.3 * tau, 3 * tau, 0.2 * tau)
    sides = d.pick([0, 0, 1, 2])
    if kind == "exact_times":
        resolution = d.add("truth_model_function", x=x)
        sides = 0 if low == 0 else sides
    elif kind == "two_resolutions":
        parts = [d.add("gauss_model_function", x=x, mean=mean, sigma=s) for s in (sigma, float(f"{2.5 * w:.4g}"))]
        fraction = d.number("frac", d.between(0.3, 0.9), 0.05, 1, 0.1)
        resolution = d.add("mixture_model", summands=parts, coefficients=[fraction])
    else:
        resolution = d.add("gauss_model_function", x=x, mean=mean, sigma=sigma)
    keys = {"t": x, "tau": tau, "decayType": sides, "resolutionModel": resolution}
    if kind != "oscillation":
        return d.add("decay_dist", **keys)
    frequency = float(f"{d.rng.uniform(0.2, 2) / w:.4g}")
    frequency = d.number("dm", frequency, 0.5 * frequency, 2 * frequency, 0.1 * frequency)
    waves = {"sin": d.number("sin", d.between(-0.6, 0.6), -0.65, 0.65, 0.1), "cos": d.between(-0.6, 0.6)}
    return d.add("nextstat.b_decay_dist", **keys, delta_m=frequency, **waves)


def smooth(d: Draft, x: str, axis, kind=None) -> str:
    """A background."""
    low, high = axis
    length, kind = high - low, kind or d.pick(SMOOTH)
    if kind in ("histogram", "spline", "template"):
        return table(d, x, axis, kind, low + length * d.rng.uniform(0, 1), 0.5 * length)
    if kind in ("lognormal", "argus") and low < 0:
        kind = "exponential"
    if kind == "exponential":
        c = float(f"{d.rng.uniform(-2, 6) / length:.4g}")
        return d.add(
            "exponential_dist",
            x=x,
            c=d.number("c", c, float(f"{-5 / length:.4g}"), float(f"{12 / length:.4g}"), 0.7 / length, free=0.5),
        )
    if kind == "chebychev":
        return d.add(
            "chebychev_dist",
            x=x,
            coefficients=[d.number("ch", d.between(-0.4, 0.4), -0.5, 0.5, 0.1), d.between(-0.3, 0.3)][: d.pick([1, 2])],
        )
    if kind == "polynomial":
        size = max(abs(low), abs(high))
        slope = float(f"{0.5 / size:.4g}")
        return d.add(
            "polynomial_dist",
            x=x,
            coefficients=[
                1.0,
                d.number("po", d.between(-0.5, 1.0) * slope, -0.95 / size, 3 / size, 0.1 / size),
                float(f"{0.3 / size**2:.4g}"),
            ],
        )
    if kind == "bernstein":
        return d.add(
            "bernstein_poly_dist",
            x=x,
            coefficients=[d.between(0.2, 2), d.number("be", d.between(0.2, 2), 0.05, 5, 0.2), d.between(0.2, 2)],
        )
    if kind == "argus":
        end = (
            d.number("end", high, high, high + 0.2 * length, 0.05 * length, free=0.1)
            if d.chance(0.5)
            else float(f"{low + length * d.rng.uniform(1.01, 1.3):.6g}")
        )
        return d.add("argus_dist", mass=x, resonance=end, slope=d.number("sl", d.between(-8, -1), -20, 2, 1), power=0.5)
    if kind == "lognormal":
        return d.add(
            "lognormal_dist",
            x=x,
            mu=float(f"{np.log(low + 0.4 * length):.5g}"),
            sigma=d.number("ls", d.between(0.2, 1), 0.1, 3, 0.1),
        )
    if kind == "gamma":
        start = float(f"{low - length * d.rng.uniform(0.01, 0.3):.6g}")
        name = d.add(
            "gamma_dist",
            x=x,
            gamma=d.number("g", d.between(1.2, 4), 1, 8, 0.2),
            beta=float(f"{length * d.rng.uniform(0.1, 0.5):.4g}"),
            mu=start,
        )
        return name
    if kind == "falling":
        start = repr(float(f"{low - length * d.rng.uniform(0.05, 1):.6g}"))
        k = d.number("k", d.between(1, 5), 0, 12, 0.5)
        name = d.add("generic_dist", expression=f"(({x}-({start}))/{length!r})^(-{k if isinstance(k, str) else repr(k)})")
    elif kind == "pole":
        # An integrable pole at the lower end.
        name = d.add("generic_dist", expression=f"(({x}-({low!r}))/{length!r})^(-{d.pick([0.5, 0.25, 0.75])})")
        d.hints[name] = {"power": {x: 8}}
        return name
    elif kind == "generic":
        a = d.number("a", d.between(0.1, 0.8), 0, 0.95, 0.1)
        k = d.pick([3.0, 7.0, 20.0])
        name = d.add("generic_dist", expression=f"1+{a if isinstance(a, str) else repr(a)}*sin({k / length!r}*({x}-({low!r})))")
        steps = 4 if k < 10 else 12
        d.hints[name] = {"breaks": {x: [repr(low + length * i / steps) for i in range(1, steps)]}}
        return name
    elif kind == "wide_gaussian":
        return d.add(
            "gaussian_dist",
            x=x,
            mean=float(f"{low + length * d.rng.uniform(-0.5, 1.5):.6g}"),
            sigma=d.number("ws", float(f"{0.6 * length:.4g}"), 0.2 * length, 3 * length, 0.1 * length),
        )
    else:
        return d.add("uniform_dist", x=[x] if d.chance(0.5) else x)
    d.hints[name] = {}
    return name


def table(d: Draft, x: str, axis, kind: str, at: float, w: float) -> str:
    """A density given by numbers, with a peak of width `w` at `at`."""
    low, high = axis
    n = int(d.rng.integers(4, 12))
    inner = np.sort(np.concatenate([d.rng.uniform(low, high, n), at + w * np.array([-3, -1.5, -0.5, 0.5, 1.5, 3])]))
    inner = inner[(inner > low) & (inner < high)]
    edges = [low, *(float(f"{e:.8g}") for e in inner), high]
    edges = sorted({e for e in edges if low <= e <= high})
    middle = (np.array(edges[1:]) + edges[:-1]) / 2
    if kind == "spline":
        values = [float(f"{0.3 + np.exp(-(((e - at) / w) ** 2) / 2) + 0.2 * d.rng.random():.4g}") for e in edges]
        # Splines overshoot where knots are close: equal distances do not.
        knots = [float(f"{k:.8g}") for k in np.linspace(low, high, len(edges))]
        knots[0], knots[-1] = low, high
        return d.add("nextstat.spline_dist", x=x, knots=knots, values=values, kind="natural_cubic")
    heights = (0.05 + np.exp(-(((middle - at) / w) ** 2) / 2)) * np.diff(edges) * d.rng.uniform(0.5, 1.5, len(middle))
    contents = [float(f"{h:.5g}") for h in heights / heights.sum() * 100]
    if kind == "histogram":
        return d.add("histogram_dist", data={"axes": [{"name": x, "edges": edges}], "contents": contents})
    weights = [max(float(f"{c:.4g}"), 1e-3) for c in contents]
    responses = []
    for _ in range(d.pick([0, 1, 1, 2])):
        tilt = d.rng.uniform(-0.3, 0.3, len(middle))
        up = [float(f"{v * (1 + t):.5g}") for v, t in zip(weights, tilt)]
        down = [float(f"{v * (1 - t * d.rng.uniform(0.3, 1.2)):.5g}") for v, t in zip(weights, tilt)]
        alpha = d.nuisance()
        if alpha not in [r["parameter"] for r in responses]:
            responses.append(
                {
                    "parameter": alpha,
                    "up": up,
                    "down": down,
                    "interpolation": {"type": "add", "in": d.pick(["poly1", "poly2", "poly6"]), "out": "poly1"},
                    "acts_on": ["shape"],
                }
            )
    return d.add(
        "nextstat.template_dist",
        x=[x],
        estimator={"type": "histogram", "edges": [edges]},
        entries=[[float(f"{m:.10g}")] for m in middle],
        weights=weights,
        responses=responses,
    )
