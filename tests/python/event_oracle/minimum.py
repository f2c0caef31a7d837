"""A minimiser for few parameters within bounds: Newton's method with derivatives by differences, many points at a time."""

from __future__ import annotations

import dataclasses

import numpy as np
import scipy.optimize


@dataclasses.dataclass
class Minimum:
    x: np.ndarray
    value: float
    #: The Hessian of the free parameters, by `free`.
    hessian: np.ndarray
    free: np.ndarray
    #: The slope of the value along every free parameter at `x`.
    gradient: np.ndarray


def stencil(f, x, h, low, high, free):
    """Gradient and Hessian at a point near `x` that keeps the distance `h` from all bounds. Returns that point and them."""
    centre = x.copy()
    centre[free] = np.clip(x[free], low[free] + h, np.maximum(high[free] - h, low[free] + h))
    n = len(free)
    steps = [np.zeros(n)]
    for i in range(n):
        for sign in (1, -1):
            e = np.zeros(n)
            e[i] = sign
            steps.append(e)
    pairs = [(i, j) for i in range(n) for j in range(i)]
    corners = [(1, 1), (-1, -1)]
    for i, j in pairs:
        for a, b in corners:
            e = np.zeros(n)
            e[i], e[j] = a, b
            steps.append(e)
    points = np.repeat(centre[None], len(steps), axis=0)
    points[:, free] += np.array(steps) * h
    values = f(points)
    if not np.all(np.isfinite(values)):
        return centre, None, None
    plus, minus = values[1 : 2 * n + 1 : 2], values[2 : 2 * n + 2 : 2]
    gradient = (plus - minus) / (2 * h)
    hessian = np.diag((plus + minus - 2 * values[0]) / h**2)
    at = 2 * n + 1
    for i, j in pairs:
        v = values[at : at + len(corners)]
        at += len(corners)
        mixed = v[0] + v[1] + 2 * values[0] - plus[i] - minus[i] - plus[j] - minus[j]
        hessian[i, j] = hessian[j, i] = mixed / (2 * h[i] * h[j])
    return centre, gradient, hessian


def within(gradient, hessian, low, high, damping):
    """The step that minimises a convex quadratic form between bounds, by an active set."""
    n = len(gradient)
    size = np.max(np.abs(hessian), axis=1)
    scale = np.sqrt(np.where(size > 0, np.maximum(np.abs(np.diag(hessian)), 1e-8 * size), 1.0))
    matrix = hessian / np.outer(scale, scale)
    values, vectors = np.linalg.eigh(matrix)
    values = np.maximum(np.abs(values), 1e-10) + damping
    matrix = (vectors * values) @ vectors.T
    g, a, b = gradient / scale, low * scale, high * scale
    step, held = np.zeros(n), (g > 0) & (a >= 0) | (g < 0) & (b <= 0)
    for _ in range(3 * n + 3):
        free = ~held
        step[free] = np.linalg.lstsq(matrix[np.ix_(free, free)], -g[free] - matrix[np.ix_(free, held)] @ step[held], rcond=None)[0]
        outside = free & ((step < a) | (step > b))
        if outside.any():
            step = np.clip(step, a, b)
            held |= outside
            continue
        slope = g + matrix @ step
        wrong = held & ((step <= a) & (slope < -1e-12) | (step >= b) & (slope > 1e-12))
        if not wrong.any():
            break
        held[np.argmax(np.where(wrong, np.abs(slope), 0))] = False
    return step / scale


