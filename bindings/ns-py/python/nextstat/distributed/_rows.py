"""The results that workers send, and tables of these results."""

import html
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Literal, overload

import numpy as np


class Record:
    """A result that a worker sends. Its attributes are the keys of the command's JSON.

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
    "HypotestResult": ("cls", "clsb", "clb"),
    "HypotestToysResult": ("cls", "cls_error", "clsb", "clb"),
    "SignificanceResult": ("p0", "z", "z_expected"),
    "GoodnessResult": ("chi2", "ndof", "p_value", "p_value_toys"),
    "FitResult": ("twice_nll", "converged"),
    "ScanResult": ("mu_hat", "uncertainty", "twice_nll"),
}


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
