"""Writes normalising flows that were trained with PyTorch as ONNX graphs with a manifest, for event models.

    import nextstat.flows

    nextstat.flows.export(flow, "models", "signal", features=["m"], location=[125], scale=[10])

`export` accepts flows of `zuko` and `nflows`, and any module with a method `log_prob(x)`. PyTorch is imported when
`export` is called: ``pip install torch onnx onnxscript``.
"""

from ._export import ExportError, export

__all__ = ["ExportError", "export"]
