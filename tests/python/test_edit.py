"""Pruning, renaming, combining and masking against pyhf, on random workspaces and on fixtures."""

import copy
import json
import logging
import os
import warnings

import numpy as np
import pyhf
import pytest
from _tolerances import EXPECTED_DATA
from random_workspaces import _Draw, draw_case

import nextstat

logging.getLogger("pyhf").setLevel(logging.CRITICAL)

SEED = 11
#: Number of random calls of an operation, twice as many for `combine`.
CALLS = int(os.environ.get("NEXTSTAT_PYHF_MODELS", "30"))
SIMPLE = "simple_workspace.json"
TYPES = ("histosys", "lumi", "normfactor", "normsys", "shapefactor", "shapesys", "staterror")


# --- The same call in both ---------------------------------------------------------------


def theirs(operation, *arguments, **options):
    """pyhf's result; ``None`` if pyhf refuses."""
    workspaces = [pyhf.Workspace(copy.deepcopy(spec)) for spec in arguments]
    try:
        if operation == "combine":
            return pyhf.Workspace.combine(*workspaces, **options)
        return getattr(workspaces[0], operation)(**options)
    except (pyhf.exceptions.InvalidWorkspaceOperation, pyhf.exceptions.InvalidSpecification, ValueError):
        return None


def ours(operation, *arguments, **options):
    """Our result and its report; ``None`` and the error if we refuse."""
    before = copy.deepcopy(arguments)
    try:
        result = getattr(nextstat, operation)(*arguments, **options, return_report=True)
    except nextstat.WorkspaceError as error:
        assert str(error).strip() and error.problems
        result = None, error
    assert before == arguments, "the input was changed"
    return result


def pyhf_model(workspace, measurement):
    """pyhf's model without a parameter of interest, and the data; ``None`` if pyhf cannot build the model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = workspace.model(measurement_name=measurement, poi_name=None)
            return model, workspace.data(model)
        except Exception:  # pyhf raises errors of many types, also those of other packages
            return None


def our_model(spec, measurement):
    try:
        return nextstat.load_workspace(spec, measurement=measurement)
    except nextstat.WorkspaceError:
        return None


def assert_same_model(engine, model, data, rng):
    config = model.config
    names = list(config.par_names)
    assert list(engine.parameter_names) == names
    assert engine.init.tolist() == [float(x) for x in config.suggested_init()]
    bounds = np.asarray(config.suggested_bounds(), float).reshape(-1, 2)
    assert engine.bounds.tolist() == bounds.tolist()
    assert engine.fixed.tolist() == list(config.suggested_fixed())
    assert engine.observed_data().tolist() == [float(x) for x in data]
    init = engine.init
    for point in (init, np.clip(init + rng.normal(size=len(init)) * 0.3, *bounds.T)):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = np.asarray(model.expected_data(point), float)
            logpdf = float(np.asarray(model.logpdf(point, np.asarray(data, float)))[0])
        size = np.abs(expected).max()
        np.testing.assert_allclose(engine.expected_data(point), expected, rtol=EXPECTED_DATA, atol=EXPECTED_DATA * size)
        if np.isfinite(logpdf):
            # With large counts the terms of the sum are much larger than the sum.
            terms = np.abs(np.asarray(data)).sum() + np.abs(expected).sum()
            assert abs(engine.nll(point) + logpdf) <= 1e-9 * abs(logpdf) + 1e-13 * terms + 1e-9


def assert_agrees(operation, *arguments, rng, **options):
    """Asserts that our result has the same models as pyhf's, or that both refuse. Returns whether there were any."""
    expected = theirs(operation, *arguments, **options)
    spec, report = ours(operation, *arguments, **options)
    if expected is None:
        assert spec is None, f"pyhf refuses {operation} {options}"
        return False
    # Our reader refuses a few models that pyhf builds, but cannot evaluate or evaluates wrongly.
    usable = {m["name"]: our_model(dict(expected), m["name"]) is not None for m in expected["measurements"]}
    models = {name: pyhf_model(expected, name) if usable[name] else None for name in usable}
    if spec is None and "would both be those of" in str(report):
        # Double settings: pyhf notices them only when it builds the model of a measurement that has them.
        assert not all(models.values())
        return False
    if spec is None and "already has the" in str(report):
        # Two modifiers of a sample would get the same name. We refuse a workspace in which one of them has no effect.
        return False
    if spec is None:
        assert not any(models.values()), f"{operation} {options} is refused: {report}"
        return False
    assert [m["name"] for m in spec["measurements"]] == list(models)
    for name, found in models.items():
        engine = our_model(spec, name)
        if found is None and engine is not None and not engine.parameter_names:
            # A model without parameters is one of ours, and none of pyhf's.
            continue
        assert (engine is None) == (found is None), f"only one of the two has a model of {name}"
        if found is not None:
            assert_same_model(engine, *found, rng)
    return any(models.values())


