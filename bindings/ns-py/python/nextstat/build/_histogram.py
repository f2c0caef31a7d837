"""Histograms of other packages, and columns of events, as arrays of bins."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


class Filled(NamedTuple):
    """Contents of bins. `variances` and `edges` are None where they are not known."""

    values: Floats
    variances: Floats | None
    edges: Floats | None


def fill(values: ArrayLike, edges: ArrayLike, weights: ArrayLike | None = None) -> Filled:
    """Fills a histogram from a column of events: an array, or a column of a DataFrame of pandas or polars.

    `edges` are the edges of the bins. An upper edge belongs to the next bin, and events outside are left out, as in ROOT
    and boost-histogram. `weights` are the weights of the events, by default 1. The variances are the sums of squared
    weights. Select events with the means of the package: `fill(events["m"][events["pt"] > 25], edges)`.
    """
    x, limits = _array(values, "the column"), _edges(edges)
    w = np.ones_like(x) if weights is None else _array(weights, "the weights")
    if w.shape != x.shape:
        raise ValueError(f"there are {x.size} events and {w.size} weights; give one weight per event")
    inside = (x >= limits[0]) & (x < limits[-1])
    x, w = x[inside], w[inside]
    if not np.isfinite(w).all():
        raise ValueError("a weight is not a finite number; leave its event out")
    bins, n = np.searchsorted(limits, x, side="right") - 1, len(limits) - 1

    def sums(of: Floats) -> Floats:
        # Without events the counts would be integers.
        return np.bincount(bins, of, n).astype(np.float64)

    return Filled(sums(w), sums(w * w), limits)


def histogram(source: Any, variances: ArrayLike | None, what: str) -> Filled:
    """The bins of a histogram: a result of `fill`, an object with the UHI protocol (hist, boost-histogram, uproot), or an
    array of contents, to which `variances` belong."""
    if isinstance(source, Filled):
        found = source
    elif callable(getattr(source, "values", None)) and hasattr(source, "axes"):
        found = _uhi(source, what)
    else:
        found = Filled(_array(source, what), None, None)
    if variances is not None:
        found = found._replace(variances=_array(variances, f"the variances of {what}"))
    for name, array in (("", found.values), ("the variances of ", found.variances)):
        if array is not None and not np.isfinite(array).all():
            raise ValueError(f"{name}{what}: bin {int(np.argmin(np.isfinite(array)))} (counted from 0) is not a finite number")
    return found


def _uhi(source: Any, what: str) -> Filled:
    kind = str(getattr(source, "kind", "COUNT"))
    if "MEAN" in kind:
        raise ValueError(f"{what} is a profile, whose bins are means; give a histogram of counts")
    if len(source.axes) != 1:
        raise ValueError(f"{what} has {len(source.axes)} axes; project it on one")
    values = _array(source.values(), what)
    given = source.variances()
    variances = None if given is None else _array(given, f"the variances of {what}")
    return Filled(values, variances, _axis_edges(source.axes[0], len(values)))


def _axis_edges(axis: Any, n: int) -> Floats | None:
    """The edges of an axis; None for an axis of categories."""
    edges = getattr(axis, "edges", None)
    if edges is not None:
        return _array(edges() if callable(edges) else edges, "the edges")
    if getattr(getattr(axis, "traits", None), "discrete", False):
        return None
    pairs = [axis[i] for i in range(n)]
    return np.array([pairs[0][0], *(high for _, high in pairs)], dtype=np.float64)


def _array(values: Any, what: str) -> Floats:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{what} is neither a histogram nor an array of numbers, but {type(values).__name__}") from error
    if array.ndim != 1:
        raise ValueError(f"{what} has {array.ndim} dimensions; give one number per bin or event")
    return array


def _edges(edges: ArrayLike) -> Floats:
    array = _array(edges, "the edges")
    if array.size < 2 or not np.isfinite(array).all() or not (np.diff(array) > 0).all():
        raise ValueError("the edges of the bins do not increase; give at least two, each of them once")
    return array
