"""Finds the library of ONNX Runtime. This library evaluates flows."""

import importlib.util
import os
import pathlib

VARIABLE = "ORT_DYLIB_PATH"
NAMES = ("libonnxruntime.so*", "libonnxruntime*.dylib", "onnxruntime.dll")


def name_library() -> None:
    """Sets ``ORT_DYLIB_PATH`` to the library of the package `onnxruntime`, unless the variable is already set.

    The package is not imported.
    """
    if os.environ.get(VARIABLE):
        return
    try:
        found = importlib.util.find_spec("onnxruntime")
    except (ImportError, ValueError):
        return
    if found is None or not found.origin:
        return
    folder = pathlib.Path(found.origin).parent / "capi"
    for name in NAMES:
        for file in sorted(folder.glob(name)):
            os.environ[VARIABLE] = str(file)
            return
