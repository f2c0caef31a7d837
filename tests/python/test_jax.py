"""nextstat.jax: derivatives, jit and vmap. JAX is not among what the tests install; with it, they run."""

import numpy as np
import pytest
from differentiable_models import all_modifiers, every_number, opened

import nextstat

jax = pytest.importorskip("jax", reason="JAX is not installed: the tests of nextstat.jax are left out")

import jax.numpy as jnp  # noqa: E402

import nextstat.jax as nj  # noqa: E402


@pytest.fixture(autouse=True)
def doubles():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


FUNCTIONS = {
    "q0": (nj.q0, lambda s, y: s.statistic("q0", 0.0, y)),
    "q_mu": (lambda s, y: nj.q_mu(s, 2.5, y), lambda s, y: s.statistic("q", 2.5, y)),
    "qtilde_mu": (lambda s, y: nj.qtilde_mu(s, 2.5, y), lambda s, y: s.statistic("qtilde", 2.5, y)),
    "cls": (lambda s, y: nj.cls(s, 2.5, y), lambda s, y: s.cls(2.5, y)),
    "upper_limit": (nj.upper_limit, lambda s, y: s.upper_limit(y)),
    "significance": (nj.significance, lambda s, y: s.significance(y)),
    "uncertainty": (nj.uncertainty, lambda s, y: s.uncertainty(y)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("make", [all_modifiers, every_number], ids=lambda make: make.__name__)
def test_functions_have_the_derivatives_of_the_session(make, name):
    session = opened(make)
    function, own = FUNCTIONS[name]
    value, jacobian, _ = own(session, session.nominal)
    call = lambda y: function(session, y)  # noqa: E731
    assert np.array_equal(jax.jit(call)(session.nominal), value)
    assert np.allclose(jax.jacrev(call)(session.nominal), jacobian, rtol=1e-12)
    rows = session.nominal * np.linspace(0.98, 1.04, 3)[:, None]
    values, jacobians, _ = own(session, rows)
    assert np.array_equal(jax.vmap(call)(rows), values)
    assert np.allclose(jax.jit(jax.vmap(jax.jacrev(call)))(rows), jacobians, rtol=1e-12)


def test_the_likelihood_has_second_derivatives():
    session = opened(all_modifiers, nextstat.DifferentiableSession)
    params = session.init * 1.01
    call = lambda y, p: nj.nll(session, y, p)  # noqa: E731
    value, by_yields, by_params = session.nll(session.nominal, params)
    got = jax.value_and_grad(call, argnums=(0, 1))(session.nominal, params)
    assert got[0] == value and np.array_equal(got[1][0], by_yields) and np.array_equal(got[1][1], by_params)
    hessian = jax.jacrev(jax.grad(call, argnums=1), argnums=1)(session.nominal, params)
    model = nextstat.load_workspace(all_modifiers()[0])
    assert np.allclose(hessian, model.hessian(params), rtol=1e-9, atol=1e-9)


def test_best_fits_are_pulled_back():
    session = opened(all_modifiers)
    jacobian = jax.jacrev(lambda y: nj.best_fit(session, y))(session.nominal)
    params, _, _ = session.best_fit(session.nominal)
    _, _, fits = session.best_fit(np.tile(session.nominal, (len(params), 1)))
    assert np.allclose(jacobian, session.pull_back(fits, np.eye(len(params))), rtol=1e-12)


def test_single_precision_is_rounded():
    session = opened(all_modifiers)
    value = nj.q0(session, jnp.asarray(session.nominal, dtype=jnp.float32))
    assert value.dtype == jnp.float32
    assert np.allclose(value, session.statistic("q0", 0.0, session.nominal)[0], rtol=1e-4)


def test_wrong_arrays_are_named():
    session = opened(all_modifiers)
    with pytest.raises(TypeError, match="must be floating-point numbers, not int64"):
        nj.q0(session, jnp.ones(3, dtype=jnp.int64))
    with pytest.raises(ValueError, match="the last dimension of yields must have"):
        nj.q0(session, jnp.ones(3))


def test_a_session_of_the_wrong_kind_is_named(capfd):
    profiled, likelihood = opened(all_modifiers), opened(all_modifiers, nextstat.DifferentiableSession)
    with pytest.raises(TypeError, match="nll needs a nextstat.DifferentiableSession, not a ProfiledDifferentiableSession"):
        nj.nll(profiled, jnp.asarray(profiled.nominal), jnp.asarray(likelihood.init))
    for call in (nj.q0, nj.significance, nj.best_fit, lambda s, y: nj.cls(s, 1.0, y)):
        with pytest.raises(TypeError, match="needs a nextstat.ProfiledDifferentiableSession, not a DifferentiableSession"):
            call(likelihood, jnp.asarray(profiled.nominal))
    assert "Traceback" not in capfd.readouterr().err


def test_histograms_have_gradients():
    x, edges = jnp.linspace(0.0, 1.0, 21), jnp.array([-jnp.inf, 0.3, 0.6, jnp.inf])
    for histogram in (nj.kde_histogram, nj.soft_histogram):
        assert np.allclose(histogram(x, edges, 0.05).sum(), 21.0)
        assert np.allclose(histogram(x, edges, 1e-6), [6.0, 6.0, 9.0], atol=0.6)
        slope = jax.grad(lambda x, histogram=histogram: histogram(x, edges, 0.05)[1])(x)
        assert np.all(np.isfinite(slope)) and np.any(slope != 0.0)
