"""What stands for the classes of NVIDIA GPUs in a build without the feature `cuda`: making an object raises `DeviceError`."""

from ._native import DeviceError


class _Missing:
    def __init__(self, *_arguments: object, **_options: object) -> None:
        raise DeviceError(
            f"{type(self).__name__} needs an NVIDIA GPU, and this build has no CUDA backend: build with the feature cuda"
        )


class DeviceColumn(_Missing):
    """A column in the memory of an NVIDIA GPU."""


class DeviceEvents(_Missing):
    """Columns of a Parquet file in the memory of an NVIDIA GPU."""


class GpuFlowSession(_Missing):
    """Computes -ln L from log-densities of events on an NVIDIA GPU."""
