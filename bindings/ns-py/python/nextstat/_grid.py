"""The upper limits of many signals, on all cores of this machine."""

from __future__ import annotations

import itertools
import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from . import _native, _warn
from ._rows import Record, Row, Rows

if TYPE_CHECKING:
    from ._native import Search, Source, Statistic


class Grid(Rows):
    """The rows of a grid, in the order of its points."""

    def __init__(self, rows: Sequence[Row], warnings: Sequence[str] = ()) -> None:
        super().__init__(rows)
        self.warnings = list(warnings)

    def __repr__(self) -> str:
        return _native._grid_shown(self._json(), "text")

    def _repr_html_(self) -> str:
        return _native._grid_shown(self._json(), "html")


def grid(
    workspace: Source,
    patches: Source | Mapping[str, Any] | Sequence[Any] | None = None,
    *,
    parameters: Mapping[str, Sequence[float]] | None = None,
    names: str | Sequence[str] | None = None,
    save: str | PathLike[str] | None = None,
    resume: bool = False,
    measurement: str | None = None,
    interp_defaults: Literal["smooth", "piecewise"] = "smooth",
    normsys_code: str | None = None,
    histosys_code: str | None = None,
    poi: str | None = None,
    digest_check: bool = True,
    channels: str | list[str] | None = None,
    mask: str | list[str] | None = None,
    cl: float | None = None,
    alpha: float | None = None,
    test_stat: Statistic = "qtilde",
    expected_only: bool = False,
    observed_only: bool = False,
    asimov: bool | float | None = None,
    blind: str | Sequence[str] | None = None,
    fixed: dict[str, float] | None = None,
    search: Search = "standard",
    integral_tolerance: float | None = None,
    device: str = "auto",
    threads: int = 0,
    progress: bool | Callable[[int, int], object] | None = None,
) -> Grid:
    """Finds the upper limits of many signals, as many at a time as there are cores. Returns one row per signal.

    `workspace` is the background: a path or a dictionary. `patches` are a patchset (a path or a dictionary), a mapping
    from names to patches, or a list of patches, each as in `load_workspace`. In their place `parameters` maps names of
    parameters of the workspace to values: each combination is a point at which these parameters are held. `names` are patterns of the signals to use:
    names with `*` and `?`, or values such as "700,*". A signal that fails is a row with the status "failed" and the
    reason; other signals are not affected. `save` names a JSON file to which finished rows are written every two
    seconds, and `resume=True` continues it. `progress` counts signals. The other arguments are those of
    `load_workspace` and `upper_limit`. Ctrl-C raises `KeyboardInterrupt`, whose attribute `result` has all rows; rows
    that are not finished have the status "not run".
    """
    if parameters is not None:
        if patches is not None:
            raise ValueError("give patches or parameters, not both")
        workspace, patches = _held(workspace, parameters, measurement)
    elif patches is None:
        raise TypeError("give patches, the signals, or parameters, such as parameters={'width': [0.0, 0.5, 1.0]}")
    options: dict[str, Any] = dict(
        names=names,
        save=save,
        resume=resume,
        measurement=measurement,
        interp_defaults=interp_defaults,
        normsys_code=normsys_code,
        histosys_code=histosys_code,
        poi=poi,
        digest_check=digest_check,
        channels=channels,
        mask=mask,
        cl=cl,
        alpha=alpha,
        test_stat=test_stat,
        expected_only=expected_only,
        observed_only=observed_only,
        asimov=asimov,
        blind=blind,
        fixed=fixed,
        search=search,
        integral_tolerance=integral_tolerance,
        device=device,
        threads=threads,
        progress=progress,
    )
    plain, shown, raised = _native._limit_grid(workspace, patches, **options)
    rows = []
    for row, texts in zip(plain["rows"], shown):
        result = Record("LimitResult", row["result"], *texts) if texts else None
        rows.append(
            Row(row["name"], row["values"], row["status"], row["reason"], result, worker=None, wall_s=row["wall_s"])
        )
    found = Grid(rows, plain["warnings"])
    if raised is not None:
        raised.result = found
        raise raised
    for warning in found.warnings:
        _warn.warn(warning)
    return found


def _held(workspace: Source, parameters: Mapping[str, Sequence[float]], measurement: str | None) -> tuple[Source, dict[str, Any]]:
    """Returns the workspace, and a patchset that holds the parameters at every combination of their values."""
    if not isinstance(parameters, Mapping) or not parameters:
        raise TypeError(f"parameters must map names to lists of values, such as {{'width': [0.0, 0.5]}}, not {parameters!r}")
    for name, values in parameters.items():
        if isinstance(values, str) or not hasattr(values, "__iter__"):
            raise TypeError(f"parameters: '{name}' must have a list of values, such as [0.0, 0.5], not {values!r}")
    plain = workspace if isinstance(workspace, dict) else json.loads(_native._text(os.fspath(workspace)))
    known = plain.get("measurements") if isinstance(plain, dict) else None
    if not known:
        raise ValueError("a grid of parameters needs a workspace with measurements")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # The points give them.
        names = list(_native.load_workspace(plain, measurement).parameter_names)
    for name in parameters:
        if name not in names or "[" in name:
            raise ValueError(f"parameters: '{name}' is no parameter with a single value; the model has {', '.join(names)}")
    place = next((i for i, m in enumerate(known) if m.get("name") == measurement), 0)
    settings = known[place].get("config", {}).get("parameters", [])
    patches = []
    for values in itertools.product(*parameters.values()):
        point = {name: float(value) for name, value in zip(parameters, values, strict=True)}
        patch = []
        for name, value in point.items():
            path = f"/measurements/{place}/config/parameters"
            own = [i for i, setting in enumerate(settings) if setting.get("name") == name]
            held = {**(settings[own[0]] if own else {}), "name": name, "inits": [value], "fixed": True}
            patch.append({"op": "replace" if own else "add", "path": f"{path}/{own[0] if own else '-'}", "value": held})
        name = ",".join(f"{key}={value:g}" for key, value in point.items())
        patches.append({"metadata": {"name": name, "values": list(point.values())}, "patch": patch})
    metadata = {"references": {}, "digests": {"sha256": _native.digest(plain)}, "labels": list(parameters), "description": "held parameters"}
    return plain, {"metadata": metadata, "patches": patches, "version": "1.0.0"}
