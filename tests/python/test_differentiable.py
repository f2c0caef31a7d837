"""Values and derivatives of differentiable sessions, against the other analyses and Richardson's differences."""

import numpy as np
import pytest
from differentiable_models import FIXTURES, MODELS, all_modifiers, at_bounds, opened, replaced, two_bins

import nextstat

# Largest relative difference of values of two analyses that make the same fits.
SAME = 1e-10
# Largest difference of a derivative from that of differences, as a fraction of the largest element.
RELATIVE = 1e-6


def sizes(yields):
    """Return the largest sensible steps of the yields."""
    return np.where(yields == 0, 1.0, np.clip(np.abs(yields), 0.05, 1.0))


def richardson(function, yields, directions=None):
    """Return the Jacobian from central differences, extrapolated: for each element that of the steps that agree best.

    With directions, these are the derivatives along them. Large steps meet the edges of interpolation codes, small ones
    the tolerance of the fits behind an Asimov set.
    """
    yields = np.asarray(yields, float)
    if directions is None:
        return richardson(function, yields, np.diag(sizes(yields))) / sizes(yields)
    columns = []
    for direction in directions:
        found = []
        for h in (0.2, 0.05, 0.02, 0.005):
            steps = [h, h / 2, h / 4]
            rows = np.tile(yields, (6, 1))
            rows += np.outer([sign * step for step in steps for sign in (1, -1)], direction)
            values = np.asarray(function(rows))
            a, b, c = ((values[2 * k] - values[2 * k + 1]) / (2 * step) for k, step in enumerate(steps))
            ab, bc = (4 * b - a) / 3, (4 * c - b) / 3
            found.append((np.abs(bc - ab), (16 * bc - ab) / 15))
        distances, slopes = (np.array(each) for each in zip(*found))
        columns.append(np.take_along_axis(slopes, np.argmin(distances, axis=0)[None], axis=0)[0])
    return np.stack(columns, axis=-1)


def close(got, want):
    scale = np.max(np.abs(want), axis=-1, keepdims=True) + 1e-9
    worst = np.max(np.abs(got - want) / scale)
    assert worst <= RELATIVE, f"{worst:.2e}: {got} instead of {want}"


def along_directions(function, yields, jacobian, count=2):
    """Compare a Jacobian along directions that change all yields at once. Each yield alone would take minutes."""
    signs = np.random.default_rng(3).choice([-1.0, 1.0], (count, len(yields)))
    directions = signs * sizes(yields)
    close(jacobian @ directions.T, richardson(function, yields, directions))


def moved_nominal(session):
    """Return numbers near the nominal ones, which are no accident."""
    rng = np.random.default_rng(1)
    return session.nominal * rng.uniform(0.97, 1.05, session.nominal.shape)


@pytest.mark.parametrize("make", MODELS, ids=lambda make: make.__name__)
@pytest.mark.parametrize(
    "call",
    [
        lambda s, y: s.statistic("q0", 0.0, y),
        lambda s, y: s.statistic("qtilde", 2.5, y),
        lambda s, y: s.statistic("q", 2.5, y),
        lambda s, y: s.cls(2.5, y),
        lambda s, y: s.upper_limit(y),
        lambda s, y: s.significance(y),
        lambda s, y: s.uncertainty(y),
    ],
    ids=["q0", "qtilde", "q", "cls", "upper_limit", "significance", "uncertainty"],
)
def test_derivatives_are_those_of_differences(request, make, call):
    session = opened(make)
    yields = moved_nominal(session)
    values, jacobian, _ = call(session, yields)
    assert np.all(np.isfinite(values)), values
    # A limit takes a second or two.
    count = 1 if "upper_limit" in request.node.name else 3
    along_directions(lambda rows: call(session, rows)[0], yields, jacobian, count)


@pytest.mark.parametrize("make", MODELS, ids=lambda make: make.__name__)
def test_best_fits_are_pulled_back(make):
    session = opened(make)
    yields = moved_nominal(session)
    jacobian = richardson(lambda rows: session.best_fit(rows)[0], yields)
    params, one_sided, _ = session.best_fit(yields)
    assert not one_sided
    rows = np.tile(yields, (len(params), 1))
    _, _, fits = session.best_fit(rows)
    got = session.pull_back(fits, np.eye(len(params)))
    scale = np.max(np.abs(jacobian)) + 1e-9
    assert np.max(np.abs(got - jacobian)) <= RELATIVE * scale


