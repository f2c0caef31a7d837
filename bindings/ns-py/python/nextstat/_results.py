"""Results of servers, as the objects that the same functions of this package return."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

from . import _native
from ._requests import RemoteModel, is_archive
from ._rows import Record
from .types import Part

#: Names of the classes of results that are only made on this machine, by analysis.
_KINDS = {"fit": "FitResult", "fit-batch": "BatchResult", "hypotest-toys": "HypotestToysResult", "upper-limit": "LimitResult",
          "sample": "PosteriorResult"}

#: Analyses whose results need their model, for its text and its pictures.
_WITH_MODEL = ("fit",)


class Origin(NamedTuple):
    """What a model was made of: the workspace and the settings."""

    workspace: Any
    settings: Mapping[str, Any]


def of_json(analysis: str, model: Any, content: bytes) -> Any:
    """Returns the result of an analysis, and issues its warnings. `content` is the JSON of the server."""
    plain = json.loads(content, object_hook=Part)
    if analysis in ("inspect", "validate") or not isinstance(plain, dict):
        return plain
    if analysis == "blue":
        result: Any = dict(plain)
    else:
        result = _native._remote(content, _local(model) if analysis in _WITH_MODEL else None)
    if result is None:
        # Without the model there are the numbers alone.
        result = Remote(_KINDS.get(analysis, analysis), plain, json.dumps(plain, indent=1), f"<pre>{len(plain)} keys</pre>")
    # With several parameters of interest, each result has its warnings.
    each = plain["results"] if "pois" in plain and "results" in plain else [plain]
    for text in dict.fromkeys(text for one in each for text in one.get("warnings") or ()):
        warnings.warn(text, stacklevel=5)
    return result


class Remote(Record):
    """A result of a server whose model is not on this machine. Its attributes are the keys of the command's JSON."""

    def __getitem__(self, key: str) -> Any:
        warnings.warn(f'result["{key}"] becomes result.{key}', DeprecationWarning, stacklevel=2)
        return self._parts[1][key]

    def __reduce__(self) -> tuple[Any, ...]:
        return (Remote, self._parts)


def _local(model: Any) -> _native.Model | None:
    """The model on this machine; None if it is only on the server."""
    settings: Mapping[str, Any] = {}
    if isinstance(model, RemoteModel):
        if model.origin is None:
            return None
        model, settings = model.origin
    if is_archive(model):
        return None
    names = {"patches": "patch", "interpolation": "interp_defaults"}
    options = {names.get(key, key): value for key, value in settings.items() if value is not None}
    with warnings.catch_warnings():
        # The server gives them with the result.
        warnings.simplefilter("ignore")
        if isinstance(model, str) and model.lstrip().startswith("{"):
            return _native.Model.from_workspace(model, **options)
        source = dict(model) if isinstance(model, Mapping) else os.fspath(model)
        return _native.load_workspace(source, **options)
