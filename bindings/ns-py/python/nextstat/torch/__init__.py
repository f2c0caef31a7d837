"""The likelihood of a model and its statistics as differentiable functions of PyTorch.

    import nextstat, nextstat.torch

    model = nextstat.load_workspace("workspace.json")
    session = nextstat.ProfiledDifferentiableSession(model, ["signal"], asimov=1.0)
    yields = torch.tensor(session.nominal, requires_grad=True)
    nextstat.torch.significance(session, yields)[..., 1].backward()

Functions take a session and a tensor with the numbers of its inputs in the last dimension. All other dimensions are
batches. Computations run on the CPU in float64: tensors of other devices and types are copied.

Needs PyTorch (``pip install torch``).
"""

try:
    import torch as _torch  # type: ignore # noqa: F401
except ImportError as error:
    raise ImportError(
        "nextstat.torch needs PyTorch, which is not installed: pip install torch", name=error.name
    ) from error

from ._binning import kde_histogram, soft_histogram
from ._functions import (
    OneSidedWarning,
    best_fit,
    cls,
    nll,
    q0,
    q_mu,
    qtilde_mu,
    significance,
    uncertainty,
    upper_limit,
)
from ._modules import BestFit, CLs, Likelihood, Significance, TestStatistic, Uncertainty, UpperLimit

__all__ = [
    "BestFit",
    "CLs",
    "Likelihood",
    "OneSidedWarning",
    "Significance",
    "TestStatistic",
    "Uncertainty",
    "UpperLimit",
    "best_fit",
    "cls",
    "kde_histogram",
    "nll",
    "q0",
    "q_mu",
    "qtilde_mu",
    "significance",
    "soft_histogram",
    "uncertainty",
    "upper_limit",
]
