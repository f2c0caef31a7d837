"""Flows: their fixtures and schema, models with them, and the exporters of PyTorch flows.

The numbers of flows are tested in crates/ns-unbinned/tests. PyTorch is not in requirements.txt (its wheels bring
gigabytes): the tests of the exporters run where it and `zuko` or `nflows` are installed.
"""

import json
import pathlib
import pickle
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
    assert len(manifests) == 14
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
def test_the_distance_of_a_flow_is_that_of_its_formula():
    distances = []
    for name in ("search.hs3.json", "search_gaussian.hs3.json"):
        model = nextstat.load_workspace(FLOWS / name)
        distances.append(nextstat.goodness_of_fit(model, statistic="ks", toys=20, seed=1).value)
    assert close(*distances)


@built
def test_pickles_find_the_flows_again(monkeypatch, tmp_path):
    monkeypatch.chdir(FLOWS)
    model = nextstat.load_workspace("search.hs3.json")
    result = nextstat.fit(model)
    monkeypatch.chdir(tmp_path)
    again = pickle.loads(pickle.dumps(model))
    refit, restored = nextstat.fit(again), pickle.loads(pickle.dumps(result))
    assert refit.twice_nll == restored.twice_nll == result.twice_nll
    assert refit.model_digest == restored.model_digest == result.model_digest


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


def exported_flows():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: the exporters of flows are NOT tested")
    torch.manual_seed(3)
    zuko = pytest.importorskip("zuko", reason="zuko is not installed: the exporters of its flows are NOT tested")
    yield "nsf", zuko.flows.NSF(1, transforms=2, hidden_features=(16,))
    yield "maf", zuko.flows.MAF(2, transforms=2, hidden_features=(16,))
    nflows = pytest.importorskip("nflows.flows", reason="nflows is not installed: the exporter of its flows is NOT tested")
    yield "nflows_maf", nflows.MaskedAutoregressiveFlow(2, 16, 2, 1)
    yield "nflows_realnvp", nflows.SimpleRealNVP(2, 16, 2, 1)


def test_exported_flows_have_the_numbers_of_pytorch(tmp_path):
    import nextstat.flows

    schema = json.loads((ROOT / "docs" / "flow-manifest.schema.json").read_text())
    for name, flow in exported_flows():
        import onnxruntime
        import torch

        d = 1 if name == "nsf" else 2
        path = nextstat.flows.export(
            flow, tmp_path, name, [f"x{k}" for k in range(d)], location=[125, 1][:d], scale=[4, 2][:d]
        )
        manifest = json.loads(path.read_text())
        jsonschema.Draft202012Validator(schema).validate(manifest)
        assert manifest["sampler"]["base"] == "normal"
        z = torch.randn(50, d)
        with torch.no_grad():
            of = flow().log_prob if not hasattr(flow, "log_prob") else flow.eval().log_prob
            expected = of(z).numpy() - np.log([4, 2][:d]).sum()
        session = onnxruntime.InferenceSession(str(tmp_path / f"{name}.onnx"))
        kind = np.float64 if "double" in session.get_inputs()[0].type else np.float32
        x = z.numpy().astype(np.float64) * [4, 2][:d] + [125, 1][:d]
        (found,) = session.run(["log_prob"], {"x": x.astype(kind)})
        assert np.abs(found - expected).max() < 1e-3, name
        if nextstat._native._neural:
            check_model(tmp_path, name, d, session, kind)


