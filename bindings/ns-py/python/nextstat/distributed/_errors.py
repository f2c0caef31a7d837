"""What can be wrong with a cluster."""

from .._native import NextstatError


class WorkerError(NextstatError):
    """The cluster did not finish a task: a worker died of it again and again, or the connection is lost."""


class WorkerMismatchError(WorkerError):
    """Workers lack the package, or have another version of it than the client."""


def mismatch(found: dict[str, str], version: str) -> WorkerMismatchError:
    """The error for workers (address: what is there) that differ from the client's version."""
    places = [f"{address} has {what}" for address, what in sorted(found.items())]
    shown = "; ".join(places[:5]) + (f"; and {len(places) - 5} more" if len(places) > 5 else "")
    return WorkerMismatchError(
        f"the client has nextstat {version}, but worker {shown}. Install the same version in the environment of "
        "workers and scheduler and restart them."
    )
