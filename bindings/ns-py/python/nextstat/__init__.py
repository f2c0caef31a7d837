"""Statistical inference for HistFactory models (pyhf workspaces).

    import nextstat

    model = nextstat.load_workspace("workspace.json")
    result = nextstat.fit(model)
    print(result)                    # a table; result.bestfit, result.uncertainties, ...

Arrays are NumPy's, in the order of ``model.parameter_names()``, which is pyhf's.
"""

from ._native import (
    BatchResult,
    ConvergenceError,
    DeviceError,
    DeviceInfo,
    FitResult,
    GoodnessResult,
    HypotestResult,
    Interval,
    LimitResult,
    Model,
    NextstatError,
    RankingResult,
    ScanInterval,
    ScanResult,
    SignificanceResult,
    WorkspaceError,
    __version__,
    combine,
    devices,
    fit,
    fit_batch,
    goodness_of_fit,
    has_cuda,
    has_metal,
    hypotest,
    load_workspace,
    profile_scan,
    prune,
    ranking,
    rename,
    significance,
    upper_limit,
)

__all__ = [
    "BatchResult",
    "ConvergenceError",
    "DeviceError",
    "DeviceInfo",
    "FitResult",
    "GoodnessResult",
    "HypotestResult",
    "Interval",
    "LimitResult",
    "Model",
    "NextstatError",
    "RankingResult",
    "ScanInterval",
    "ScanResult",
    "SignificanceResult",
    "WorkspaceError",
    "__version__",
    "combine",
    "devices",
    "fit",
    "fit_batch",
    "goodness_of_fit",
    "has_cuda",
    "has_metal",
    "hypotest",
    "load_workspace",
    "profile_scan",
    "prune",
    "ranking",
    "rename",
    "significance",
    "upper_limit",
]
