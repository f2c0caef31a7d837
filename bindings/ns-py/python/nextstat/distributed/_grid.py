"""Signal grids: many patches of one background workspace, with one row per signal (point)."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from distributed import Client

from . import _worker
from ._analyses import check_options, run_rows
from ._gather import Progress, Task, check
from .._rows import Rows
from ._source import ModelSource, operations, read_json, source_of, workspace_error

What: TypeAlias = Literal[
    "upper_limit", "hypotest", "hypotest_toys", "significance", "goodness_of_fit", "fit"
]
KNOWN = ("upper_limit", "hypotest", "hypotest_toys", "significance", "goodness_of_fit", "fit")


@dataclass(frozen=True)
class Point:
    """One signal: its name, the values of the patchset's labels, and its patches."""

    name: str
    values: dict[str, Any]
    patches: list[Any]


def signal_grid(
    client: Client,
    workspace: Any,
    patches: Any,
    what: What = "upper_limit",
    *,
    progress: Progress = None,
    **options: Any,
) -> Rows:
    """One analysis for each of many signals on the workers of a Dask client: one row per signal (point).

    `workspace` is the background: a path, a dictionary or a `ModelSource`. `patches` are a patchset (a path or a
    dictionary), a mapping from names to patches, or a list of patches, each as in `load_workspace`. `what` names a
    function of the package and `options` are its options (`mu=1.0` for "hypotest"). A point that fails is a row with
    the status "failed" and the reason; other points are not affected. Ctrl-C raises `KeyboardInterrupt`, whose
    attribute `result` has all rows. Unfinished rows have the status "not run".
    """
    if what not in KNOWN:
        raise ValueError(f"unknown what '{what}'; use one of {', '.join(KNOWN)}")
    sent = check_options(what, options)
    check(client)
    source = source_of(workspace)
    shipment = source.shipment()
    points = _points(patches, source)
    tasks = [Task(_worker.analyse, shipment, (what, sent, point.patches)) for point in points]
    return run_rows(client, tasks, [(point.name, point.values) for point in points], progress, "points")


def _points(patches: Any, source: ModelSource) -> list[Point]:
    if isinstance(patches, str | os.PathLike):
        patches = read_json(patches)
        if not _is_patchset(patches):
            raise TypeError("patches is the path of a JSON Patch: a grid needs a patchset, or a list of patches")
    if _is_patchset(patches):
        return _members(patches, source)
    if isinstance(patches, Mapping):
        return [Point(str(name), {}, operations(patch)) for name, patch in patches.items()]
    if isinstance(patches, list | tuple):
        if any(isinstance(item, Mapping) for item in patches):
            raise TypeError("patches is one patch (a list of operations): a grid needs a list of patches")
        return [Point(_name(patch, i), {}, operations(patch)) for i, patch in enumerate(patches)]
    raise TypeError(f"patches is a patchset, a mapping or a list of patches, not {type(patches).__name__}")


def _is_patchset(document: Any) -> bool:
    return isinstance(document, Mapping) and isinstance(document.get("patches"), list)


def _name(patch: Any, number: int) -> str:
    return os.fspath(patch) if isinstance(patch, str | os.PathLike) else str(number)


def _members(patchset: Mapping[str, Any], source: ModelSource) -> list[Point]:
    metadata = patchset.get("metadata", {})
    if source.digest_check:
        _check_digests(metadata.get("digests", {}), source)
    labels = metadata.get("labels", [])
    points = []
    for number, member in enumerate(patchset["patches"]):
        about = member.get("metadata", {})
        values = dict(zip(labels, about.get("values", [])))
        points.append(Point(str(about.get("name", number)), values, [member.get("patch")]))
    return points


def _check_digests(digests: Mapping[str, str], source: ModelSource) -> None:
    # A patchset contains digests of the workspace before any patch, as JSON text with sorted keys.
    text = json.dumps(read_json(source.source), sort_keys=True, ensure_ascii=False).encode()
    for algorithm, expected in digests.items():
        if algorithm in ("md5", "sha256"):
            actual = hashlib.new(algorithm, text, usedforsecurity=False).hexdigest()
            if actual != expected:
                raise workspace_error(
                    f"the patchset was made for another workspace: it expects one with {algorithm} digest {expected}, "
                    f"but this one has {actual}. Use the workspace it was published with, unchanged, or "
                    "ModelSource(workspace, digest_check=False) if the difference is intended."
                )
