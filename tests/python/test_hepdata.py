"""`--format hepdata` of the command, checked by HEPData's own validator."""

import importlib.util
import json
import os
import pathlib
import pickle
import subprocess
import warnings

import pytest

import nextstat

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests" / "fixtures"
HAS_VALIDATOR = importlib.util.find_spec("hepdata_validator") is not None
if not HAS_VALIDATOR:
    warnings.warn("HEPData's YAML is NOT VALIDATED: hepdata-validator is not installed (pip install hepdata-validator)", stacklevel=1)

needs_validator = pytest.mark.skipif(not HAS_VALIDATOR, reason="NOT TESTED: hepdata-validator is not installed")

SIMPLE = ["-i", str(FIXTURES / "simple_workspace.json")]
GRID = ["-i", str(FIXTURES / "background_only.json"), "--patchset", str(FIXTURES / "patchset.json")]
COMMANDS = {
    "fit": ["fit", *SIMPLE, "--minos", "mu"],
    "scan": ["scan", *SIMPLE, "--points", "5"],
    "plane": ["scan", *SIMPLE, "--points", "3", "--param2", "jet_scale", "--points2", "2"],
    "limit": ["upper-limit", *SIMPLE],
    "observed": ["upper-limit", *SIMPLE, "--observed"],
    "grid": ["upper-limit", *GRID],
    "yields": ["yields", *SIMPLE],
    "bins": ["yields", *SIMPLE, "--prefit", "--per-bin"],
}


def program():
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return next((path for kind in ("debug", "release") if (path := target / kind / "nextstat").exists()), None)


@pytest.fixture(scope="module")
def written():
    """The YAML of every command."""
    found = program()
    if found is None:
        pytest.skip("NOT TESTED: there is no nextstat command; run `cargo build -p ns-cli` first")
    call = lambda flags: subprocess.run([found, *flags, "--format", "hepdata"], capture_output=True, text=True, check=True)
    return {name: call(flags).stdout for name, flags in COMMANDS.items()}


@pytest.fixture(scope="module")
def tables(written):
    yaml = pytest.importorskip("yaml")
    return {name: list(yaml.safe_load_all(text)) for name, text in written.items()}


@needs_validator
@pytest.mark.parametrize("name", COMMANDS)
def test_hepdata_accepts_every_table(name, written, tmp_path):
    from hepdata_validator.full_submission_validator import FullSubmissionValidator

    path = tmp_path / "submission.yaml"
    path.write_text(written[name])
    validator = FullSubmissionValidator()
    accepted = validator.validate(file=str(path))
    assert accepted, {file: [str(m) for m in messages] for file, messages in validator.get_messages().items()}


def test_columns_have_one_entry_per_row(tables):
    for name, documents in tables.items():
        for table in documents:
            columns = table["independent_variables"] + table["dependent_variables"]
            lengths = {len(column["values"]) for column in columns}
            assert len(lengths) == 1 and lengths != {0}, (name, table["name"])


def test_numbers_are_those_of_the_results(tables):
    model = nextstat.load_workspace(FIXTURES / "simple_workspace.json")
    limit = nextstat.upper_limit(model)
    (table,) = tables["limit"]
    observed, expected = (column["values"][0] for column in table["dependent_variables"])
    assert observed["value"] == pytest.approx(limit.observed, rel=1e-5)
    assert expected["value"] == pytest.approx(limit.expected[2], rel=1e-5)
    one, two = (error["asymerror"] for error in expected["errors"])
    assert expected["value"] + one["plus"] == pytest.approx(limit.expected[3], rel=1e-5)
    assert expected["value"] + two["minus"] == pytest.approx(limit.expected[0], rel=1e-4)

    fit = nextstat.fit(model, minos=["mu"])
    parameters, correlations = tables["fit"]
    names = [entry["value"] for entry in parameters["independent_variables"][0]["values"]]
    assert names == fit.parameter_names
    n = len(names)
    coefficients = [entry["value"] for entry in correlations["dependent_variables"][0]["values"]]
    assert len(coefficients) == n * n and coefficients[0] == coefficients[-1] == 1
    covariance = fit.covariance
    rho = covariance[0, 1] / (covariance[0, 0] * covariance[1, 1]) ** 0.5
    assert coefficients[1] == pytest.approx(rho, rel=1e-5)

    scan = nextstat.profile_scan(model, points=5)
    (table,) = tables["scan"]
    heights = [entry["value"] for entry in table["dependent_variables"][0]["values"]]
    assert heights == pytest.approx(list(scan.twice_delta_nll), rel=1e-5, abs=1e-9)

    (table,) = tables["grid"]
    assert [column["header"]["name"] for column in table["independent_variables"]] == ["m_gluino", "m_lsp"]
    assert [entry["value"] for entry in table["independent_variables"][0]["values"]] == [1400, 1600, 1800]


def test_python_writes_the_same_tables(written):
    model = nextstat.load_workspace(FIXTURES / "simple_workspace.json")
    results = {
        "fit": nextstat.fit(model, minos=["mu"]).to_hepdata(),
        "scan": nextstat.profile_scan(model, points=5).to_hepdata(),
        "limit": nextstat.upper_limit(model).to_hepdata(),
        "observed": nextstat.upper_limit(model, observed_only=True).to_hepdata(),
        "grid": nextstat.grid(FIXTURES / "background_only.json", FIXTURES / "patchset.json").to_hepdata(),
        "yields": nextstat.yields(model).to_hepdata(),
        "bins": nextstat.yields(model, prefit=True).to_hepdata(per_bin=True),
    }
    for name, text in results.items():
        assert text == written[name], name
    copied = pickle.loads(pickle.dumps(nextstat.fit(model, minos=["mu"])))
    assert copied.to_hepdata() == written["fit"]


def test_other_commands_say_that_they_have_no_tables():
    found = program()
    if found is None:
        pytest.skip("NOT TESTED: there is no nextstat command; run `cargo build -p ns-cli` first")
    done = subprocess.run([found, "ranking", *SIMPLE, "--format", "hepdata"], capture_output=True, text=True)
    assert done.returncode == 2 and "upper-limit" in done.stderr and not done.stdout
