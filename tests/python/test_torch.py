"""nextstat.torch: gradcheck of every function on several models, batches, types, messages, and a training loop.

PyTorch's wheels for Linux bring gigabytes of CUDA libraries, so that it is not among what the tests install:
``pip install torch`` into the environment runs these tests.
"""

import warnings

import numpy as np
import pytest
from differentiable_models import MODELS, abcd, all_modifiers, at_bounds, eft, empty_bins, opened, two_bins, without_rates

import nextstat

torch = pytest.importorskip("torch", reason="PyTorch is not installed: the tests of nextstat.torch are left out")

import nextstat.torch as nt  # noqa: E402

FUNCTIONS = {
    "q0": nt.q0,
    "q_mu": lambda s, y: nt.q_mu(s, 2.5, y),
    "qtilde_mu": lambda s, y: nt.qtilde_mu(s, 2.5, y),
    "cls": lambda s, y: nt.cls(s, 2.5, y),
    "upper_limit": nt.upper_limit,
    "significance": nt.significance,
    "uncertainty": nt.uncertainty,
    "best_fit": nt.best_fit,
}


def moved(session, **options):
    rng = np.random.default_rng(1)
    numbers = session.nominal * rng.uniform(0.97, 1.05, session.nominal.shape)
    return torch.tensor(numbers, requires_grad=True, **options)


