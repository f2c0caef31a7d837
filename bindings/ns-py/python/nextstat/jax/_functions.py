"""Functions of sessions, with derivatives for JAX."""

from __future__ import annotations

import functools
import typing as t

import jax  # type: ignore
import jax.numpy as jnp  # type: ignore
import numpy as np

from .. import DifferentiableSession, ProfiledDifferentiableSession
from .._sessions import of_likelihood, of_profiled

Array: t.TypeAlias = t.Any
Compute: t.TypeAlias = t.Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def _checked(what: str, value: Array, width: int) -> Array:
    value = jnp.asarray(value)
    if not jnp.issubdtype(value.dtype, jnp.floating):
        raise TypeError(f"{what} must be floating-point numbers, not {value.dtype}")
    if value.ndim == 0 or value.shape[-1] != width:
        raise ValueError(f"the last dimension of {what} must have {width} elements; its shape is {value.shape}")
    return value


def _called(function: t.Callable[..., t.Any], shapes: t.Any, *arguments: Array) -> t.Any:
    """Call a function of NumPy arrays. `shapes` are the shapes of its results. Their type is that of the first
    argument."""
    dtype = arguments[0].dtype
    results = tuple(jax.ShapeDtypeStruct(shape, dtype) for shape in shapes)

    def call(*arrays: t.Any) -> t.Any:
        rows = [np.asarray(a, dtype=np.float64) for a in arrays]
        return tuple(np.asarray(r, dtype=dtype) for r in function(*rows))

    return jax.pure_callback(call, results, *arguments, vmap_method="broadcast_all")


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _of_rows(compute: Compute, size: tuple[int, ...], yields: Array) -> Array:
    return _of_rows_forward(compute, size, yields)[0]