# --- Random calls ------------------------------------------------------------------------


def names_of(spec):
    samples = [s for c in spec["channels"] for s in c["samples"]]
    return {
        "channels": [c["name"] for c in spec["channels"]],
        "samples": sorted({s["name"] for s in samples}),
        "modifiers": sorted({m["name"] for s in samples for m in s["modifiers"]}),
        "measurements": [m["name"] for m in spec["measurements"]],
    }


def types_pyhf_knows(spec):
    """Types that pyhf's `prune` finds. pyhf keeps one type per modifier name: the last in alphabetical order."""
    pairs = {(m["name"], m["type"]) for c in spec["channels"] for s in c["samples"] for m in s["modifiers"]}
    return sorted(set(dict(sorted(pairs)).values()))


def draw_prune(d, spec):
    options = {}
    for what, names in names_of(spec).items():
        if names and d.chance(0.4):
            options[what] = d.shuffled(names)[: d.integer(1, 2)]
        if d.chance(0.04):
            options[what] = [*options.get(what, []), "not there"]
    known = types_pyhf_knows(spec)
    if d.chance(0.3):
        options["modifier_types"] = [d.pick(known)] if d.chance(0.9) else ["normsyst"]
    return options


def draw_rename(d, spec):
    options = {}
    for what, names in names_of(spec).items():
        if not names or not d.chance(0.6):
            continue
        old = d.shuffled([n for n in names if n != "lumi"])[: d.integer(1, 3)]
        if d.chance(0.2):
            new = old[1:] + old[:1]  # each name becomes the next one, the last name the first
        else:
            new = [f"{name} new" for name in old]
        options[what] = dict(zip(old, new))
        if what == "modifiers" and len(names) > 1 and d.chance(0.3):
            options[what] = {d.pick(names): d.pick(names)}
        if d.chance(0.04):
            options[what] = {**options[what], "not there": "x"}
    return options


def draw_right(d, left, index):
    """Two workspaces to combine: two parts of `left`, `left` and a changed copy, or `left` and another workspace."""
    choice = d.integer(0, 3)
    if choice == 0 and len(left["channels"]) > 1:
        gone = [d.pick(left["channels"])["name"]]
        right = dict(pyhf.Workspace(left).prune(channels=gone))
        others = [c["name"] for c in left["channels"] if c["name"] not in gone]
        return dict(pyhf.Workspace(left).prune(channels=others)), right
    if choice == 1:
        right = copy.deepcopy(left)
        change = d.integer(0, 3)
        if change == 0:
            right["channels"][0]["samples"][0]["data"][0] += 1.0
        elif change == 1:
            right["observations"][0]["data"][0] += 1.0
        elif change == 2:
            right["measurements"][0]["config"]["poi"] = "another"
        return left, right
    right = draw_case(SEED + 1, index).spec
    if choice == 2:
        new = {c["name"]: c["name"] + " right" for c in right["channels"]}
        right = dict(pyhf.Workspace(right).rename(channels=new))
        if d.chance(0.5):
            names = names_of(right)["modifiers"]
            right = dict(pyhf.Workspace(right).rename(modifiers={n: n + " right" for n in names if n != "lumi"}))
    if d.chance(0.5):
        new = {m["name"]: m["name"] + " right" for m in right["measurements"]}
        right = dict(pyhf.Workspace(right).rename(measurements=new))
    return left, right


