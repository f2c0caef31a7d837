"""Names and arguments of other tools give the same results as those of the package and of the tools."""

import copy
import json
import warnings
from pathlib import Path

import numpy as np
import pyhf
import pytest

import nextstat

ROOT = Path(__file__).resolve().parents[2]
SIMPLE = str(ROOT / "tests/fixtures/simple_workspace.json")
BACKGROUND = str(ROOT / "tests/fixtures/background_only.json")
PATCHSET = str(ROOT / "tests/fixtures/patchset.json")
NSIGMA = [-2, -1, 0, 1, 2]


def spec():
    return json.loads(Path(SIMPLE).read_text())


def model():
    return nextstat.load_workspace(SIMPLE)


def test_patch_sort_and_digest_are_those_of_pyhf(tmp_path):
    background = json.loads(Path(BACKGROUND).read_text())
    patchset = pyhf.PatchSet(json.loads(Path(PATCHSET).read_text()))
    for patch in patchset.patches:
        ours = nextstat.patch(BACKGROUND, f"{PATCHSET}:{patch.name}")
        theirs = patchset.apply(pyhf.Workspace(background), patch.name)
        assert ours == dict(theirs)
        assert nextstat.digest(ours) == pyhf.utils.digest(theirs)
    shuffled = spec()
    shuffled["channels"].reverse()
    for channel in shuffled["channels"]:
        channel["samples"].reverse()
    theirs = pyhf.Workspace.sorted(pyhf.Workspace(shuffled))
    assert nextstat.sort(shuffled) == dict(theirs)
    for algorithm in ("md5", "sha224", "sha256", "sha384", "sha512"):
        assert nextstat.digest(shuffled, algorithm) == pyhf.utils.digest(pyhf.Workspace(shuffled), algorithm)
        assert nextstat.digest(nextstat.sort(shuffled), algorithm) == pyhf.utils.digest(theirs, algorithm)
    with pytest.raises(ValueError, match="sha256"):
        nextstat.digest(SIMPLE, "crc32")
    # Names of patches and paths may have colons. Problems of a patched workspace name the patch.
    renamed = json.loads(Path(PATCHSET).read_text())
    renamed["patches"][0]["metadata"]["name"] = "a:b"
    file = tmp_path / "v1:set.json"
    file.write_text(json.dumps(renamed))
    nextstat.load_workspace(BACKGROUND, patch=f"{file}:a:b")
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps([{"op": "replace", "path": "/channels/0/samples/0/data", "value": [1.0]}]))
    for call in (lambda: nextstat.patch(BACKGROUND, broken), lambda: nextstat.load_workspace(BACKGROUND, patch=broken)):
        with pytest.raises(nextstat.WorkspaceError, match="with patch .*broken.json applied") as caught:
            call()
        assert caught.value.problems


def test_yields_of_samples_and_at_given_parameters():
    m = model()
    fitted = nextstat.fit(m)
    after = nextstat.yields(m)
    assert nextstat.yields(m, fitted).channels == after.channels
    assert nextstat.yields(m, "bestfit").channels == after.channels
    assert nextstat.yields(m, "init").channels == nextstat.yields(m, prefit=True).channels
    for channel in after.channels:
        n = len(channel["data"])
        assert {len(s["uncertainty"]) for s in channel["samples"]} == {n}
        assert all(s["sum_uncertainty"] >= 0 for s in channel["samples"])
        assert sum(s["sum"] for s in channel["samples"]) == pytest.approx(channel["sum"], rel=1e-12)
    at = nextstat.yields(m, {"mu": 2.0})
    assert at.stage == "given"
    totals = np.concatenate([c["total"] for c in at.channels])
    point = m.init
    point[m.poi_index] = 2.0
    np.testing.assert_allclose(totals, m.expected_data(point, False), rtol=1e-12)
    assert nextstat.yields(m, point).channels == at.channels
    assert "background" in repr(at)
    with pytest.raises(ValueError, match="not both"):
        nextstat.yields(m, point, prefit=True)
    with pytest.raises(ValueError):
        nextstat.yields(m, [1.0])