@pytest.mark.parametrize("make", MODELS, ids=lambda make: make.__name__)
def test_values_are_those_of_the_other_analyses(make):
    session = opened(make)
    yields = moved_nominal(session)
    workspace = replaced(make, session, yields)
    if workspace is None:
        yields, workspace = session.nominal, make()[0]
    model = nextstat.load_workspace(workspace)
    options = {key: value for key, value in make()[2].items() if key == "asimov"}

    def same(got, want):
        got, want = np.asarray(got, float), np.asarray(want, float)
        assert np.allclose(got, want, rtol=SAME, atol=SAME), (got, want)

    test = nextstat.hypotest(model, 2.5, **options)
    same(session.cls(2.5, yields)[0], [test.cls, *test.expected_set["cls"]])
    same(session.statistic("qtilde", 2.5, yields)[0], test.q_obs)
    significance = nextstat.significance(model, **options)
    same(session.significance(yields)[0], [significance.z, significance.z_expected])
    same(session.statistic("q0", 0.0, yields)[0], significance.q0)
    limit = nextstat.upper_limit(model, **options)
    same(session.upper_limit(yields)[0], [limit.observed, *limit.expected])
    fit = nextstat.fit(model, **options)
    same(session.best_fit(yields)[0], fit.bestfit)
    # The Hessian is taken one Newton step nearer to the minimum.
    sigma = fit.uncertainties[model.parameter_names.index("mu")]
    assert np.allclose(session.uncertainty(yields)[0], sigma, rtol=1e-7)


def test_the_likelihood_is_that_of_the_model():
    session = opened(all_modifiers, nextstat.DifferentiableSession)
    model = nextstat.load_workspace(all_modifiers()[0])
    params = session.init * 1.01 + 0.01
    value, by_yields, by_params = session.nll(session.nominal, params)
    assert value == model.nll(params)
    assert np.array_equal(by_params, model.grad_nll(params))
    close(by_yields, richardson(lambda rows: session.nll(rows, params)[0], session.nominal))
    rng = np.random.default_rng(2)
    v, w = rng.normal(size=by_yields.shape), rng.normal(size=by_params.shape)
    second_yields, second_params = session.nll_along(session.nominal, params, v, w)
    h = 1e-4
    ahead = session.nll(session.nominal + h * v, params + h * w)
    behind = session.nll(session.nominal - h * v, params - h * w)
    for got, a, b in [(second_yields, ahead[1], behind[1]), (second_params, ahead[2], behind[2])]:
        want = (a - b) / (2 * h)
        assert np.allclose(got, want, rtol=1e-6, atol=1e-6 * np.max(np.abs(want)))


def test_batches_have_the_rows_of_single_calls():
    session = opened(all_modifiers, threads=2)
    rows = session.nominal * np.linspace(0.95, 1.1, 5)[:, None]
    values, jacobian, one_sided = session.cls(2.0, rows)
    assert values.shape == (5, 6) and jacobian.shape == (5, 6, rows.shape[1]) and one_sided.shape == (5, 6)
    for i, row in enumerate(rows):
        single = session.cls(2.0, row)
        assert np.array_equal(values[i], single[0]) and np.array_equal(jacobian[i], single[1])


def test_warm_fits_agree_with_cold_ones():
    cold, warm = opened(all_modifiers), opened(all_modifiers, warm=True)
    for scale in np.linspace(1.0, 1.1, 5):
        for got, want in zip(warm.statistic("q0", 0.0, scale * warm.nominal), cold.statistic("q0", 0.0, scale * cold.nominal)):
            assert np.allclose(got, want, rtol=1e-8, atol=1e-8)


def test_rows_without_a_result_are_nan_or_an_error():
    session = opened(all_modifiers)
    rows = np.tile(session.nominal, (2, 1))
    rows[1, 0] = np.nan
    values, jacobian, _ = session.significance(rows)
    assert np.all(np.isfinite(values[0])) and np.all(np.isnan(values[1])) and np.all(np.isnan(jacobian[1]))
    with pytest.raises(ValueError, match=r"yields\[0\] is NaN; give a finite number"):
        session.significance(rows, check=True)


def test_a_statistic_of_zero_is_flat_and_one_sided_where_it_begins():
    session = opened(two_bins)
    value, jacobian, _ = session.statistic("qtilde", 0.5, session.nominal)
    assert value == 0.0 and np.all(jacobian == 0.0)


