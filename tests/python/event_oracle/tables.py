"""Densities given by numbers: histograms and splines."""

from __future__ import annotations

import numpy as np
import scipy.interpolate

from .densities import Density


class Table(Density):
    """A histogram: constant within bins, 0 outside."""

    def __init__(self, names, edges, heights):
        self.observables, self.edges = tuple(names), [np.asarray(e, dtype=float) for e in edges]
        self.heights = heights

    def heights_at(self, point):
        """Heights per row of `point`, one axis per observable behind it."""
        return self.heights[None]

    def shape(self, point, columns):
        heights = self.heights_at(point)
        index, inside = [], True
        for name, edges in zip(self.observables, self.edges):
            x = columns[name]
            i = np.searchsorted(edges, x, side="right") - 1
            i = np.where(x == edges[-1], edges.size - 2, i)
            inside = inside & (i >= 0) & (i < edges.size - 1)
            index.append(np.clip(i, 0, edges.size - 2))
        value = np.where(inside, heights[(slice(None), *np.broadcast_arrays(*index))], 0.0)
        with np.errstate(divide="ignore"):
            return np.log(np.abs(value)), np.sign(value)

    def over(self, point, box):
        value = self.heights_at(point)
        for name, edges in zip(self.observables, self.edges):
            low, high = box[name]
            value = np.tensordot(value, np.diff(np.clip(edges, low, high)), axes=([1], [0]))
        return np.log(np.abs(value)), np.sign(value)

    def breaks(self, point):
        return {name: list(edges) for name, edges in zip(self.observables, self.edges)}


class Spline(Density):
    """A natural cubic spline, 0 outside of its knots."""

    def __init__(self, dist):
        self.observables, self.knots = (dist["x"],), np.asarray(dist["knots"], dtype=float)
        self.curve = scipy.interpolate.CubicSpline(self.knots, dist["values"], bc_type="natural")

    def shape(self, point, columns):
        x = columns[self.observables[0]][None]
        value = np.where((x >= self.knots[0]) & (x <= self.knots[-1]), self.curve(x), 0.0)
        with np.errstate(divide="ignore"):
            return np.log(np.abs(value)), np.sign(value)

    def over(self, point, box):
        low, high = np.clip(box[self.observables[0]], self.knots[0], self.knots[-1])
        value = self.curve.integrate(low, high) * np.ones(1)
        return np.log(np.abs(value)), np.sign(value)

    def breaks(self, point):
        return {self.observables[0]: list(self.knots)}


def tables(dist) -> Table:
    """The density of a `histogram_dist`."""
    axes = dist["data"]["axes"]
    edges = [a["edges"] if "edges" in a else np.linspace(a["min"], a["max"], a["nbins"] + 1) for a in axes]
    volume = np.ones(())
    for e in edges:
        volume = np.multiply.outer(volume, np.diff(e))
    return Table([a["name"] for a in axes], edges, np.reshape(dist["data"]["contents"], volume.shape) / volume)
