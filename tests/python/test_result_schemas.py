"""Results of the commands follow docs/reference/results.schema.json, and have no key that it lacks."""

import copy
import functools
import json
import os
import pathlib
import subprocess

import jsonschema
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests" / "fixtures"
SCHEMAS = ROOT / "docs" / "reference" / "results.schema.json"

BOTH = ["--poi", "mu_ggH,mu_qqH"]
#: Command, name of its schema unless it is that of the command, fixture of the model, flags.
CASES = [
    *(
        (command, None, model, flags)
        for model in ("simple_workspace.json", "all_modifiers.json", "edge_yields.json", "strongly_bent.json", "counting.json", "hs3/mixed.hs3.json")
        for command, flags in (
            ("fit", []),
            ("fit", ["--asimov", "1"]),
            ("significance", []),
            ("hypotest", ["--mu", "1"]),
            ("hypotest", ["--mu", "0", "--test-stat", "q0"]),
            ("upper-limit", ["--scan-start", "0", "--scan-stop", "2", "--scan-points", "3"]),
            ("gof", []),
            ("yields", []),
            ("yields", ["--prefit"]),
            ("scan", ["--points", "5"]),
            ("ranking", ["--impact", "refit,covariance,global", "--prefit"]),
            ("inspect", []),
            ("validate", []),
        )
    ),
    ("fit", None, "simple_workspace.json", ["--minos", "all"]),
    ("fit", None, "simple_workspace.json", ["--derive", "twice = 2 * mu", "--derive", "root = sqrt(0 * mu)"]),
    ("fit", None, "empty_poi.json", []),
    ("fit", None, "shared_names.json", []),
    ("fit", None, "eft.json", []),
    ("fit", None, "two_signals.json", BOTH),
    ("fit", None, "hs3/mixed.hs3.json", ["--weighted-uncertainties", "sumw2"]),
    ("fit", None, "hs3/exponential.hs3.json", []),
    ("fit", None, "hs3/lifetime.hs3.json", []),
    ("fit", None, "abcd.json", []),
    ("scan", None, "two_signals.json", [*BOTH, "--points", "3"]),
    ("scan", None, "two_signals.json", ["--param", "mu_ggH", "--param2", "mu_qqH", "--points", "3"]),
    ("ranking", None, "two_signals.json", [*BOTH, "--prefit"]),
    ("ranking", None, "abcd.json", ["--impact", "global"]),
    ("significance", None, "two_signals.json", BOTH),
    ("upper-limit", None, "two_signals.json", BOTH),
    ("interval", None, "two_signals.json", BOTH),
    ("interval", None, "simple_workspace.json", ["--toys", "50", "--points", "3"]),
    ("region", None, "two_signals.json", [*BOTH, "--directions", "8"]),
    ("region", None, "two_signals.json", [*BOTH, "--toys", "40", "--directions", "8", "--points", "3"]),
    ("hypotest", None, "two_signals.json", [*BOTH, "--mu", "1,2"]),
    ("hypotest", None, "two_signals.json", [*BOTH, "--mu", "1,2", "--toys", "30"]),
    ("hypotest-toys", None, "simple_workspace.json", ["--mu", "1", "--n-toys", "50"]),
    ("hypotest-toys", None, "simple_workspace.json", ["--mu", "1", "--n-toys", "50", "--expected-set"]),
    ("toys", None, "all_modifiers.json", ["--n-toys", "50"]),
    ("toys", "injection", "simple_workspace.json", ["--n-toys", "40", "--inject", "1,2"]),
    ("toys", "injection", "simple_workspace.json", ["--n-toys", "40", "--inject", "1,2,3"]),
    ("upper-limit", None, "simple_workspace.json", ["--toys", "60"]),
    ("upper-limit", "limit-grid", "background_only.json", ["--patchset", str(FIXTURES / "patchset.json")]),
    ("gof", None, "simple_workspace.json", ["--toys", "40"]),
    ("gof", None, "hs3/mixed.hs3.json", ["--statistic", "chi2"]),
    ("gof", None, "hs3/mixed.hs3.json", ["--statistic", "ks", "--toys", "20"]),
    ("yields", None, "two_signals.json", ["--axes", str(FIXTURES / "axes.toml")]),
    ("sample", None, "simple_workspace.json", ["--chains", "2", "--draws", "50", "--tune", "50"]),
    ("compatibility", None, "many_bins.json", ["--leave-out"]),
    ("compatibility", None, "two_signals.json", ["--toys", "20"]),
    ("spurious-signal", None, "hs3/exponential.hs3.json", ["--param", "mass", "--points", "3", "--background", str(FIXTURES / "hs3/power.hs3.json")]),
    ("look-elsewhere", None, "hs3/mixed.hs3.json", ["--param", "mass", "--points", "11"]),
    ("unfold", None, "unfolding.json", ["--truth", "truth_*", "--prediction", str(FIXTURES / "unfolding_truth.json")]),
    ("unfold", None, "unfolding.json", ["--truth", "truth_*", "--regularisation", "curvature", "--toys", "20"]),
    ("blue", None, "given_results.toml", []),
    ("upper-limit", None, "simple_workspace.json", ["--observed"]),
    ("upper-limit", None, "counting.json", ["--toys", "40"]),
    ("simplify", None, "simple_workspace.json", ["--draws", "20000", "--save", "simplified.json"]),
    ("fit", None, "simple_workspace.json", ["--blind", "SR"]),
    ("yields", None, "simple_workspace.json", ["--blind", "SR"]),
    ("fit", None, "events/diphoton.hs3.json", []),
    ("yields", None, "events/diphoton.hs3.json", []),
    ("fit", None, "cards/shapes.txt", []),
    ("validate", None, "cards/counting.txt", []),
    ("inspect", None, "eft.json", []),
    ("inspect", None, "unfolding.json", []),
    ("validate", None, "patchset.json", []),
    ("inspect", None, "abcd.json", []),
    ("rename", None, "simple_workspace.json", []),
    ("decorrelate", None, "simple_workspace.json", ["--modifier", "background_norm", "--by", "channel"]),
]


