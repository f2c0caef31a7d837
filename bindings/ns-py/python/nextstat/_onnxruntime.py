"""Where the library of ONNX Runtime is, which evaluates flows."""

import importlib.util
import os
import pathlib

VARIABLE = "ORT_DYLIB_PATH"
NAMES = ("libonnxruntime.so*", "libonnxruntime*.dylib", "onnxruntime.dll")


def name_library():
    """Lets ``ORT_DYLIB_PATH`` name the library of the package `onnxruntime`, unless it names one already.

    The package is looked for, not imported.
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
