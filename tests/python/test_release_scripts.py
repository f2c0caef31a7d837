"""The scripts that make releases: licences in wheels, checksums of archives, and one version everywhere."""

import base64
import hashlib
import importlib.machinery
import importlib.util
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile

import pytest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"


def script(name, monkeypatch):
    """A script as a module."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    loader = importlib.machinery.SourceFileLoader(f"script_{name}", str(SCRIPTS / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def run(name, *arguments):
    return subprocess.run([sys.executable, SCRIPTS / name, *map(str, arguments)], capture_output=True, text=True)


def test_licences_join_a_wheel_and_its_list_of_files(tmp_path, monkeypatch):
    wheel = tmp_path / "a-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("a/__init__.py", "")
        archive.writestr("a-1.dist-info/RECORD", "a/__init__.py,,0\na-1.dist-info/RECORD,,\n")
    script("wheels", monkeypatch).add_licences(wheel, "all of them\n")
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None
        added = "a-1.dist-info/licenses/THIRD-PARTY.txt"
        assert archive.namelist().count("a-1.dist-info/RECORD") == 1
        rows = dict(line.split(",", 1) for line in archive.read("a-1.dist-info/RECORD").decode().splitlines())
        assert sorted(rows) == sorted(archive.namelist())
        digest = base64.urlsafe_b64encode(hashlib.sha256(archive.read(added)).digest()).rstrip(b"=").decode()
        assert rows[added] == f"sha256={digest},12"


@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed")
def test_licences_are_those_of_what_is_linked_in(monkeypatch):
    text = script("wheels", monkeypatch).licences("ns-py", "x86_64-unknown-linux-gnu", "ns-py/neural")
    listed = text.split("\n\n")[1].splitlines()
    assert {"serde", "zstd-sys", "libmimalloc-sys", "ort"} <= {line.split()[0] for line in listed}
    # Neither the project's own packages nor those of tests.
    assert not {"ns-core", "proptest", "cc"} & {line.split()[0] for line in listed}
    assert "Permission is hereby granted" in text


def test_an_archive_with_another_checksum_is_refused(tmp_path):
    archive = tmp_path / "nextstat-1-x.tar.gz"
    archive.write_bytes(b"changed")
    archive.with_name(archive.name + ".sha256").write_text(f"{'0' * 64}  {archive.name}\n")
    done = run("programs", "--test", archive)
    assert done.returncode == 1
    assert "does not have the checksum" in done.stderr
    assert run("programs", "--sums", "--out", tmp_path).returncode == 0
    assert (tmp_path / "SHA256SUMS").read_text() == f"{'0' * 64}  {archive.name}\n"


def test_another_tag_is_refused():
    done = run("release-check", "v99.0.0")
    assert done.returncode == 1
    assert "the tag is v99.0.0" in done.stdout
    # These two are right between releases too.
    assert "CITATION.cff" not in done.stdout and "recipe.yaml" not in done.stdout


def test_workflows_call_scripts_that_exist_for_every_target(monkeypatch):
    folder = SCRIPTS.parent / ".github" / "workflows"
    texts = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.yml")}
    for name, text in texts.items():
        for called in re.findall(r"(?:scripts/|\.ci/)[\w-]+", text):
            assert (SCRIPTS.parent / called).exists(), f"{name}.yml calls {called}, which is not there"
    targets = {name for name, target in script("wheels", monkeypatch).TARGETS.items() if target.released}
    assert set(re.findall(r"target: ([\w-]+),", texts["release"])) == targets
    fuzzed = tomllib.loads((SCRIPTS.parent / "fuzz" / "Cargo.toml").read_text(encoding="utf-8"))["bin"]
    assert f"target: [{', '.join(one['name'] for one in fuzzed)}]" in texts["weekly"]
