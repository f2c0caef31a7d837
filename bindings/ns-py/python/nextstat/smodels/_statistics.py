"""Several workspaces of one analysis: the most sensitive one answers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from ._computer import PyhfUpperLimitComputer
from ._evaluation import Evaluation

__all__ = ["StatsComputer"]


class StatsComputer:
    """Statistics of an analysis with one computer for each of its workspaces.

    The computer with the least a priori expected limit answers. Without one that has a limit, all answers are None. With
    `allowNegativeSignals`, fits may find negative signal strengths. Raises `ValueError` without a computer.
    """

    def __init__(self, subComputers: Sequence[PyhfUpperLimitComputer], allowNegativeSignals: bool = False) -> None:
        if not subComputers:
            raise ValueError("subComputers is empty; give one PyhfUpperLimitComputer for each workspace")
        self.subComputers = list(subComputers)
        self.allowNegativeSignals = allowNegativeSignals
        for computer in self.subComputers:
            computer.allowNegativeSignals = allowNegativeSignals

    def getMostSensitiveModel(self) -> PyhfUpperLimitComputer | None:
        """The computer with the least a priori expected limit."""
        return self._best

    def getTotalXSec(self) -> Any:
        """The yields over the luminosity, summed over all computers."""
        first, *others = [computer.getTotalXSec() for computer in self.subComputers]
        for other in others:
            first = first + other
        return first

    def getUpperLimit(self, evaluationType: Any = "observed", limit_on_xsec: bool = False, nSigma: int = 0, *, expected: Any = None) -> Any:
        """The upper limit on the signal strength, or with `limit_on_xsec` this times `getTotalXSec()`."""
        limit = self.getUpperLimitOnMu(evaluationType, nSigma, expected=expected)
        return limit * self.getTotalXSec() if limit is not None and limit_on_xsec else limit

    def getUpperLimitOnMu(self, evaluationType: Any = "observed", nSigma: int = 0, *, expected: Any = None) -> float | None:
        """The upper limit on the signal strength."""
        return None if self._best is None else self._best.getUpperLimitOnMu(evaluationType, nSigma, expected=expected)

    def getUpperLimitOnSigmaTimesEff(self, evaluationType: Any = "observed", nSigma: int = 0, *, expected: Any = None) -> Any:
        """The upper limit on the cross section times efficiencies in the regions of the most sensitive workspace."""
        return None if self._best is None else self._best.getUpperLimitOnSigmaTimesEff(evaluationType, nSigma, expected=expected)

    def CLs(
        self,
        poi_test: float = 1.0,
        evaluationType: Any = "observed",
        return_type: str = "CLs",
        nSigma: int = 0,
        *,
        expected: Any = None,
    ) -> float | None:
        """CLs of the strength `poi_test`."""
        return None if self._best is None else self._best.CLs(poi_test, evaluationType, return_type, nSigma, expected=expected)

    def nll(
        self, poi_test: float = 1.0, evaluationType: Any = "observed", asimov: float | None = None, *, expected: Any = None
    ) -> float | None:
        """-ln L at the strength `poi_test`."""
        return None if self._best is None else self._best.nll(poi_test, evaluationType, asimov, expected=expected)

    def likelihood(
        self,
        poi_test: float = 1.0,
        evaluationType: Any = "observed",
        return_nll: bool = False,
        asimov: float | None = None,
        *,
        expected: Any = None,
    ) -> float | None:
        """The likelihood at the strength `poi_test`, or -ln L."""
        return None if self._best is None else self._best.likelihood(poi_test, evaluationType, return_nll, asimov, expected=expected)

    def nll_min(self, evaluationType: Any = "observed", *, expected: Any = None) -> dict[str, float] | None:
        """The least -ln L, and the signal strength there with its uncertainty."""
        return None if self._best is None else self._best.nll_min(evaluationType, self.allowNegativeSignals, expected=expected)

    def lmax(self, evaluationType: Any = "observed", return_nll: bool = False, *, expected: Any = None) -> dict[str, float | None] | None:
        """The largest likelihood, and the signal strength there with its uncertainty."""
        return None if self._best is None else self._best.lmax(evaluationType, return_nll, self.allowNegativeSignals, expected=expected)

    def get_five_values(
        self, evaluationType: Any = "observed", return_nll: bool = True, check_for_maxima: bool = False, *, expected: Any = None
    ) -> dict[str, float | None]:
        """`nll_min()`, with -ln L at strength 1 (`nllbsm`) and 0 (`nllsm`). Empty without a limit.

        Without `return_nll` likelihoods: `lmax`, `lbsm` and `lsm`. `check_for_maxima` has no effect, because the minimum has a certificate.
        """
        of = Evaluation.of(evaluationType, expected)
        least = self.nll_min(of) if return_nll else self.lmax(of)
        if least is None:
            return {}
        names = ("nllbsm", "nllsm") if return_nll else ("lbsm", "lsm")
        return {**least, **{name: self.likelihood(at, of, return_nll) for name, at in zip(names, (1.0, 0.0))}}

    @cached_property
    def _best(self) -> PyhfUpperLimitComputer | None:
        limits = [(computer.getUpperLimitOnMu(Evaluation.apriori), computer) for computer in self.subComputers]
        found = [(limit, computer) for limit, computer in limits if limit is not None]
        return min(found, key=lambda pair: pair[0])[1] if found else None
