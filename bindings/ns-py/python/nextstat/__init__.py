"""Statistical inference for HistFactory models (pyhf workspaces).

    import nextstat

    model = nextstat.load_workspace("workspace.json")
    result = nextstat.fit(model)
    print(result)                    # a table; result.bestfit, result.uncertainties, ...

Arrays are NumPy arrays in the order of ``model.parameter_names()``, which is pyhf's order.
"""

from . import _distribution

# Before anything else, because the files that follow may be those of the other distribution.
_distribution.refuse_two()

from ._native import (
    BatchResult,
    BestFits,
    CompatibilityResult,
    ConvergenceError,
    DeviceError,
    DeviceInfo,
    DifferentiableSession,
    EventGoodnessResult,
    FitResult,
    FitToysResult,
    GoodnessResult,
    HypotestResult,
    HypotestToysResult,
    InjectionResult,
    Interval,
    IntervalResult,
    LimitResult,
    Model,
    NextstatError,
    Picture,
    PointResult,
    PosteriorResult,
    ProfiledDifferentiableSession,
    RankingResult,
    ScanInterval,
    ScanResult,
    SignificanceResult,
    ToyLimitResult,
    ToyTest,
    WorkspaceError,
    YieldsResult,
    __version__,
    combine,
    compatibility,
    decorrelate,
    devices,
    digest,
    fit,
    fit_batch,
    fit_toys,
    goodness_of_fit,
    has_cuda,
    has_metal,
    hypotest,
    hypotest_toys,
    injection,
    interval,
    load_datacard,
    load_workspace,
    patch,
    profile_scan,
    prune,
    ranking,
    read_parquet,
    rename,
    sample,
    selftest,
    significance,
    sort,
    splot,
    toys_from_header,
    toys_prepare,
    toys_summarise,
    upload_parquet,
    upper_limit,
    yields,
)
from . import _native, _onnxruntime
from ._client import AsyncClient, Client
from ._data import asimov_data, generate_asimov_data
from ._grid import Grid, grid
from ._pyhf import from_pyhf
from ._requests import RemoteModel, ServerError
from ._root import read_root
from ._spellings import (
    HistFactoryModel,
    fit_toys_batch_gpu,
    fit_toys_batch_metal,
    fit_toys_from_data_gpu,
    fit_toys_from_data_metal,
    hypotest_qtilde_toys_gpu,
    hypotest_qtilde_toys_metal,
)

try:
    from ._native import DeviceColumn, DeviceEvents, GpuFlowSession
except ImportError:
    from ._without_cuda import DeviceColumn, DeviceEvents, GpuFlowSession  # type: ignore[assignment]

# This only looks for the library of the runtime. The library is loaded with the first flow.
if _native._neural:
    _onnxruntime.name_library()

__all__ = [
    "AsyncClient",
    "BatchResult",
    "BestFits",
    "Client",
    "CompatibilityResult",
    "ConvergenceError",
    "DeviceColumn",
    "DeviceError",
    "DeviceEvents",
    "DeviceInfo",
    "DifferentiableSession",
    "EventGoodnessResult",
    "FitResult",
    "FitToysResult",
    "GoodnessResult",
    "GpuFlowSession",
    "Grid",
    "HistFactoryModel",
    "HypotestResult",
    "HypotestToysResult",
    "InjectionResult",
    "Interval",
    "IntervalResult",
    "LimitResult",
    "Model",
    "NextstatError",
    "Picture",
    "PointResult",
    "PosteriorResult",
    "ProfiledDifferentiableSession",
    "RankingResult",
    "RemoteModel",
    "ScanInterval",
    "ScanResult",
    "ServerError",
    "SignificanceResult",
    "ToyLimitResult",
    "ToyTest",
    "WorkspaceError",
    "YieldsResult",
    "__version__",
    "asimov_data",
    "combine",
    "compatibility",
    "decorrelate",
    "devices",
    "digest",
    "fit",
    "fit_batch",
    "fit_toys",
    "fit_toys_batch_gpu",
    "fit_toys_batch_metal",
    "fit_toys_from_data_gpu",
    "fit_toys_from_data_metal",
    "from_pyhf",
    "generate_asimov_data",
    "goodness_of_fit",
    "grid",
    "has_cuda",
    "has_metal",
    "hypotest",
    "hypotest_qtilde_toys_gpu",
    "hypotest_qtilde_toys_metal",
    "hypotest_toys",
    "injection",
    "interval",
    "load_datacard",
    "load_workspace",
    "patch",
    "profile_scan",
    "prune",
    "ranking",
    "read_parquet",
    "read_root",
    "rename",
    "sample",
    "selftest",
    "significance",
    "sort",
    "splot",
    "toys_from_header",
    "toys_prepare",
    "toys_summarise",
    "upload_parquet",
    "upper_limit",
    "yields",
]
