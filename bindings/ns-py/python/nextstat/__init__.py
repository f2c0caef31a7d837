"""Statistical inference for HistFactory models (pyhf workspaces).

    import nextstat

    model = nextstat.load_workspace("workspace.json")
    result = nextstat.fit(model)
    print(result)                    # a table; result.bestfit, result.uncertainties, ...

Arrays are NumPy arrays in the order of ``model.parameter_names``, which is pyhf's order.
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
    JointRanking,
    LimitResult,
    LookElsewhereResult,
    Model,
    NextstatError,
    Picture,
    PointResult,
    PosteriorResult,
    ProfiledDifferentiableSession,
    RankingResult,
    RegionResult,
    ScanInterval,
    ScanResult,
    SignificanceResult,
    SimplifyResult,
    SpuriousResult,
    ToyLimitResult,
    ToyTest,
    UnfoldResult,
    WorkspaceError,
    YieldsResult,
    __version__,
    blue,
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
    has_vulkan,
    hypotest,
    hypotest_toys,
    injection,
    interval,
    joint_ranking,
    load_datacard,
    load_workspace,
    look_elsewhere,
    patch,
    profile_scan,
    prune,
    ranking,
    read_parquet,
    region,
    rename,
    sample,
    selftest,
    significance,
    simplify,
    sort,
    splot,
    spurious_signal,
    toys_from_header,
    toys_prepare,
    toys_summarise,
    unfold,
    upload_parquet,
    upper_limit,
    yields,
)
from . import _native, _onnxruntime, compat, types
from ._client import AsyncClient, Client
from ._data import asimov_data, generate_asimov_data
from ._draw import draw
from ._grid import Grid, grid
from ._pyhf import from_pyhf
from ._requests import RemoteModel, ServerError
from ._root import read_root

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
    "HypotestResult",
    "HypotestToysResult",
    "InjectionResult",
    "Interval",
    "IntervalResult",
    "JointRanking",
    "LimitResult",
    "LookElsewhereResult",
    "Model",
    "NextstatError",
    "Picture",
    "PointResult",
    "PosteriorResult",
    "ProfiledDifferentiableSession",
    "RankingResult",
    "RegionResult",
    "RemoteModel",
    "ScanInterval",
    "ScanResult",
    "ServerError",
    "SignificanceResult",
    "SimplifyResult",
    "SpuriousResult",
    "ToyLimitResult",
    "ToyTest",
    "UnfoldResult",
    "WorkspaceError",
    "YieldsResult",
    "__version__",
    "asimov_data",
    "blue",
    "combine",
    "compatibility",
    "decorrelate",
    "devices",
    "digest",
    "draw",
    "fit",
    "fit_batch",
    "fit_toys",
    "from_pyhf",
    "generate_asimov_data",
    "goodness_of_fit",
    "grid",
    "has_cuda",
    "has_metal",
    "has_vulkan",
    "hypotest",
    "hypotest_toys",
    "injection",
    "interval",
    "joint_ranking",
    "load_datacard",
    "load_workspace",
    "look_elsewhere",
    "patch",
    "profile_scan",
    "prune",
    "ranking",
    "read_parquet",
    "read_root",
    "region",
    "rename",
    "sample",
    "selftest",
    "significance",
    "simplify",
    "sort",
    "splot",
    "spurious_signal",
    "toys_from_header",
    "toys_prepare",
    "toys_summarise",
    "unfold",
    "upload_parquet",
    "upper_limit",
    "yields",
]


def __getattr__(name: str) -> object:
    """Finds names of earlier programs, which are in `nextstat.compat`, for one release."""
    if name in compat.__all__:
        import warnings

        warnings.warn(f"nextstat.{name} becomes nextstat.compat.{name}", DeprecationWarning, stacklevel=2)
        return getattr(compat, name)
    raise AttributeError(f"module 'nextstat' has no attribute '{name}'")
