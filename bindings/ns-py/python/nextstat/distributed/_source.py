"""The source of a model, in the form that is sent to workers."""

import hashlib
import json
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .. import _native
from .._native import Model, NextstatError

Json: TypeAlias = dict[str, Any]


class ModelSource:
    """The arguments of `nextstat.load_workspace`. Workers use them to build the model.

    A compiled `Model` cannot be sent to workers. The client reads the files, so workers need no access to them.
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | Json,
        measurement: str | None = None,
        patch: Any = None,
        interp_defaults: str = "smooth",
        *,
        normsys_code: str | None = None,
        histosys_code: str | None = None,
        poi: str | None = None,
        digest_check: bool = True,
        channels: str | Sequence[str] | None = None,
        mask: str | Sequence[str] | None = None,
    ) -> None:
        self.source = source
        self.patch = patch
        self.digest_check = digest_check
        self.options: Json = {
            "measurement": measurement,
            "interp_defaults": interp_defaults,
            "normsys_code": normsys_code,
            "histosys_code": histosys_code,
            "poi": poi,
            "channels": channels,
            "mask": mask,
        }

    def load(self) -> Model:
        """Builds the model on the client."""
        return _native.load_workspace(
            self.source, patch=self.patch, digest_check=self.digest_check, **self.options
        )

    def shipment(self, digest: str | None = None, header: str | None = None) -> "Shipment":
        """Returns the message for workers: this source, the digest that their model must have, and a header of toys."""
        options = dict(self.options)
        if self.patch is not None:
            options["patch"] = operations(self.patch)
        return Shipment.pack(read_json(self.source), options, digest, header)

    def __repr__(self) -> str:
        what = "a dictionary" if isinstance(self.source, Mapping) else repr(os.fspath(self.source))
        return f"<nextstat.distributed.ModelSource: {what}>"


@dataclass(frozen=True)
class Shipment:
    """All data that a worker needs to build a model. They are sent once and then passed from worker to worker."""

    key: str
    model_key: str
    version: str
    workspace: bytes = field(repr=False)
    options: Json
    digest: str | None = None
    header: str | None = field(default=None, repr=False)

    @staticmethod
    def pack(workspace: Json, options: Json, digest: str | None = None, header: str | None = None) -> "Shipment":
        """Compresses the workspace. `key` is a hash of all contents. `model_key` is a hash of the contents that
        determine the model."""
        text = plain(workspace).encode()
        options = json.loads(plain(options))
        version = _native.__version__
        model_key = fingerprint(version, hashlib.sha256(text).hexdigest(), options)
        key = fingerprint(model_key, digest, header)
        return Shipment(key, model_key, version, zlib.compress(text, 1), options, digest, header)

    def unpack(self) -> Json:
        """Returns the workspace."""
        workspace: Json = json.loads(zlib.decompress(self.workspace))
        return workspace


def source_of(model: Any) -> ModelSource:
    """Converts the `model` argument of this package's functions to a `ModelSource`."""
    if isinstance(model, ModelSource):
        return model
    if isinstance(model, Model):
        raise TypeError(
            "a compiled Model cannot be sent to workers: give the path or the dictionary it was made from, or "
            "nextstat.distributed.ModelSource with the arguments of load_workspace"
        )
    return ModelSource(model)


def plain(data: Any) -> str:
    """Returns data as compact JSON text. NumPy numbers and arrays become plain numbers and lists."""

    def convert(value: Any) -> Any:
        if hasattr(value, "tolist"):
            return value.tolist()
        raise TypeError(f"{type(value).__name__} cannot be sent to workers")

    return json.dumps(data, sort_keys=False, separators=(",", ":"), default=convert)


def fingerprint(*parts: Any) -> str:
    """Returns a hash of the parts, as text of 32 characters."""
    return hashlib.sha256(plain(parts).encode()).hexdigest()[:32]


def read_json(source: Any) -> Any:
    """Returns a document, which is read if a path is given. Text that is not JSON is a `WorkspaceError`."""
    if isinstance(source, Mapping | list):
        return source
    content = _native._text(source)
    try:
        return json.loads(content)
    except ValueError as error:
        _native.load_workspace(source)
        raise workspace_error(f"{os.fspath(source)} is not JSON: {error}") from error


def operations(patch: Any) -> list[Any]:
    """Returns the `patch` argument of `load_workspace` as a list of patches, each a list of operations."""
    if isinstance(patch, list | tuple):
        # A list of dictionaries is a list of operations. In any other list each item is a patch.
        if all(isinstance(item, Mapping) for item in patch):
            return [list(patch)]
        return [found for item in patch for found in operations(item)]
    path = os.fspath(patch)
    if os.path.exists(path):
        steps = read_json(path)
        if not isinstance(steps, list):
            raise workspace_error(f"{path} is no JSON Patch; a member of a patchset is \"{path}:name\"")
        return [steps]
    file, _, name = path.rpartition(":")
    members = read_json(file or path)["patches"]
    found = [member["patch"] for member in members if member["metadata"]["name"] == name]
    if not found:
        raise workspace_error(f"{file} has no patch '{name}'")
    return found[:1]


def workspace_error(text: str) -> NextstatError:
    """Returns a `WorkspaceError` with this message and an empty list of problems."""
    error = _native.WorkspaceError(text)
    error.problems = []
    return error
