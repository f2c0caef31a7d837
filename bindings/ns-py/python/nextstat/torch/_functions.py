"""Autograd functions of sessions.

All of these functions work on rows, i.e. on tensors of two dimensions. The public functions convert tensors of other
shapes to rows, and results back.
"""

from __future__ import annotations

import typing as t
import warnings
import weakref

import numpy as np
import torch  # type: ignore

from .. import BestFits, DifferentiableSession, ProfiledDifferentiableSession
from .._sessions import of_likelihood, of_profiled
from . import _device
from ._tensors import Tensors, joined, numbers, same_kind, tensor

Compute = t.Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


class OneSidedWarning(UserWarning):
    """The warning that derivatives are one-sided: a parameter is at a bound or a kink, or a statistic is 0."""


# The sessions that have warned. A session that is gone leaves the set, so that a new one at its address warns too.
_warned: weakref.WeakSet[ProfiledDifferentiableSession] = weakref.WeakSet()


def warn_once(session: ProfiledDifferentiableSession, one_sided: np.ndarray) -> None:
    """Warn once per session that derivatives are one-sided."""
    if not one_sided.any() or session in _warned:
        return
    _warned.add(session)
    warnings.warn(
        "derivatives hold on one side alone: a statistic is 0, or a parameter is at a bound or a kink and would leave it "
        "after a small change; this is said once per session",
        OneSidedWarning,
        stacklevel=4,
    )


def _in_rows(function: t.Any, batch: int, in_dims: tuple[int | None, ...], arguments: tuple[t.Any, ...]) -> t.Any:
    """Apply a function of rows to arguments with one more dimension. The results have this dimension too."""
    flat = []
    for argument, dim in zip(arguments, in_dims, strict=True):
        if not isinstance(argument, torch.Tensor):
            flat.append(argument)
            continue
        full = argument.movedim(dim, 0) if dim is not None else argument.expand(batch, *argument.shape)
        flat.append(full.reshape(-1, *full.shape[2:]))
    results = function.apply(*flat)
    many = isinstance(results, tuple)
    shaped = [r.reshape(batch, -1, *r.shape[1:]) for r in (results if many else (results,))]
    return (tuple(shaped), tuple(0 for _ in shaped)) if many else (shaped[0], 0)


class _Refuse(torch.autograd.Function):
    """Products of derivatives with gradients of results. They raise an error if they are differentiated again."""

    @staticmethod
    def forward(flow: t.Any, jacobian: t.Any, yields: t.Any, name: str) -> t.Any:
        return (flow.unsqueeze(-1) * jacobian).flatten(1, -2).sum(1) if jacobian.dim() > 2 else flow[:, None] * jacobian

    @staticmethod
    def setup_context(ctx: t.Any, inputs: t.Any, output: t.Any) -> None:
        ctx.name = inputs[3]

    @staticmethod
    def backward(ctx: t.Any, *flow: t.Any) -> t.Any:
        raise RuntimeError(
            f"second derivatives of {ctx.name} are not computed; only nll has them. "
            "Leave out create_graph=True, or differentiate nll"
        )

    @staticmethod
    def vmap(info: t.Any, in_dims: t.Any, *arguments: t.Any) -> t.Any:
        return _in_rows(_Refuse, info.batch_size, in_dims, arguments)


class _OfRows(torch.autograd.Function):
    """Values for rows of yields. Their derivatives are computed in the same call."""

    @staticmethod
    def forward(yields: t.Any, compute: Compute, session: t.Any, name: str) -> t.Any:
        value, jacobian, one_sided = compute(numbers(yields))
        warn_once(session, one_sided)
        return tensor(value, yields), tensor(jacobian, yields)

    @staticmethod
    def setup_context(ctx: t.Any, inputs: t.Any, output: t.Any) -> None:
        yields, _, _, ctx.name = inputs
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(yields, output[1])

    @staticmethod
    def backward(ctx: t.Any, flow: t.Any, _: t.Any) -> t.Any:
        yields, jacobian = ctx.saved_tensors
        return _Refuse.apply(flow, jacobian, yields, ctx.name), None, None, None

    @staticmethod
    def vmap(info: t.Any, in_dims: t.Any, *arguments: t.Any) -> t.Any:
        return _in_rows(_OfRows, info.batch_size, in_dims, arguments)


