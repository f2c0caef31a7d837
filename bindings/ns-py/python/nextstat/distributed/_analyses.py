"""Scans and limits on a cluster. One analysis is one task, so that its result is the same as on one machine."""

import inspect
import json
from collections.abc import Mapping, Sequence
from typing import Any

from distributed import Client

from .. import _native
from . import _worker
from ._errors import WorkerError
from ._gather import Progress, Task, check, gather
from .._rows import Outcome, Row, Rows
from ._source import Json, plain, source_of

NOT_RUN = Outcome("not run", "interrupted", None)


def run_rows(
    client: Client,
    tasks: Sequence[Task],
    names: Sequence[tuple[str, Json]],
    progress: Progress,
    unit: str,
) -> Rows:
    """Runs tasks that call `_worker.analyse`. `names` has the name and the values of the row of each task."""
    outcomes = dict.fromkeys(range(len(tasks)), NOT_RUN)

    def take(number: int, outcome: Any) -> None:
        failed = isinstance(outcome, WorkerError)
        outcomes[number] = Outcome("failed", f"WorkerError: {outcome}", None) if failed else outcome

    def rows() -> Rows:
        return Rows(
            [
                Row(name, values, o.status, o.reason, o.result, o.worker, o.wall_s)
                for (name, values), o in zip(names, outcomes.values())
            ]
        )

    try:
        gather(client, tasks, take, progress, unit)
    except KeyboardInterrupt as error:
        error.result = rows()  # type: ignore[attr-defined]
        raise
    return rows()


def check_options(function: str, options: Json) -> Json:
    """Returns the options in the form that is sent to workers. An unknown option is an error before anything is sent."""
    own = {"threads": "a task has one thread; start more workers", "model": "it is the second argument"}
    for name, whose in own.items():
        if name in options:
            raise TypeError(f"'{name}' is no option on a cluster: {whose}")
    call = getattr(_native, function)
    try:
        inspect.signature(call).bind(model=None, **options)
    except TypeError as error:
        raise TypeError(f"{function}: {error}") from None
    # The package cannot read every memory layout that a sent array may have, so arrays become lists.
    sent: Json = json.loads(plain({name: value for name, value in options.items() if value is not None}))
    return sent


def profile_scans(
    client: Client,
    model: Any,
    params: Sequence[str | tuple[str, str]] | None = None,
    *,
    progress: Progress = None,
    **options: Any,
) -> Rows:
    """`nextstat.profile_scan` of many parameters on the workers of a Dask client: one row per scan.

    `params` are names, or pairs of names for scans in two parameters; by default all free parameters. `options` have
    the same meaning as for `nextstat.profile_scan`. A scan is one task, because the fits of its points start from one
    another. Ctrl-C raises `KeyboardInterrupt`, whose attribute `result` has all rows. Unfinished rows have the status
    "not run".
    """
    for name in ("param", "param2"):
        if name in options:
            raise TypeError(f"name the parameters in params=[...], not in {name}")
    sent = check_options("profile_scan", options)
    check(client)
    source = source_of(model)
    here = source.load()
    known = here.parameter_names
    if params is None:
        held = set(options.get("fixed") or ())
        fixed = here.fixed
        params = [name for name, still in zip(known, fixed) if not still and name not in held]
    pairs = [(p,) if isinstance(p, str) else tuple(p) for p in params]
    for pair in pairs:
        unknown = [name for name in pair if name not in known]
        if unknown or len(pair) not in (1, 2):
            raise ValueError(
                f"unknown parameter '{unknown[0]}'" if unknown else f"a scan has one or two parameters, not {pair}"
            )
    shipment = source.shipment(here.model_digest)
    asked = [dict(zip(("param", "param2"), pair)) for pair in pairs]
    tasks = [Task(_worker.analyse, shipment, ("profile_scan", sent | which)) for which in asked]
    return run_rows(client, tasks, [(",".join(p), dict(a)) for p, a in zip(pairs, asked)], progress, "scans")


def upper_limits(
    client: Client,
    models: Any,
    *,
    progress: Progress = None,
    **options: Any,
) -> Rows:
    """`nextstat.upper_limit` of many models on the workers of a Dask client: one row per model.

    `models` are a mapping from names to models or a list of models, each a path, a dictionary or a `ModelSource`.
    `options` have the same meaning as for `nextstat.upper_limit`; with `toys=N` the limits come from toys. A limit is
    one task. If the limit of a model fails, its row has the reason. Ctrl-C raises `KeyboardInterrupt`, whose
    attribute `result` has all rows. Unfinished rows have the status "not run".
    """
    if isinstance(models, Mapping) and "channels" not in models:
        named = {str(name): source_of(model) for name, model in models.items()}
    elif isinstance(models, list | tuple):
        named = {str(i): source_of(model) for i, model in enumerate(models)}
    else:
        raise TypeError("models is a mapping from names to models, or a list of models")
    sent = check_options("upper_limit", options)
    check(client)
    tasks = [Task(_worker.analyse, source.shipment(), ("upper_limit", sent)) for source in named.values()]
    return run_rows(client, tasks, [(name, {}) for name in named], progress, "limits")
