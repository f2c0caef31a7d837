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
    Interval,
    Model,
    NextstatError,
    ScanInterval,
    ScanResult,
    WorkspaceError,
    __version__,
    combine,
    devices,
    fit,
    fit_batch,
    has_cuda,
    has_metal,
    load_workspace,
    profile_scan,
    prune,
    rename,
)

__all__ = [
    "BatchResult",
    "ConvergenceError",
    "DeviceError",
    "DeviceInfo",
    "FitResult",
    "Interval",
    "Model",
    "NextstatError",
    "ScanInterval",
    "ScanResult",
    "WorkspaceError",
    "__version__",
    "combine",
    "devices",
    "fit",
    "fit_batch",
    "has_cuda",
    "has_metal",
    "load_workspace",
    "profile_scan",
    "prune",
    "rename",
]
