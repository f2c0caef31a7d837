"""The name of the distribution, what repeats it, and the refusal to run beside another distribution of this package."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib

import pytest

from nextstat import _distribution

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "bindings" / "ns-py"
PROJECT = tomllib.loads((PACKAGE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CARGO = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]


def pretend(folder, *distributions):
    """Makes distributions appear to be installed in a folder."""
    for name, version in distributions:
        information = folder / f"{name.replace('-', '_')}-{version}.dist-info"
        information.mkdir()
        (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


def test_two_distributions_are_refused_with_a_remedy(tmp_path):
    pretend(tmp_path, (_distribution.OTHER, "0.10.1"), (_distribution.DISTRIBUTION, "9.9.9"))
    with pytest.raises(ImportError) as raised:
        _distribution.refuse_two(tmp_path)
    assert str(raised.value).startswith("the distributions 'nextstat-hep' 9.9.9 and 'nextstat' 0.10.1 are both installed in ")
    assert "pip uninstall --yes nextstat nextstat-hep, then pip install nextstat-hep" in str(raised.value)


def test_the_package_refuses_before_it_loads_anything(tmp_path):
    pretend(tmp_path, (_distribution.OTHER, "0.10.1"), (_distribution.DISTRIBUTION, "9.9.9"))
    package = tmp_path / "nextstat"
    package.mkdir()
    # The files of the other distribution lack modules of ours.
    for name in ("__init__.py", "_distribution.py"):
        shutil.copy(pathlib.Path(_distribution.__file__).with_name(name), package)
    done = subprocess.run([sys.executable, "-c", "import nextstat"], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert done.returncode == 1
    assert "are both installed" in done.stderr


@pytest.mark.parametrize("name", [_distribution.OTHER, _distribution.DISTRIBUTION])
def test_one_distribution_is_accepted(name, tmp_path):
    pretend(tmp_path, (name, "1.0"))
    _distribution.refuse_two(tmp_path)


def test_the_name_is_one():
    assert PROJECT["name"] == _distribution.DISTRIBUTION
    extras = set(PROJECT["optional-dependencies"])
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *PACKAGE.rglob("*.md"), *PACKAGE.rglob("*.py"), *ROOT.glob("deploy/**/*.md")]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for name in re.findall(r"pip install (?:--upgrade )?['\"]?(nextstat[\w-]*)", text):
            assert name == PROJECT["name"], f"{page} installs '{name}'"
        for name, asked in re.findall(r"(nextstat[\w-]*)\[([a-z,]+)\]", text):
            assert name == PROJECT["name"], f"{page} names extras of '{name}'"
            assert set(asked.split(",")) <= extras, f"{page} asks for the extras {asked}"


def test_addresses_versions_and_licences_agree():
    for address in PROJECT["urls"].values():
        assert address.startswith(CARGO["repository"])
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {CARGO['version']}\n" in citation
    assert f"\nrepository-code: {CARGO['repository']}\n" in citation
    assert [author["name"] for author in PROJECT["authors"]] == CARGO["authors"]
    # Wheels contain files of the package's folder only.
    for name in ("LICENSE-MIT", "LICENSE-APACHE"):
        assert (PACKAGE / name).read_bytes() == (ROOT / name).read_bytes()
