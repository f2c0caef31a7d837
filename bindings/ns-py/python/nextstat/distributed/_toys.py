"""Toy-based tests on a cluster. A task runs a range of toys. The toys are counted in the order of their numbers."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from distributed import Client
from numpy.typing import ArrayLike, NDArray

from .. import _native
from .._native import HypotestToysResult
from . import _worker
from ._errors import WorkerError
from ._gather import Progress, Task, check, gather, n_threads
from ._source import source_of

if TYPE_CHECKING:
    from .._native import Hypothesis, Statistic

# Limits of the number of toys per task. A lost worker should cost little time, so a task takes at most seconds, even
# if a toy takes 10 ms. Sending a task should take a small part of its time.
MIN_CHUNK, MAX_CHUNK = 64, 2048


@dataclass(frozen=True)
class ToyRows:
    """The toys of one test, in the order of their numbers, for `nextstat.toys_summarise`.

    `parts` are tuples (hypothesis, index, statistic, mu_hat, status, reasons). `ToyTest.run` returns their contents.
    """

    header: str = field(repr=False)
    parts: list[tuple[Any, ...]] = field(repr=False)
    wall_s: float

    def columns(self, hypothesis: Hypothesis) -> dict[str, NDArray[Any]]:
        """Returns the toys of "b" or "sb" as arrays: index, statistic, mu_hat, status (0 converged, 1 not converged,
        2 failed)."""
        parts = [part for part in self.parts if part[0] == hypothesis]
        names = ("index", "statistic", "mu_hat", "status")
        kinds = (np.uint64, np.float64, np.float64, np.uint8)
        return {
            name: np.concatenate([np.empty(0, kind), *(part[i] for part in parts)])
            for i, (name, kind) in enumerate(zip(names, kinds), 1)
        }

    def reasons(self, hypothesis: Hypothesis) -> dict[int, str]:
        """Returns the reasons why toys did not converge or failed, by their index."""
        return {index: why for part in self.parts if part[0] == hypothesis for index, why in part[5].items()}

    def summarise(self, expected_set: bool = False) -> HypotestToysResult:
        """Returns the result of the test."""
        return _native.toys_summarise(self.header, self.parts, expected_set=expected_set, wall_s=self.wall_s)


def run_toys(
    client: Client,
    model: Any,
    mu: float,
    *,
    n_toys: int = 10_000,
    seed: int = 0,
    test_stat: Statistic = "qtilde",
    chunk: int | None = None,
    data: ArrayLike | None = None,
    asimov: bool | float | None = None,
    blind: str | Sequence[str] | None = None,
    fixed: dict[str, float] | None = None,
    init: ArrayLike | dict[str, float] | None = None,
    progress: Progress = None,
) -> ToyRows:
    """Runs the toys of a test on the workers of a Dask client, and returns every toy.

    `model` is a path, a dictionary or a `ModelSource`. The observed data are fitted on the client; each task runs
    `chunk` toys, which changes no result. The other arguments are those of `nextstat.hypotest_toys`. Ctrl-C raises
    `KeyboardInterrupt`, whose attribute `result` has the finished toys, if there are any.
    """
    started = time.perf_counter()
    model, mu = _model_first("run_toys", model, mu)
    check(client)
    source = source_of(model)
    here = source.load()
    test = _native.toys_prepare(
        here,
        mu,
        n_toys=n_toys,
        seed=seed,
        test_stat=test_stat,
        data=data,
        asimov=asimov,
        blind=blind,
        fixed=fixed,
        init=init,
    )
    shipment = source.shipment(here.model_digest, test.header)
    ranges = list(_ranges(test.n_toys, _chunk(chunk, test.n_toys, n_threads(client))))
    tasks = [Task(_worker.toys, shipment, (which, a, b), b - a) for which, a, b in ranges]
    parts: dict[int, tuple[Any, ...]] = {}

    def take(number: int, columns: Any) -> None:
        if isinstance(columns, WorkerError):
            raise columns
        parts[number] = (ranges[number][0], *columns)

    def rows() -> ToyRows:
        ordered = sorted(parts, key=lambda number: (ranges[number][0], ranges[number][1]))
        return ToyRows(test.header, [parts[number] for number in ordered], time.perf_counter() - started)

    try:
        gather(client, tasks, take, progress, "toys")
    except KeyboardInterrupt as error:
        if parts:
            error.result = rows()  # type: ignore[attr-defined]
        raise
    return rows()


def hypotest_toys(
    client: Client,
    model: Any,
    mu: float,
    *,
    n_toys: int = 10_000,
    seed: int = 0,
    test_stat: Statistic = "qtilde",
    expected_set: bool = False,
    chunk: int | None = None,
    data: ArrayLike | None = None,
    asimov: bool | float | None = None,
    blind: str | Sequence[str] | None = None,
    fixed: dict[str, float] | None = None,
    init: ArrayLike | dict[str, float] | None = None,
    progress: Progress = None,
) -> HypotestToysResult:
    """`nextstat.hypotest_toys` on the workers of a Dask client, with the same result.

    `model` is a path, a dictionary or a `ModelSource`. Each task runs `chunk` toys, which changes no result. Ctrl-C
    raises `KeyboardInterrupt`, whose attribute `result` is the result from the finished toys, if there are any.
    """
    model, mu = _model_first("hypotest_toys", model, mu)
    try:
        rows = run_toys(
            client,
            model,
            mu,
            n_toys=n_toys,
            seed=seed,
            test_stat=test_stat,
            chunk=chunk,
            data=data,
            asimov=asimov,
            blind=blind,
            fixed=fixed,
            init=init,
            progress=progress,
        )
    except KeyboardInterrupt as error:
        done = getattr(error, "result", None)
        if done is not None:
            error.result = done.summarise(expected_set)  # type: ignore[attr-defined]
        raise
    return rows.summarise(expected_set)


def _model_first(function: str, model: Any, mu: Any) -> tuple[Any, float]:
    # Earlier versions had the two arguments in the other order.
    if isinstance(model, int | float):
        text = f"{function}(client, mu, model) becomes {function}(client, model, mu): the model comes first"
        warnings.warn(text, DeprecationWarning, stacklevel=3)
        model, mu = mu, model
    return model, float(mu)


def _chunk(wanted: int | None, n_toys: int, threads: int) -> int:
    if wanted is not None:
        if wanted < 1:
            raise ValueError(f"chunk is {wanted}; a task has at least 1 toy")
        return wanted
    # Tasks take different times. About 8 tasks per thread compensate for this. Multiples of 8 toys fill the CPU's
    # vectors.
    even = -(-2 * n_toys // (8 * threads))
    return min(max(-(-even // 8) * 8, MIN_CHUNK), MAX_CHUNK)


def _ranges(n_toys: int, chunk: int) -> Iterable[tuple[Hypothesis, int, int]]:
    # Tasks of both hypotheses alternate, so that a stopped run has toys of both.
    for start in range(0, n_toys, chunk):
        yield "b", start, min(start + chunk, n_toys)
        yield "sb", start, min(start + chunk, n_toys)