@functools.cache
def program():
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return next((path for kind in ("debug", "release") if (path := target / kind / "nextstat").exists()), None)


@functools.cache
def closed():
    """The schemas, in which objects with listed keys have no others."""
    document = json.loads(SCHEMAS.read_text(encoding="utf-8"))

    def close(schema):
        if isinstance(schema, list):
            for part in schema:
                close(part)
        if isinstance(schema, dict):
            if isinstance(schema.get("properties"), dict) and "type" in schema:
                schema["additionalProperties"] = False
            for part in schema.values():
                close(part)

    close(document["$defs"])
    return document


def validator(name):
    return jsonschema.Draft202012Validator({**closed(), "$ref": f"#/$defs/{name}-output"})


def test_the_document_is_a_schema():
    document = json.loads(SCHEMAS.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(document)
    for name in document["$defs"]:
        assert jsonschema.Draft202012Validator({**document, "$ref": f"#/$defs/{name}"}).is_valid([]) is False or name == "NsigmaOrder", name


@pytest.mark.parametrize(("command", "schema", "model", "flags"), CASES, ids=lambda part: str(part)[-40:])
def test_results_follow_their_schema(command, schema, model, flags, tmp_path):
    if program() is None:
        pytest.skip("NOT TESTED: the command is not built (cargo build -p ns-cli)")
    done = subprocess.run([program(), command, FIXTURES / model, *flags], capture_output=True, text=True, cwd=tmp_path)
    # A command whose fits do not converge writes its result, too.
    assert done.stdout.startswith("{"), done.stderr
    result = json.loads(done.stdout)
    checked = validator(schema or command)
    mistakes = [f"{error.json_path}: {error.message[:300]}" for error in checked.iter_errors(result)]
    assert not mistakes, mistakes


def test_other_keys_and_missing_keys_are_mistakes():
    result = {"results": ["a"], "combined": [], "covariance": [[1.0]], "pulls": [None], "chi2": 0.0, "n_dof": 0, "p_value": None, "warnings": []}
    checked = validator("blue")
    checked.validate(result)
    for key in result:
        assert not checked.is_valid({name: value for name, value in result.items() if name != key}), key
        wrong = copy.deepcopy(result) | {key: {"x": 1}}
        assert not checked.is_valid(wrong), key
    assert not checked.is_valid(result | {"more": 1})
