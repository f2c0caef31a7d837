"""Inputs for worker.py and compare.py that differ in every repetition."""

from __future__ import annotations

import json
import random


def perturbed(text: str, key: int) -> str:
    """Changes every count by up to a per mille. The fit differs, but is equally difficult."""
    draw = random.Random(key)
    workspace = json.loads(text)
    for observation in workspace["observations"]:
        observation["data"] = [n * (1 + 1e-3 * draw.uniform(-1, 1)) for n in observation["data"]]
    return json.dumps(workspace)