@pytest.mark.parametrize("follow", [["templates"], ["staterror"], ["shapesys"], ["templates", "staterror", "shapesys"]])
def test_what_follows_the_yields_has_a_part_in_derivatives(follow):
    workspace, _, _ = all_modifiers()
    model = nextstat.load_workspace(workspace)
    session = nextstat.ProfiledDifferentiableSession(model, ["top", "fakes"], follow=follow)
    want = nextstat.significance(model)
    assert np.allclose(session.significance(session.nominal)[0], [want.z, want.z_expected], rtol=1e-10)
    yields = moved_nominal(session)
    for call in (lambda y: session.significance(y), lambda y: session.statistic("qtilde", 2.5, y)):
        values, jacobian, _ = call(yields)
        along_directions(lambda rows, call=call: call(rows)[0], yields, jacobian)
    held = nextstat.ProfiledDifferentiableSession(model, ["top", "fakes"])
    assert abs(held.significance(yields)[0][0] - session.significance(yields)[0][0]) > 1e-6


def test_absolute_uncertainties_are_those_of_an_edited_workspace():
    workspace, _, _ = all_modifiers()
    model = nextstat.load_workspace(workspace)
    session = nextstat.ProfiledDifferentiableSession(model, ["fakes"], follow=["staterror", "shapesys"])
    yields = moved_nominal(session)
    workspace["channels"][0]["samples"][2]["data"] = list(yields)
    edited = nextstat.load_workspace(workspace)
    want = nextstat.significance(edited)
    assert np.allclose(session.significance(yields)[0], [want.z, want.z_expected], rtol=1e-9)


def test_any_parameter_can_be_of_interest():
    session = opened(all_modifiers, poi="trigger")
    yields = moved_nominal(session)
    value, jacobian, _ = session.uncertainty(yields)
    close(jacobian, richardson(lambda rows: session.uncertainty(rows)[0], yields))
    assert 0.5 < value <= 1.0


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (["sgnal"], "no sample is called 'sgnal'; there are"),
        ([("nominal", "SR", "nothing")], "no sample 'nothing'"),
        ([("histosys_hi", "SR", "signal", "trigger")], "no histosys 'trigger'"),
        ([("shapesys", "stat_SR")], "no parameter of the set 'stat_SR' has a Poisson constraint"),
        ([("colour", "SR", "signal")], "is not one of"),
        (["signal", "signal"], r'input \("nominal", "SR", "signal"\) is given twice; give it once'),
        ([("staterror", "stat_SR")] * 2, r'input \("staterror", "stat_SR"\) is given twice'),
        ([], "there are no inputs"),
    ],
)
def test_wrong_inputs_are_named(inputs, message):
    model = nextstat.load_workspace(all_modifiers()[0])
    with pytest.raises(ValueError, match=message):
        nextstat.ProfiledDifferentiableSession(model, inputs)


def test_inputs_of_a_model_of_events_are_refused_with_what_can_be_given():
    model = nextstat.load_workspace(FIXTURES / "events" / "diphoton.hs3.json")
    with pytest.raises(ValueError, match="no sample is called 'x': the model has no HistFactory channels") as raised:
        nextstat.DifferentiableSession(model, ["x"])
    assert '("nominal", channel, sample)' in str(raised.value) and "Model.grad_nll" in str(raised.value)


@pytest.mark.parametrize("test_stat", ["qtilde", "q"])
@pytest.mark.parametrize("mu", [0.0, -1.0])
def test_cls_without_power_is_that_of_hypotest(mu, test_stat):
    workspace, inputs, _ = all_modifiers()
    model = nextstat.load_workspace(workspace)
    session = nextstat.ProfiledDifferentiableSession(model, inputs)
    values, jacobian, _ = session.cls(mu, session.nominal, test_stat=test_stat, check=True)
    want = nextstat.hypotest(model, mu, test_stat=test_stat)
    assert list(values) == [want.cls, *want.expected_set["cls"]] == [1.0] * 6
    assert np.all(jacobian == 0.0)


@pytest.mark.parametrize(("kind", "name"), [("staterror", "stat_SR"), ("shapesys", "fake_rate")])
def test_an_input_that_is_given_does_not_follow(kind, name):
    workspace, _, _ = all_modifiers()
    model = nextstat.load_workspace(workspace)
    inputs = ["top", "fakes", (kind, name)]
    made = [nextstat.ProfiledDifferentiableSession(model, inputs, follow=follow) for follow in ([], [kind])]
    yields = moved_nominal(made[0])
    held, followed = (session.significance(yields)[0] for session in made)
    assert np.array_equal(held, followed)


def test_wrong_shapes_are_named():
    session = opened(at_bounds)
    with pytest.raises(ValueError, match="yields must have 3 elements in a row"):
        session.significance(np.ones(4))
    likelihood = opened(at_bounds, nextstat.DifferentiableSession)
    with pytest.raises(ValueError, match="batches have 2 and 3 rows"):
        likelihood.nll(np.ones((2, 3)), np.ones((3, len(likelihood.parameter_names))))
    with pytest.raises(ValueError, match="model has no parameter 'nu'"):
        opened(at_bounds, poi="nu")
