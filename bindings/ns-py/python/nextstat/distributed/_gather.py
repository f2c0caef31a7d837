"""The work of the client: checks the workers, submits tasks, gathers results, reports progress, and releases tasks."""

import pydoc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import dask
from distributed import CancelledError, Client, KilledWorker, as_completed

from .. import _native
from .._progress import Bar
from . import _worker
from ._errors import WorkerError, mismatch
from ._source import Shipment, fingerprint

Progress: TypeAlias = bool | Callable[[int, int], object] | None
# Dask's futures and functions have no types.
Future: TypeAlias = Any


@dataclass(frozen=True)
class Task:
    """A call of `function(shipment, *arguments)` on a worker. It counts as `weight` units of progress."""

    function: Callable[..., Any]
    shipment: Shipment
    arguments: tuple[Any, ...]
    weight: int = 1

    @property
    def key(self) -> str:
        """Name of the task on the cluster. Equal tasks have the same name. The cluster therefore runs them once."""
        name = self.function.__name__
        return f"nextstat-{name}-{fingerprint(name, self.shipment.key, self.arguments)}"


def check(client: Any) -> None:
    """Raises an error if the client cannot be used, or if a worker lacks the client's version of the package."""
    if not isinstance(client, Client):
        raise TypeError(f"the first argument is a dask.distributed.Client, not {type(client).__name__}")
    if client.asynchronous:
        raise TypeError("the client is asynchronous: use a Client that was made without asynchronous=True")
    # A function of the standard library finds the version, so that workers without the package can run it. Workers
    # that join later are checked by their first task.
    question = (pydoc.locate, "nextstat.__version__")
    answers = client.run(*question, on_error="return")
    # The scheduler also reads tasks, so it needs the package.
    answers["(the scheduler)"] = client.run_on_scheduler(*question)  # type: ignore[no-untyped-call]
    here = _native.__version__
    found = {
        address: "no nextstat" if answer is None else f"nextstat {answer}" if isinstance(answer, str) else str(answer)
        for address, answer in answers.items()
        # An OSError comes from a worker that is just dying. It says nothing about the worker's version.
        if answer != here and not isinstance(answer, OSError)
    }
    if found:
        raise mismatch(found, here)


def n_threads(client: Any) -> int:
    """Returns the number of tasks that run at the same time; 16 if there is no worker yet."""
    return int(sum(client.nthreads().values())) or 16


def gather(
    client: Any,
    tasks: Sequence[Task],
    take: Callable[[int, Any], None],
    progress: Progress,
    unit: str,
) -> None:
    """Runs tasks and calls `take(number of the task, result or WorkerError)` for each result as it arrives.

    If something stops the run early (Ctrl-C, an error of a task, of `take` or of the progress function), all remaining
    tasks are released: waiting tasks are dropped, and running tasks end on their own without keeping a result.
    """
    tell = _teller(progress, unit)
    total = sum(task.weight for task in tasks)
    done = 0
    # Equal tasks are submitted as one task.
    numbers: dict[str, list[int]] = {}
    for number, task in enumerate(tasks):
        numbers.setdefault(task.key, []).append(number)
    futures = _submit(client, tasks, numbers)
    waiting: Any = as_completed(futures)  # type: ignore[no-untyped-call]
    try:
        for future in waiting:
            result = _result(future)
            for number in numbers[future.key]:
                take(number, result)
                done += tasks[number].weight
            # The result is on the client, so the worker can release it.
            future.release()
            tell(done, total, done == total)
    finally:
        waiting.clear()
        for future in futures:
            future.release()


def _submit(client: Any, tasks: Sequence[Task], numbers: dict[str, list[int]]) -> list[Future]:
    shipments: dict[str, Future] = {}
    groups: dict[Callable[..., Any], list[str]] = {}
    futures = []
    # A workspace is large but sent only once, so Dask's warning about large graphs is turned off.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "10GB"}):
        for key, (first, *_) in numbers.items():
            task = tasks[first]
            if task.shipment.key not in shipments:
                name = f"nextstat-hold-{task.shipment.key}"
                shipments[task.shipment.key] = client.submit(_worker.hold, task.shipment, key=name)
            groups.setdefault(task.function, []).append(key)
        for function, keys in groups.items():
            chosen = [tasks[numbers[key][0]] for key in keys]
            columns = zip(*(task.arguments for task in chosen))
            held = [shipments[task.shipment.key] for task in chosen]
            futures += client.map(function, held, *map(list, columns), key=keys)
    return futures


def _result(future: Future) -> Any:
    try:
        return future.result()
    except KilledWorker as error:
        return WorkerError(
            f"every worker that ran this task died (tried {error.allowed_failures + 1} times, the last one was "
            f"{error.last_worker.address}). Look at the workers' logs; the usual reason is memory: fewer threads per "
            "worker, or a larger limit. On preemptible machines raise Dask's setting "
            "distributed.scheduler.allowed-failures"
        )
    except CancelledError as error:
        raise WorkerError(
            f"the cluster dropped the task ({error}): the connection to the scheduler was lost, or another program "
            "cancelled the task; start again with a new Client"
        ) from error
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "nextstat":
            raise
        raise mismatch({"that came later": "no nextstat.distributed"}, _native.__version__) from error


def _teller(progress: Progress, unit: str) -> Callable[[int, int, bool], None]:
    if callable(progress):
        return lambda done, total, last: (progress(done, total), None)[1]
    return Bar(unit) if progress else lambda done, total, last: None
