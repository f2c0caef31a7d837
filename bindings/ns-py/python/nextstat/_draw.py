"""Pictures of results in a style, also of results that were saved as JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from . import _native
from ._rows import Rows

if TYPE_CHECKING:
    from ._native import Picture


def draw(
    result: Any,
    path: str | PathLike[str] | None = None,
    *,
    kind: Literal["pulls", "correlation", "poi-correlation", "ranking", "impacts", "groups", "yields", "summary"] | None = None,
    style: str | PathLike[str] | Mapping[str, Any] | None = None,
    labels: str | Sequence[str] = (),
    before: Any = None,
    title: str | None = None,
    subtitle: str | None = None,
) -> Picture:
    """Draws a result in a style, as `nextstat draw` does. Nothing is computed again. Saves the picture if `path` is given.

    `result` is a result of this package, its dictionary, or the path of the JSON that a command wrote. `kind` chooses among
    the pictures of results that have several. `style` is the path of a TOML file or a dictionary with the same keys
    (docs/plots.md); `title` and `subtitle` have priority. `labels` are one or two labels of a grid. `before` are yields before
    the fit, for the picture "summary".
    """
    written, in_toml = _style(style)
    names = [labels] if isinstance(labels, str) else list(labels)
    earlier = None if before is None else _json(before, "before")
    place = None if path is None else Path(path)
    return _native._draw(_json(result, "result"), kind or "", written, in_toml, (title, subtitle), names, earlier, place)


def _style(style: str | PathLike[str] | Mapping[str, Any] | None) -> tuple[str, bool]:
    """The text of a style, and whether it is TOML."""
    if style is None or isinstance(style, Mapping):
        return json.dumps(dict(style or {})), False
    return Path(style).read_text(encoding="utf-8"), True


def _json(result: Any, argument: str) -> str:
    if isinstance(result, Rows):
        return result._json()
    if isinstance(result, Mapping):
        return json.dumps(result)
    if isinstance(result, (str, os.PathLike)):
        return Path(result).read_text(encoding="utf-8")
    if hasattr(result, "to_dict"):
        return json.dumps(result.to_dict())
    raise TypeError(f"{argument} must be a result, its dictionary or the path of its JSON, not {type(result).__name__}")
