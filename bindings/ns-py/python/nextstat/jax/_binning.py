"""Histograms whose contents are differentiable functions of events, edges and weights."""

from __future__ import annotations

import typing as t

import jax  # type: ignore
import jax.numpy as jnp  # type: ignore


def _binned(x: t.Any, edges: t.Any, weights: t.Any, below: t.Any) -> t.Any:
    x, edges = jnp.asarray(x), jnp.asarray(edges)
    if x.ndim == 0 or edges.ndim != 1 or edges.shape[0] < 2:
        raise ValueError("give an array of events, and at least two edges in one dimension")
    inside = jnp.diff(below(edges - x[..., None]), axis=-1)
    if weights is not None:
        inside = inside * jnp.asarray(weights)[..., None]
    return inside.sum(axis=-2)


def kde_histogram(x: t.Any, edges: t.Any, bandwidth: t.Any, weights: t.Any = None) -> t.Any:
    """Return the contents of bins: the integrals of a Gaussian kernel density. The last dimension of `x` has the
    events."""
    return _binned(x, edges, weights, lambda distance: jax.scipy.stats.norm.cdf(distance / bandwidth))


def soft_histogram(x: t.Any, edges: t.Any, temperature: t.Any, weights: t.Any = None) -> t.Any:
    """Return the contents of bins. An event contributes the difference of two sigmoids at the edges of a bin."""
    return _binned(x, edges, weights, lambda distance: jax.nn.sigmoid(distance / temperature))