def descend(f, x, low, high, fixed, tries=60) -> Minimum:
    """The minimum of `f`, which takes rows of points, within bounds, from the start `x`."""
    free = np.flatnonzero(~fixed & (high > low))
    x = np.clip(np.asarray(x, dtype=float), low, high)
    value = float(f(x[None])[0])
    span = np.where(np.isfinite(high - low), high - low, np.maximum(1.0, np.abs(x)))[free]
    width = 0.03 * span
    damping, gradient, hessian = 0.0, np.zeros(len(free)), np.zeros((len(free), len(free)))
    quiet = walls = 0
    for _ in range(tries if len(free) else 0):
        h = np.minimum(np.minimum(0.02 * width, span / 8), np.maximum(1e-3 * span, 1e-300))
        h = np.maximum(h, 1e-9 * np.maximum(np.abs(x[free]), 1e-6 * span))
        for _ in range(12):
            centre, g, hess = stencil(f, x, h, low, high, free)
            if g is not None:
                break
            h = h / 8
        else:
            walls += 1
            x, value = simplex(f, x, value, low, high, free, width)
            if walls == 3:
                break
            continue
        gradient, hessian = g + hess @ (x - centre)[free], hess
        diagonal = np.abs(np.diag(hess))
        width = np.where(diagonal > 0, 1 / np.sqrt(np.maximum(diagonal, 1e-300)), span)
        width = np.clip(width, 1e-7 * span, span)
        blocked = False
        for _ in range(25):
            step = within(gradient, hessian, (low - x)[free], (high - x)[free], damping)
            trial = x.copy()
            trial[free] = np.clip(x[free] + step, low[free], high[free])
            promised = -(gradient @ step + step @ hessian @ step / 2)
            after = float(f(trial[None])[0])
            gain = value - after
            blocked |= not np.isfinite(after)
            if gain > 0:
                x, value = trial, after
                damping = damping / 10 if damping > 1e-9 else 0.0
            if gain > 0 or abs(promised) < 1e-11 * max(1.0, abs(value)):
                break
            damping = max(10 * damping, 1e-6)
        if blocked and gain < 1e-6:
            # A wall: the likelihood is infinite beside the point.
            walls += 1
            before = value
            x, value = simplex(f, x, value, low, high, free, width)
            gain, damping = before - value, 0.0
            if walls == 3:
                break
        # The derivatives of a first step are of a large stencil.
        quiet = quiet + 1 if gain < 1e-11 * max(1.0, abs(value)) else 0
        if quiet == 2:
            break
    return Minimum(x, value, hessian, free, gradient)


def simplex(f, x, value, low, high, free, width):
    """The minimum by the method of Nelder and Mead, which needs no derivatives, begun again until it finds nothing lower."""

    def at(part):
        point = x.copy()
        point[free] = np.clip(part, low[free], high[free])
        found = float(f(point[None])[0])
        return found if np.isfinite(found) else 1e300

    for size in (1.0, 0.1, 0.01):
        begin = x[free]
        corners = [
            begin,
            *(
                begin + size * w * e * (1 if b + size * w <= h else -1)
                for w, e, b, h in zip(width, np.eye(len(free)), begin, high[free])
            ),
        ]
        found = scipy.optimize.minimize(
            at, begin, method="Nelder-Mead", options={"initial_simplex": corners, "xatol": 1e-10, "fatol": 1e-12, "maxfev": 300}
        )
        if found.fun < value:
            x = x.copy()
            x[free], value = np.clip(found.x, low[free], high[free]), float(found.fun)
    return x, value


def lowest(f, starts, low, high, fixed, scatter=None, rng=None, keep=3) -> Minimum:
    """The lowest minimum from given starts and from the best of `scatter` random points."""
    starts = [np.clip(np.asarray(s, dtype=float), low, high) for s in starts]
    if scatter:
        points = np.repeat(starts[0][None], scatter, axis=0)
        free = np.flatnonzero(~fixed & np.isfinite(high - low))
        points[:, free] = low[free] + rng.random((scatter, len(free))) * (high - low)[free]
        values = f(points)
        order = np.argsort(np.where(np.isfinite(values), values, np.inf))
        starts += [points[i] for i in order[:keep] if np.isfinite(values[i])]
    found = [descend(f, s, low, high, fixed) for s in starts if np.isfinite(f(s[None])[0])]
    return min(found, key=lambda m: m.value) if found else None
