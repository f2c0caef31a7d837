"""Draws of a posterior as `InferenceData` of ArviZ."""

from __future__ import annotations

import importlib
from typing import Any


def inference_data(result: Any) -> Any:
    """The draws of `nextstat.sample` with the groups `posterior` and `sample_stats`."""
    try:
        arviz = importlib.import_module("arviz")
    except ImportError as error:
        raise ImportError("to_arviz() needs arviz: pip install arviz") from error
    posterior = dict(result.draws)
    stats = {"lp": result.ln_likelihood}
    try:
        return arviz.from_dict(posterior=posterior, sample_stats=stats)
    except TypeError:
        # ArviZ 1.0 takes one dictionary with all groups.
        return arviz.from_dict({"posterior": posterior, "sample_stats": stats})
