"""Workspaces as they are published: compressed, in archives, and with what pyhf's schema does not know."""

import copy
import gzip
import io
import json
import pathlib
import tarfile

import nextstat
import numpy as np
import pyhf
import pytest

BROKEN = pathlib.Path(__file__).resolve().parents[1] / "broken"
FIXTURES = pathlib.Path(__file__).resolve().parents[1] / "fixtures"


def broken(name):
    return json.loads((BROKEN / f"{name}.json").read_text(encoding="utf-8"))


def in_pyhf(workspace):
    """pyhf's model and data, without a check against the schema."""
    workspace = pyhf.Workspace(workspace, validate=False)
    settings = {"normsys": {"interpcode": "code4"}, "histosys": {"interpcode": "code4p"}}
    model = workspace.model(validate=False, modifier_settings=settings)
    return model, workspace.data(model)


@pytest.mark.parametrize(
    "name",
    [
        "warning_observation_without_channel",
        "warning_version_missing",
        "warning_same_modifier_twice",
        "warning_same_observation_twice",
        "warning_same_measurement_twice",
        "warning_duplicate_key_same_value",
    ],
)
def test_what_pyhf_reads_in_silence_has_its_numbers_and_a_warning(name):
    document = broken(name)
    theirs, data = in_pyhf(copy.deepcopy(document))
    ours = nextstat.load_workspace(BROKEN / f"{name}.json")
    assert ours.parameter_names == theirs.config.par_names
    point = [0.03 + 1.07 * x for x in theirs.config.suggested_init()]
    np.testing.assert_allclose(ours.expected_data(point), theirs.expected_data(point), rtol=1e-12)
    np.testing.assert_allclose(ours.nll(point), -theirs.logpdf(point, data)[0], rtol=1e-12)
    assert nextstat.fit(ours).warnings


@pytest.mark.parametrize("kind", ["sample", "channel"])
def test_copies_of_samples_and_channels_count_once_as_in_pyhf(kind):
    document = broken("warning_version_missing")
    for channel in document["channels"]:
        for sample in channel["samples"]:  # pyhf takes no shapesys twice
            sample["modifiers"] = [m for m in sample["modifiers"] if m["type"] != "shapesys"]
    where = document["channels"] if kind == "channel" else document["channels"][0]["samples"]
    where.append(copy.deepcopy(where[0]))
    theirs, data = in_pyhf(document)
    ours = nextstat.load_workspace(document)
    point = [0.03 + 1.07 * x for x in theirs.config.suggested_init()]
    np.testing.assert_allclose(ours.nll(point), -theirs.logpdf(point, data)[0], rtol=1e-12)


def test_what_differs_stays_an_error():
    for name in ["modifier_twice_on_a_sample", "observation_twice", "setting_twice", "unknown_key_at_top"]:
        with pytest.raises(nextstat.WorkspaceError):
            nextstat.load_workspace(broken(name))


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    path = tmp_path_factory.mktemp("hepdata") / "workspaces.tar.gz"
    with tarfile.open(path, "w:gz") as file:
        for name in ["background_only.json", "patchset.json"]:
            file.add(FIXTURES / name, f"RegionA/{name}")
        packed = gzip.compress((FIXTURES / "simple_workspace.json").read_bytes())
        info = tarfile.TarInfo("simple.json.gz")
        info.size = len(packed)
        file.addfile(info, io.BytesIO(packed))
    return path


def test_compressed_workspaces_and_patches(tmp_path):
    packed = {}
    for name in ["simple_workspace", "background_only", "signal_patch", "patchset"]:
        packed[name] = tmp_path / f"{name}.json.gz"
        packed[name].write_bytes(gzip.compress((FIXTURES / f"{name}.json").read_bytes()))
    plain = nextstat.load_workspace(FIXTURES / "simple_workspace.json")
    assert nextstat.load_workspace(packed["simple_workspace"]).model_digest == plain.model_digest
    background = FIXTURES / "background_only.json"
    for patch in ["signal_patch.json{}", "patchset.json{}:gluino_1600_400"]:
        want = nextstat.load_workspace(background, patch=str(FIXTURES / patch.format("")))
        got = nextstat.load_workspace(packed["background_only"], patch=str(tmp_path / patch.format(".gz")))
        assert got.model_digest == want.model_digest
    assert nextstat.rename(packed["simple_workspace"], channels={"SR": "A"})["channels"][0]["name"] == "A"


def test_members_of_archives(archive):
    got = nextstat.load_workspace(f"{archive}:simple.json.gz")
    assert got.model_digest == nextstat.load_workspace(FIXTURES / "simple_workspace.json").model_digest
    region = nextstat.load_workspace(
        f"{archive}:RegionA/background_only.json", patch=f"{archive}:RegionA/patchset.json:gluino_1600_400"
    )
    want = nextstat.load_workspace(
        FIXTURES / "background_only.json", patch=f"{FIXTURES}/patchset.json:gluino_1600_400"
    )
    assert region.model_digest == want.model_digest


def test_an_archive_tells_its_members(archive):
    with pytest.raises(nextstat.WorkspaceError, match="Name a file in it.*'RegionA/background_only.json'"):
        nextstat.load_workspace(archive)
    with pytest.raises(nextstat.WorkspaceError, match="Did you mean 'RegionA/patchset.json'"):
        nextstat.load_workspace(f"{archive}:patchset.json")
    with pytest.raises(FileNotFoundError):
        nextstat.load_workspace(f"{archive}.tgz:patchset.json")


def test_damaged_files(tmp_path):
    path = tmp_path / "workspace.json.gz"
    path.write_bytes(gzip.compress((FIXTURES / "simple_workspace.json").read_bytes())[:-20])
    with pytest.raises(nextstat.WorkspaceError, match="cannot unpack .*ends too early"):
        nextstat.load_workspace(path)


def test_workers_get_what_was_packed(archive):
    pytest.importorskip("distributed")
    from nextstat.distributed import ModelSource

    packed = ModelSource(f"{archive}:simple.json.gz").shipment()
    plain = ModelSource(FIXTURES / "simple_workspace.json").shipment()
    assert packed.key == plain.key
