"""The interface: the model comes first, values are properties, and earlier forms work for one release."""

import copy
import inspect
import json
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
    for name in ("hypotest", "hypotest_toys", "toys_prepare"):
        few = {} if name == "hypotest" else {"n_toys": 20, "device": "cpu"}
        function = getattr(nextstat, name)
        with pytest.warns(DeprecationWarning, match=rf"{name}\(mu, model=...\) becomes {name}\(model, mu\)"):
            function(1.0, model=model, **few)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            function(model, mu=1.0, **few)
            function(model=model, mu=1.0, **few)
        for args, named, words in [
            ((), {}, "needs a model and the tested value mu"),
            ((model,), {}, "needs the tested value mu"),
            ((), {"mu": 1.0}, "needs a model"),
            ((model,), {"model": model}, "has two models"),
            ((model, 1.0), {"mu": 2.0}, "has two values of mu"),
            ((model, 1.0, 2.0), {}, "takes two arguments by position, the model and mu, not 3"),
        ]:
            with pytest.raises(TypeError, match=rf"{name}\(\) .*{words}.*; write {name}\(model, mu\)"):
                function(*args, **named, **few)
        assert str(inspect.signature(function)).startswith("(model, mu, *, ")
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


@pytest.mark.parametrize("page", ["tutorial", "first-analysis"])
def test_the_tutorials_pass_strict_type_checks(page, tmp_path):
    pytest.importorskip("mypy")
    text = (ROOT / f"docs/{page}.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.M | re.S)
    assert len(blocks) > 3
    file = tmp_path / "tutorial.py"
    file.write_text("\n".join(blocks))
    command = [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", "--cache-dir", str(tmp_path / "cache"), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_parts_of_results_have_attributes_and_are_dictionaries(model):
    yields = nextstat.yields(model)
    channel = yields.channels[0]
    assert type(channel).__name__ == "ChannelYields" and isinstance(channel, dict)
    assert channel.sum == channel["sum"] and channel.samples[0].counts == channel["samples"][0]["counts"]
    assert type(channel.samples[0]) is nextstat.types.SampleYields
    assert json.loads(json.dumps(channel)) == channel == dict(channel)
    again = pickle.loads(pickle.dumps(channel))
    assert again == channel and type(again) is type(channel) and type(copy.deepcopy(channel)) is type(channel)
    assert "samples" in dir(channel)
    with pytest.raises(AttributeError, match="there is no 'nothing' in this part of the result; it has name, "):
        channel.nothing
    with pytest.raises(AttributeError, match="cannot be changed through attributes"):
        channel.sum = 1.0
    assert type(yields.to_dict()) is dict
    assert type(pickle.loads(pickle.dumps(yields)).channels[0]) is nextstat.types.ChannelYields

    ranking = nextstat.ranking(model, impact=["refit", "global"])
    entry = ranking.entry(0)
    assert type(entry) is nextstat.types.RankedParameter
    assert entry.global_ == entry["global"] and type(entry.refit) is nextstat.types.Impacts
    toys = nextstat.hypotest_toys(model, 1.0, n_toys=30, device="cpu")
    assert (toys.n_toys.b, toys.n_toys.sb) == (30, 30)
    b = toys.distributions.b
    assert type(toys.distributions) is nextstat.types.Distributions and type(b) is nextstat.types.BinnedStatistic
    assert sum(b.counts) + b.at_zero + b.beyond == 30 - toys.n_nonconverged.b - toys.n_error.b
    assert len(b.bin_edges) == len(b.counts) + 1 and b.bin_edges == toys.distributions.sb.bin_edges
    goodness = nextstat.goodness_of_fit(model, toys=30)
    assert type(goodness.toys) is nextstat.types.Toys and goodness.toys.distribution.counts


def test_parts_have_the_attributes_of_their_types(model):
    yields = nextstat.yields(model)
    limit = nextstat.upper_limit(model, scan_values=[0.0, 1.0])
    tests = [yields.channels[0].samples[0], limit.scan, limit.cls_at_limit, nextstat.hypotest(model, 1.0).expected_set,
             nextstat.ranking(model).breakdown, nextstat.fit_toys(model, n_toys=20, seed=1).parameters[0]]
    for part in tests:
        kind = type(part)
        assert kind is not nextstat.types.Part, part
        missing = set(part) - set(kind.__annotations__)
        assert not missing, f"{kind.__name__} lacks {missing}"


def test_results_are_drawn_in_a_style(model, tmp_path):
    yields = nextstat.yields(model)
    style = {"names": {"signal": r"$t\bar{t}H$"}, "colours": {"signal": "#ff0000"}, "ratio": [0.5, 1.5], "include": ["SR"]}
    svg = nextstat.draw(yields, style=style, title="Search").svg
    assert "Search" in svg and "tt\u0304H" in svg and "#ff0000" in svg and ">CR<" not in svg
    file = tmp_path / "style.toml"
    file.write_text("experiment = 'Mine'\nenergy = '13 TeV'\n")
    result = nextstat.fit(model)
    saved = tmp_path / "fit.json"
    saved.write_text(json.dumps(result.to_dict()))
    picture = nextstat.draw(saved, tmp_path / "pulls.pdf", style=file)
    assert picture.svg == nextstat.draw(result, style=file).svg and (tmp_path / "pulls.pdf").stat().st_size > 1000
    assert "√s" in picture.svg and "Mine" in picture.svg
    assert nextstat.draw(result).svg == result.plot().svg
    toys = nextstat.hypotest_toys(model, 1.0, n_toys=30, device="cpu")
    assert nextstat.draw(toys).svg == toys.plot().svg
    summary = nextstat.draw(yields, kind="summary", before=nextstat.yields(model, prefit=True))
    assert summary.svg == result.plot(kind="summary").svg
    ranking = nextstat.ranking(model)
    assert nextstat.draw(ranking, kind="impacts").svg == ranking.plot(kind="impacts").svg
    for wrong, words in [
        (dict(kind="yields"), "the result has no picture 'yields'; it has pulls, correlation, poi-correlation"),
        (dict(style={"colour": 1}), "style: unknown field `colour`"),
        (dict(labels="mass"), "labels are for results of grids"),
    ]:
        with pytest.raises(ValueError, match=re.escape(words)):
            nextstat.draw(result, **wrong)
    with pytest.raises(TypeError, match="result must be a result, its dictionary or the path of its JSON, not int"):
        nextstat.draw(3)