@pytest.mark.parametrize("make", MODELS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradcheck(make, name):
    session = opened(make)
    yields = moved(session)
    function = FUNCTIONS[name]
    # Steps across yields of 0 are steps to negative yields, which are defined as long as the bin expects events.
    assert torch.autograd.gradcheck(
        lambda y: function(session, y), (yields,), eps=1e-3, atol=1e-5, rtol=1e-4, raise_exception=True
    )


LIKELIHOODS = [all_modifiers, without_rates, at_bounds, empty_bins, abcd, eft]


@pytest.mark.parametrize("make", LIKELIHOODS, ids=lambda make: make.__name__)
def test_gradcheck_of_the_likelihood_and_of_its_derivatives(make):
    session = opened(make, nextstat.DifferentiableSession)
    yields = moved(session)
    rng = np.random.default_rng(3)
    params = session.init + 0.02 * rng.uniform(0.1, 1.0, len(session.parameter_names))
    params = torch.tensor(params, requires_grad=True)
    assert torch.autograd.gradcheck(lambda y, p: nt.nll(session, y, p), (yields, params), eps=1e-4)
    assert torch.autograd.gradgradcheck(lambda y, p: nt.nll(session, y, p), (yields, params), eps=1e-4, atol=1e-4)


def test_other_second_derivatives_are_refused():
    session = opened(all_modifiers)
    yields = moved(session)
    for name, function in FUNCTIONS.items():
        (first,) = torch.autograd.grad(function(session, yields).sum(), yields, create_graph=True)
        with pytest.raises(RuntimeError, match=f"second derivatives of {name} are not computed"):
            first.sum().backward()


def test_float32_is_rounded_float64():
    session = opened(all_modifiers)
    yields = moved(session)
    single = yields.detach().float().requires_grad_()
    for tensor in (yields, single):
        nt.significance(session, tensor)[1].backward()
    assert single.grad.dtype == torch.float32
    assert torch.allclose(single.grad.double(), yields.grad, rtol=1e-4)


def test_batches_and_vmap_are_rows():
    session = opened(all_modifiers, warm=False)
    base = moved(session)
    batch = (base.detach() * torch.linspace(0.95, 1.05, 6, dtype=torch.float64)[:, None]).reshape(2, 3, -1)
    for name, function in FUNCTIONS.items():
        together = function(session, batch)
        single = torch.stack([function(session, row) for row in batch.reshape(6, -1)])
        assert torch.equal(together.reshape(single.shape), single), name
        mapped = torch.func.vmap(lambda row, function=function: function(session, row))(batch.reshape(6, -1))
        assert torch.equal(mapped, single), name
    jacobian = torch.func.vmap(torch.func.grad(lambda row: nt.q0(session, row)))(batch.reshape(6, -1))
    leaf = batch.reshape(6, -1).clone().requires_grad_()
    nt.q0(session, leaf).sum().backward()
    assert torch.equal(jacobian, leaf.grad)
    likelihood = opened(all_modifiers, nextstat.DifferentiableSession)
    params = torch.tensor(likelihood.init)
    mapped = torch.func.vmap(lambda row: nt.nll(likelihood, row, params))(batch.reshape(6, -1))
    assert torch.equal(mapped, nt.nll(likelihood, batch, params).reshape(-1))


def test_modules_are_the_functions():
    session = opened(all_modifiers, warm=False)
    yields = moved(session)
    pairs = [
        (nt.TestStatistic(session), nt.q0(session, yields)),
        (nt.TestStatistic(session, test_stat="qtilde", mu=2.5), nt.qtilde_mu(session, 2.5, yields)),
        (nt.CLs(session, 2.5), nt.cls(session, 2.5, yields)),
        (nt.UpperLimit(session), nt.upper_limit(session, yields)),
        (nt.Significance(session), nt.significance(session, yields)),
        (nt.BestFit(session), nt.best_fit(session, yields)),
        (nt.Uncertainty(session), nt.uncertainty(session, yields)),
    ]
    for module, value in pairs:
        assert torch.equal(module(yields), value)
        assert not list(module.parameters())
    likelihood = opened(all_modifiers, nextstat.DifferentiableSession)
    params = torch.tensor(likelihood.init)
    assert torch.equal(nt.Likelihood(likelihood)(yields, params), nt.nll(likelihood, yields, params))


def test_parts_of_yields_are_joined():
    session = opened(all_modifiers, warm=False)
    yields = moved(session)
    parts = [yields[first:end] for _, (first, end) in session.inputs]
    assert torch.equal(nt.q0(session, parts), nt.q0(session, yields))


def test_numbers_that_are_not_finite_give_nan_or_an_error():
    session = opened(all_modifiers)
    yields = moved(session).detach()
    yields[0] = torch.inf
    assert torch.isnan(nt.significance(session, yields)).all()
    with pytest.raises(ValueError, match="finite"):
        nt.significance(session, yields, check=True)


def test_one_sided_derivatives_are_said_once():
    session = opened(two_bins)
    yields = torch.tensor(session.nominal, requires_grad=True)
    # The Asimov set of mu = 1: q of the value 1 is 0, where it begins to rise.
    with pytest.warns(nt.OneSidedWarning, match="one side alone"):
        nt.qtilde_mu(session, 1.0, yields)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nt.qtilde_mu(session, 1.0, yields)


def test_each_of_six_sessions_in_a_row_says_it():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(6):
            # Python uses the address of a session that is gone again.
            session = opened(two_bins)
            nt.qtilde_mu(session, 1.0, torch.tensor(session.nominal, requires_grad=True))
            del session
    assert sum(issubclass(one.category, nt.OneSidedWarning) for one in said) == 6


def test_a_session_of_the_wrong_kind_is_named():
    profiled, likelihood = opened(two_bins), opened(two_bins, nextstat.DifferentiableSession)
    yields = torch.tensor(profiled.nominal)
    params = torch.tensor(likelihood.init)
    with pytest.raises(TypeError, match="nll needs a nextstat.DifferentiableSession, not a ProfiledDifferentiableSession"):
        nt.nll(profiled, yields, params)
    calls = {
        "q0": nt.q0,
        "q_mu": lambda s, y: nt.q_mu(s, 1.0, y),
        "qtilde_mu": lambda s, y: nt.qtilde_mu(s, 1.0, y),
        "cls": lambda s, y: nt.cls(s, 1.0, y),
        "upper_limit": nt.upper_limit,
        "significance": nt.significance,
        "uncertainty": nt.uncertainty,
        "best_fit": nt.best_fit,
    }
    for name, call in calls.items():
        with pytest.raises(TypeError, match=f"{name} needs a nextstat.ProfiledDifferentiableSession, not a Diff"):
            call(likelihood, yields)
    with pytest.raises(TypeError, match="not a dict"):
        nt.q0({}, yields)


@pytest.mark.parametrize("mu", [0.0, -1.0])
def test_cls_without_power_is_1_with_gradients_of_0(mu):
    session = opened(all_modifiers)
    yields = torch.tensor(session.nominal, requires_grad=True)
    values = nt.cls(session, mu, yields)
    assert torch.equal(values, torch.ones(6, dtype=torch.float64))
    values.sum().backward()
    assert torch.equal(yields.grad, torch.zeros_like(yields))


@pytest.mark.parametrize(
    ("yields", "error", "message"),
    [
        (lambda n: torch.ones(n, dtype=torch.int64), TypeError, "must be float64 or float32, not torch.int64"),
        (lambda n: torch.ones(n + 1, dtype=torch.float64), ValueError, "the last dimension of yields must have 3"),
        (lambda n: torch.ones(n, dtype=torch.float64).to_sparse(), ValueError, "dense tensor"),
        (lambda n: torch.ones(n, dtype=torch.float64, device="meta"), ValueError, "device meta"),
        (lambda n: [1.0, 2.0, 3.0], TypeError, "must be a tensor, or a list of tensors"),
    ],
)
def test_wrong_tensors_are_named(yields, error, message):
    session = opened(empty_bins)
    with pytest.raises(error, match=message):
        nt.q0(session, yields(session.nominal.shape[0]))


def test_histograms_have_gradients_for_events_and_edges():
    generator = torch.Generator().manual_seed(1)
    x = torch.rand(40, dtype=torch.float64, generator=generator, requires_grad=True)
    edges = torch.tensor([-torch.inf, 0.3, 0.6, torch.inf], dtype=torch.float64)
    weights = torch.rand(40, dtype=torch.float64, generator=generator, requires_grad=True)
    for histogram in (nt.kde_histogram, nt.soft_histogram):
        inner = torch.tensor([0.3, 0.6], dtype=torch.float64, requires_grad=True)
        limits = torch.tensor([torch.inf], dtype=torch.float64)
        make = lambda x, inner, w, histogram=histogram: histogram(x, torch.cat([-limits, inner, limits]), 0.05, w)  # noqa: E731
        assert torch.autograd.gradcheck(make, (x, inner, weights))
        assert torch.allclose(histogram(x, edges, 0.05, weights).sum(), weights.sum())
        hard = torch.stack([weights[(x >= a) & (x < b)].sum() for a, b in zip(edges[:-1], edges[1:], strict=True)])
        assert torch.allclose(histogram(x, edges, 1e-7, weights), hard)
        assert histogram(x.expand(2, 40), edges, 0.05).shape == (2, 3)


def test_training_lowers_the_loss_and_two_runs_are_the_same():
    def train():
        session = opened(two_bins)
        nominal = torch.tensor(session.nominal)
        scale = torch.zeros(len(nominal), dtype=torch.float64, requires_grad=True)
        optimiser = torch.optim.Adam([scale], lr=0.05)
        losses = []
        for _ in range(30):
            # A fixed sum of signal, which moves between the bins.
            yields = nominal.sum() * torch.softmax(torch.log(nominal) + scale, dim=0)
            loss = -nt.q0(session, yields)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
        return losses

    first, second = train(), train()
    assert first == second
    assert first[-1] < first[0] - 1e-3