def check_model(folder, name, d, session, kind):
    """A fit of the flow above something flat: the yields of events from its own sampler, with known numbers."""
    import onnxruntime

    from nextstat import build

    random = np.random.default_rng(5)
    sampler = onnxruntime.InferenceSession(str(folder / f"{name}_sampler.onnx"))
    (own,) = sampler.run(["x"], {"z": random.normal(size=(800, d)).astype(kind)})
    box = np.array([[105.0, 145.0], [-9.0, 11.0]])[:d]
    flat = box[:, 0] + (box[:, 1] - box[:, 0]) * random.random((1200, d))
    inside = ((own > box[:, 0]) & (own < box[:, 1])).all(axis=1)
    events = np.concatenate([own[inside], flat]).astype(np.float64)
    m = build.ModelBuilder(name)
    axes = [m.observable(f"x{k}", *box[k]) for k in range(d)]
    flow = m.flow("flow", axes, f"{name}.flow.json")
    rates = {flow: m.parameter("n_flow", 700, 0, 3000), m.uniform("flat", *axes): m.parameter("n_flat", 1000, 0, 3000)}
    m.channel("SR", rates, data={f"x{k}": events[:, k] for k in range(d)})
    m.write(folder / f"{name}.hs3.json")
    model = nextstat.load_workspace(folder / f"{name}.hs3.json")
    result = nextstat.fit(model)
    assert result.converged
    for parameter, truth in (("n_flow", inside.sum()), ("n_flat", 1200)):
        assert abs(result.value(parameter) - truth) < 4 * result.uncertainty(parameter), (name, parameter)


def flows_with_context():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: graphs of derivatives are NOT tested")
    torch.manual_seed(4)
    zuko = pytest.importorskip("zuko", reason="zuko is not installed: derivatives of its flows are NOT tested")
    yield "maf", 1, zuko.flows.MAF(1, 2, transforms=2, hidden_features=(16,))
    yield "nsf", 2, zuko.flows.NSF(2, 2, transforms=1, hidden_features=(16,))
    flows = pytest.importorskip("nflows.flows", reason="nflows is not installed: derivatives of its flows are NOT tested")
    from nflows import distributions, transforms

    steps = [transforms.MaskedAffineAutoregressiveTransform(2, 16, context_features=2), transforms.ReversePermutation(2)]
    base = distributions.StandardNormal([2])
    yield "nflows", 2, flows.Flow(transforms.CompositeTransform(steps), base)


def test_graphs_of_derivatives_by_the_context_agree_with_differences(tmp_path):
    import nextstat.flows

    schema = json.loads((ROOT / "docs" / "flow-manifest.schema.json").read_text())
    random = np.random.default_rng(8)
    for name, d, flow in flows_with_context():
        import onnxruntime
        import torch

        location, scale = [125, 1][:d], [4, 2][:d]
        features = [f"x{k}" for k in range(d)]
        path = nextstat.flows.export(
            flow, tmp_path, name, features, location=location, scale=scale, context=["a", "b"]
        )
        manifest = json.loads(path.read_text())
        jsonschema.Draft202012Validator(schema).validate(manifest)
        assert manifest["context_gradient"]["file"] == f"{name}_context_gradient.onnx"
        assert "finite_differences" not in manifest
        gradient = onnxruntime.InferenceSession(tmp_path / manifest["context_gradient"]["file"])
        wide = "double" in gradient.get_inputs()[0].type
        z, context = random.normal(size=(300, d)), random.normal(size=(300, 2))
        given = {"x": np.array(location) + scale * z, "context": context}
        (found,) = gradient.run(["gradient"], {key: v.astype("f8" if wide else "f4") for key, v in given.items()})
        assert found.shape == (300, 2) and found.std() > 1e-3
        flow.double().eval()

        def value(context, flow=flow, z=z):
            z, context = torch.from_numpy(z), torch.from_numpy(context)
            with torch.no_grad():
                return (flow.log_prob(z, context) if name == "nflows" else flow(context).log_prob(z)).numpy()

        for k in range(2):
            step = 1e-5 * np.eye(2)[k]
            difference = (value(context + step) - value(context - step)) / 2e-5
            # At kinks of the networks a difference is that of two sides.
            wrong = np.abs(found[:, k] - difference) > (1e-5 if wide else 1e-3) * (1 + np.abs(difference))
            assert np.mean(wrong) < 0.02, (name, k)
        if nextstat._native._neural and name == "maf":
            check_context(tmp_path, name)


