"""Posteriors against emcee, another sampler, on the package's own likelihood."""

import emcee
import nextstat
import numpy as np
import pytest

WALKERS, STEPS, BURN = 40, 2000, 400


def emcee_draws(model, ln_prior, seed):
    """Draws of all parameters (draws, parameters), and the number of independent ones for each parameter."""
    low, high = np.array(model.bounds, dtype=float).T
    fit = nextstat.fit(model)
    start = np.random.default_rng(seed).normal(fit.bestfit, 0.3 * fit.uncertainties, (WALKERS, len(low)))
    start = np.clip(start, low + 1e-3 * (high - low), high - 1e-3 * (high - low))

    def ln_posterior(x):
        return ln_prior(x) - model.nll(x) if np.all((x > low) & (x < high)) else -np.inf

    sampler = emcee.EnsembleSampler(WALKERS, len(low), ln_posterior)
    sampler.random_state = np.random.RandomState(seed).get_state()
    sampler.run_mcmc(start, STEPS, skip_initial_state_check=True)
    independent = WALKERS * (STEPS - BURN) / sampler.get_autocorr_time(discard=BURN, quiet=True)
    return sampler.get_chain(discard=BURN, flat=True), independent


@pytest.mark.parametrize("prior", [None, "exponential(0.5)"])
def test_marginals_are_those_of_emcee(fixtures, prior):
    model = nextstat.load_workspace(fixtures / "simple_workspace.json")
    priors = {"mu": prior} if prior else None
    ours = nextstat.sample(model, priors=priors, draws=2000, seed=11)
    poi = model.parameter_names.index("mu")
    draws, independent = emcee_draws(model, lambda x: -x[poi] / 0.5 if prior else 0.0, seed=3)
    assert ours.converged
    for i, name in enumerate(model.parameter_names):
        marginal, theirs = ours.parameter(name), draws[:, i]
        # Both have an error from the finite number of draws; that of a standard deviation is at most as large here.
        error = 4.0 * np.hypot(marginal.mean_error, theirs.std() / np.sqrt(independent[i]))
        assert marginal.mean == pytest.approx(theirs.mean(), abs=error), name
        assert marginal.sd == pytest.approx(theirs.std(), abs=error), name
    # The error of a quantile at 95 % is 2.1 times that of the mean of a normal distribution.
    limit = np.quantile(draws[:, poi], 0.95)
    error = 4.0 * np.hypot(ours.parameter("mu").upper_limit_error, 2.1 * draws[:, poi].std() / np.sqrt(independent[poi]))
    assert ours.parameter("mu").upper_limit == pytest.approx(limit, abs=error)
