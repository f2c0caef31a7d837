from typing import Literal, overload

from numpy.typing import ArrayLike

from ._native import FitResult, Floats, Model, Source

def asimov_data(
    model: Model | Source,
    params: ArrayLike | dict[str, float] | FitResult | None = None,
    *,
    poi_value: float | None = None,
    poi_name: str | None = None,
    fit_results: FitResult | None = None,
    include_auxdata: bool = True,
) -> Floats: ...
@overload
def generate_asimov_data(
    model: Model | Source,
    asimov_mu: float,
    *,
    data: ArrayLike | None = None,
    fixed: dict[str, float] | None = None,
    init: ArrayLike | dict[str, float] | None = None,
    return_fitted_pars: Literal[False] = False,
    include_auxdata: bool = True,
) -> Floats: ...
@overload
def generate_asimov_data(
    model: Model | Source,
    asimov_mu: float,
    *,
    data: ArrayLike | None = None,
    fixed: dict[str, float] | None = None,
    init: ArrayLike | dict[str, float] | None = None,
    return_fitted_pars: Literal[True],
    include_auxdata: bool = True,
) -> tuple[Floats, Floats]: ...
