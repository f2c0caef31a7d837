"""The parts of an HS3 document that is being drawn at random."""

from __future__ import annotations

import numpy as np


class Draft:
    """The parts of a document that is being drawn."""

    def __init__(self, rng, wide=False):
        self.rng = rng
        #: Whether decays, convolutions and Landau densities are drawn too.
        self.wide = wide
        self.distributions, self.functions, self.parameters, self.aux = [], [], {}, []
        self.hints: dict[str, dict] = {}
        self.alphas: list[str] = []
        #: Whether parameters of densities may be free.
        self.shapes_free = True
        self._count = 0

    def name(self, of: str) -> str:
        self._count += 1
        return f"{of}{self._count}"

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def pick(self, values):
        return values[int(self.rng.integers(len(values)))]

    def between(self, low: float, high: float) -> float:
        """A number with few digits, so that the file is short."""
        value = float(self.rng.uniform(low, high))
        return float(f"{value:.5g}")

    def power(self, low: float, high: float) -> float:
        """A number between powers of ten."""
        return float(f"{10 ** self.rng.uniform(low, high):.4g}")

    def add(self, of_type: str, **keys) -> str:
        name = self.name(of_type.replace("nextstat.", "").split("_")[0])
        self.distributions.append({"name": name, "type": of_type, **keys})
        return name

    def function(self, expression: str) -> str:
        name = self.name("fn")
        self.functions.append({"name": name, "type": "generic_function", "expression": expression})
        return name

    def parameter(self, of: str, value: float, low: float, high: float, truth=None, const=False) -> str:
        name = self.name(of)
        self.parameters[name] = dict(value=value, low=low, high=high, const=const, truth=value if truth is None else truth)
        return name

    def gaussian_constraint(self, name: str, sigma: float):
        """A constraint term whose centre, a global observable, is the value of the parameter."""
        centre = self._global(f"nom_{name}", self.parameters[name]["value"])
        self.distributions.append({"name": f"c_{name}", "type": "gaussian_dist", "x": name, "mean": centre, "sigma": sigma})
        self.aux.append(f"c_{name}")

    def _global(self, name: str, value: float) -> str:
        """A constant parameter, a global observable."""
        self.parameters[name] = dict(value=value, low=None, high=None, const=True, truth=value)
        return name

    def poisson_constraint(self, name: str, factor: float, count: int):
        """A count, a global observable, that measures `factor` times the parameter."""
        count_name = self._global(f"n_{name}", count)
        self.functions.append({"name": f"tau_{name}", "type": "product", "factors": [name, factor]})
        self.distributions.append({"name": f"c_{name}", "type": "poisson_dist", "x": count_name, "mean": f"tau_{name}"})
        self.aux.append(f"c_{name}")

    def lognormal_constraint(self, name: str, sigma: float):
        """A constraint term of a positive parameter, whose median, a global observable, is near the parameter."""
        centre = self._global(f"nom_{name}", float(f"{np.log(self.parameters[name]['value']):.8g}"))
        self.distributions.append({"name": f"c_{name}", "type": "lognormal_dist", "x": name, "mu": centre, "sigma": sigma})
        self.aux.append(f"c_{name}")

    def gamma_constraint(self, name: str, count: int):
        """A constraint term of a positive parameter, as from a count near `count`. Its shape is a global observable."""
        shape = self._global(f"shape_{name}", count + 1.0)
        scale = float(f"{self.parameters[name]['value'] / count:.8g}")
        self.distributions.append({"name": f"c_{name}", "type": "gamma_dist", "x": name, "gamma": shape, "beta": scale, "mu": 0.0})
        self.aux.append(f"c_{name}")

    def nuisance(self) -> str:
        """A nuisance parameter with a constraint of width 1; half of the time one that is there already."""
        if self.alphas and self.chance(0.5):
            return self.pick(self.alphas)
        name = self.parameter("alpha", 0.0, -5.0, 5.0)
        self.gaussian_constraint(name, 1.0)
        self.alphas.append(name)
        return name

    def number(self, of: str, value: float, low: float, high: float, spread: float, free=0.25):
        """A number, or a parameter near it with or without a constraint, or a function of a nuisance parameter."""
        draw = self.rng.random()
        if draw > free or not self.shapes_free:
            return value
        if draw > 0.6 * free:
            step = float(f"{spread * 0.3:.4g}")
            return (
                self.function(f"{value!r}+{step!r}*{self.nuisance()}")
                if low < value - 2 * spread and high > value + 2 * spread
                else value
            )
        name = self.parameter(of, value, low, high, truth=float(np.clip(value + 0.3 * spread * self.rng.normal(), low, high)))
        if draw > 0.3 * free:
            kind = self.pick(["gaussian", "gaussian", "lognormal", "gamma"]) if low > 0 else "gaussian"
            if kind == "lognormal":
                self.lognormal_constraint(name, float(f"{0.5 * spread / value:.4g}"))
            elif kind == "gamma":
                self.gamma_constraint(name, max(2, min(400, round(4 * (value / spread) ** 2))))
            else:
                self.gaussian_constraint(name, float(f"{0.5 * spread:.4g}"))
        return name
