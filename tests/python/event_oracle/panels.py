"""Quadrature by Gauss-Legendre rules on panels that are told where the integrand has its peaks."""

from __future__ import annotations

import functools

import numpy as np

#: Distances of the ends of panels from a peak, in widths of the peak. They grow geometrically, for tails of powers.
_NEAR = np.concatenate([np.arange(1.0, 7.0), 6.0 * 1.4 ** np.arange(1, 60)])
#: Distances of the ends of panels from an end of the range or from a singular point, in lengths of the range.
_GRADED = 0.5 ** np.arange(2, 34)
_SINGULAR = 0.5 ** np.arange(2, 52)


@functools.cache
def rule(n: int):
    """Nodes and weights on [0, 1]."""
    x, w = np.polynomial.legendre.leggauss(n)
    return (x + 1) / 2, w / 2


def edges(low, high, peaks=(), breaks=(), singular=(), graded=True) -> np.ndarray:
    """Ends of panels, ascending: a row per row of the peaks. Panels may be empty. `graded` panels shrink towards both ends."""
    peaks = [np.broadcast_arrays(np.ravel(at), np.ravel(width)) for at, width in peaks]
    points = [np.ravel(b) for b in [*breaks, *singular]]
    rows = max([1, *(p.size for pair in peaks for p in pair), *(p.size for p in points)])
    length = high - low
    fixed = low + length * np.linspace(0, 1, 9)
    if graded:
        fixed = np.concatenate([fixed, low + length * _GRADED, high - length * _GRADED])
    parts = [np.broadcast_to(fixed, (rows, fixed.size))]

    def around(at, offsets):
        at = np.broadcast_to(at, rows)[:, None]
        parts.extend([at - offsets, at, at + offsets])

    for at, width in peaks:
        width = np.broadcast_to(width, rows)[:, None]
        reach = np.searchsorted(_NEAR, 2 * (length + np.max(np.abs(np.clip(at, low, high) - at))) / np.min(width)) + 1
        around(at, width * _NEAR[: min(reach, _NEAR.size)])
    for at in breaks:
        around(at, np.empty((1, 0)))
    for at in singular:
        around(at, (length * _SINGULAR)[None, :])
    return np.sort(np.clip(np.concatenate([np.broadcast_to(p, (rows, p.shape[1])) for p in parts], axis=1), low, high), axis=1)


def nodes(ends: np.ndarray, n: int):
    """Nodes and weights of the rule with `n` nodes on every panel that is not empty in some row."""
    widths = np.diff(ends, axis=-1)
    keep = (widths > 0).any(axis=tuple(range(widths.ndim - 1)))
    starts, widths = ends[..., :-1][..., keep], widths[..., keep]
    x, w = rule(n)
    shape = (*starts.shape[:-1], -1)
    return (starts[..., None] + widths[..., None] * x).reshape(shape), (widths[..., None] * w).reshape(shape)


def log_sum(logs, signs, weights, axes):
    """`ln |sum|` and the sign of `sum weights * signs * exp(logs)` over `axes`."""
    logs = np.where(weights * np.ones_like(logs) != 0, logs, -np.inf)
    top = np.max(logs, axis=axes, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    total = np.sum(weights * signs * np.exp(logs - top), axis=axes)
    with np.errstate(divide="ignore"):
        return np.log(np.abs(total)) + np.squeeze(top, axis=axes), np.sign(total)