class _OfPlainRows(torch.autograd.Function):
    """Like ``_OfRows``, with fewer operations. It accepts rows or a single row, but no transforms such as vmap."""

    @staticmethod
    def forward(ctx: t.Any, yields: t.Any, compute: Compute, session: t.Any, name: str, size: tuple[int, ...]) -> t.Any:
        value, jacobian, one_sided = compute(numbers(yields.view(-1, yields.shape[-1])))
        warn_once(session, one_sided)
        # Values and derivatives are copied to the device together.
        made = tensor(np.concatenate([value.reshape(-1), jacobian.reshape(-1)]), yields)
        ctx.name, ctx.n_values = name, value.size
        ctx.save_for_backward(yields, made)
        return made[: value.size].view((*yields.shape[:-1], *size))

    @staticmethod
    def backward(ctx: t.Any, flow: t.Any) -> t.Any:
        yields, made = ctx.saved_tensors
        n = yields.shape[-1]
        if ctx.n_values == 1 and not torch.is_grad_enabled():
            return (made[1:] * flow).view_as(yields), None, None, None, None
        rows = yields.numel() // n
        jacobian = made[ctx.n_values :].view(rows, -1, n)
        flow = flow.reshape(rows, -1)
        if torch.is_grad_enabled():
            # The caller may differentiate the derivatives again, which is an error.
            back = _Refuse.apply(flow, jacobian, yields.view(rows, n), ctx.name)
        else:
            back = (flow.unsqueeze(-1) * jacobian).sum(1)
        return back.view_as(yields), None, None, None, None


class _NllAlong(torch.autograd.Function):
    """Products of the Hessian of ``nll`` and a direction."""

    @staticmethod
    def forward(yields: t.Any, params: t.Any, along_yields: t.Any, along_params: t.Any, session: t.Any) -> t.Any:
        rows = [numbers(argument) for argument in (yields, params, along_yields, along_params)]
        second_yields, second_params = session.nll_along(*rows)
        return tensor(second_yields, yields), tensor(second_params, params)

    @staticmethod
    def setup_context(ctx: t.Any, inputs: t.Any, output: t.Any) -> None:
        return None

    @staticmethod
    def backward(ctx: t.Any, *flow: t.Any) -> t.Any:
        raise RuntimeError("third derivatives of nll are not computed")

    @staticmethod
    def vmap(info: t.Any, in_dims: t.Any, *arguments: t.Any) -> t.Any:
        return _in_rows(_NllAlong, info.batch_size, in_dims, arguments)


class _NllBackward(torch.autograd.Function):
    """Derivatives of ``nll`` times the gradient of its result. They can be differentiated once more."""

    @staticmethod
    def forward(flow: t.Any, yields: t.Any, params: t.Any, by_yields: t.Any, by_params: t.Any, session: t.Any) -> t.Any:
        return flow[:, None] * by_yields, flow[:, None] * by_params

    @staticmethod
    def setup_context(ctx: t.Any, inputs: t.Any, output: t.Any) -> None:
        ctx.session = inputs[5]
        ctx.save_for_backward(*inputs[:5])

    @staticmethod
    def backward(ctx: t.Any, along_yields: t.Any, along_params: t.Any) -> t.Any:
        flow, yields, params, by_yields, by_params = ctx.saved_tensors
        by_flow = (along_yields * by_yields).sum(-1) + (along_params * by_params).sum(-1)
        second_yields, second_params = _NllAlong.apply(yields, params, along_yields, along_params, ctx.session)
        return by_flow, flow[:, None] * second_yields, flow[:, None] * second_params, None, None, None

    @staticmethod
    def vmap(info: t.Any, in_dims: t.Any, *arguments: t.Any) -> t.Any:
        return _in_rows(_NllBackward, info.batch_size, in_dims, arguments)


class _Nll(torch.autograd.Function):
    """``-ln L`` of rows of yields and parameters."""

    @staticmethod
    def forward(yields: t.Any, params: t.Any, session: DifferentiableSession, check: bool) -> t.Any:
        if _device.is_there(session, yields):
            return _device.nll(session, yields, params, check)
        value, by_yields, by_params = session.nll(numbers(yields), numbers(params), check=check)
        return tensor(value, yields), tensor(by_yields, yields), tensor(by_params, params)

    @staticmethod
    def setup_context(ctx: t.Any, inputs: t.Any, output: t.Any) -> None:
        yields, params, ctx.session, _ = inputs
        ctx.mark_non_differentiable(output[1], output[2])
        ctx.save_for_backward(yields, params, output[1], output[2])

    @staticmethod
    def backward(ctx: t.Any, flow: t.Any, *_: t.Any) -> t.Any:
        yields, params, by_yields, by_params = ctx.saved_tensors
        back = _NllBackward.apply(flow, yields, params, by_yields, by_params, ctx.session)
        return back[0], back[1], None, None

    @staticmethod
    def vmap(info: t.Any, in_dims: t.Any, *arguments: t.Any) -> t.Any:
        return _in_rows(_Nll, info.batch_size, in_dims, arguments)


