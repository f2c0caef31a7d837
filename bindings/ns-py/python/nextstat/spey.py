"""A backend of [spey](https://spey.readthedocs.io), for reinterpretations: `spey.get_backend("nextstat")`.

Needs `pip install nextstat-hep[spey]`. spey finds the backend by itself. What it does and what it leaves to spey:
docs/spey.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

try:
    import spey as _spey  # type: ignore[import-untyped]
    from spey.base.model_config import ModelConfig  # type: ignore[import-untyped]
except ImportError as missing:
    raise ImportError("nextstat.spey needs the package spey: pip install 'nextstat-hep[spey]'") from missing

from . import __version__, _native

__all__ = ["NextStat"]

Floats = NDArray[np.float64]


class NextStat(_spey.BackendBase):  # type: ignore[misc]
    """A HistFactory model as a statistical model of spey.

    `background_only_model` is a workspace: a dictionary, a path, JSON, or what else `load_workspace` reads. `signal_patch` is a
    JSON Patch (a list of operations, or a path) that adds the signal. Without it the workspace contains the signal. Further
    arguments are those of `load_workspace`: `measurement`, `poi`, `mask`. Raises `WorkspaceError` for an invalid model, and one
    without a single parameter of interest.
    """

    name = "nextstat"
    version = __version__
    author = "The NextStat developers"
    spey_requires = ">=0.2.0,<0.3.0"
    doi: Sequence[str] = ()
    arXiv: Sequence[str] = ()

    def __init__(self, background_only_model: Any, signal_patch: Any = None, **options: Any) -> None:
        self._model = _native.load_workspace(background_only_model, patch=signal_patch, **options)
        index = self._model.poi_index
        if index is None:
            raise _native.WorkspaceError(
                "spey tests one signal strength, and this model has no parameter of interest; "
                "name it: spey.get_backend('nextstat')(workspace, poi='mu')"
            )
        self._poi: int = index

    @property
    def model(self) -> _native.Model:
        """The model, for the functions of this package."""
        return self._model

    @property
    def is_alive(self) -> bool:
        """Whether the signal changes the expected yield of a bin."""
        return bool(np.any(self._yields(1.0) != self._yields(0.0)))

    def config(self, allow_negative_signal: bool = True, poi_upper_bound: float | None = 10.0) -> ModelConfig:
        """Start values, bounds and names of the parameters, and which is the signal strength.

        The least signal strength is the one at which the first bin's expected yield is zero, but not below -10.
        """
        background, signal = self._yields(0.0), self._yields(1.0) - self._yields(0.0)
        least = -float(np.min(background[signal > 0] / signal[signal > 0], initial=np.inf))
        bounds: list[tuple[float | None, float | None]] = [
            (low if np.isfinite(low) else None, high if np.isfinite(high) else None)
            for low, high in self._model.bounds.tolist()
        ]
        upper = bounds[self._poi][1] if poi_upper_bound is None else poi_upper_bound
        bounds[self._poi] = (max(least, -10.0) if allow_negative_signal else 0.0, upper)
        return ModelConfig(
            poi_index=self._poi,
            minimum_poi=least,
            suggested_init=self._model.init.tolist(),
            suggested_bounds=bounds,
            parameter_names=self._model.parameter_names,
            suggested_fixed=self._model.fixed.tolist(),
        )

    def expected_data(self, pars: ArrayLike) -> list[float]:
        """Expected yields of all bins, and expected auxiliary data, at the parameters `pars`."""
        data: list[float] = self._model.expected_data(pars).tolist()
        return data

    def get_logpdf_func(
        self, expected: _spey.ExpectationType = _spey.ExpectationType.observed, data: ArrayLike | None = None
    ) -> Callable[[ArrayLike], float]:
        """Returns a function of the parameters: ln L of `data` (main counts, or these and auxiliary data)."""
        counts = self._data(expected, data)
        return lambda pars: -self._model.nll(pars, counts)

    def get_objective_function(
        self,
        expected: _spey.ExpectationType = _spey.ExpectationType.observed,
        data: ArrayLike | None = None,
        do_grad: bool = True,
    ) -> Callable[[ArrayLike], Any]:
        """Returns a function of the parameters: -ln L, and its exact gradient if `do_grad` is true."""
        counts = self._data(expected, data)
        if do_grad:
            return lambda pars: self._model.nll_and_grad(pars, counts)
        return lambda pars: self._model.nll(pars, counts)

    def get_hessian_logpdf_func(
        self, expected: _spey.ExpectationType = _spey.ExpectationType.observed, data: ArrayLike | None = None
    ) -> Callable[[ArrayLike], Floats]:
        """Returns a function of the parameters: the exact second derivatives of ln L."""
        counts = self._data(expected, data)
        return lambda pars: -self._model.hessian(pars, counts)

    def get_sampler(self, pars: ArrayLike) -> Callable[..., Floats]:
        """Returns a function that draws data sets at the parameters `pars`, a row each.

        The seed comes from NumPy's global generator (`numpy.random.seed`), as that of spey's own samplers.
        """

        def sample(number_of_samples: int, include_auxiliary: bool = True) -> Floats:
            seed = int(np.random.randint(2**31))
            return self._model.toy_data(pars, number_of_samples, seed, include_auxdata=include_auxiliary)

        return sample

    def _yields(self, strength: float) -> Floats:
        """Expected yields at the start values of all other parameters."""
        at = self._model.init.copy()
        at[self._poi] = strength
        return self._model.expected_data(at, include_auxdata=False)

    def _data(self, expected: _spey.ExpectationType, data: ArrayLike | None) -> Floats:
        if data is not None:
            return np.asarray(data, dtype=np.float64)
        if expected == _spey.ExpectationType.apriori:
            at = self._model.init.copy()
            at[self._poi] = 0.0
            return self._model.expected_data(at)
        return self._model.observed_data()
