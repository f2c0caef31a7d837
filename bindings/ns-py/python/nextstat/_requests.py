"""Builds the requests of `nextstat.Client`."""

from __future__ import annotations

import base64
import gzip
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Union

from ._native import DeviceError, NextstatError, WorkspaceError, _given_results, _text

#: A workspace (a dictionary, JSON text, or the path of a file), the path of an archive with a model in any format, or a model
#: that the server has stored.
ModelLike = Union["RemoteModel", Mapping[str, Any], str, "os.PathLike[str]"]


class RemoteModel(NamedTuple):
    """A model that a server has stored. The two digests together identify the model. `origin` is what it was made of, if it
    was made here."""

    model_digest: str
    data_digest: str
    origin: Any = None

    def __repr__(self) -> str:
        return f"RemoteModel(model_digest='{self.model_digest}', data_digest='{self.data_digest}')"


class Request(NamedTuple):
    """A request: method, path and body, which is JSON."""

    method: str
    path: str
    body: bytes | None = None


class ServerError(NextstatError):
    """The error that a server refused a request. `problem` has the server's problem details."""

    def __init__(self, problem: Mapping[str, Any]):
        places = [f"{place.get('pointer', '')}: {place.get('detail', '')} {place.get('remedy', '')}".strip()
                  for place in problem.get("errors", [])]
        super().__init__("\n".join(places) or str(problem.get("detail", problem)))
        self.problem = dict(problem)

    @property
    def status(self) -> int:
        """Status code of the response."""
        return int(self.problem.get("status", 0))


class RemoteWorkspaceError(ServerError, WorkspaceError):
    """The error that a server found mistakes in a workspace."""


class RemoteDeviceError(ServerError, DeviceError):
    """The error that the device of a request is not available."""


def failure(status: int, body: bytes) -> ServerError:
    """Returns the error for a response whose status is an error."""
    try:
        problem = json.loads(body)
    except ValueError:
        problem = {}
    if not isinstance(problem, dict):
        problem = {}
    problem = {"status": status, "detail": f"the server answered with status {status}", **problem}
    kinds = {"workspace": RemoteWorkspaceError, "device": RemoteDeviceError}
    return kinds.get(problem.get("type", ""), ServerError)(problem)


def text_of(workspace: Mapping[str, Any] | str | os.PathLike[str]) -> str:
    """Returns the JSON text of a workspace. The workspace is a dictionary, JSON text or a path."""
    if isinstance(workspace, Mapping):
        return json.dumps(workspace)
    if isinstance(workspace, str) and workspace.lstrip().startswith("{"):
        return workspace
    # XML of HistFactory becomes a workspace here, because a server has not the files that it names.
    return _text(Path(workspace)).decode()


def is_archive(model: ModelLike) -> bool:
    """Whether a model is the path of an archive (tar, also compressed by gzip, or zip), which a server unpacks."""
    if not isinstance(model, str | os.PathLike) or not os.path.isfile(model):
        return False
    with open(model, "rb") as file:
        start = file.read(512)
    if start[:2] == b"\x1f\x8b":
        try:
            with gzip.open(model) as packed:
                start = packed.read(512)
        except (OSError, EOFError):
            return False
    return start[:4] in (b"PK\x03\x04", b"PK\x05\x06") or start[257:262] == b"ustar"


def model_text(model: ModelLike, settings: Mapping[str, Any]) -> str:
    """Returns the JSON text for the key `model`. Numbers of a workspace stay as its text writes them."""
    if isinstance(model, RemoteModel):
        if settings:
            raise TypeError(f"a model that the server keeps has no settings {sorted(settings)}")
        return json.dumps({"model_digest": model.model_digest, "data_digest": model.data_digest})
    further = "".join(f", {json.dumps(key)}: {json.dumps(value)}" for key, value in settings.items())
    if not isinstance(model, Mapping) and is_archive(model):
        return f'{{"archive": "{base64.b64encode(Path(os.fspath(model)).read_bytes()).decode()}"{further}}}'
    return f'{{"workspace": {text_of(model)}{further}}}'


def analysis(name: str, model: ModelLike, keys: Mapping[str, Any], *, plot: str | None = None,
             backgrounds: Mapping[str, ModelLike] | None = None) -> Request:
    """Returns the request for an analysis. `keys` are further keys of the body. Those with the value None are left
    out. `backgrounds` are further models by their names."""
    given = {key: value for key, value in keys.items() if value is not None}
    further = "".join(f", {json.dumps(key)}: {json.dumps(value)}" for key, value in given.items())
    if backgrounds is not None:
        each = (f'{{"name": {json.dumps(key)}, "model": {model_text(other, {})}}}' for key, other in backgrounds.items())
        further += f', "backgrounds": [{", ".join(each)}]'
    body = f'{{"model": {model_text(model, {})}{further}}}'
    path = f"/v1/{name}" + (f"?plot={plot}" if plot else "")
    return Request("POST", path, body.encode())


def keep(workspace: ModelLike, settings: Mapping[str, Any]) -> Request:
    """Returns the request that stores a model on the server."""
    given = {key: value for key, value in settings.items() if value is not None}
    return Request("POST", "/v1/models", f'{{"model": {model_text(workspace, given)}}}'.encode())


def edit(name: str, workspaces: Iterable[Mapping[str, Any] | str | os.PathLike[str]], options: Mapping[str, Any]) -> Request:
    """Returns the request for an operation on workspaces, such as prune or combine."""
    texts = [text_of(workspace) for workspace in workspaces]
    key, value = ("workspaces", f"[{', '.join(texts)}]") if name == "combine" else ("workspace", texts[0])
    return Request("POST", f"/v1/{name}", f'{{"{key}": {value}, "options": {json.dumps(dict(options))}}}'.encode())


def blue(results: Mapping[str, Any] | str | os.PathLike[str]) -> Request:
    """Returns the request that combines given results."""
    given = dict(results) if isinstance(results, Mapping) else results
    return Request("POST", "/v1/blue", _given_results(given).encode())


def merge(files: Iterable[str | os.PathLike[str]], options: Mapping[str, Any]) -> Request:
    """Returns the request that merges files of toys."""
    contents = [base64.b64encode(Path(file).read_bytes()).decode() for file in files]
    return Request("POST", "/v1/merge-toys", json.dumps({"files": contents, "options": dict(options)}).encode())


def read_events(lines: Iterable[bytes]) -> Iterable[tuple[str, Any]]:
    """Yields the name and the data of each event of a stream of server-sent events."""
    name, data = "", ""
    for line in lines:
        key, _, value = line.decode().rstrip("\r\n").partition(":")
        if key == "event":
            name = value.strip()
        elif key == "data":
            data = value.strip()
        elif not key and not value and data:
            yield name, json.loads(data)
            name, data = "", ""
