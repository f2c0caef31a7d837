"""nextstat.torch on an NVIDIA GPU: the likelihood of tensors there, read and written in place."""

import numpy as np
import pytest
from differentiable_models import (
    MODELS,
    all_modifiers,
    at_bounds,
    empty_bins,
    every_number,
    opened,
    two_bins,
    without_rates,
)

import nextstat

torch = pytest.importorskip("torch", reason="PyTorch is not installed: the tests of nextstat.torch are left out")

import nextstat.torch as nt  # noqa: E402

if not (torch.cuda.is_available() and nextstat.has_cuda()):
    pytest.skip("there is no NVIDIA GPU: nextstat.torch was NOT tested on one", allow_module_level=True)

CASES = [all_modifiers, without_rates, at_bounds, empty_bins]
IDS = {"ids": lambda make: make.__name__}


def all_samples():
    """Yields of all samples on which modifiers act that can follow them."""
    workspace, _, _ = all_modifiers()
    return workspace, ["signal", "top", "fakes"], {}


def all_samples_and_widths():
    """The same yields with the widths."""
    workspace, inputs, _ = all_samples()
    return workspace, [*inputs, ("staterror", "stat_SR"), ("shapesys", "fake_rate")], {}


EVERY = ["templates", "staterror", "shapesys"]
# Models and options with which other numbers of the model, or data, change with the inputs.
CHANGING = {
    **{f"{name} of all samples": (all_samples, {"follow": [name]}) for name in EVERY},
    **{f"{name} of every number": (every_number, {"follow": [name]}) for name in EVERY},
    "all that follows": (all_samples, {"follow": EVERY}),
    "Asimov data": (all_samples, {"asimov": 1.0}),
    "Asimov data of an empty signal": (empty_bins, {"asimov": 1.0}),
    "Asimov data of two bins": (two_bins, {}),
    "Asimov data and all that follows": (all_samples, {"asimov": 1.5, "follow": EVERY}),
    "auxiliary data": (every_number, {}),
    "auxiliary data and yields": (all_samples_and_widths, {}),
    "auxiliary data and templates": (all_samples_and_widths, {"follow": ["templates"]}),
    "Asimov data of every number": (every_number, {"asimov": True}),
    "Asimov data of yields and widths": (all_samples_and_widths, {"asimov": 1.0, "follow": ["templates"]}),
}
# A session whose data are constant, and one where all that can follow the inputs does.
KINDS = {"constant": CASES[0], "changing": all_samples}


def session_of(make, device="cuda:0", **options):
    return opened(make, nextstat.DifferentiableSession, device=device, **options)


def of_kind(kind, device="cuda:0"):
    return session_of(KINDS[kind], device, **({} if kind == "constant" else {"asimov": 1.0, "follow": EVERY}))


def rows(session, n_rows, seed=1):
    rng = np.random.default_rng(seed)
    yields = session.nominal * rng.uniform(0.95, 1.05, (n_rows, len(session.nominal)))
    params = session.init + 0.05 * rng.uniform(-1.0, 1.0, (n_rows, len(session.parameter_names)))
    return torch.tensor(yields, device="cuda"), torch.tensor(params, device="cuda")


def compare(there, here):
    """Compare a session on a GPU with one on the CPU."""
    for n_rows in (1, 7, 2000):
        yields, params = (x.requires_grad_() for x in rows(there, n_rows))
        value = nt.nll(there, yields, params)
        by = torch.autograd.grad(value.sum(), (yields, params))
        cpu = [x.detach().cpu().requires_grad_() for x in (yields, params)]
        want = nt.nll(here, *cpu)
        by_want = torch.autograd.grad(want.sum(), cpu)
        assert value.device.type == "cuda"
        for got, expected in zip((value, *by), (want, *by_want), strict=True):
            assert torch.allclose(got.detach().cpu(), expected.detach(), rtol=1e-11, atol=1e-10)


