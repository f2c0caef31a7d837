"""Histograms of simulated events whose weights follow nuisance parameters."""

from __future__ import annotations

import numpy as np

from .densities import along
from .tables import Table


class Template(Table):
    """`h + sum_k alpha_k S_k + f(alpha_k) A_k` in every bin. The interpolation is that of histosys."""

    def __init__(self, dist):
        edges = dist["estimator"]["edges"]
        entries = np.reshape(np.asarray(dist["entries"], dtype=float), (-1, len(edges)))
        volume = np.ones(())
        for e in edges:
            volume = np.multiply.outer(volume, np.diff(e))
        fill = lambda w: np.histogramdd(entries, bins=[np.asarray(e, dtype=float) for e in edges], weights=w)[0] / volume  # noqa: E731
        super().__init__(dist["x"], edges, fill(np.asarray(dist["weights"], dtype=float)))
        self.responses = [
            (
                r["parameter"],
                fill(np.asarray(r["up"], dtype=float)),
                fill(np.asarray(r["down"], dtype=float)),
                r.get("interpolation", {"in": "poly6"})["in"],
                r.get("acts_on", ["shape", "yield"]),
            )
            for r in dist.get("responses", [])
        ]

    def _varied(self, point, of):
        value = np.broadcast_to(self.heights, (point.rows, *self.heights.shape))
        for parameter, up, down, code, acts in self.responses:
            if of in acts:
                a = along(np.broadcast_to(point.value(parameter), point.rows), self.heights.ndim)
                odd, even = (up - down) / 2, (up + down) / 2 - self.heights
                value = value + a * odd + shape_of(code, a) * even
        return value

    def heights_at(self, point):
        return self._varied(point, "shape")

    def response(self, point, boxes):
        """The sum of weights within the boxes over its nominal value, as the responses that act on the yield change it."""

        def inside(heights):
            total = 0.0
            for box in boxes:
                value = heights
                for name, edges in zip(self.observables, self.edges):
                    value = np.tensordot(value, np.diff(np.clip(edges, *box[name])), axes=([1], [0]))
                total = total + value
            return total

        return inside(self._varied(point, "yield")) / inside(self.heights[None])


def shape_of(code, a):
    """`f(alpha)`, which multiplies the even part."""
    size = np.abs(a)
    if code == "poly1":
        return size
    if code == "poly2":
        return np.where(size < 1, a * a, 2 * size - 1)
    return np.where(size < 1, (15 * a**2 - 10 * a**4 + 3 * a**6) / 8, size)
