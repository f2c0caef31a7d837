"""What runs on workers: tasks that are pure functions of their arguments, and the models that they share.

A task uses one thread. Tasks import no Dask before they have to, so that they can be tested without it.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from .. import _native
from .._native import Model, ToyTest
from ._errors import WorkerMismatchError, mismatch
from ._rows import Outcome, Record
from ._source import Json, Shipment, workspace_error

T = TypeVar("T")


class Shelf(Generic[T]):
    """The things used last, each made once however many threads ask for it."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.guard = threading.Lock()
        self.entries: OrderedDict[str, tuple[threading.Lock, list[T]]] = OrderedDict()

    def get(self, key: str, make: Callable[[], T]) -> T:
        """The entry of this key, made if it is not there; what `make` raises is not kept."""
        with self.guard:
            lock, slot = self.entries.setdefault(key, (threading.Lock(), []))
            self.entries.move_to_end(key)
            while len(self.entries) > self.capacity:
                self.entries.popitem(last=False)
        with lock:
            if not slot:
                slot.append(make())
            return slot[0]


# Large models take 100 MB: a few are enough for what runs at a time.
_models: Shelf[Model] = Shelf(4)
_tests: Shelf[ToyTest] = Shelf(4)
_workspaces: Shelf[Json] = Shelf(2)


def hold(shipment: Shipment) -> Shipment:
    """The shipment itself, as a task: the scheduler can make it again if all workers that have it die."""
    return shipment


def toys(shipment: Shipment, hypothesis: Any, start: int, stop: int) -> tuple[Any, ...]:
    """Toys `start` to `stop - 1`: the columns of `ToyTest.run`."""
    _check(shipment)
    header = shipment.header or ""
    test = _tests.get(
        shipment.key, lambda: _native.toys_from_header(_model(shipment), header, threads=1)
    )
    return test.run(hypothesis, start, stop)


def analyse(shipment: Shipment, function: str, options: Json, patch: Any = None) -> Outcome:
    """One analysis of the model, or of the model with one more patch; a failure is an outcome with its reason."""
    _check(shipment)
    started = time.perf_counter()
    try:
        model = _model(shipment) if patch is None else _patched(shipment, patch)
        # Programming errors (TypeError) are those of the caller, not of a point: they are raised.
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
    # Each is used once and not kept.
    workspace = _workspaces.get(shipment.model_key, shipment.unpack)
    options = dict(shipment.options)
    # Texts would be taken for paths, of this machine.
    if not all(isinstance(one, list) and all(isinstance(step, dict) for step in one) for one in patch):
        raise workspace_error("the patch is no list of operations; see RFC 6902")
    return _native.load_workspace(workspace, patch=[*options.pop("patch", []), *patch], **options)


def _address() -> str | None:
    from distributed import get_worker

    try:
        return get_worker().address
    except ValueError:
        return None
