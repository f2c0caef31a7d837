"""Messages for Python users: they name no flags of the command line, and the true cause of the error."""

import json

import pytest

import nextstat


@pytest.fixture
def spec(fixtures):
    return json.loads((fixtures / "simple_workspace.json").read_text())


def test_unknown_names_come_with_the_python_call_that_lists_them(spec):
    model = nextstat.load_workspace(spec)
    for call in (
        lambda name: nextstat.fit(model, fixed={name: 1.0}),
        lambda name: nextstat.profile_scan(model, param=name),
        lambda name: nextstat.ranking(model, groups={"jets": [name]}),
    ):
        for name in ("jet_scael", "nobody"):
            with pytest.raises(ValueError, match=r"`Model\.parameter_names\(\)` lists all") as caught:
                call(name)
            assert "nextstat inspect" not in str(caught.value) and "--" not in str(caught.value)


def test_a_huge_observation_is_named_and_no_constraint(spec):
    spec["observations"][0]["data"][0] = 1e307
    with pytest.raises(nextstat.ConvergenceError, match="correct the observation") as caught:
        nextstat.fit(nextstat.load_workspace(spec))
    assert "bin 0 of channel 'SR'" in str(caught.value) and "constraint" not in str(caught.value)


def test_negative_expectations_are_not_called_counts(spec):
    for sample in spec["channels"][0]["samples"]:
        sample["data"][0] = -50.0
    spec["observations"][0]["data"][0] = 0.0
    model = nextstat.load_workspace(spec)
    for call in (lambda: nextstat.fit(model, asimov=1.0), lambda: model.toy_data(model.suggested_init(), 3)):
        with pytest.raises(ValueError, match="expects -") as caught:
            call()
        assert "counts" not in str(caught.value) and "check for negative yields" in str(caught.value)


def test_pictures_warn_of_names_that_no_font_has(spec, tmp_path, recwarn):
    text = json.dumps(spec).replace("jet_scale", "\U000f0000")  # private use: in no font
    picture = nextstat.fit(nextstat.load_workspace(json.loads(text))).plot()
    picture.save(tmp_path / "pulls.svg")
    assert not [w for w in recwarn if "no font" in str(w.message)]
    with pytest.warns(UserWarning, match="no font of this machine has"):
        picture.save(tmp_path / "pulls.png")
    with pytest.warns(UserWarning, match="or write SVG"):
        picture.pdf()
