"""Inputs that differ in every repetition, for worker.py and compare.py."""

from __future__ import annotations

import json
import random


def perturbed(text: str, key: int) -> str:
    """The workspace with every count moved by up to a per mille: another fit, as hard."""
    draw = random.Random(key)
    workspace = json.loads(text)
    for observation in workspace["observations"]:
        observation["data"] = [n * (1 + 1e-3 * draw.uniform(-1, 1)) for n in observation["data"]]
    return json.dumps(workspace)
