"""The example of PyTorch Lightning in docs/examples."""

import importlib.util
import pathlib

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed: the example of Lightning is left out")
pytest.importorskip("pytorch_lightning", reason="PyTorch Lightning is not installed: its example is left out")


def test_training_raises_the_expected_significance_and_is_reproducible():
    path = pathlib.Path(__file__).parents[2] / "docs" / "examples" / "lightning_training.py"
    spec = importlib.util.spec_from_file_location("lightning_training", path)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    first, again = example.train(15), example.train(15)
    assert first == again
    assert first[-1] < first[0] - 0.02