class TestAgainstPyhf:
    """Random calls of each operation. Most of them are valid for both."""

    def test_prune(self):
        compared = 0
        for index in range(CALLS):
            d = _Draw(SEED, index)
            spec = draw_case(SEED, index).spec
            compared += assert_agrees("prune", spec, **draw_prune(d, spec), rng=d.rng)
        assert compared > CALLS // 4

    def test_rename(self):
        compared = 0
        for index in range(CALLS):
            d = _Draw(SEED, index)
            spec = draw_case(SEED, index).spec
            compared += assert_agrees("rename", spec, **draw_rename(d, spec), rng=d.rng)
        assert compared > CALLS // 3

    def test_combine(self):
        compared = 0
        for index in range(2 * CALLS):
            d = _Draw(SEED, index)
            left, right = draw_right(d, draw_case(SEED, index).spec, index)
            join = d.pick(["none", "outer", "left outer", "right outer"])
            merge = join != "none" and d.chance(0.4)
            if join == "outer" and merge and samples_differ(left, right):
                # pyhf takes the left sample without a message.
                assert ours("combine", left, right, join=join, merge_channels=merge)[0] is None
                continue
            compared += assert_agrees("combine", left, right, join=join, merge_channels=merge, rng=d.rng)
        assert compared > CALLS // 4

    def test_masks(self):
        for index in range(CALLS):
            d = _Draw(SEED, index)
            spec = draw_case(SEED, index).spec
            channels = names_of(spec)["channels"]
            gone = d.some(channels[1:], 1) if len(channels) > 1 else []
            if not gone:
                continue
            kept = [c for c in channels if c not in gone]
            pruned = pyhf.Workspace(spec).prune(channels=gone)
            for options in ({"mask": gone}, {"channels": kept}):
                for measurement in names_of(spec)["measurements"]:
                    found = pyhf_model(pruned, measurement)
                    try:
                        engine = nextstat.load_workspace(spec, measurement=measurement, **options)
                    except nextstat.WorkspaceError:
                        assert found is None
                        continue
                    assert found is not None
                    assert_same_model(engine, *found, d.rng)


def samples_differ(left, right):
    def by_name(spec):
        return {(c["name"], s["name"]): s for c in spec["channels"] for s in c["samples"]}

    a, b = by_name(left), by_name(right)
    return any(a[key] != b[key] for key in a.keys() & b.keys())


# --- What is ours ------------------------------------------------------------------------


@pytest.fixture
def spec(fixtures):
    return json.loads((fixtures / SIMPLE).read_text())


class TestPrune:
    def test_path_and_dictionary_in_dictionary_out(self, fixtures, spec):
        assert nextstat.prune(fixtures / SIMPLE, channels="CR") == nextstat.prune(spec, channels=["CR"])
        assert nextstat.prune(str(fixtures / SIMPLE)) == spec

    def test_what_may_not_have_been_meant_is_a_warning(self, spec):
        with pytest.warns(UserWarning) as told:
            nextstat.prune(spec, samples="signal")
        said = [str(warning.message) for warning in told]
        assert "keeps settings" in said[0] and "keeps the parameter of interest 'mu'" in said[1]
        result, report = nextstat.prune(spec, modifiers="mu", return_report=True)
        assert result["measurements"][0]["config"]["poi"] == ""
        assert any("parameter of interest 'mu'" in line for line in report["changes"])

    def test_close_spellings(self, spec):
        with pytest.raises(nextstat.WorkspaceError, match="Did you mean 'jet_scale'") as caught:
            nextstat.prune(spec, modifiers="jet_scal", channels="nothing")
        assert [p["path"] for p in caught.value.problems] == ["/channels", "/channels"]

    def test_a_type_that_pyhf_overlooks(self, fixtures):
        spec = json.loads((fixtures / "shared_names.json").read_text())
        assert theirs("prune", spec, modifier_types=["histosys"]) is None
        left = names_and_types(nextstat.prune(spec, modifier_types=["histosys"]))
        assert ("syst", "histosys") not in left and ("syst", "normsys") in left

    def test_by_effect(self, spec):
        result, report = nextstat.prune(spec, norm_threshold=1.0, shape_threshold=1.0, return_report=True)
        kinds = {kind for _, kind in names_and_types(result)}
        assert not kinds & {"normsys", "histosys"} and "staterror" in kinds
        expected = sum(m["type"] in ("normsys", "histosys") for c in spec["channels"] for s in c["samples"] for m in s["modifiers"])
        assert sum(": channel " in line for line in report["changes"]) == expected
        with pytest.raises(nextstat.WorkspaceError, match="needs a norm threshold"):
            nextstat.prune(spec, shape_threshold=0.1)


