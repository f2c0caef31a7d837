"""The code of workers: the tasks, and the models that the tasks share. The results of a task depend only on its
arguments.

A task uses one thread. Tasks import Dask as late as possible, so that they can be tested without it.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from .. import _native
from .._native import Model, ToyTest
from ._errors import WorkerMismatchError, mismatch
from .._rows import Outcome, Record
from ._source import Json, Shipment, workspace_error

T = TypeVar("T")


class Shelf(Generic[T]):
    """A cache of the last `capacity` objects. Each object is made once, even if several threads ask for it."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.guard = threading.Lock()
        self.entries: OrderedDict[str, tuple[threading.Lock, list[T]]] = OrderedDict()

    def get(self, key: str, make: Callable[[], T]) -> T:
        """Returns the object with this key. If it is missing, `make` makes it. Exceptions of `make` are not stored."""
        with self.guard:
            lock, slot = self.entries.setdefault(key, (threading.Lock(), []))
            self.entries.move_to_end(key)
            while len(self.entries) > self.capacity:
                self.entries.popitem(last=False)
        with lock:
            if not slot:
                slot.append(make())
            return slot[0]


# Large models take 100 MB. A few models are enough for the tasks that run at the same time.
_models: Shelf[Model] = Shelf(4)
_tests: Shelf[ToyTest] = Shelf(4)
_workspaces: Shelf[Json] = Shelf(2)


def hold(shipment: Shipment) -> Shipment:
    """Returns the shipment. As this is a task, it is run again if all workers that have the shipment die."""
    return shipment


def toys(shipment: Shipment, hypothesis: Any, start: int, stop: int) -> tuple[Any, ...]:
    """Runs toys `start` to `stop - 1`. Returns the columns of `ToyTest.run`."""
    _check(shipment)
    header = shipment.header or ""
    test = _tests.get(
        shipment.key, lambda: _native.toys_from_header(_model(shipment), header, threads=1)
    )
    return test.run(hypothesis, start, stop)


def analyse(shipment: Shipment, function: str, options: Json, patch: Any = None) -> Outcome:
    """Runs an analysis of the model, which further patches may change. A failure is an outcome with a reason."""
    _check(shipment)
    started = time.perf_counter()
    try:
        model = _model(shipment) if patch is None else _patched(shipment, patch)
        # A TypeError is a mistake of the caller. It does not concern a single analysis, so it is raised.
        result = getattr(_native, function)(model=model, threads=1, **options)
    except (TypeError, WorkerMismatchError):
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        return Outcome("failed", reason, None, _address(), time.perf_counter() - started)
    return Outcome("done", None, Record.of(result), _address(), time.perf_counter() - started)


def _check(shipment: Shipment) -> None:
    if shipment.version != _native.__version__:
        raise mismatch({_address() or "here": f"nextstat {_native.__version__}"}, shipment.version)


def _model(shipment: Shipment) -> Model:
    model = _models.get(
        shipment.model_key, lambda: _native.load_workspace(shipment.unpack(), **shipment.options)
    )
    if shipment.digest not in (None, model.model_digest):
        raise WorkerMismatchError(
            f"worker {_address()} builds another model ({model.model_digest}) than the client ({shipment.digest}); "
            "install the same build of nextstat on both"
        )
    return model


def _patched(shipment: Shipment, patch: Any) -> Model:
    # Each patched model is used once, so it is not kept in the cache.
    workspace = _workspaces.get(shipment.model_key, shipment.unpack)
    options = dict(shipment.options)
    # `load_workspace` would read a text in place of operations as a path.
    if not all(isinstance(one, list) and all(isinstance(step, dict) for step in one) for one in patch):
        raise workspace_error("the patch is no list of operations; see RFC 6902")
    return _native.load_workspace(workspace, patch=[*options.pop("patch", []), *patch], **options)


def _address() -> str | None:
    from distributed import get_worker

    try:
        return get_worker().address
    except ValueError:
        return None