def _of_rows_forward(compute: Compute, size: tuple[int, ...], yields: Array) -> tuple[Array, Array]:
    batch, n = yields.shape[:-1], yields.shape[-1]

    def call(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, jacobian = compute(y.reshape(-1, n))
        batch = y.shape[:-1]
        return value.reshape((*batch, *size)), jacobian.reshape((*batch, *size, n))

    return _called(call, ((*batch, *size), (*batch, *size, n)), yields)


def _of_rows_backward(compute: Compute, size: tuple[int, ...], jacobian: Array, flow: Array) -> tuple[Array]:
    product = flow[..., None] * jacobian
    return (product.sum(axis=-2) if size else product,)


_of_rows.defvjp(_of_rows_forward, _of_rows_backward)


def _profiled(
    session: ProfiledDifferentiableSession, name: str, yields: Array, size: tuple[int, ...], method: t.Any
) -> Array:
    of_profiled(session, name)
    y = _checked("yields", yields, session.nominal.shape[0])
    return _of_rows(lambda rows: method(rows)[:2], size, y)


def _nll_call(session: DifferentiableSession, yields: Array, params: Array) -> tuple[Array, Array, Array]:
    batch, n, m = yields.shape[:-1], yields.shape[-1], params.shape[-1]

    def call(y: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        value, by_yields, by_params = session.nll(y.reshape(-1, n), p.reshape(-1, m))
        batch = y.shape[:-1]
        return value.reshape(batch), by_yields.reshape(y.shape), by_params.reshape(p.shape)

    result: tuple[Array, Array, Array] = _called(call, (batch, (*batch, n), (*batch, m)), yields, params)
    return result


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _nll(session: DifferentiableSession, yields: Array, params: Array) -> Array:
    return _nll_call(session, yields, params)[0]


def _nll_forward(session: DifferentiableSession, yields: Array, params: Array) -> tuple[Array, t.Any]:
    return _nll(session, yields, params), (yields, params)


def _nll_backward(session: DifferentiableSession, saved: t.Any, flow: Array) -> tuple[Array, Array]:
    by_yields, by_params = _gradient(session, *saved)
    return flow[..., None] * by_yields, flow[..., None] * by_params


_nll.defvjp(_nll_forward, _nll_backward)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _gradient(session: DifferentiableSession, yields: Array, params: Array) -> tuple[Array, Array]:
    return _nll_call(session, yields, params)[1:]


def _gradient_forward(session: DifferentiableSession, yields: Array, params: Array) -> tuple[t.Any, t.Any]:
    return _gradient(session, yields, params), (yields, params)


def _gradient_backward(session: DifferentiableSession, saved: t.Any, flow: tuple[Array, Array]) -> tuple[Array, Array]:
    yields, params = saved
    n, m = yields.shape[-1], params.shape[-1]

    def call(y: np.ndarray, p: np.ndarray, v: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rows = y.reshape(-1, n), p.reshape(-1, m), v.reshape(-1, n), w.reshape(-1, m)
        by_yields, by_params = session.nll_along(*rows)
        return by_yields.reshape(y.shape), by_params.reshape(p.shape)

    result: tuple[Array, Array] = _called(call, (yields.shape, params.shape), yields, params, *flow)
    return result


_gradient.defvjp(_gradient_forward, _gradient_backward)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _best_fit(session: ProfiledDifferentiableSession, yields: Array) -> Array:
    batch, n, m = yields.shape[:-1], yields.shape[-1], len(session.parameter_names)

    def call(y: np.ndarray) -> tuple[np.ndarray]:
        return (session.best_fit(y.reshape(-1, n))[0].reshape((*y.shape[:-1], m)),)

    return _called(call, ((*batch, m),), yields)[0]


def _best_fit_forward(session: ProfiledDifferentiableSession, yields: Array) -> tuple[Array, Array]:
    return _best_fit(session, yields), yields


def _best_fit_backward(session: ProfiledDifferentiableSession, yields: Array, flow: Array) -> tuple[Array]:
    n, m = yields.shape[-1], flow.shape[-1]

    def call(y: np.ndarray, factors: np.ndarray) -> tuple[np.ndarray]:
        # The fits are repeated, because JAX passes only arrays from the forward to the backward pass.
        fits = session.best_fit(y.reshape(-1, n))[2]
        return (session.pull_back(fits, factors.reshape(-1, m)).reshape(y.shape),)

    return (_called(call, (yields.shape,), yields, flow)[0],)


_best_fit.defvjp(_best_fit_forward, _best_fit_backward)


def nll(session: DifferentiableSession, yields: Array, params: Array) -> Array:
    """Return ``-ln L``, which can be differentiated twice. The batches of yields and parameters are broadcast."""
    of_likelihood(session, "nll")
    n, m = session.nominal.shape[0], len(session.parameter_names)
    y, p = _checked("yields", yields, n), _checked("params", params, m)
    if y.dtype != p.dtype:
        raise TypeError(f"yields and params must have one type; they have {y.dtype} and {p.dtype}")
    batch = jnp.broadcast_shapes(y.shape[:-1], p.shape[:-1])
    return _nll(session, jnp.broadcast_to(y, (*batch, n)), jnp.broadcast_to(p, (*batch, m)))


def q0(session: ProfiledDifferentiableSession, yields: Array) -> Array:
    """Return q0, the statistic of a discovery."""
    return _profiled(session, "q0", yields, (), lambda rows: session.statistic("q0", 0.0, rows))


def q_mu(session: ProfiledDifferentiableSession, mu: float, yields: Array) -> Array:
    """Return the statistic q of the value ``mu`` of the parameter of interest."""
    return _profiled(session, "q_mu", yields, (), lambda rows: session.statistic("q", mu, rows))


def qtilde_mu(session: ProfiledDifferentiableSession, mu: float, yields: Array) -> Array:
    """Return the statistic qtilde of the value ``mu`` of the parameter of interest."""
    return _profiled(session, "qtilde_mu", yields, (), lambda rows: session.statistic("qtilde", mu, rows))


def cls(
    session: ProfiledDifferentiableSession,
    mu: float,
    yields: Array,
    *,
    test_stat: t.Literal["qtilde", "q"] = "qtilde",
) -> Array:
    """Return CLs of ``mu``: the observed value, then the values expected at -2, -1, 0, 1 and 2 standard deviations."""
    return _profiled(session, "cls", yields, (6,), lambda rows: session.cls(mu, rows, test_stat=test_stat))


def upper_limit(
    session: ProfiledDifferentiableSession,
    yields: Array,
    *,
    cl: float = 0.95,
    test_stat: t.Literal["qtilde", "q"] = "qtilde",
) -> Array:
    """Return CLs upper limits: the observed limit, then the limits expected at -2, -1, 0, 1 and 2 standard
    deviations."""
    return _profiled(session, "upper_limit", yields, (6,), lambda rows: session.upper_limit(rows, cl=cl, test_stat=test_stat))


def significance(session: ProfiledDifferentiableSession, yields: Array) -> Array:
    """Return the significance of a discovery: the observed value, then the value expected for a signal of strength 1.
    """
    return _profiled(session, "significance", yields, (2,), lambda rows: session.significance(rows))


def uncertainty(session: ProfiledDifferentiableSession, yields: Array) -> Array:
    """Return the uncertainty of the parameter of interest."""
    return _profiled(session, "uncertainty", yields, (), lambda rows: session.uncertainty(rows))


def best_fit(session: ProfiledDifferentiableSession, yields: Array) -> Array:
    """Return the best-fit parameters."""
    of_profiled(session, "best_fit")
    return _best_fit(session, _checked("yields", yields, session.nominal.shape[0]))
