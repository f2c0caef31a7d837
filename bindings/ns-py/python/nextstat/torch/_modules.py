"""Modules that call one function of a session with fixed options. They have no parameters that could be trained."""

from __future__ import annotations

import typing as t

import torch  # type: ignore

from .. import DifferentiableSession, ProfiledDifferentiableSession
from . import _functions as functions
from ._tensors import Tensors


class Likelihood(torch.nn.Module):
    """``-ln L`` as a function of yields and parameters."""

    def __init__(self, session: DifferentiableSession, *, check: bool = False) -> None:
        super().__init__()
        self.session, self.check = session, check

    def forward(self, yields: Tensors, params: Tensors) -> torch.Tensor:
        return functions.nll(self.session, yields, params, check=self.check)


class _Profiled(torch.nn.Module):
    def __init__(self, session: ProfiledDifferentiableSession, *, check: bool = False) -> None:
        super().__init__()
        self.session, self.check = session, check


class TestStatistic(_Profiled):
    """The statistic "q0", "q" or "qtilde" for a value of the parameter of interest."""

    __test__ = False  # otherwise pytest would collect a class with this name

    def __init__(
        self,
        session: ProfiledDifferentiableSession,
        *,
        test_stat: t.Literal["q0", "q", "qtilde"] = "q0",
        mu: float = 0.0,
        check: bool = False,
    ) -> None:
        super().__init__(session, check=check)
        self.test_stat, self.mu = test_stat, mu

    def forward(self, yields: Tensors) -> torch.Tensor:
        if self.test_stat == "q0":
            return functions.q0(self.session, yields, check=self.check)
        function = functions.q_mu if self.test_stat == "q" else functions.qtilde_mu
        return function(self.session, self.mu, yields, check=self.check)


class CLs(_Profiled):
    """CLs for a value of the parameter of interest: the observed value, then the five expected values."""

    def __init__(
        self,
        session: ProfiledDifferentiableSession,
        mu: float,
        *,
        test_stat: t.Literal["qtilde", "q"] = "qtilde",
        check: bool = False,
    ) -> None:
        super().__init__(session, check=check)
        self.mu, self.test_stat = mu, test_stat

    def forward(self, yields: Tensors) -> torch.Tensor:
        return functions.cls(self.session, self.mu, yields, test_stat=self.test_stat, check=self.check)


class UpperLimit(_Profiled):
    """CLs upper limits: the observed limit, then the five expected limits."""

    def __init__(
        self,
        session: ProfiledDifferentiableSession,
        *,
        cl: float = 0.95,
        test_stat: t.Literal["qtilde", "q"] = "qtilde",
        check: bool = False,
    ) -> None:
        super().__init__(session, check=check)
        self.cl, self.test_stat = cl, test_stat

    def forward(self, yields: Tensors) -> torch.Tensor:
        return functions.upper_limit(self.session, yields, cl=self.cl, test_stat=self.test_stat, check=self.check)


class Significance(_Profiled):
    """The significance of a discovery: the observed value, then the value expected for a signal of strength 1."""

    def forward(self, yields: Tensors) -> torch.Tensor:
        return functions.significance(self.session, yields, check=self.check)


class BestFit(_Profiled):
    """The best-fit parameters."""

    def forward(self, yields: Tensors) -> torch.Tensor:
        return functions.best_fit(self.session, yields, check=self.check)


class Uncertainty(_Profiled):
    """The uncertainty of the parameter of interest."""

    def forward(self, yields: Tensors) -> torch.Tensor:
        return functions.uncertainty(self.session, yields, check=self.check)