class _NllThere(torch.autograd.Function):
    """``-ln L`` of float64 rows, or of a single row, on the session's GPU. Transforms such as vmap need ``_Nll``."""

    @staticmethod
    def forward(ctx: t.Any, yields: t.Any, params: t.Any, session: DifferentiableSession, check: bool) -> t.Any:
        made = _device.enqueue(session, yields, params, check)
        ctx.session = session
        ctx.save_for_backward(yields, params, made)
        return made[0] if yields.dim() == 1 else made[: yields.shape[0]]

    @staticmethod
    def backward(ctx: t.Any, flow: t.Any) -> t.Any:
        yields, params, made = ctx.saved_tensors
        n, m = yields.shape[-1], params.shape[-1]
        rows = 1 if yields.dim() == 1 else yields.shape[0]
        both = made[rows : rows * (1 + n + m)]
        if torch.is_grad_enabled():
            # The caller may differentiate the derivatives again.
            y, p, both = yields.view(rows, n), params.view(rows, m), both.view(rows, n + m)
            back = _NllBackward.apply(flow.view(rows), y, p, both[:, :n], both[:, n:], ctx.session)
            return back[0].view_as(yields), back[1].view_as(params), None, None
        if yields.dim() == 1:
            back = both * flow
            return back[:n], back[n:], None, None
        back = both.view(rows, n + m) * flow.unsqueeze(1)
        return back[:, :n], back[:, n:], None, None


# Returns whether a transform such as vmap is active. Returns True in versions of PyTorch without this function.
_transforming: t.Callable[[], bool] = getattr(torch._C, "_are_functorch_transforms_active", lambda: True)


def _is_plain(session: DifferentiableSession, y: torch.Tensor, p: torch.Tensor) -> bool:
    """Return whether the kernel can read both tensors in place, and no transform is active."""
    if not y.is_cuda or y.dtype != torch.float64 or p.dtype != torch.float64 or _transforming():
        return False
    alike = y.dim() == p.dim() <= 2 and y.shape[:-1] == p.shape[:-1] and y.device == p.device
    return alike and y.is_contiguous() and p.is_contiguous() and _device.is_there(session, y)


class _Kept:
    """A holder of the fits of a forward pass for the backward pass. PyTorch's transforms would copy a list."""

    fits: BestFits


class _BestFit(torch.autograd.Function):
    """Best-fit parameters of rows of yields."""

    @staticmethod
    def forward(yields: t.Any, session: ProfiledDifferentiableSession, check: bool, keep: _Kept) -> t.Any:
        params, one_sided, fits = session.best_fit(numbers(yields), check=check)
        warn_once(session, one_sided)
        keep.fits = fits
        return tensor(params, yields)

    @staticmethod
    def setup_context(ctx: t.Any, inputs: t.Any, output: t.Any) -> None:
        yields, ctx.session, _, keep = inputs
        ctx.fits = keep.fits
        ctx.save_for_backward(yields)

    @staticmethod
    def backward(ctx: t.Any, flow: t.Any) -> t.Any:
        (yields,) = ctx.saved_tensors
        return _PullBack.apply(flow, yields, ctx.session, ctx.fits), None, None, None

    @staticmethod
    def vmap(info: t.Any, in_dims: t.Any, *arguments: t.Any) -> t.Any:
        return _in_rows(_BestFit, info.batch_size, in_dims, arguments)


class _PullBack(torch.autograd.Function):
    """Derivatives of best fits with respect to yields, times the gradients of the best-fit parameters."""

    @staticmethod
    def forward(flow: t.Any, yields: t.Any, session: ProfiledDifferentiableSession, fits: BestFits) -> t.Any:
        return tensor(session.pull_back(fits, numbers(flow)), flow)

    @staticmethod
    def setup_context(ctx: t.Any, inputs: t.Any, output: t.Any) -> None:
        return None

    @staticmethod
    def backward(ctx: t.Any, *flow: t.Any) -> t.Any:
        raise RuntimeError(
            "second derivatives of best_fit are not computed; only nll has them. "
            "Leave out create_graph=True, or differentiate nll"
        )

    @staticmethod
    def vmap(info: t.Any, in_dims: t.Any, *arguments: t.Any) -> t.Any:
        if in_dims[1] is not None:
            return _in_rows(_PullBack, info.batch_size, in_dims, arguments)
        # The same fits have several gradients, for example with jacrev.
        flow, *others = arguments
        return torch.stack([_PullBack.apply(one, *others) for one in flow.movedim(in_dims[0], 0)]), 0


