"""The interface: the model comes first, values are properties, and earlier forms work for one release."""

import pathlib
import pickle
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest

import nextstat

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIMPLE = ROOT / "tests/fixtures/simple_workspace.json"


@pytest.fixture(scope="module")
def model():
    return nextstat.load_workspace(SIMPLE)


def test_the_model_comes_first_and_the_earlier_order_warns(model):
    spec = str(SIMPLE)
    calls = {
        "hypotest": lambda *pair: nextstat.hypotest(*pair).cls,
        "hypotest_toys": lambda *pair: nextstat.hypotest_toys(*pair, n_toys=20, device="cpu").cls,
        "toys_prepare": lambda *pair: nextstat.toys_prepare(*pair, n_toys=20, device="cpu").header,
        "generate_asimov_data": lambda *pair: nextstat.generate_asimov_data(*pair).tolist(),
    }
    for name, call in calls.items():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            now = call(model, 1.0)
        with pytest.warns(DeprecationWarning, match=rf"{name}\(\w+, model\) becomes {name}\(model, \w+\)"):
            assert call(1.0, model) == now
    with pytest.warns(DeprecationWarning):
        assert nextstat.hypotest(1.0, spec).cls == nextstat.hypotest(model, 1.0).cls
    with pytest.warns(DeprecationWarning):
        nextstat.hypotest({"mu": 1.0}, model)
    with pytest.raises(TypeError, match=r"mu must be the tested value of the parameter of interest, as in hypotest\(model, 1.0\), not 'x'"):
        nextstat.hypotest(model, "x")


def test_values_are_properties_and_the_earlier_methods_warn(model):
    assert model.parameter_names[0] in model.parameter_names and isinstance(model.parameter_names, list)
    assert model.init.shape == model.fixed.shape == (len(model.parameter_names),)
    assert model.bounds.shape == (len(model.parameter_names), 2)
    earlier = {
        "parameter_names": (lambda: model.parameter_names(), model.parameter_names),
        "suggested_init": (lambda: model.suggested_init(), model.init),
        "suggested_bounds": (lambda: model.suggested_bounds(), model.bounds),
        "suggested_fixed": (lambda: model.suggested_fixed(), model.fixed),
    }
    for name, (call, value) in earlier.items():
        with pytest.warns(DeprecationWarning, match=rf"{name}\(\) becomes"):
            np.testing.assert_array_equal(call(), value)
    assert pickle.loads(pickle.dumps(model.parameter_names)) == model.parameter_names


def test_correlation_and_pulls_of_a_fit(model):
    result = nextstat.fit(model)
    sigma = np.sqrt(np.diag(result.covariance))
    np.testing.assert_allclose(result.correlation, result.covariance / np.outer(sigma, sigma), atol=1e-12)
    by_name = {row["name"]: row for row in nextstat.ranking(model).ranking}
    for i, name in enumerate(result.parameter_names):
        row = by_name.get(name)
        for values, key in ((result.pulls, "pull"), (result.constraints, "constraint")):
            want = np.nan if row is None or row[key] is None else row[key]
            np.testing.assert_allclose(values[i], want, rtol=1e-9, atol=1e-12)
    assert nextstat.fit(model, covariance=False).correlation is None
    again = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(again.pulls, result.pulls)


def test_names_of_earlier_programs_are_in_compat(model):
    earlier = nextstat.compat.__all__
    assert "fit_toys_batch_gpu" in earlier and not set(earlier) & {*nextstat.__all__, *dir(nextstat)}
    for name in earlier:
        with pytest.warns(DeprecationWarning, match=f"becomes nextstat.compat.{name}"):
            assert getattr(nextstat, name) is getattr(nextstat.compat, name)
    with pytest.raises(AttributeError, match="no attribute 'fit_toy'"):
        nextstat.fit_toy


def test_results_are_no_dictionaries(model):
    result = nextstat.significance(model)
    with pytest.warns(DeprecationWarning, match=r'result\["z"\] becomes result.z'):
        assert result["z"] == result.z
    with pytest.raises(KeyError):
        result["nothing"]
    with pytest.raises(TypeError, match="are its attributes"):
        result[0]
    ranking = nextstat.ranking(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ranking[0] == ranking.entry(0) == ranking[ranking.names[0]]
    with pytest.raises(KeyError):
        ranking["nothing"]
    with pytest.raises(IndexError):
        ranking[10_000]


def test_the_tutorial_passes_strict_type_checks(tmp_path):
    pytest.importorskip("mypy")
    text = (ROOT / "docs/tutorial.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.M | re.S)
    assert len(blocks) > 3
    file = tmp_path / "tutorial.py"
    file.write_text("\n".join(blocks))
    command = [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", "--cache-dir", str(tmp_path / "cache"), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