def names_and_types(spec):
    return {(m["name"], m["type"]) for c in spec["channels"] for s in c["samples"] for m in s["modifiers"]}


class TestRenameAndCombine:
    def test_a_modifier_and_all_that_refers_to_it(self, spec):
        result = nextstat.rename(spec, modifiers={"mu": "mu_ttH"})
        assert json.dumps(result) == json.dumps(json.loads(json.dumps(result)))
        assert result == dict(pyhf.Workspace(spec).rename(modifiers={"mu": "mu_ttH"}))
        assert nextstat.load_workspace(result).poi_name == "mu_ttH"

    def test_taken_names_are_refused(self, spec):
        with pytest.raises(nextstat.WorkspaceError, match="would both be called 'CR'"):
            nextstat.rename(spec, channels={"SR": "CR"})

    def test_parts_make_the_whole(self, spec):
        left, right = nextstat.prune(spec, channels="CR"), nextstat.prune(spec, channels="SR", return_report=True)[0]
        assert nextstat.combine(left, right, join="outer") == spec
        assert nextstat.combine(left, right, "outer") == dict(pyhf.Workspace.combine(*map(pyhf.Workspace, (left, right)), join="outer"))

    def test_what_is_dropped_is_told(self, spec):
        other = copy.deepcopy(spec)
        other["observations"][0]["data"][0] += 1
        with pytest.warns(UserWarning, match="Observation 'SR' of the right workspace is not taken"):
            assert nextstat.combine(spec, other, join="left outer") == spec

    def test_conflicts_and_wrong_arguments(self, spec):
        with pytest.raises(nextstat.WorkspaceError) as caught:
            nextstat.combine(spec, spec)
        assert len(caught.value.problems) == 5
        with pytest.raises(ValueError, match="no join 'inner'"):
            nextstat.combine(spec, spec, join="inner")
        with pytest.raises(OSError):
            nextstat.combine(spec, "no/such/file.json")


class TestMasks:
    def test_the_model_is_another_one(self, fixtures, spec):
        whole = nextstat.load_workspace(fixtures / SIMPLE)
        masked = nextstat.load_workspace(fixtures / SIMPLE, mask="CR")
        assert list(masked.channels) == ["SR"]
        assert masked.model_digest != whole.model_digest
        assert masked.model_digest == nextstat.load_workspace(spec, channels=["SR"]).model_digest
        assert nextstat.load_workspace(spec, channels=["CR", "SR"], mask=[]).model_digest == whole.model_digest

    def test_a_masked_parameter_of_interest(self, spec):
        masked = nextstat.load_workspace(spec, mask="SR")
        assert masked.poi_name is None
        assert any("'mu'" in warning for warning in nextstat.fit(masked).warnings)

    @pytest.mark.parametrize("options", [{"mask": "SRR"}, {"channels": []}, {"mask": ["SR", "CR"]}, {"channels": "SR", "mask": "SR"}])
    def test_what_leaves_nothing_or_is_unknown(self, spec, options):
        with pytest.raises(nextstat.WorkspaceError):
            nextstat.load_workspace(spec, **options)


# --- Digests -------------------------------------------------------------------------------


def test_digests_of_numbers_of_every_precision_are_pyhfs(fixtures):
    spec = json.loads((fixtures / SIMPLE).read_text())
    draw = np.random.default_rng(SEED)
    # Single-precision numbers are often halfway between two decimals with a digit less.
    numbers = [*draw.lognormal(3, 2, 3000).astype(np.float32), *draw.lognormal(0, 20, 3000), 0.0, 1e15, 1e16, 1e-4, 1e-5]
    sample = spec["channels"][0]["samples"][0]
    sample["data"] = [float(number) for number in numbers]
    for algorithm in ("sha256", "md5"):
        ours = nextstat.digest(json.loads(json.dumps(spec)), algorithm=algorithm)
        assert ours == pyhf.utils.digest(spec, algorithm=algorithm)
