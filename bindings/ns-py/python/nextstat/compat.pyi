from numpy.typing import ArrayLike

from ._native import BatchResult, Bounds, FitToysResult, GeneratingPoint, HypotestToysResult, Model

__all__ = [
    "HistFactoryModel",
    "fit_toys_batch_gpu",
    "fit_toys_batch_metal",
    "fit_toys_from_data_gpu",
    "fit_toys_from_data_metal",
    "hypotest_qtilde_toys_gpu",
    "hypotest_qtilde_toys_metal",
]

HistFactoryModel = Model

def fit_toys_batch_gpu(
    model: Model, params: GeneratingPoint, n_toys: int = 1000, seed: int = 0, device: str = "cuda"
) -> FitToysResult: ...
def fit_toys_batch_metal(
    model: Model, params: GeneratingPoint, n_toys: int = 1000, seed: int = 0, device: str = "metal"
) -> FitToysResult: ...
def fit_toys_from_data_gpu(
    model: Model,
    data: ArrayLike,
    init: ArrayLike | dict[str, float] | None = None,
    bounds: Bounds = None,
    device: str = "cuda",
) -> BatchResult: ...
def fit_toys_from_data_metal(
    model: Model,
    data: ArrayLike,
    init: ArrayLike | dict[str, float] | None = None,
    bounds: Bounds = None,
    device: str = "metal",
) -> BatchResult: ...
def hypotest_qtilde_toys_gpu(
    mu: float, model: Model, n_toys: int = 10_000, seed: int = 0, device: str = "cuda"
) -> HypotestToysResult: ...
def hypotest_qtilde_toys_metal(
    mu: float, model: Model, n_toys: int = 10_000, seed: int = 0, device: str = "metal"
) -> HypotestToysResult: ...
