"""The likelihood of a model and its statistics as differentiable functions of JAX.

    import nextstat, nextstat.jax

    model = nextstat.load_workspace("workspace.json")
    session = nextstat.ProfiledDifferentiableSession(model, ["signal"], asimov=1.0)
    expected = lambda yields: nextstat.jax.significance(session, yields)[..., 1]
    jax.grad(expected)(session.nominal)

Functions take a session and an array with the numbers of its inputs in the last dimension. All other dimensions are
batches. The functions support ``jit``, ``vmap`` and reverse-mode differentiation. Computations run on the CPU in
float64 through ``jax.pure_callback``. With 32-bit numbers, JAX's default, arguments and results are rounded to float32.

Needs JAX (``pip install jax``).
"""

try:
    import jax as _jax  # type: ignore # noqa: F401
except ImportError as error:
    raise ImportError("nextstat.jax needs JAX, which is not installed: pip install jax", name=error.name) from error

from ._binning import kde_histogram, soft_histogram
from ._functions import best_fit, cls, nll, q0, q_mu, qtilde_mu, significance, uncertainty, upper_limit

__all__ = [
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
