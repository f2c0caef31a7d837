"""Toys, scans, limits and signal grids over a Dask cluster.

    from dask.distributed import Client
    import nextstat.distributed

    client = Client("tcp://scheduler:8786")
    result = nextstat.distributed.hypotest_toys(client, 1.0, "workspace.json", n_toys=100_000, seed=1)

Results are the same as on one machine, bit by bit. They do not depend on the number of workers, the size of the
tasks, or workers that die. Needs Dask (``pip install 'dask[distributed]>=2024.8'``) on the client, and Dask and
``nextstat`` in the same versions on the workers.
"""

try:
    import distributed as _dask
except ImportError as error:
    raise ImportError(
        "nextstat.distributed needs Dask, which is not installed: pip install 'dask[distributed]>=2024.8'", name=error.name
    ) from error

from ._analyses import profile_scans, upper_limits
from ._errors import WorkerError, WorkerMismatchError
from ._grid import signal_grid
from .._rows import Record, Row, Rows
from ._source import ModelSource
from ._toys import ToyRows, hypotest_toys, run_toys

__all__ = [
    "ModelSource",
    "Record",
    "Row",
    "Rows",
    "ToyRows",
    "WorkerError",
    "WorkerMismatchError",
    "hypotest_toys",
    "profile_scans",
    "run_toys",
    "signal_grid",
    "upper_limits",
]

del _dask
