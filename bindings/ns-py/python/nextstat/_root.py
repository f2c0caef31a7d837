"""Reads columns of ROOT trees with the package uproot."""

import importlib
from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SIGNS = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}


def read_root(
    path: str | PathLike[str],
    tree: str,
    columns: Sequence[str] | None = None,
    *,
    where: Sequence[tuple[str, str, float]] | None = None,
) -> dict[str, NDArray[np.float64]]:
    """Reads branches of a tree of a ROOT file as a dictionary of NumPy arrays of 64-bit floating-point numbers.

    `columns` are the names of the branches; by default all branches with one number per event are read. `where` is a
    list of conditions `(branch, sign, number)`. Only events that fulfil all conditions are read. Needs uproot: pip
    install uproot awkward.
    """
    try:
        uproot = importlib.import_module("uproot")
    except ImportError as error:
        raise ImportError("files of ROOT are read with uproot: pip install uproot awkward") from error
    conditions = list(where or [])
    for _, sign, _ in conditions:
        if sign not in _SIGNS:
            raise ValueError(f"'{sign}' is no comparison; use <, <=, >, >=, == or !=")
    with uproot.open(path) as file:
        if tree not in file:
            known = sorted({name.split(";")[0] for name in file.keys()})
            raise ValueError(f"{path} has no tree '{tree}'; it has {', '.join(known) or 'nothing'}")
        branches = file[tree]
        if columns is None:
            columns = [name for name in branches.keys() if _is_plain(branches[name])]
        needed = list(dict.fromkeys([*columns, *(name for name, _, _ in conditions)]))
        for name in needed:
            if name not in branches:
                raise ValueError(f"the tree '{tree}' of {path} has no branch '{name}'")
            if not _is_plain(branches[name]):
                raise ValueError(f"branch '{name}' of the tree '{tree}' has no single number per event")
        arrays = {name: np.asarray(branches[name].array(library="np"), dtype=np.float64) for name in needed}
    kept = None
    for name, sign, limit in conditions:
        passes = _SIGNS[sign](arrays[name], limit)
        kept = passes if kept is None else kept & passes
    return {name: arrays[name] if kept is None else arrays[name][kept] for name in columns}


def _is_plain(branch: Any) -> bool:
    """Returns whether a branch of a tree, or a field of an RNTuple, has one number per event."""
    first = branch.array(library="np", entry_stop=1)
    return bool(first.ndim == 1 and first.dtype.kind in "biuf")
