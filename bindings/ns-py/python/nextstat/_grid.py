"""The upper limits of many signals, on all cores of this machine."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from . import _native
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
    patches: Source | Mapping[str, Any] | Sequence[Any],
    *,
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
    from names to patches, or a list of patches, each as in `load_workspace`. `names` are patterns of the signals to use:
    names with `*` and `?`, or values such as "700,*". A signal that fails is a row with the status "failed" and the
    reason; other signals are not affected. `save` names a JSON file to which finished rows are written every two
    seconds, and `resume=True` continues it. `progress` counts signals. The other arguments are those of
    `load_workspace` and `upper_limit`. Ctrl-C raises `KeyboardInterrupt`, whose attribute `result` has all rows; rows
    that are not finished have the status "not run".
    """
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
        warnings.warn(warning, stacklevel=2)
    return found
