"""Tensors of a GPU that a session reads and writes in place, on PyTorch's current stream."""

from __future__ import annotations

import typing as t

import torch  # type: ignore

from .. import DifferentiableSession

# Messages for the statuses that the kernel writes, for `check=True`.
_PROBLEMS = {
    1: "a number is not finite, or a factor or a width is not positive",
    2: "the likelihood is not finite at this point",
    3: "a product of normsys factors is zero",
    4: "the Asimov data cannot be made, because an expected count is negative or not finite",
}


def is_there(session: DifferentiableSession, rows: torch.Tensor) -> bool:
    """Return whether the session computes on the GPU that holds the tensor. If the tensor is on another GPU, raise an
    error."""
    if rows.device.type != "cuda" or session.device == "cpu":
        return False
    if session.device != f"cuda:{rows.device.index}":
        raise ValueError(
            f"yields and params are on {rows.device}, the session is on {session.device}; "
            f'move them, or open a session with device="{rows.device}"'
        )
    return True


def stream_of(device: torch.device) -> int:
    """Return the handle of PyTorch's current stream."""
    return torch.cuda.current_stream(device).cuda_stream


def enqueue(session: DifferentiableSession, y: torch.Tensor, p: torch.Tensor, check: bool) -> torch.Tensor:
    """Start the computation for contiguous float64 rows, or for a single row. Return one array: the values of all
    rows; then for each row the derivatives with respect to yields and to params; then the statuses of all rows as
    32-bit integers."""
    rows = 1 if y.dim() == 1 else y.shape[0]
    n, m = y.shape[-1], p.shape[-1]
    # One allocation for all results.
    made = torch.empty(rows * (1 + n + m) + (rows + 1) // 2, dtype=torch.float64, device=y.device)
    session._enqueue(rows, y.data_ptr(), p.data_ptr(), made.data_ptr(), stream_of(y.device))
    if check:
        _raise(made[rows * (1 + n + m) :].view(torch.int32)[:rows])
    return made


def nll(
    session: DifferentiableSession, yields: torch.Tensor, params: torch.Tensor, check: bool
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return ``-ln L`` of rows and its derivatives. Wait for the GPU only if ``check`` is true."""
    kind = yields.dtype
    y = yields.detach().to(torch.float64).contiguous()
    p = params.detach().to(torch.float64).contiguous()
    (rows, n), m = y.shape, p.shape[1]
    made = enqueue(session, y, p, check)
    both = made[rows : rows * (1 + n + m)].view(rows, n + m)
    results: tuple[t.Any, ...] = (made[:rows], both[:, :n], both[:, n:])
    return results if kind == torch.float64 else tuple(r.to(kind) for r in results)  # type: ignore


def _raise(status: torch.Tensor) -> None:
    """Wait for the GPU, and raise an error for the first row with a problem."""
    bad = status.nonzero()
    if len(bad):
        row = int(bad[0, 0])
        raise ValueError(f"row {row} has no result: {_PROBLEMS[int(status[row])]}")
