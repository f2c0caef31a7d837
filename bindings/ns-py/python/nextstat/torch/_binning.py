"""Histograms whose contents are differentiable functions of events, edges and weights."""

from __future__ import annotations

import typing as t

import torch  # type: ignore


def _binned(x: torch.Tensor, edges: torch.Tensor, weights: torch.Tensor | None, below: t.Any) -> torch.Tensor:
    if x.dim() == 0 or edges.dim() != 1 or edges.shape[0] < 2:
        raise ValueError("give a tensor of events, and at least two edges in one dimension")
    if weights is not None and weights.shape != x.shape:
        raise ValueError(f"weights must have the shape of the events, {tuple(x.shape)}; it is {tuple(weights.shape)}")
    inside = below(edges - x.unsqueeze(-1)).diff(dim=-1)
    if weights is not None:
        inside = inside * weights.unsqueeze(-1)
    return inside.sum(dim=-2)


def kde_histogram(
    x: torch.Tensor, edges: torch.Tensor, bandwidth: float | torch.Tensor, weights: torch.Tensor | None = None
) -> torch.Tensor:
    """Return the contents of bins: the integrals of a Gaussian kernel density of the events in the last dimension.

    They are differentiable functions of events, edges, weights and bandwidth. Outer edges may be infinite.
    """
    return _binned(x, edges, weights, lambda distance: torch.special.ndtr(distance / bandwidth))


def soft_histogram(
    x: torch.Tensor, edges: torch.Tensor, temperature: float | torch.Tensor, weights: torch.Tensor | None = None
) -> torch.Tensor:
    """Return the contents of bins. An event contributes the difference of two sigmoids at the edges of a bin.

    They are differentiable functions of events, edges, weights and temperature, and faster to compute than a kernel
    density. Outer edges may be infinite. In the limit of temperature 0 the result is the ordinary histogram.
    """
    return _binned(x, edges, weights, lambda distance: torch.sigmoid(distance / temperature))