def nll(session: DifferentiableSession, yields: Tensors, params: Tensors, *, check: bool = False) -> torch.Tensor:
    """Return ``-ln L``, which can be differentiated twice. The batches of yields and parameters are broadcast."""
    of_likelihood(session, "nll")
    n, m = session._widths
    y, p = joined("yields", yields, n), joined("params", params, m)
    if _is_plain(session, y, p):
        return _NllThere.apply(y, p, session, check)
    same_kind("yields and params", y, p)
    batch = torch.broadcast_shapes(y.shape[:-1], p.shape[:-1])
    rows_of_y = y.expand(*batch, n).reshape(-1, n)
    value = _Nll.apply(rows_of_y, p.expand(*batch, m).reshape(-1, m), session, check)[0]
    return value.reshape(batch)


def _profiled(
    session: ProfiledDifferentiableSession, yields: Tensors, name: str, size: tuple[int, ...], compute: Compute
) -> torch.Tensor:
    of_profiled(session, name)
    y = joined("yields", yields, session.nominal.shape[0])
    if y.dim() <= 2 and y.numel() > 0 and y.is_contiguous() and not _transforming():
        return _OfPlainRows.apply(y, compute, session, name, size)
    value = _OfRows.apply(y.reshape(-1, y.shape[-1]), compute, session, name)[0]
    return value.reshape((*y.shape[:-1], *size))


def _statistic(
    session: ProfiledDifferentiableSession,
    yields: Tensors,
    name: str,
    what: tuple[t.Literal["q0", "q", "qtilde"], float],
    check: bool,
) -> torch.Tensor:
    of_profiled(session, name)
    y = joined("yields", yields, session.nominal.shape[0])
    # In a training loop, the fits of a step start at the minima of the previous step.
    warm = session.warm if session.warm is not None else torch.is_grad_enabled() and y.requires_grad

    def compute(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return session.statistic(*what, rows, check=check, warm=warm)

    return _profiled(session, y, name, (), compute)


def q0(session: ProfiledDifferentiableSession, yields: Tensors, *, check: bool = False) -> torch.Tensor:
    """Return q0, the statistic of a discovery."""
    return _statistic(session, yields, "q0", ("q0", 0.0), check)


def q_mu(session: ProfiledDifferentiableSession, mu: float, yields: Tensors, *, check: bool = False) -> torch.Tensor:
    """Return the statistic q of the value ``mu`` of the parameter of interest."""
    return _statistic(session, yields, "q_mu", ("q", mu), check)


def qtilde_mu(
    session: ProfiledDifferentiableSession, mu: float, yields: Tensors, *, check: bool = False
) -> torch.Tensor:
    """Return the statistic qtilde of the value ``mu`` of the parameter of interest."""
    return _statistic(session, yields, "qtilde_mu", ("qtilde", mu), check)


def cls(
    session: ProfiledDifferentiableSession,
    mu: float,
    yields: Tensors,
    *,
    test_stat: t.Literal["qtilde", "q"] = "qtilde",
    check: bool = False,
) -> torch.Tensor:
    """Return CLs of ``mu``: the observed value, then the values expected at -2, -1, 0, 1 and 2 standard deviations."""

    def compute(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return session.cls(mu, rows, test_stat=test_stat, check=check)

    return _profiled(session, yields, "cls", (6,), compute)


def upper_limit(
    session: ProfiledDifferentiableSession,
    yields: Tensors,
    *,
    cl: float = 0.95,
    test_stat: t.Literal["qtilde", "q"] = "qtilde",
    check: bool = False,
) -> torch.Tensor:
    """Return CLs upper limits: the observed limit, then the limits expected at -2, -1, 0, 1 and 2 standard
    deviations."""

    def compute(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return session.upper_limit(rows, cl=cl, test_stat=test_stat, check=check)

    return _profiled(session, yields, "upper_limit", (6,), compute)


def significance(session: ProfiledDifferentiableSession, yields: Tensors, *, check: bool = False) -> torch.Tensor:
    """Return the significance of a discovery: the observed value, then the value expected for a signal of strength 1.
    """
    return _profiled(session, yields, "significance", (2,), lambda rows: session.significance(rows, check=check))


def uncertainty(session: ProfiledDifferentiableSession, yields: Tensors, *, check: bool = False) -> torch.Tensor:
    """Return the uncertainty of the parameter of interest."""
    return _profiled(session, yields, "uncertainty", (), lambda rows: session.uncertainty(rows, check=check))


def best_fit(session: ProfiledDifferentiableSession, yields: Tensors, *, check: bool = False) -> torch.Tensor:
    """Return the best-fit parameters."""
    of_profiled(session, "best_fit")
    y = joined("yields", yields, session.nominal.shape[0])
    params = _BestFit.apply(y.reshape(-1, y.shape[-1]), session, check, _Kept())
    return params.reshape((*y.shape[:-1], params.shape[-1]))
