"""The densities of the builder. A density has a name and observables. Its arguments are numbers, parameters or
formulas."""

from .. import _native
from ._expression import Expression, Named, expression


class Density(Named):
    """A density of observables."""

    def __init__(self, name, observables):
        super().__init__(name)
        self.observables = list(observables)


# Parameters have bounds, observables also blinded ranges.
def _is_observable(part):
    return isinstance(part, Named) and hasattr(part, "blind")


class Densities:
    """Methods that add a density to a model. Each density is normalised over the axes of its observables."""

    def _density(self, name, kind, observables, **keys):
        self._take(name)
        for axis in observables:
            if not _is_observable(axis):
                raise TypeError(f"the observable of '{name}' must be what `observable` returns")
        observables = [*observables, *self._observables_in(keys.values(), observables)]
        written = {}
        for key, value in keys.items():
            if isinstance(value, (list, tuple)):
                written[key] = [self._value(part, f"{name}_{key}_{i}") for i, part in enumerate(value)]
            else:
                written[key] = self._value(value, f"{name}_{key}")
        self._distributions.append({"name": name, "type": kind, **written})
        return Density(name, observables)

    def _observables_in(self, values, known):
        """Returns the observables that formulas among the values depend on, except those in `known`."""
        flat = [part for value in values for part in (value if isinstance(value, (list, tuple)) else [value])]
        parts = {part for value in flat if isinstance(value, Expression) for part in value._parts}
        order = list(self._names)
        found = [part for part in parts if _is_observable(part) and not any(part is axis for axis in known)]
        return sorted(found, key=lambda axis: order.index(axis.name))

    def gaussian(self, name, x, mean, sigma):
        """The density `exp(-(x - mean)^2 / (2 sigma^2))`, normalised."""
        return self._density(name, "gaussian_dist", [x], x=x, mean=mean, sigma=sigma)

    def bifurcated_gaussian(self, name, x, mean, sigma_left, sigma_right):
        """A Gaussian with different widths below and above the peak."""
        keys = {"mean": mean, "sigmaL": sigma_left, "sigmaR": sigma_right}
        return self._density(name, "bifurkated_gaussian_dist", [x], x=x, **keys)

    def exponential(self, name, x, slope):
        """The density `exp(-slope x)`, normalised."""
        return self._density(name, "exponential_dist", [x], x=x, c=slope)

    def crystal_ball(self, name, x, mean, sigma, left=None, right=None, sigma_right=None):
        """A Gaussian core with power-law tails. `left` and `right` are pairs (alpha, n), or None for a side without a
        tail."""
        if left is None and right is None:
            raise ValueError(f"the Crystal Ball '{name}' needs a tail: left or right, a pair (alpha, n)")
        keys = {"m": x, "m0": mean, "sigma_L": sigma, "sigma_R": sigma if sigma_right is None else sigma_right}
        for side, tail in (("L", left), ("R", right)):
            if tail is not None:
                keys[f"alpha_{side}"], keys[f"n_{side}"] = tail
        kind = "nextstat.crystalball_dist" if left is None or right is None else "crystalball_doublesided_dist"
        return self._density(name, kind, [x], **keys)

    def argus(self, name, x, resonance, slope, power=0.5):
        """The density `x u^power exp(slope u)` with `u = 1 - (x / resonance)^2`, normalised."""
        keys = {"resonance": resonance, "slope": slope, "power": power}
        return self._density(name, "argus_dist", [x], mass=x, **keys)

    def breit_wigner(self, name, x, mean, width):
        """The density `1 / ((x - mean)^2 + width^2 / 4)`, normalised."""
        return self._density(name, "nextstat.breit_wigner_dist", [x], x=x, mean=mean, width=width)

    def voigt(self, name, x, mean, width, sigma):
        """A Breit-Wigner density convolved with a Gaussian."""
        return self._density(name, "nextstat.voigt_dist", [x], x=x, mean=mean, width=width, sigma=sigma)

    def landau(self, name, x, mean, sigma):
        """The Landau density of `(x - mean) / sigma`, normalised. Its maximum is at `mean - 0.22278 sigma`."""
        return self._density(name, "landau_dist", [x], x=x, mean=mean, sigma=sigma)

    def convolution(self, name, x, first, second):
        """The convolution of two densities of `x` on the whole line, normalised on the axis of `x`. Of two Gaussians, and of a
        Gaussian with a Breit-Wigner or a Voigt density, it has a formula. All others are computed numerically."""
        for density in (first, second):
            if list(density.observables) != [x]:
                raise ValueError(f"the convolution '{name}' needs two densities of {x.name} alone, but '{density.name}' is none")
        density = self._density(name, "fft_conv_pdf", [x])
        self._distributions[-1].update({"conv_var": x.name, "pdf1": first.name, "pdf2": second.name})
        return density

    def decay(self, name, t, tau, resolution=None, sides="after"):
        """The decay `exp(-|t| / tau)`, convolved with a resolution and normalised.

        `resolution` is a pair (mean, sigma), or a list of (fraction, mean, sigma) whose fractions are divided by their sum;
        without it the time has no error. Means and widths may depend on observables, such as the error of each event: the
        density is then normalised at given values of them. `sides` says where there are decays before the time is smeared:
        "after" 0, "before" 0, or on "both" sides.
        """
        return self._decay(name, "decay_dist", t, {"tau": tau}, resolution, sides)

    def b_decay(self, name, t, tau, delta_m=0, delta_gamma=0, cosh=1, sinh=0, cos=0, sin=0, resolution=None, sides="after"):
        """A decay with mixing and CP violation, convolved with a resolution as in `decay`, and normalised: `exp(-|t| / tau)` times
        `cosh cosh(delta_gamma t/2) + sinh sinh(delta_gamma t/2) + cos cos(delta_m t) + sin sin(delta_m t)`.

        All arguments may depend on observables, such as a flavour tag of -1 or 1. The density is then normalised at given
        values of them.
        """
        keys = {"tau": tau, "delta_m": delta_m, "delta_gamma": delta_gamma, "cosh": cosh, "sinh": sinh, "cos": cos, "sin": sin}
        return self._decay(name, "nextstat.b_decay_dist", t, keys, resolution, sides)

    def _decay(self, name, kind, t, keys, resolution, sides):
        known = {"after": 0, "both": 1, "before": 2}
        if sides not in known:
            raise ValueError(f"the sides of the decay '{name}' are 'after', 'before' or 'both', not {sides!r}")
        if resolution is None:
            terms = []
        elif isinstance(resolution, tuple) and len(resolution) == 2:
            terms = [(1, *resolution)]
        else:
            terms = [tuple(term) for term in resolution]
        if (resolution is not None and not terms) or any(len(term) != 3 for term in terms):
            raise ValueError(
                f"the resolution of the decay '{name}' is a pair (mean, sigma) or a list of (fraction, mean, sigma)"
            )
        values = [*keys.values(), *(value for term in terms for value in term)]
        density = self._density(name, kind, [t], t=t, **keys)
        density.observables += self._observables_in(values, density.observables)
        written = self._distributions[-1]
        models = []
        for i, (_, mean, sigma) in enumerate(terms):
            model = self._free(f"{name}_resolution_{i}" if len(terms) > 1 else f"{name}_resolution")
            parts = {"mean": self._value(mean, f"{model}_mean"), "sigma": self._value(sigma, f"{model}_sigma")}
            self._distributions.append({"name": model, "type": "gauss_model_function", "x": t.name, **parts})
            models.append(model)
        if not models:
            models = [self._free(f"{name}_resolution")]
            self._distributions.append({"name": models[0], "type": "truth_model_function", "x": t.name})
        whole = models[0]
        if len(models) > 1:
            whole = self._free(f"{name}_resolution")
            fractions = [self._value(term[0], f"{whole}_fraction_{i}") for i, term in enumerate(terms)]
            self._distributions.append(
                {"name": whole, "type": "mixture_model", "summands": models, "coefficients": fractions}
            )
        written["decayType"], written["resolutionModel"] = known[sides], whole
        return density

    def given(self, density, *observables):
        """Normalises a density over its own observable, at given values of the observables on which its parameters depend. Returns the
        density. It says nothing about the distribution of `observables`: multiply it with a density of them where that matters."""
        written = next(d for d in self._distributions if d["name"] == density.name)
        written["nextstat.given"] = [axis.name for axis in observables]
        return density

    def johnson_su(self, name, x, location, scale, gamma, delta):
        """Johnson's S_U distribution."""
        keys = {"mu": location, "lambda": scale, "gamma": gamma, "delta": delta}
        return self._density(name, "nextstat.johnson_su_dist", [x], x=x, **keys)

    def polynomial(self, name, x, coefficients):
        """The density `sum_i coefficients[i] x^i`, normalised."""
        return self._density(name, "polynomial_dist", [x], x=x, coefficients=list(coefficients))

    def chebychev(self, name, x, coefficients):
        """The density `1 + sum_i coefficients[i] T_(i+1)(z)`, normalised. `z` is `x` with its axis mapped to [-1, 1]."""
        return self._density(name, "chebychev_dist", [x], x=x, coefficients=list(coefficients))

    def bernstein(self, name, x, coefficients):
        """The density `sum_i coefficients[i] B_(i,n)(u)`, normalised. `u` is `x` with its axis mapped to [0, 1]."""
        return self._density(name, "bernstein_poly_dist", [x], x=x, coefficients=list(coefficients))

    def lognormal(self, name, x, mu, sigma):
        """The density `exp(-(ln x - mu)^2 / (2 sigma^2)) / x`, normalised."""
        return self._density(name, "lognormal_dist", [x], x=x, mu=mu, sigma=sigma)

    def generalized_normal(self, name, x, mean, alpha, beta):
        """The density `exp(-(|x - mean| / alpha)^beta)`, normalised."""
        return self._density(name, "generalized_normal_dist", [x], x=x, mean=mean, alpha=alpha, beta=beta)

    def uniform(self, name, *observables):
        """A constant density."""
        return self._density(name, "uniform_dist", observables, x=list(observables))

    def histogram(self, name, x, edges, contents):
        """A histogram of one observable. `contents` are the events in each bin."""
        density = self._density(name, "histogram_dist", [x])
        edges, contents = [float(e) for e in edges], [float(c) for c in contents]
        axis = {"name": x.name, "edges": edges}
        self._distributions[-1]["data"] = {"axes": [axis], "contents": contents}
        return density

    def spline(self, name, x, knots, values):
        """A natural cubic spline through the points (`knots`, `values`)."""
        keys = {"knots": [float(k) for k in knots], "values": [float(v) for v in values], "kind": "natural_cubic"}
        density = self._density(name, "nextstat.spline_dist", [x], x=x)
        self._distributions[-1].update(keys)
        return density

    def kde(self, name, x, sample, weights=None, bandwidth=1.0, reflect=True):
        """A density from a sample, for example of simulated events: Gaussian kernels whose widths follow the density.

        The widths of the kernels follow from the rules of Scott and Cranmer, times `bandwidth`. With `reflect` kernels
        are mirrored at the ends of the axis. The sum of kernels is approximated by a spline; the difference is less
        than 1e-6 of the maximum.
        """
        knots, values, _ = _native._kernel_density(sample, weights, x.low, x.high, float(bandwidth), bool(reflect))
        return self.spline(name, x, knots, values)

    def template(self, name, x, sample, edges, weights=None, responses=None, interpolation="code4p", acts_on=("shape", "yield")):
        """A histogram of simulated events whose weights follow nuisance parameters.

        `x` is an observable, or a list of them with a list of edges each. `sample` has a number per event (or a row
        of numbers), or is an `EventFile`. `responses` is a dictionary of nuisance parameters with pairs of weights
        (up, down): a weight per event, or names of columns of the file. The weights act on the shape and on the
        expected number of events of the process; `acts_on=["shape"]` or `acts_on=["yield"]` selects one of the two
        effects. `interpolation` is code0 (linear on either side), code2 (a parabola) or code4p (a polynomial between
        -1 and 1, linear outside).
        """
        inner = {"code0": "poly1", "code2": "poly2", "code4p": "poly6"}
        if interpolation not in inner:
            raise ValueError(f"the interpolation of '{name}' must be one of {', '.join(inner)}, not {interpolation!r}")
        words = {"type": "add", "in": inner[interpolation], "out": "poly1"}
        several = isinstance(x, (list, tuple))
        axes = list(x) if several else [x]
        bins = [[float(edge) for edge in axis] for axis in (edges if several else [edges])]
        density = self._density(name, "nextstat.template_dist", axes, x=axes)
        entry = self._distributions[-1]
        entry["estimator"] = {"type": "histogram", "edges": bins}
        from_file = hasattr(sample, "source")
        if from_file:
            entry["nextstat.source"] = sample.source
            if weights is not None:
                raise ValueError(f"the weights of '{name}' are a column of its file: EventFile(weight=)")
        else:
            rows = [list(row) if hasattr(row, "__len__") else [row] for row in sample]
            entry["entries"] = [[float(number) for number in row] for row in rows]
            if weights is not None:
                entry["weights"] = [float(weight) for weight in weights]
        entry["responses"] = []
        for parameter, (up, down) in dict(responses or {}).items():
            sides = {}
            for key, side in (("up", up), ("down", down)):
                if isinstance(side, str) != from_file:
                    what = "names of columns of the file" if from_file else "a number per event"
                    raise ValueError(f"'{key}' of the response of '{name}' to '{parameter.name}' must be {what}")
                sides[key] = side if from_file else [float(weight) for weight in side]
            entry["responses"].append(
                {"parameter": parameter.name, **sides, "interpolation": words, "acts_on": list(acts_on)}
            )
        return density

    def multivariate_normal(self, name, observables, mean, covariance):
        """The density `exp(-(x - mean)' C^-1 (x - mean) / 2)`, normalised. The elements of the covariance matrix C
        are numbers."""
        observables = list(observables)
        density = self._density(name, "multivariate_normal_dist", observables, x=observables, mean=list(mean))
        self._distributions[-1]["covariances"] = [[float(c) for c in row] for row in covariance]
        return density

    def flow(self, name, observables, manifest, context=()):
        """A normalising flow. `observables` are its features, in the order of the manifest. `manifest` is a path
        relative to the folder to which the model is written. `context` has one element for each number of the flow's
        context, in the order of the manifest: a parameter, a formula of parameters, or a number."""
        observables = list(observables) if isinstance(observables, (list, tuple)) else [observables]
        numbers = {"context": list(context)} if context else {}
        density = self._density(name, "nextstat.flow_dist", observables, x=observables, **numbers)
        self._distributions[-1]["manifest"] = str(manifest)
        return density

    def formula(self, name, formula, *observables):
        """A formula of observables and parameters, normalised numerically. It must not be negative. `observables` are
        needed only if the formula lacks some of them."""
        formula = expression(formula)
        observables = [*observables, *self._observables_in([formula], observables)]
        density = self._density(name, "generic_dist", observables)
        self._distributions[-1]["expression"] = formula._text
        return density

    def product(self, name, *factors):
        """The product of densities, normalised as a whole."""
        for factor in factors:
            if not isinstance(factor, Density):
                raise TypeError(f"the factors of '{name}' must be densities, not {type(factor).__name__}: product(name, first, second)")
        axes = list(dict.fromkeys(axis for factor in factors for axis in factor.observables))
        return self._density(name, "product_dist", axes, factors=list(factors))

    def mixture(self, name, summands, fractions):
        """A sum of normalised densities, each multiplied by its fraction. The fraction of the last density is 1 minus
        the sum of the others."""
        summands, fractions = list(summands), list(fractions)
        for summand in summands:
            if not isinstance(summand, Density):
                raise TypeError(f"the summands of '{name}' must be a list of densities, not of {type(summand).__name__}")
        if len(fractions) + 1 != len(summands):
            raise ValueError(f"the mixture '{name}' needs one fraction less than densities")
        axes = list(dict.fromkeys(axis for density in summands for axis in density.observables))
        density = self._density(name, "mixture_dist", axes, summands=summands, coefficients=fractions)
        self._distributions[-1]["extended"] = False
        return density


__all__ = ["Densities", "Density", "Expression"]