@pytest.mark.parametrize("make", CASES, **IDS)
def test_values_and_derivatives_are_those_of_the_cpu(make):
    compare(session_of(make), session_of(make, "cpu"))


@pytest.mark.parametrize("name", CHANGING)
def test_what_changes_with_the_inputs_is_that_of_the_cpu(name):
    make, options = CHANGING[name]
    compare(session_of(make, **options), session_of(make, "cpu", **options))


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("name", CHANGING)
def test_gradcheck_of_what_changes_with_the_inputs(name, single):
    make, options = CHANGING[name]
    session = session_of(make, **options)
    yields, params = ((x[0] if single else x).clone().requires_grad_() for x in rows(session, 2))
    assert torch.autograd.gradcheck(lambda y, p: nt.nll(session, y, p), (yields, params), eps=1e-4)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("make", CASES, **IDS)
def test_gradcheck(make, single):
    session = session_of(make)
    yields, params = ((x[0] if single else x).clone().requires_grad_() for x in rows(session, 2))
    assert torch.autograd.gradcheck(lambda y, p: nt.nll(session, y, p), (yields, params), eps=1e-4)
    assert torch.autograd.gradgradcheck(lambda y, p: nt.nll(session, y, p), (yields, params), eps=1e-4, atol=1e-4)


PROFILED = {
    "q0": nt.q0,
    "q_mu": lambda s, y: nt.q_mu(s, 2.5, y),
    "qtilde_mu": lambda s, y: nt.qtilde_mu(s, 2.5, y),
    "cls": lambda s, y: nt.cls(s, 2.5, y),
    "upper_limit": nt.upper_limit,
    "significance": nt.significance,
    "uncertainty": nt.uncertainty,
    "best_fit": nt.best_fit,
}


@pytest.mark.parametrize("make", MODELS, **IDS)
@pytest.mark.parametrize("name", PROFILED)
def test_gradcheck_of_fits_for_tensors_of_a_gpu(make, name):
    session = opened(make)
    rng = np.random.default_rng(1)
    numbers = session.nominal * rng.uniform(0.97, 1.05, session.nominal.shape)
    yields = torch.tensor(numbers, device="cuda", requires_grad=True)
    value = PROFILED[name](session, yields)
    assert value.device.type == "cuda"
    assert torch.autograd.gradcheck(
        lambda y: PROFILED[name](session, y), (yields,), eps=1e-3, atol=1e-5, rtol=1e-4, raise_exception=True
    )


