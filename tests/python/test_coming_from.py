"""The steps of pyhf's notebooks, as docs/coming-from.md writes them, against pyhf itself."""

import pathlib
import re

import numpy as np
import pyhf
import pytest

ROOT = pathlib.Path(__file__).parents[2]

#: Codes of interpolation that both use.
SMOOTH = {"normsys": {"interpcode": "code4"}, "histosys": {"interpcode": "code4p"}}


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The names that the blocks of the page define."""
    text = (ROOT / "docs/coming-from.md").read_text()
    section = text[text.index("### The steps of pyhf's notebooks") : text.index("Defined differently:")]
    folder = tmp_path_factory.mktemp("page")
    (folder / "tests").symlink_to(ROOT / "tests", target_is_directory=True)
    names = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        exec("import nextstat", names)
        for block in re.findall(r"^```python\n(.*?)^```", section, re.M | re.S):
            exec(compile(block, "coming-from.md", "exec"), names)
        assert (folder / "brazil.pdf").is_file() and (folder / "pulls.pdf").is_file() and (folder / "impacts.pdf").is_file()
    return names


def in_pyhf(builder):
    """pyhf's model and data of a builder."""
    workspace = pyhf.Workspace(builder.document())
    model = workspace.model(modifier_settings=SMOOTH)
    return model, workspace.data(model)


@pytest.fixture(autouse=True)
def minuit():
    pyhf.set_backend("numpy", pyhf.optimize.minuit_optimizer(tolerance=1e-4))
    yield
    pyhf.set_backend("numpy")


def test_the_counting_experiment_is_that_of_simplemodels(page):
    theirs = pyhf.simplemodels.uncorrelated_background(signal=[5.0, 10.0], bkg=[50.0, 60.0], bkg_uncertainty=[5.0, 12.0])
    data = [53.0, 65.0] + theirs.config.auxdata
    observed, expected = pyhf.infer.hypotest(1.0, data, theirs, return_expected_set=True)
    assert page["tested"].cls == pytest.approx(float(observed), abs=1e-5)
    assert np.sort(page["tested"].expected_set.cls) == pytest.approx(np.sort(np.array(expected, dtype=float)), abs=1e-5)
    limit, _ = pyhf.infer.intervals.upper_limits.upper_limit(data, theirs, np.linspace(0, 5, 21))
    # pyhf interpolates between values of the scan.
    assert page["band"].observed == pytest.approx(float(limit), abs=0.02)


@pytest.mark.parametrize("name", ["coupled", "data_driven"])
def test_models_are_those_of_pyhf(page, name):
    builder = page[name]
    model, data = in_pyhf(builder)
    ours = builder.model()
    assert list(ours.parameter_names) == [
        full for par in model.config.par_order for full in
        ([par] if model.config.param_set(par).is_scalar else [f"{par}[{i}]" for i in range(model.config.param_set(par).n_parameters)])
    ]
    point = np.array(model.config.suggested_init())
    assert ours.nll(point) == pytest.approx(-float(model.logpdf(point, data)[0]), rel=1e-12)


def test_statistics_are_those_of_pyhf(page):
    model, data = in_pyhf(page["coupled"])
    init, bounds, fixed = model.config.suggested_init(), model.config.suggested_bounds(), model.config.suggested_fixed()
    curve = page["curve"]
    for mu, q in zip(curve.mu_values, curve.q_mu_values):
        theirs = pyhf.infer.test_statistics.qmu_tilde(mu, data, model, init, bounds, fixed)
        assert q == pytest.approx(float(theirs), abs=1e-4)
    q0 = pyhf.infer.test_statistics.q0(0.0, data, model, init, bounds, fixed)
    assert page["discovery"].q0 == pytest.approx(float(q0), abs=1e-4)


def test_toys_agree_with_the_asymptotic_formulae(page):
    toys = page["toys"]
    assert toys.cls == pytest.approx(page["tested"].cls, abs=5 * toys.cls_error)
    assert sum(toys.distributions.b.counts) + toys.distributions.b.at_zero == 500


def test_the_patch_of_a_patchset_is_applied(page):
    assert page["patched"].poi_name in page["patched"].parameter_names
