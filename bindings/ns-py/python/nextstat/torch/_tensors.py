"""Conversion of tensors to rows of numbers for a session, and of results to tensors."""

from __future__ import annotations

import typing as t

import numpy as np
import torch  # type: ignore

Tensors = t.Union["torch.Tensor", t.Sequence["torch.Tensor"]]


def joined(what: str, value: Tensors, width: int) -> torch.Tensor:
    """Return the numbers as one tensor. Its last dimension has ``width`` elements."""
    if not isinstance(value, torch.Tensor):
        parts = list(value)
        if not parts or not all(isinstance(part, torch.Tensor) for part in parts):
            raise TypeError(f"{what} must be a tensor, or a list of tensors to be joined along their last dimension")
        value = torch.cat(parts, dim=-1)
    if value.layout != torch.strided:
        raise ValueError(f"{what} must be a dense tensor, not one of layout {value.layout}; use to_dense()")
    if value.device.type == "meta":
        raise ValueError(f"{what} is on the device meta, which has no numbers")
    if value.dtype not in (torch.float64, torch.float32):
        raise TypeError(f"{what} must be float64 or float32, not {value.dtype}; convert it with double()")
    if value.dim() == 0 or value.shape[-1] != width:
        raise ValueError(f"the last dimension of {what} must have {width} elements; its shape is {tuple(value.shape)}")
    return value


def same_kind(what: str, one: torch.Tensor, other: torch.Tensor) -> None:
    """Raise an error if two tensors have different types or devices."""
    if one.dtype != other.dtype:
        raise TypeError(f"{what} must have one type; they have {one.dtype} and {other.dtype}")
    if one.device != other.device:
        raise ValueError(f"{what} must be on one device; they are on {one.device} and {other.device}")


def numbers(rows: torch.Tensor) -> np.ndarray:
    """Return the numbers of a tensor as float64. The result shares the memory of a float64 tensor on the CPU."""
    return rows.detach().to("cpu", torch.float64).contiguous().numpy()


def tensor(array: np.ndarray, like: torch.Tensor) -> torch.Tensor:
    """Return an array as a tensor with the type and the device of ``like``."""
    return torch.from_numpy(np.ascontiguousarray(array)).to(like.device, like.dtype)
