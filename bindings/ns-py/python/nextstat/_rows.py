"""Rows of results: one per point of a grid, or per task of a cluster."""

from __future__ import annotations


import html
import importlib
import json
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from . import _native

if TYPE_CHECKING:
    from ._native import Picture


class Record:
    """A result in a row. Its attributes are the keys of the command's JSON.

    `kind` is the name of the class that the same analysis returns on one machine, such as "LimitResult". None stands
    for a number that does not exist.
    """

    def __init__(self, kind: str, values: dict[str, Any], text: str, page: str) -> None:
        self._parts = (kind, values, text, page)

    @classmethod
    def of(cls, result: Any) -> "Record":
        """Converts a result into a record."""
        return cls(type(result).__name__, result.to_dict(), repr(result), result._repr_html_())

    @property
    def kind(self) -> str:
        """Name of the class that the same analysis returns on one machine."""
        return self._parts[0]

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_"):
            values = self._parts[1]
            if name in values:
                return values[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __dir__(self) -> list[str]:
        return [*self._parts[1], "array", "kind", "to_dict"]

    def array(self, name: str) -> "np.ndarray[Any, Any]":
        """Returns the attribute `name`, a list of numbers, as an array with NaN for None."""
        return np.array(getattr(self, name), dtype=float)

    def to_dict(self) -> dict[str, Any]:
        """Returns the result as plain Python data."""
        return deepcopy(self._parts[1])

    def __reduce__(self) -> tuple[Any, ...]:
        return (Record, self._parts)

    def __repr__(self) -> str:
        return self._parts[2]

    def _repr_html_(self) -> str:
        return self._parts[3]


@dataclass(frozen=True)
class Outcome:
    """The status of one task, with its result, or with the reason why there is no result."""

    status: Literal["done", "failed", "not run"]
    reason: str | None
    result: Record | None
    worker: str | None = None
    wall_s: float | None = None


@dataclass(frozen=True)
class Row:
    """The row of one analysis: its name and values (such as those of a patchset's labels), and its result or the
    reason why there is none."""

    name: str
    values: dict[str, Any]
    status: Literal["done", "failed", "not run"]
    reason: str | None
    result: Record | None = field(repr=False)
    worker: str | None = None
    wall_s: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Returns one flat dictionary: name, values, status, reason, and then the keys of the result."""
        result = self.result.to_dict() if self.result else {}
        return {"name": self.name, **self.values, "status": self.status, "reason": self.reason, **result}


# Keys that a table shows, for each class of results.
_COLUMNS = {
    "LimitResult": ("observed", "expected"),
    "ToyLimitResult": ("observed", "observed_error", "expected"),
    "IntervalResult": ("lower", "lower_error", "upper", "upper_error"),
    "HypotestResult": ("cls", "clsb", "clb"),
    "PointResult": ("t", "p_value", "p_value_toys"),
    "HypotestToysResult": ("cls", "cls_error", "clsb", "clb"),
    "SignificanceResult": ("p0", "z", "z_expected"),
    "GoodnessResult": ("chi2", "ndof", "p_value", "p_value_toys"),
    "FitResult": ("twice_nll", "converged"),
    "ScanResult": ("mu_hat", "uncertainty", "twice_nll"),
}


# Names of the five expected values of a limit.
_BAND = ("-2 sigma", "-1 sigma", "median", "+1 sigma", "+2 sigma")


class Rows(Sequence[Row]):
    """Rows in the order of the request. `rows["name"]` is the row with this name."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = tuple(rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    @overload
    def __getitem__(self, which: int | str) -> Row: ...
    @overload
    def __getitem__(self, which: slice) -> "Rows": ...
    def __getitem__(self, which: int | str | slice) -> "Row | Rows":
        if isinstance(which, slice):
            return Rows(self._rows[which])
        if isinstance(which, int):
            return self._rows[which]
        for row in self._rows:
            if row.name == which:
                return row
        raise KeyError(which)

    @property
    def failed(self) -> "Rows":
        """The rows without a result."""
        return Rows([row for row in self._rows if row.status != "done"])

    def to_dicts(self) -> list[dict[str, Any]]:
        """Returns one flat dictionary per row, for example for `pandas.DataFrame`."""
        return [row.to_dict() for row in self._rows]

    def to_pandas(self) -> Any:
        """Returns a data frame of pandas with one line per row. Raises `ImportError` without pandas."""
        return self._frame("pandas")

    def to_polars(self) -> Any:
        """Returns a data frame of polars with one line per row. Raises `ImportError` without polars."""
        return self._frame("polars")

    def _frame(self, package: str) -> Any:
        try:
            module = importlib.import_module(package)
        except ImportError as error:
            raise ImportError(f"to_{package}() needs {package}: pip install {package}") from error
        columns: dict[str, list[Any]] = {"name": [row.name for row in self]}
        for label in self.labels:
            columns[label] = [row.values.get(label) for row in self]
        columns["status"] = [row.status for row in self]
        columns["reason"] = [row.reason for row in self]
        results = [row.result.to_dict() if row.result else {} for row in self]
        for key in dict.fromkeys(key for result in results for key in result):
            values = [result.get(key) for result in results]
            if key == "expected" and any(values):
                for k, name in enumerate(_BAND):
                    columns[f"expected {name}"] = [value[k] if value else None for value in values]
            elif not any(isinstance(value, dict | list) for value in values):
                columns[key] = values
        return module.DataFrame(columns)

    @property
    def labels(self) -> list[str]:
        """Labels of the values of the rows, such as those of a patchset."""
        return list(dict.fromkeys(label for row in self._rows for label in row.values))

    def plot(
        self,
        path: str | PathLike[str] | None = None,
        *,
        labels: str | Sequence[str] | None = None,
        title: str | None = None,
        subtitle: str | None = None,
    ) -> Picture:
        """Draws upper limits against one label, or excluded points in the plane of two labels.

        `labels` are the names of one or two labels, by default the labels that vary. Saves the picture if `path` is given.
        """
        chosen = [labels] if isinstance(labels, str) else list(labels or [])
        return _native._grid_plot(self._json(), chosen, path, title, subtitle)

    def to_latex(self) -> str:
        """Returns the table of upper limits in LaTeX, with the rules of the package `booktabs`."""
        return _native._grid_shown(self._json(), "latex")

    def to_markdown(self) -> str:
        """Returns the table of upper limits in Markdown."""
        return _native._grid_shown(self._json(), "markdown")

    def to_csv(self) -> str:
        """Returns the table of upper limits as comma-separated values."""
        return _native._grid_shown(self._json(), "csv")

    def to_hepdata(self) -> str:
        """Returns the table of upper limits as a data table of HEPData in YAML, which HEPData takes as a submission."""
        return _native._grid_shown(self._json(), "hepdata")

    def _json(self) -> str:
        """Returns the rows as the JSON of `nextstat upper-limit --patchset`."""
        kinds = {row.result.kind for row in self._rows if row.result}
        if kinds - {"LimitResult"}:
            raise TypeError(f"only rows of upper limits can be drawn or laid out; these are of {', '.join(sorted(kinds))}")
        results = [row.result.to_dict() for row in self._rows if row.result]
        first = results[0] if results else {}
        plain = [
            {
                "name": row.name,
                "values": row.values,
                "status": row.status,
                "reason": row.reason,
                "result": row.result.to_dict() if row.result else None,
                "patch_digest": "",
                "wall_s": row.wall_s,
            }
            for row in self._rows
        ]
        about = {"param": first.get("param"), "cl": first.get("cl", 0.95), "test_stat": first.get("test_stat", "qtilde")}
        return json.dumps({**about, "labels": self.labels, "rows": plain, "warnings": []}, default=_plain)

    def _cells(self) -> list[list[str]]:
        results = [row.result for row in self._rows if row.result]
        keys = _COLUMNS.get(results[0].kind, ()) if results else ()
        reasons = any(row.reason for row in self._rows)
        cells = [["name", *keys, *(["reason"] if reasons else [])]]
        for row in self._rows:
            numbers = [_shown(getattr(row.result, key)) if row.result else "" for key in keys]
            reason = (row.reason or "").splitlines()[:1] or [""]
            cells.append([row.name, *numbers, *(reason if reasons else [])])
        return cells

    def __repr__(self) -> str:
        cells = self._cells()
        widths = [max(map(len, column)) for column in zip(*cells)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in cells]
        good = sum(row.status == "done" for row in self._rows)
        return "\n".join([lines[0], "-" * max(map(len, lines)), *lines[1:], f"{good} of {len(self)} done"])

    def _repr_html_(self) -> str:
        head, *body = [[html.escape(cell) for cell in row] for row in self._cells()]
        rows = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in body)
        return f"<table><tr>{''.join(f'<th>{cell}</th>' for cell in head)}</tr>{rows}</table>"


def _shown(value: Any) -> str:
    if isinstance(value, list):
        # A list is an expected band. Its median is in the middle.
        return _shown(value[len(value) // 2]) if value else ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _plain(value: Any) -> Any:
    # NumPy's numbers, as values of labels.
    return value.item()