def test_float32_is_rounded_float64():
    session = session_of(all_modifiers)
    yields, params = rows(session, 5)
    single = nt.nll(session, yields.float(), params.float())
    assert single.dtype == torch.float32
    assert torch.allclose(single.double(), nt.nll(session, yields, params), rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_work_is_part_of_the_current_stream(kind):
    session = of_kind(kind)
    yields, params = rows(session, 64)
    torch.cuda.synchronize()
    want = nt.nll(session, yields, params).cpu()
    streams = [torch.cuda.Stream() for _ in range(3)]
    results = []
    for i in range(60):
        stream = streams[i % 3]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            # Long work before the input is there, which a call beside the stream would not wait for.
            moved = torch.full_like(yields, float("nan"))
            torch.cuda._sleep(1_000_000)
            moved.copy_(yields)
            results.append(nt.nll(session, moved, params))
    torch.cuda.synchronize()
    for result in results:
        assert torch.equal(result.cpu(), want)


@pytest.mark.parametrize("kind", KINDS)
def test_calls_do_not_wait_for_the_gpu(kind):
    session = of_kind(kind)
    yields, params = rows(session, 1)
    nt.nll(session, yields, params)
    torch.cuda.synchronize()
    # Half a second of work of the GPU.
    torch.cuda._sleep(1_000_000_000)
    nt.nll(session, yields, params)
    still_busy = not torch.cuda.current_stream().query()
    torch.cuda.synchronize()
    assert still_busy


def test_arrays_of_other_libraries_are_written_in_place():
    session = session_of(all_modifiers)
    yields, params = rows(session, 3)
    n, m = yields.shape[1], params.shape[1]
    new = lambda *shape: torch.empty(*shape, dtype=torch.float64, device="cuda")  # noqa: E731
    value, by_yields, by_params = new(3), new(3, n), new(3, m)
    status = torch.empty(3, dtype=torch.int32, device="cuda")
    results = {"value": value, "by_yields": by_yields, "by_params": by_params, "status": status}
    session.enqueue_nll(yields, params[0].contiguous(), **results)
    torch.cuda.synchronize()
    assert torch.equal(value, nt.nll(session, yields, params[:1].expand(3, m)))
    assert status.tolist() == [0, 0, 0]
    for changes, error, message in [
        ({"value": new(4)}, ValueError, "value must have the shape"),
        ({"value": value.float()}, TypeError, "value must have numbers of type <f8, not <f4"),
        ({"by_params": new(m, 3).t()}, ValueError, "by_params has gaps or another order"),
        ({"status": np.zeros(3, dtype=np.int32)}, TypeError, "status must be an array on the GPU"),
    ]:
        with pytest.raises(error, match=message):
            session.enqueue_nll(yields, params, **{**results, **changes})
    pinned = torch.empty(3, dtype=torch.float64).pin_memory()

    class OfTheHost:
        __cuda_array_interface__ = {**value.__cuda_array_interface__, "data": (pinned.data_ptr(), False)}

    with pytest.raises(ValueError, match="not in memory of cuda:0: it is in memory of the host"):
        session.enqueue_nll(yields, params, **{**results, "value": OfTheHost()})


def test_numbers_that_are_not_allowed_give_nan_or_an_error():
    session = session_of(without_rates)
    yields, params = rows(session, 3)
    yields[1, 0] = torch.inf
    value = nt.nll(session, yields, params)
    assert torch.isnan(value).tolist() == [False, True, False]
    with pytest.raises(ValueError, match="row 1 has no result: a number is not finite"):
        nt.nll(session, yields, params, check=True)


def test_rows_without_asimov_data_are_nan():
    session = of_kind("changing")
    yields, params = rows(session, 3)
    want = nt.nll(session, yields, params)
    (first,) = [place[0] for names, place in session.inputs if names == ("nominal", "VR", "top")]
    yields[1, first] = -1e5
    value = nt.nll(session, yields, params)
    assert torch.isnan(value).tolist() == [False, True, False]
    assert torch.equal(value[::2], want[::2])
    with pytest.raises(ValueError, match="row 1 has no result: the Asimov data cannot be made"):
        nt.nll(session, yields, params, check=True)


def test_what_a_gpu_cannot_do_is_said():
    session = of_kind("changing")
    yields, params = (x.requires_grad_() for x in rows(session, 2))
    (by_yields,) = torch.autograd.grad(nt.nll(session, yields, params).sum(), yields, create_graph=True)
    with pytest.raises(ValueError, match="second derivatives of nll exist where no data"):
        by_yields.sum().backward()
    with pytest.raises(nextstat.DeviceError, match="99"):
        session_of(all_modifiers, "cuda:99")
    session = session_of(all_modifiers, "cpu")
    yields, params = rows(session, 2)
    # Tensors of a GPU go through the host where the session is on the CPU.
    assert nt.nll(session, yields, params).device.type == "cuda"


@pytest.mark.parametrize("kind", KINDS)
def test_two_thousand_steps_take_no_more_memory(kind):
    session = of_kind(kind)
    yields, params = (x.requires_grad_() for x in rows(session, 16))
    optimiser = torch.optim.SGD([params], lr=1e-5)
    used = []
    for step in range(2000):
        optimiser.zero_grad()
        nt.nll(session, yields, params).sum().backward()
        optimiser.step()
        if step in (200, 1999):
            torch.cuda.synchronize()
            used.append((torch.cuda.memory_allocated(), torch.cuda.mem_get_info()[0]))
    assert used[0] == used[1]
