"""Upper limits, confidence levels and likelihoods of one workspace."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _native
from ._data import PyhfData
from ._evaluation import Evaluation, confidence

__all__ = ["PyhfUpperLimitComputer"]

Floats = NDArray[np.float64]


class PyhfUpperLimitComputer:
    """Statistics of the signal of `data`. Signal strengths are relative to its yields.

    `cl` is the confidence level of limits, `lumi` the luminosity (a number, or a quantity with a unit) for cross sections.
    `evaluationType` is "observed", "apriori" or "aposteriori"; `expected` is its name and values (False, True, "posteriori") in SModelS 2.
    Limits and confidence levels use CLs with `qtilde` and asymptotic formulae.
    """

    dataType = "pyhf"

    def __init__(self, data: PyhfData, cl: float = 0.95, lumi: Any = None) -> None:
        self.data = data
        self.cl = cl
        self.lumi = lumi
        self.name = data.jsonFileName
        self.allowNegativeSignals = False
        self.nsignals = data.nsignals
        self.zeroSignalsFlag = data.zeroSignalsFlag
        self._bound = self._strongest()
        self.patch: list[dict[str, Any]] = data.patch((0.0, self._bound))
        self.workspace: dict[str, Any] = _native.patch(data.inputJson, self.patch)
        self._limits: dict[Evaluation, _native.LimitResult] = {}

    @cached_property
    def model(self) -> _native.Model:
        """The model, for the functions of this package. The signal strength is not negative."""
        return self._load((0.0, self._bound))

    def getUpperLimitOnMu(
        self, evaluationType: Any = "observed", nSigma: int = 0, *, expected: Any = None, pmSigma: float = 0.0
    ) -> float | None:
        """The upper limit on the signal strength. None without a signal, and if CLs does not fall to `1 - cl`.

        `nSigma` (-2 to 2) asks for the edge of the band of an expected limit. `pmSigma` has no meaning here, as in SModelS.
        """
        of = Evaluation.of(evaluationType, expected)
        at = _band(of, nSigma)
        if self.zeroSignalsFlag:
            return None
        limit = self.limit(of)
        return limit.observed if of is not Evaluation.aposteriori and nSigma == 0 else limit.expected[at]

    def getUpperLimitOnSigmaTimesEff(self, evaluationType: Any = "observed", nSigma: int = 0, *, expected: Any = None) -> Any:
        """The upper limit on the cross section times efficiencies, summed over regions, in the inverse unit of `lumi`."""
        limit = self.getUpperLimitOnMu(evaluationType, nSigma, expected=expected)
        return None if limit is None else limit * self.getTotalXSec()

    def getTotalXSec(self) -> Any:
        """The yields of all regions over the luminosity."""
        return self.data.getTotalXSec() if self.lumi is None else self.data.totalSignalYield / self.lumi

    def CLs(
        self,
        mu: float = 1.0,
        evaluationType: Any = "observed",
        return_type: str = "CLs",
        nSigma: int = 0,
        *,
        expected: Any = None,
        reset_data: bool = True,
        pmSigma: float = 0.0,
    ) -> float:
        """CLs of the strength `mu`, as "CLs", "1-CLs", "CLs-alpha" or "alpha-CLs". NaN where it does not exist.

        `reset_data` and `pmSigma` have no effect: a computer does not change.
        """
        of = Evaluation.of(evaluationType, expected)
        at = _band(of, nSigma)
        confidence(1.0, return_type, self.cl)
        test = _native.hypotest(self.model, mu, data=self._counts(of))
        found = test.cls if of is not Evaluation.aposteriori and nSigma == 0 else test.expected_set["cls"][at]
        return math.nan if found is None else confidence(found, return_type, self.cl)

    def nll(
        self, mu: float = 1.0, evaluationType: Any = "observed", asimov: float | None = None, *, expected: Any = None
    ) -> float | None:
        """-ln L at the strength `mu`, with all other parameters fitted. None where the likelihood is not finite.

        `asimov` is a strength: the data are then those expected there, after a fit of the data of `evaluationType`.
        """
        counts = self._counts(Evaluation.of(evaluationType, expected))
        if asimov is not None:
            counts = self.model.expected_data(self._fit(counts, {self.data.strength: asimov}).bestfit)
        return _finite(self._fit(counts, {self.data.strength: mu}).nll)

    def likelihood(
        self,
        mu: float = 1.0,
        evaluationType: Any = "observed",
        return_nll: bool = False,
        asimov: float | None = None,
        *,
        expected: Any = None,
    ) -> float | None:
        """The likelihood at the strength `mu`, or -ln L (`return_nll`). Arguments are those of `nll`."""
        return _form(return_nll)(self.nll(mu, evaluationType, asimov, expected=expected))

    def nll_min(
        self, evaluationType: Any = "observed", allowNegativeSignals: bool = False, *, expected: Any = None
    ) -> dict[str, float]:
        """The least -ln L (`nll_min`), the strength there (`muhat`), and its uncertainty from second derivatives (`sigma_mu`).

        With `allowNegativeSignals`, strengths go down to where the first bin's expected yield is zero. `sigma_mu` is NaN where the second
        derivatives give none.
        """
        counts = self._counts(Evaluation.of(evaluationType, expected))
        model = self._unbounded if allowNegativeSignals else self.model
        found = _native.fit(model, data=counts, crossings=False)
        at = model.parameter_names.index(self.data.strength)
        sigma = float(found.uncertainties[at])
        if math.isnan(sigma):
            sigma = _curvature(model, found.bestfit, counts, at)
        return {"nll_min": found.nll, "muhat": float(found.bestfit[at]), "sigma_mu": sigma}

    def lmax(
        self,
        evaluationType: Any = "observed",
        return_nll: bool = False,
        allowNegativeSignals: bool = False,
        *,
        expected: Any = None,
    ) -> dict[str, float | None]:
        """The largest likelihood or the least -ln L (`lmax`), with `muhat` and `sigma_mu` as `nll_min`."""
        least = self.nll_min(evaluationType, allowNegativeSignals, expected=expected)
        return {"lmax": _form(return_nll)(least["nll_min"]), "muhat": least["muhat"], "sigma_mu": least["sigma_mu"]}

    def limit(self, evaluationType: Any = "observed") -> _native.LimitResult:
        """The result of `nextstat.upper_limit`, with its warnings. Each is computed once."""
        of = Evaluation.of(evaluationType)
        # Both come from one search of the observed data.
        key = Evaluation.apriori if of is Evaluation.apriori else Evaluation.observed
        if key not in self._limits:
            self._limits[key] = _native.upper_limit(self.model, cl=self.cl, data=self._counts(key))
        return self._limits[key]

    @cached_property
    def _unbounded(self) -> _native.Model:
        """The model with negative signal strengths."""
        at = self.model.init.copy()
        index = self.model.parameter_names.index(self.data.strength)
        at[index] = 0.0
        background = self.model.expected_data(at, include_auxdata=False)
        at[index] = 1.0
        signal = self.model.expected_data(at, include_auxdata=False) - background
        least = float(np.min(background[signal > 0] / signal[signal > 0], initial=self._bound))
        return self._load((-max(least, 0.0), self._bound))

    def _load(self, bounds: tuple[float, float]) -> _native.Model:
        document = _native.patch(self.data.inputJson, self.data.patch(bounds))
        return _native.load_workspace(document, document["measurements"][0]["name"])

    def _counts(self, of: Evaluation) -> Floats:
        if of is not Evaluation.apriori:
            return self.model.observed_data()
        at = self.model.init.copy()
        at[self.model.parameter_names.index(self.data.strength)] = 0.0
        return self.model.expected_data(at)

    def _fit(self, counts: Floats, fixed: dict[str, float]) -> _native.FitResult:
        return _native.fit(self.model, data=counts, fixed=fixed, uncertainties=False, covariance=False, crossings=False)

    def _strongest(self) -> float:
        """A strength far above all that a fit or a limit can find: ten times where a single bin's signal alone exceeds all data."""
        most = {observed["name"]: np.array(observed["data"], dtype=np.float64) for observed in self.data.inputJson["observations"]}
        # A priori data are background, so that counts too.
        for channel in self.data.inputJson["channels"]:
            for sample in channel["samples"]:
                most[channel["name"]] += np.maximum(sample["data"], 0.0)
        counts = {region.smodels: float(most[region.channel][region.bin]) for region in self.data.signals}
        # Ten standard deviations above the counts, and 30 for where there are none.
        reached = [
            (counts[name] + 10 * math.sqrt(counts[name]) + 30) / signal for name, signal in self.nsignals.items() if signal > 0
        ]
        return 10 * min(reached, default=1.0)


def _band(of: Evaluation, nSigma: int) -> int:
    """The place of a band's edge among expected values."""
    if nSigma not in (-2, -1, 0, 1, 2):
        raise ValueError(f"nSigma is {nSigma}; give -2, -1, 0, 1 or 2")
    if of is Evaluation.observed and nSigma != 0:
        raise ValueError("an observed value has no band; ask for nSigma with 'aposteriori' or 'apriori'")
    return 2 + nSigma


def _curvature(model: _native.Model, at: Floats, counts: Floats, index: int) -> float:
    """The uncertainty from second derivatives where a fit has none, because the strength is at its bound."""
    free = np.flatnonzero(~model.fixed)
    try:
        variance = np.linalg.inv(model.hessian(at, counts)[np.ix_(free, free)]).diagonal()[free == index][0]
    except np.linalg.LinAlgError:
        return math.nan
    return math.sqrt(variance) if variance > 0 else math.nan


def _form(return_nll: bool) -> Callable[[float | None], float | None]:
    return lambda nll: nll if nll is None or return_nll else math.exp(-nll)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
