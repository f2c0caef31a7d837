"""Exceptions for errors of a cluster."""

from .._native import NextstatError


class WorkerError(NextstatError):
    """The error that the cluster did not finish a task. Every worker that ran it died, or the task or connection was
    lost."""


class WorkerMismatchError(WorkerError):
    """The error that workers lack the package, or have another version of it than the client."""


def mismatch(found: dict[str, str], version: str) -> WorkerMismatchError:
    """Returns the error for workers without the client's version. `found` maps their addresses to their versions."""
    places = [f"{address} has {what}" for address, what in sorted(found.items())]
    shown = "; ".join(places[:5]) + (f"; and {len(places) - 5} more" if len(places) > 5 else "")
    return WorkerMismatchError(
        f"the client has nextstat {version}, but worker {shown}. Install the same version in the environment of "
        "workers and scheduler and restart them."
    )