def check_context(folder, name):
    """A fit of the context of a flow with a graph of derivatives, to events of its own sampler."""
    import onnxruntime

    from nextstat import build

    sampler = onnxruntime.InferenceSession(folder / f"{name}_sampler.onnx")
    context = np.tile([0.4, -0.3], (2000, 1))
    (own,) = sampler.run(["x"], {"z": np.random.default_rng(6).normal(size=(2000, 1)), "context": context})
    m = build.ModelBuilder(name)
    axis = m.observable("x0", 80.0, 170.0)
    a, b = m.parameter("a", 0.0, -3, 3), m.parameter("b", 0.0, -3, 3)
    flow = m.flow("flow", axis, f"{name}.flow.json", context=[a, b])
    m.channel("SR", {flow: m.parameter("n", 1500, 0, 5000)}, data={"x0": own[:, 0].astype(np.float64)})
    m.constrain(a, 0.4, 0.5)
    m.constrain(b, -0.3, 0.5)
    m.write(folder / f"{name}.hs3.json")
    result = nextstat.fit(folder / f"{name}.hs3.json")
    assert result.converged and abs(result.value("n") - 2000) < 0.1
    for parameter, truth in (("a", 0.4), ("b", -0.3)):
        assert abs(result.value(parameter) - truth) < 4 * result.uncertainty(parameter)
    assert [entry["method"] for entry in result.context_gradients] == ["graph"]


def test_flows_that_cannot_be_differentiated_keep_differences(tmp_path):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: the fallback to differences is NOT tested")
    import nextstat.flows

    class Detached(torch.nn.Module):
        """Its derivative by automatic differentiation lacks a part."""

        def __init__(self, share):
            super().__init__()
            self.share = share

        def log_prob(self, x, context):
            mean = (1 - self.share) * context.detach()
            if self.share > 0:
                mean = mean + self.share * context
            return -0.5 * ((x - mean) ** 2 + np.log(2 * np.pi)).sum(1)

    arguments = {"context": ["a"], "sampler": False, "double": True}
    for share, message in ((0.5, "% of PyTorch's derivatives differ from differences"), (0.0, "cannot differentiate it")):
        with pytest.warns(UserWarning, match=message):
            path = nextstat.flows.export(Detached(share), tmp_path, "bad", ["x"], finite_differences=[0.1], **arguments)
        manifest = json.loads(path.read_text())
        assert "context_gradient" not in manifest and manifest["finite_differences"] == [0.1]
        with pytest.raises(nextstat.flows.ExportError, match="give finite_differences"):
            nextstat.flows.export(Detached(share), tmp_path, "bad", ["x"], **arguments)
    assert not (tmp_path / "bad_context_gradient.onnx").exists()
    path = nextstat.flows.export(Detached(1.0), tmp_path, "good", ["x"], finite_differences=[0.1], **arguments)
    manifest = json.loads(path.read_text())
    assert "context_gradient" in manifest and manifest["finite_differences"] == [0.1]
    path = nextstat.flows.export(
        Detached(1.0), tmp_path, "none", ["x"], finite_differences=[0.1], context_gradient=False, **arguments
    )
    assert "context_gradient" not in json.loads(path.read_text())


def test_what_export_needs_is_said(tmp_path):
    import nextstat.flows

    try:
        import torch
    except ImportError:
        with pytest.raises(ImportError, match="pip install torch onnx onnxscript"):
            nextstat.flows.export(None, tmp_path, "a", ["x"])
        return
    for arguments, message in (
        ({"scale": [0]}, "scale must be positive"),
        ({"location": [1, 2]}, "location needs a finite number for each of the 1 features"),
        ({"support": [1, 2]}, "support needs a pair"),
        ({"context": ["c"], "finite_differences": [1, 2]}, "finite_differences needs a step"),
        ({"context": ["c"], "context_gradient": False}, "finite_differences needs a step"),
        ({}, "a Linear is no flow"),
    ):
        with pytest.raises(ValueError, match=message):
            nextstat.flows.export(torch.nn.Linear(1, 1), tmp_path, "a", ["x"], **arguments)
