"""Compares NextStat with the oracle on one model. Every disagreement is a sentence with both numbers."""

from __future__ import annotations

import copy
import re
from dataclasses import replace

import numpy as np

import nextstat

from . import asimov, exact
from .draw import Case
from .likelihood import Likelihood
from .statistics import Statistics, covariance

#: Largest difference of `-ln L` per event, and of minima in `-ln L`.
VALUE, MINIMUM = 1e-9, 1e-6
#: Largest relative difference of uncertainties and of limits.
UNCERTAINTY, LIMIT = 2e-4, 1e-4
#: Largest distance of the minimum of Asimov data from the point of the data, in twice `-ln L`.
ASIMOV = 2e-5


class Comparison:
    """A model in both programs, and the disagreements found."""

    def __init__(self, case: Case):
        self.case, self.problems, self.notes = case, [], set()
        self.rng = np.random.default_rng([case.seed, case.index, 77])
        self.oracle = Likelihood(case.document)
        self.model = nextstat.load_workspace({k: v for k, v in case.document.items() if k != "misc"})
        self.names = list(self.model.parameter_names)
        self.positions = [self.oracle.index[name] for name in self.names]
        self.poi = self.oracle.names[self.oracle.poi]
        self.statistics = Statistics(self.oracle, self.rng)
        self.size = 10 + sum(float(np.abs(c.weights).sum()) for c in self.oracle.channels)

    def fail(self, quantity: str, ours, right, why: str = ""):
        self.problems.append(f"{quantity}: NextStat {ours}, right {right}{'; ' + why if why else ''}")

    def point(self, values) -> np.ndarray:
        """Values in NextStat's order as a point of the oracle."""
        x = self.oracle.init.copy()
        x[self.positions] = values
        return x

    def value_at(self, x) -> float:
        try:
            return float(self.model.nll([x[i] for i in self.positions]))
        except nextstat.NextstatError as error:
            self.notes.add(f"nll: {str(error)[:60]}")
            return float("inf")

    def points(self, count: int) -> list[np.ndarray]:
        """Random points within the bounds."""
        model, points = self.oracle, []
        for _ in range(count):
            x = model.init.copy()
            free = ~model.fixed & np.isfinite(model.high - model.low)
            x[free] = model.low[free] + self.rng.random(free.sum()) * (model.high - model.low)[free]
            points.append(x)
        return points

    def values(self):
        """`-ln L` at the start, at the point of the events and at random points."""
        points = [self.oracle.init, self.case.truth, *self.points(3)]
        right = self.oracle.nll(np.array(points))
        for what, x, value in zip(
            ("the start", "the truth", "a random point", "a random point", "a random point"), points, right
        ):
            ours = self.value_at(x)
            if np.isfinite(ours) != np.isfinite(value) or np.isfinite(value) and abs(ours - value) > VALUE * self.size:
                self.fail(f"-ln L at {what} {self.shown(x)}", ours, value)

    def shown(self, x) -> str:
        return "{" + ", ".join(f"{n}: {x[i]:.6g}" for n, i in zip(self.names, self.positions)) + "}"

    def fits(self):
        """The best fit, its uncertainties, and fits from random starts."""
        model, statistics = self.oracle, self.statistics
        fit = nextstat.fit(self.model)
        if statistics.best is None or not np.isfinite(statistics.best.value):
            self.notes.add("no point has a likelihood")
            return
        if fit.converged:
            best = self.point(fit.bestfit)
            statistics.offer(best)
        lowest = statistics.best
        if not fit.converged and "negative weights" in self.case.traits and fit.nll < lowest.value - 10:
            # The density at an event with a negative weight may tend to 0.
            self.notes.add("the likelihood has no minimum")
            return
        if not fit.converged:
            self.fail(
                "the fit does not converge", fit.termination_reason, f"a minimum {lowest.value:.9g} at {self.shown(lowest.x)}"
            )
            return
        if fit.nll > lowest.value + MINIMUM:
            self.fail(
                "the best fit is above the minimum",
                f"{fit.nll:.9g} at {self.shown(best)}",
                f"{lowest.value:.9g} at {self.shown(lowest.x)}",
            )
        there = float(model.nll(best)[0])
        if not abs(fit.nll - there) <= VALUE * self.size:
            self.fail(f"-ln L at the best fit {self.shown(best)}", fit.nll, there)
        elif abs(fit.nll - lowest.value) <= MINIMUM and "weights" not in self.case.traits:
            self.uncertainties(fit, lowest)
        for x in self.points(2):
            start = {n: x[i] for n, i in zip(self.names, self.positions)}
            again = nextstat.fit(self.model, init=start, uncertainties=False)
            if not again.converged or again.nll > lowest.value + MINIMUM:
                self.fail(
                    f"the fit from the start {self.shown(x)}",
                    f"{again.nll:.9g}, {again.termination_reason}",
                    f"{lowest.value:.9g} at {self.shown(lowest.x)}",
                )

    def uncertainties(self, fit, lowest):
        if any(abs(lowest.x[i]) < 1e-2 for i in self.oracle.kinks):
            return
        free, matrix = covariance(self.oracle, lowest)
        if matrix is None:
            return
        right = dict(zip(free, np.sqrt(np.diag(matrix))))
        for name, i in zip(self.names, self.positions):
            if i in right:
                ours = fit.uncertainty(name)
                if ours is None or abs(ours / right[i] - 1) > UNCERTAINTY and not self.is_bend(lowest, i, ours, right[i]):
                    self.fail(f"uncertainty of {name} at {self.shown(lowest.x)}", ours, right[i], "; ".join(fit.warnings))

    def is_bend(self, lowest, i, ours, sigma) -> bool:
        """Whether the curvature jumps beside the minimum, as at an event at the peak of two half Gaussians, and the uncertainty is
        between those of both sides."""
        sides = []
        for shift in (-2e-2 * sigma, 2e-2 * sigma):
            x = lowest.x.copy()
            x[i] += shift
            free, matrix = covariance(self.oracle, replace(lowest, x=x))
            if matrix is not None and i in list(free):
                sides.append(float(np.sqrt(matrix[list(free).index(i), list(free).index(i)])))
        return len(sides) == 2 and min(sides) * (1 - 1e-2) <= ours <= max(sides) * (1 + 1e-2) and max(sides) > min(sides) * 1.001

    def asimov(self):
        """A fit of Asimov data gives the value that they were made with."""
        model = self.oracle
        low, high = model.low[model.poi], model.high[model.poi]
        fixed = model.init.copy()
        for mu in (low + f * (high - low) for f in (0.03, 0.3)):
            fixed[model.poi] = mu
            data, _ = asimov.asimov(model, fixed)
            if not all(np.all(weight >= 0) for _, weight in data):
                continue
            fit = nextstat.fit(self.model, asimov=mu)
            ours = fit.bestfit[self.names.index(self.poi)]
            width = fit.uncertainty(self.poi) or high - low
            # A flat direction turns the small error of the data into a visible change of parameters.
            if not fit.converged or abs(ours - mu) > 1e-3 * width and self.rise(fixed, fit) > ASIMOV:
                self.fail(f"the fit of Asimov data at {mu:.6g}", f"{ours} (width {width}), {fit.termination_reason}", mu)

    def rise(self, at, fit) -> float:
        """How far twice `-ln L` of the data expected at a point is above its minimum where a fit ended."""
        data, measured = asimov.asimov(self.oracle, at, 12)
        there, here = self.oracle.nll(np.array([self.point(fit.bestfit), at]), data, measured)
        return 2 * float(there - here)

    def limits(self):
        """Observed and expected limits are roots of the oracle's CLs."""
        if self.statistics.conditional(0.0) is None:
            # No Asimov data: there are events that a model without signal does not expect.
            self.notes.add("no likelihood at 0")
            return
        if not all(np.all(weight >= 0) for _, weight in self.statistics.data[0]):
            self.notes.add("no Asimov data: the density is negative where no event lies")
            return
        limit = nextstat.upper_limit(self.model)
        self.offer(0.0)
        if not limit.converged:
            self.fail("the limit does not converge", "; ".join(limit.warnings), "a limit")
            return
        statistics = self.statistics
        if limit.observed is not None:
            self.observed(limit.observed)
        else:
            self.no_limit("the observed limit", limit, lambda mu: 0.05 / max(statistics.cls(mu), 1e-300))
        for k, mu in zip((-2, -1, 0, 1, 2), limit.expected):
            root = asimov.expected_root(k)
            if mu is None:
                name = "the median expected limit" if k == 0 else f"the expected limit at {k:+d} sigma"
                self.no_limit(name, limit, lambda mu: np.sqrt(statistics.q_asimov(mu)) / root)
                continue
            s = self.precise(lambda st: np.sqrt(st.q_asimov(mu)), root)
            if s > root and mu in statistics.on_wall:
                self.notes.add("the oracle's fit of Asimov data ends beside a wall")
                continue
            if not abs(s / root - 1) <= LIMIT:
                self.fail(
                    f"expected limit {k:+d}", mu, f"about {mu * root / s:.6g}", f"sqrt(q_A) there is {s:.6g}, not {root:.6g}"
                )

    def no_limit(self, which, limit, excess):
        """There is no limit if nothing up to the bound is excluded, if everything above 0 is, or if the likelihood ends before.
        `excess` is above 1 where a value is excluded."""
        said = next((w for w in limit.warnings if which in w), "")
        ends = re.search(r"up to \S+ = ([-+.\de]+), and beyond it the likelihood is not finite", said)
        high = self.oracle.high[self.oracle.poi]
        if ends:
            edge = float(ends.group(1))
            right = excess(0.98 * edge) < 1 and not np.isfinite(self.conditional_value(1.02 * edge))
        else:
            right = excess(high) < 1 + LIMIT or excess(1e-4 * high) > 1
        if not right:
            self.fail(which, said or None, f"a value up to {high} is excluded first")

    def conditional_value(self, mu):
        """-ln L of the fit with the parameter of interest held, of the observed and of the Asimov data: the higher one."""
        statistics = self.statistics
        found = statistics.conditional(mu)
        return np.inf if found is None else statistics.q_asimov(mu)

    def offer(self, mu):
        """Offers NextStat's conditional fit to the oracle, which evaluates it itself."""
        try:
            fit = nextstat.fit(self.model, fixed={self.poi: mu}, uncertainties=False)
        except nextstat.NextstatError:
            return
        self.statistics.offer_conditional(mu, self.point(fit.bestfit))

    def observed(self, mu):
        self.offer(mu)
        cls = self.precise(lambda st: st.cls(mu), 0.05)
        if abs(cls - 0.05) > 5e-6:
            slope = (self.statistics.cls(mu * 1.01) - cls) / (0.01 * mu)
            right = mu + (0.05 - cls) / slope if slope else float("nan")
            if not abs(right / mu - 1) < LIMIT:
                self.fail("observed limit", mu, f"about {right:.6g}", f"CLs there is {cls:.6g}")
        test = nextstat.hypotest(self.model, mu)
        if test.cls is None or abs(test.cls - 0.05) > 1e-6:
            self.fail(f"CLs of a test at the observed limit {mu:.6g}", test.cls, 0.05)
        q = self.statistics.q(mu)
        if abs(test.q_obs - q) > 4 * MINIMUM + 1e-7 * q:
            self.fail(f"q at {mu:.6g}", test.q_obs, q)

    def digits(self):
        """`-ln L` of a few of the events at a random point, with 50 digits."""
        document = copy.deepcopy(self.case.document)
        for data in document["data"]:
            for key in ("entries", "weights"):
                if key in data:
                    data[key] = data[key][:6]
        few, x = Likelihood(document), self.points(1)[0]
        if not np.isfinite(few.nll(x)[0]):
            return
        try:
            right = exact.Exact(few, x).nll()
        except exact.Unsupported:
            return
        engine = nextstat.load_workspace({k: v for k, v in document.items() if k != "misc"})
        ours = engine.nll([x[i] for i in self.positions])
        if abs(ours - right) > VALUE * 10:
            self.fail(f"-ln L of few events with 50 digits at {self.shown(x)}", ours, right)

    def toys(self):
        """CLs of toys is the asymptotic one within its error, where there are many events and no bound is near."""
        statistics = self.statistics
        limit = nextstat.upper_limit(self.model, observed_only=True).observed
        if limit is None or self.case.traits & {"weights", "few events", "no events", "negative coefficient"} or self.size < 60:
            return
        right = statistics.cls(limit)
        test = nextstat.hypotest_toys(self.model, limit, n_toys=600, seed=self.case.index, search="local")
        # The asymptotic formulae are right for many events only: a part of their error is allowed for.
        if test.cls is None or abs(test.cls - right) > 5 * test.cls_error + 0.5 * right:
            self.fail(f"CLs of toys at {limit:.6g}", f"{test.cls} +- {test.cls_error}", right)
        right = asimov.cls_median(statistics.q_asimov(limit))
        median = test.expected_set["cls"][2]
        if median is None or abs(median - right) > 8 * test.cls_error + 0.5 * right:
            self.fail(f"median of the expected CLs of toys at {limit:.6g}", median, right)

    def precise(self, of, expected):
        """A number of the oracle, with more and more nodes where it disagrees, until two numbers agree."""
        value = of(self.statistics)
        n = self.statistics.nodes or {1: 8, 2: 6}.get(max(len(c.axes) for c in self.oracle.channels), 4)
        for factor in (1.5, 3, 6) if n > 4 else (1.5, 2):
            if abs(value / expected - 1) <= 0.3 * LIMIT:
                break
            finer = Statistics(self.oracle, self.rng, nodes=int(factor * n))
            finer.__dict__["best"], finer.better = self.statistics.best, self.statistics.better
            before, value = value, of(finer)
            if factor > 1.5 and abs(value / before - 1) < 0.1 * LIMIT:
                break
        return value


#: Checks of every model, and of every so many models.
ALWAYS = ("values", "fits", "asimov", "limits")
SOMETIMES = {"digits": 20, "toys": 50}


def compare(case: Case, quick=False) -> list[str]:
    """All disagreements on one model. `quick` leaves out what takes long: toys, Asimov data of three observables, and the limits of
    every second model."""
    parts = [*ALWAYS, *(part for part, every in SOMETIMES.items() if case.index % every == 0)]
    if quick:
        large = {"asimov", "limits"} if "3d" in case.traits else set()
        left_out = {"toys"} | large | ({"limits"} if case.index % 2 else set())
        parts = [part for part in parts if part not in left_out]
    try:
        comparison = Comparison(case)
    except nextstat.NextstatError as error:
        return [f"the model is refused: {error}"]
    for part in parts:
        try:
            getattr(comparison, part)()
        except nextstat.NextstatError as error:
            comparison.problems.append(f"{part}: NextStat refuses: {type(error).__name__}: {str(error)[:400]}")
    return comparison.problems