def test_asimov_data_of_pyhf_and_cabinetry():
    m = model()
    data = nextstat.asimov_data(m)
    np.testing.assert_array_equal(data, m.expected_data(m.init))
    assert nextstat.fit(m, data=data).twice_nll == pytest.approx(nextstat.fit(m, asimov=True).twice_nll, abs=1e-9)
    signal = nextstat.asimov_data(m, poi_value=2.0, include_auxdata=False)
    np.testing.assert_array_equal(signal, nextstat.asimov_data(m, {"mu": 2.0})[: signal.size])
    np.testing.assert_array_equal(signal, nextstat.asimov_data(m, poi_name="mu", poi_value=2.0)[: signal.size])
    result = nextstat.fit(m)
    np.testing.assert_array_equal(nextstat.asimov_data(m, fit_results=result), m.expected_data(result.bestfit))
    for wrong in ({"params": [1.0]}, {"poi_name": "mu"}, {"params": {"nothing": 1.0}}):
        with pytest.raises(ValueError):
            nextstat.asimov_data(m, **wrong)
    # The Asimov data of a hypothesis test, for which the other parameters are fitted.
    theirs = pyhf.Workspace(spec())
    pdf = theirs.model()
    args = (theirs.data(pdf), pdf, pdf.config.suggested_init(), pdf.config.suggested_bounds(), pdf.config.suggested_fixed())
    pyhf.set_backend("numpy", "minuit")
    expected = pyhf.infer.calculators.generate_asimov_data(0.0, *args)
    found, point = nextstat.generate_asimov_data(m, 0.0, return_fitted_pars=True)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=2e-3)
    assert point[m.poi_index] == 0.0


def test_nsigma_order_stands_beside_every_band():
    m = model()
    limit = nextstat.upper_limit(m, scan_values=[0.0, 1.0])
    assert limit.nsigma_order == NSIGMA == limit.scan["nsigma_order"]
    assert limit.expected == sorted(limit.expected)
    test = nextstat.hypotest(m, 1.0)
    assert test.expected_set["nsigma_order"] == NSIGMA
    assert test.expected_set["cls"] == sorted(test.expected_set["cls"])
    toys = nextstat.hypotest_toys(m, 1.0, n_toys=50, expected_set=True, device="cpu")
    assert toys.expected_set["nsigma_order"] == NSIGMA
    assert nextstat.upper_limit(m, toys=20, device="cpu").nsigma_order == NSIGMA


def test_from_pyhf_takes_models_workspaces_and_specifications():
    ours = model()
    workspace = pyhf.Workspace(spec())
    text = json.dumps(spec())
    for source in (spec(), workspace, text, text.encode(), SIMPLE):
        assert nextstat.from_pyhf(source).model_digest == ours.model_digest
        assert nextstat.compat.HistFactoryModel.from_workspace(source).model_digest == ours.model_digest
    assert nextstat.compat.HistFactoryModel is nextstat.Model
    pdf = workspace.model()
    data = workspace.data(pdf)
    made = nextstat.from_pyhf(pdf, data)
    assert made.parameter_names == ours.parameter_names and made.poi_name == "mu"
    assert made.nll(made.init) == pytest.approx(ours.nll(ours.init), rel=1e-13)
    main = data[: sum(ours.channels.values())]
    assert nextstat.from_pyhf(pdf, main).nll(made.init) == made.nll(made.init)
    # Without observations the data expected at the initial parameters are used, with a warning.
    with pytest.warns(UserWarning, match="no observations"):
        bare = nextstat.from_pyhf(pdf)
    np.testing.assert_allclose(bare.observed_data(), ours.expected_data(ours.init), rtol=1e-12)
    np.testing.assert_allclose(nextstat.fit(bare, data=data).bestfit, nextstat.fit(ours).bestfit, atol=1e-6)
    # Interpolation codes and the parameter of interest are the model's.
    codes = {"normsys": {"interpcode": "code1"}, "histosys": {"interpcode": "code0"}}
    other = nextstat.from_pyhf(workspace.model(modifier_settings=codes), data)
    assert other.interpolation == nextstat.load_workspace(SIMPLE, interp_defaults="piecewise").interpolation
    without = nextstat.from_pyhf(workspace.model(poi_name=None), data)
    assert without.poi_name is None
    channels = pyhf.simplemodels.uncorrelated_background([5.0], [50.0], [7.0])
    assert nextstat.from_pyhf(channels.spec, [53.0]).poi_name == "mu"
    for wrong in ([1.0], [*main, *np.array(data[len(main):]) + 1]):
        with pytest.raises(ValueError):
            nextstat.from_pyhf(pdf, wrong)
    with pytest.raises(ValueError, match="observations"):
        nextstat.from_pyhf(spec(), data)
    with pytest.raises(nextstat.WorkspaceError):
        nextstat.from_pyhf("{")


def test_alpha_is_one_minus_cl():
    m = model()
    assert nextstat.upper_limit(m, alpha=0.1).observed == nextstat.upper_limit(m, cl=0.9).observed
    assert nextstat.upper_limit(m).cl == nextstat.upper_limit(m, alpha=0.05).cl == 0.95
    with pytest.raises(ValueError, match="cl or alpha, not both"):
        nextstat.upper_limit(m, cl=0.95, alpha=0.05)
    for wrong in (95.0, 0.0, float("nan")):
        with pytest.raises(ValueError, match="alpha"):
            nextstat.upper_limit(m, alpha=wrong)


