"""Decays with a resolution: the builder, limits in which a decay has another form, and RooFit, where it is installed."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import subprocess
import sys

import nextstat
import numpy as np
import pytest
from nextstat import build

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benches" / "peers"))
import lifetimes  # noqa: E402

EVENTS = 2000


def points(case: str) -> list[dict[str, float]]:
    """The starting point, and three others within the bounds."""
    shifts = [0.0, 0.05, -0.1, 0.15]
    return [{name: value + shift * (1 + i % 3) * min(value - low, high - value)
             for i, (name, (value, low, high)) in enumerate(lifetimes.PARAMETERS[case].items())} for shift in shifts]


@pytest.mark.parametrize("case", lifetimes.CASES)
def test_decays_are_those_of_roofit(case: str, tmp_path: pathlib.Path) -> None:
    if importlib.util.find_spec("ROOT") is None:
        pytest.skip(f"ROOT is not installed: the decay '{case}' was NOT compared with RooFit")
    where = tmp_path / "points.json"
    where.write_text(json.dumps(points(case)))
    call = [sys.executable, lifetimes.__file__, "--roofit", case, str(EVENTS), str(where)]
    done = subprocess.run(call, capture_output=True, text=True, timeout=600)
    assert done.stdout.strip(), done.stderr[-2000:]
    theirs = json.loads(done.stdout.strip().splitlines()[-1])
    model = nextstat.load_workspace(lifetimes.document(case, EVENTS))
    names = model.parameter_names
    ours = [model.nll([point[name] for name in names]) for point in points(case)]
    for mine, value in zip(ours[1:], theirs["nll"][1:]):
        assert mine - ours[0] == pytest.approx(value - theirs["nll"][0], rel=1e-8, abs=1e-9 * abs(theirs["nll"][0]))
    fit = nextstat.fit(model)
    there = model.nll([theirs["minimum"][name] for name in names])
    assert fit.converged and there - fit.nll > -1e-7


def built(sides="after", resolution=(0.1, 0.3), **waves):
    """A model of a decay with 500 events, and its parameters' values."""
    rng = np.random.default_rng(7)
    times = rng.exponential(1.5, 500) * (rng.choice([-1, 1], 500) if sides == "both" else 1) + rng.normal(0.1, 0.3, 500)
    m = build.ModelBuilder("decay")
    t, tau = m.observable("t", -20, 20), m.parameter("tau", 1.4, 0.1, 9)
    if waves:
        density = m.b_decay("d", t, tau, resolution=resolution, sides=sides, **waves)
    else:
        density = m.decay("d", t, tau, resolution, sides)
    m.channel("SR", density, data={"t": times})
    m.interest(tau)
    return m.model()


def test_equal_gaussians_are_one():
    both = built(resolution=[(0.3, 0.1, 0.3), (0.7, 0.1, 0.3)])
    assert both.nll([1.4]) == pytest.approx(built().nll([1.4]), rel=1e-13)


def test_a_decay_without_waves_is_a_decay():
    for sides in ("after", "both"):
        plain = built(sides).nll([1.4])
        assert built(sides, cosh=2).nll([1.4]) == pytest.approx(plain, rel=1e-13)
        assert built(sides, cosh=0, cos=1).nll([1.4]) == pytest.approx(plain, rel=1e-11)


def test_a_narrow_resolution_is_none():
    events = np.random.default_rng(3).exponential(1.5, 300)
    values = []
    for resolution in (None, (0, 1e-5)):
        m = build.ModelBuilder("narrow")
        t, tau = m.observable("t", 0.5, 9), m.parameter("tau", 1.4, 0.1, 9)
        m.channel("SR", m.decay("d", t, tau, resolution), data={"t": events[(events > 0.5) & (events < 9)]})
        values.append(m.model().nll([1.4]))
    assert values[0] == pytest.approx(values[1], rel=1e-9)


def test_a_density_at_given_observables_is_normalised_at_each_event():
    """A Gaussian far from the ends of the axis, divided by its integral, has the factor 1/sigma."""
    rng = np.random.default_rng(5)
    errors = rng.uniform(0.5, 2, 200)
    masses = rng.normal(50, errors)

    def nll(kind):
        m = build.ModelBuilder("given")
        x, error = m.observable("x", 0, 100), m.observable("error", 0.5, 2)
        mean, scale = m.parameter("mean", 50, 40, 60), m.parameter("scale", 1, 0.5, 2)
        density = m.gaussian("d", x, mean, scale * error)
        if kind == "times":
            density = m.product("p", m.given(density, error), m.uniform("u", error))
        else:
            density = m.given(density, error)
        m.channel("SR", density, data={"x": masses, "error": errors})
        m.interest(mean)
        return m.model().nll([50.2, 1.1])

    pulls = (masses - 50.2) / (1.1 * errors)
    want = np.sum(0.5 * pulls**2 + np.log(1.1 * errors * np.sqrt(2 * np.pi) * 1.5))
    assert nll("alone") == pytest.approx(want, rel=1e-12)
    assert nll("times") == pytest.approx(want, rel=1e-12)


def test_the_truth_of_the_file_is_found():
    model = nextstat.load_workspace(ROOT / "tests" / "fixtures" / "hs3" / "lifetime.hs3.json")
    fit = nextstat.fit(model)
    assert fit.converged and fit.uncertainty("tau") < 0.1
    for name, truth in (("tau", 1.5), ("scale", 1.2), ("delta_m", 0.5), ("asymmetry", 0.7)):
        assert abs(fit.value(name) - truth) < 4 * fit.uncertainty(name)


def test_mistakes_of_the_builder_say_what_to_do():
    m = build.ModelBuilder("wrong")
    t, tau = m.observable("t", 0, 9), m.parameter("tau", 1.4, 0.1, 9)
    with pytest.raises(ValueError, match="'after', 'before' or 'both'"):
        m.decay("d", t, tau, sides="left")
    with pytest.raises(ValueError, match="a pair .mean, sigma. or a list"):
        m.decay("e", t, tau, resolution=[(0, 1)])
