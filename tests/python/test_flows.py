"""Flows: their fixtures and schema, models with them, and the exporters of PyTorch flows.

The numbers of flows are tested in crates/ns-unbinned/tests. PyTorch is not in requirements.txt (its wheels bring
gigabytes): the tests of the exporters run where it and `zuko` or `nflows` are installed.
"""

import json
import pathlib
import subprocess
import sys

import jsonschema
import numpy as np
import pytest

import nextstat

ROOT = pathlib.Path(__file__).resolve().parents[2]
FLOWS = ROOT / "tests" / "fixtures" / "flows"

built = pytest.mark.skipif(
    not nextstat._native._neural, reason="this build has no flows: build the wheel with the feature 'neural'"
)


def close(a, b):
    """Whether two JSON values agree, numbers to rounding."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(close(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(close, a, b))
    return a == b if isinstance(a, str) else np.isclose(a, b, rtol=1e-6, atol=1e-12)


def test_the_script_writes_the_fixtures(tmp_path):
    pytest.importorskip("onnx", reason="the package onnx is not installed: the fixtures of flows are not compared")
    subprocess.run([sys.executable, ROOT / "scripts" / "make_flow_fixtures.py", tmp_path], check=True)
    assert {p.name for p in tmp_path.iterdir()} == {p.name for p in FLOWS.iterdir()}
    for file in tmp_path.iterdir():
        if file.name == "oracle.json":
            assert close(json.loads(file.read_text()), json.loads((FLOWS / file.name).read_text()))
        else:
            assert file.read_bytes() == (FLOWS / file.name).read_bytes(), file.name


def test_manifests_follow_the_schema():
    schema = json.loads((ROOT / "docs" / "flow-manifest.schema.json").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    manifests = [json.loads(path.read_text()) for path in FLOWS.glob("*.flow.json")]
    assert len(manifests) == 9
    for manifest in manifests:
        validator.validate(manifest)
        for wrong in ({"format": "x"}, {"features": []}, {"support": [[1]]}, {"log_prob": {"file": "a"}}, {"more": 1}):
            assert not validator.is_valid({**manifest, **wrong}), wrong


@built
def test_a_model_with_a_flow_fits_its_own_and_other_events():
    model = nextstat.load_workspace(FLOWS / "search.hs3.json")
    result = nextstat.fit(model)
    assert result.converged
    entries = json.loads((FLOWS / "search.hs3.json").read_text())["data"][0]["entries"]
    m = np.array(entries)[:, 0]
    again = nextstat.fit(model, data={"SR": {"m": m}})
    assert again.twice_nll == result.twice_nll
    fewer = nextstat.fit(model, data={"SR": {"m": m[:900]}})
    assert fewer.converged and fewer.value("n_background") < result.value("n_background")
    weights = nextstat.splot(model, result)
    assert weights["signal"].shape == m.shape
    total = nextstat.yields(model, result).channels[0]["samples"][0]["sum"]
    assert abs(total / (200 * result.value("mu") * (1 + 0.05 * result.value("efficiency"))) - 1) < 1e-6


@built
def test_a_flow_needs_a_folder(tmp_path):
    document = json.loads((FLOWS / "search.hs3.json").read_text())
    with pytest.raises(nextstat.WorkspaceError, match="the model was not read from a file"):
        nextstat.load_workspace(document)


def test_the_builder_writes_flows(tmp_path):
    from nextstat import build

    m = build.ModelBuilder("search")
    mass = m.observable("m", 100, 160)
    signal = m.flow("signal", mass, "peak.flow.json")
    m.channel("SR", {signal: m.parameter("n", 10, 0, 100)}, data={"m": [120.0, 125.0, 126.0]})
    with pytest.raises(ValueError, match="write the model, and load its file"):
        m.model()
    entry = next(d for d in m.document()["distributions"] if d["name"] == "signal")
    assert entry == {"name": "signal", "type": "nextstat.flow_dist", "x": ["m"], "manifest": "peak.flow.json"}
    if nextstat._native._neural:
        for name in ("peak.flow.json", "peak.onnx", "peak_sampler.onnx"):
            (tmp_path / name).write_bytes((FLOWS / name).read_bytes())
        m.write(tmp_path / "model.hs3.json")
        assert abs(nextstat.fit(tmp_path / "model.hs3.json").value("n") - 3) < 1e-6