def test_param_idx_of_ranked_parameters():
    m = model()
    for row in nextstat.ranking(m).ranking:
        assert m.parameter_names[row["param_idx"]] == row["name"]


def test_bounds_of_the_fits_of_a_batch():
    m = model()
    data = np.array([m.observed_data(), m.observed_data() * 1.0])
    free = nextstat.fit_batch(m, data)
    same = nextstat.fit_batch(m, data, bounds=m.bounds)
    np.testing.assert_array_equal(free.bestfit, same.bestfit)
    i = m.poi_index
    mu = free.bestfit[0, i]
    assert mu > 0.2
    for_all = nextstat.fit_batch(m, data, bounds={"mu": (0.0, mu - 0.1)})
    np.testing.assert_allclose(for_all.bestfit[:, i], mu - 0.1, atol=1e-12)
    # Bounds that are wider than the model's, and different bounds for each fit.
    per_fit = np.array([m.bounds] * 2)
    per_fit[0, i] = [mu + 0.1, 20.0]
    each = nextstat.fit_batch(m, data, bounds=per_fit)
    np.testing.assert_allclose(each.bestfit[:, i], [mu + 0.1, mu], atol=1e-6)
    listed = nextstat.fit_batch(m, data, bounds=[{"mu": (mu + 0.1, 20.0)}, {}])
    np.testing.assert_array_equal(each.bestfit, listed.bestfit)
    low = nextstat.fit_batch(m, [data[0] * 0 + m.expected_data(m.init)], bounds={"mu": (-5.0, 0.5)})
    assert low.bestfit[0, i] == pytest.approx(0.5)
    # The older name of the function.
    spelt = nextstat.compat.fit_toys_from_data_gpu(m, data, bounds=per_fit, device="cpu")
    np.testing.assert_array_equal(spelt.bestfit, each.bestfit)
    workspace = spec()
    for measurement in workspace["measurements"]:
        parameters = [p for p in measurement["config"]["parameters"] if p["name"] != "mu"]
        measurement["config"]["parameters"] = [*parameters, {"name": "mu", "bounds": [[0.0, mu - 0.1]], "inits": [0.1]}]
    narrow = nextstat.fit(nextstat.load_workspace(workspace))
    assert for_all.twice_nll[0] == pytest.approx(narrow.twice_nll, abs=1e-9)
    for wrong in (per_fit[:, :2], np.array([m.bounds] * 3), {"nothing": (0, 1)}, {"mu": (1.0, 0.0)},
                  {"mu": (0.0, float("nan"))}):
        with pytest.raises(ValueError):
            nextstat.fit_batch(m, data, bounds=wrong)
    with pytest.raises(TypeError):
        nextstat.fit_batch(m, data, bounds={"mu": 1.0})
    with pytest.raises(ValueError, match="outside its bounds"):
        nextstat.fit_batch(m, data, bounds={"mu": (0.0, 0.5)}, init={"mu": 1.0})


def test_toys_of_a_given_expectation():
    m = model()
    n = sum(m.channels.values())
    expected = np.arange(1.0, n + 1.0) * 10
    toys = m.toy_data(n_toys=4000, seed=3, expected=expected)
    np.testing.assert_allclose(toys[:, :n].mean(axis=0), expected, rtol=0.02)
    np.testing.assert_allclose(toys[:, :n].var(axis=0), expected, rtol=0.12)
    nominal = m.observed_data()[n:]
    spread = toys[:, n:].std(axis=0)
    np.testing.assert_allclose((toys[:, n:].mean(axis=0) - nominal) / spread, 0, atol=0.08)
    # The expected data of a point, including auxiliary data, give the toys of that point, bit for bit.
    point = m.init
    np.testing.assert_array_equal(
        m.toy_data(n_toys=20, seed=5, expected=m.expected_data(point)), m.toy_data(point, 20, 5)
    )
    fits = nextstat.fit_batch(m, m.toy_data(n_toys=10, expected=m.expected_data(point, False)))
    assert fits.n_converged == 10
    for wrong in ({}, {"params": point, "expected": expected}, {"expected": expected[1:]}, {"expected": -expected},
                  {"expected": expected, "hypothesis": "b"}):
        with pytest.raises(ValueError):
            m.toy_data(**{"n_toys": 1, **wrong})


def test_results_of_spellings_can_be_copied_as_dictionaries():
    m = model()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert copy.deepcopy(nextstat.upper_limit(m).to_dict())["nsigma_order"] == NSIGMA
