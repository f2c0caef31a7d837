"""Devices: their list, the choice of `auto` with its reason, and the error for a missing device."""

import nextstat
import pytest


@pytest.fixture(scope="module")
def model(fixtures):
    return nextstat.load_workspace(fixtures / "simple_workspace.json")


def missing(function):
    """The error of a function that needs a CUDA GPU. Skips the test if there is a GPU."""
    if nextstat.has_cuda():
        pytest.skip("this machine has a CUDA GPU; what is raised without one is not compared")
    with pytest.raises(nextstat.DeviceError) as raised:
        function()
    return str(raised.value)


def test_has_cuda_and_has_metal_say_what_the_list_says():
    there = {device.name.split(":")[0] for device in nextstat.devices() if device.available}
    assert "cpu" in there
    assert nextstat.has_cuda() is ("cuda" in there)
    assert nextstat.has_metal() is ("metal" in there)


def test_gpus_are_described():
    for device in nextstat.devices():
        gpu = device.name.startswith("cuda:")
        described = (device.memory, device.capability, device.driver)
        assert all(x is not None for x in described) if gpu else described == (None, None, None), device
        assert set(device.to_dict()) >= {"name", "available", "memory", "capability", "driver", "reason", "remedy"}


@pytest.mark.parametrize(
    "call",
    [
        lambda m, d: nextstat.fit(m, device=d),
        lambda m, d: nextstat.profile_scan(m, points=3, device=d),
        lambda m, d: nextstat.ranking(m, device=d),
        lambda m, d: nextstat.hypotest(m, 1.0, device=d),
        lambda m, d: nextstat.upper_limit(m, device=d),
        lambda m, d: nextstat.significance(m, device=d),
        lambda m, d: nextstat.goodness_of_fit(m, device=d),
        lambda m, d: nextstat.hypotest_toys(m, 1.0, n_toys=3, device=d),
        lambda m, d: nextstat.fit_toys(m, n_toys=3, device=d),
        lambda m, d: nextstat.fit_batch(m, m.toy_data(m.init, 2), device=d),
    ],
)
def test_every_analysis_names_the_missing_gpu_and_the_remedy(model, call):
    for device in ("cuda", "cuda:0", "cuda:all"):
        text = missing(lambda: call(model, device))
        assert "CUDA" in text and "cpu" in text, text


def test_a_gpu_that_no_machine_has(model):
    with pytest.raises(nextstat.DeviceError, match="cuda:999|CUDA"):
        nextstat.fit(model, device="cuda:999")
    with pytest.raises(nextstat.DeviceError, match="Metal"):
        nextstat.fit(model, device="metal")
    with pytest.raises(ValueError, match="unknown device 'abacus'"):
        nextstat.fit(model, device="abacus")
    with pytest.raises(ValueError, match="unknown device 'cuda:every'; use .*cuda:all"):
        nextstat.fit(model, device="cuda:every")


def test_a_memory_limit_changes_no_number_and_refuses_what_does_not_fit(model, fixtures):
    path = fixtures / "simple_workspace.json"
    free = nextstat.hypotest_toys(model, 1.0, n_toys=300, seed=2)
    for memory in (10**6, "1M"):
        limited = nextstat.load_workspace(path, memory=memory)
        result = nextstat.hypotest_toys(limited, 1.0, n_toys=300, seed=2, threads=2)
        assert result.cls == free.cls
    small = nextstat.load_workspace(path, memory="100K")
    with pytest.raises(MemoryError, match="the memory limit is 102400. Raise the limit"):
        nextstat.fit(small, threads=64)
    with pytest.raises(ValueError, match="memory 'much': give a number of bytes"):
        nextstat.load_workspace(path, memory="much")


def test_auto_says_why(model):
    for result in (
        nextstat.fit(model),
        nextstat.hypotest(model, 1.0),
        nextstat.hypotest_toys(model, 1.0, n_toys=5),
        nextstat.profile_scan(model, points=3),
        nextstat.fit_batch(model, model.toy_data(model.init, 2)),
    ):
        assert result.device == "cpu"
        assert "on the CPU with" in result.device_reason, result.device_reason
        assert result.gpu_check is None
        assert result.to_dict()["device_reason"] == result.device_reason
    assert nextstat.hypotest_toys(model, 1.0, n_toys=5).device_reason.startswith("10 toys: about ")
    assert nextstat.fit(model, device="cpu").device_reason is None


def test_a_run_on_a_gpu_carries_its_check(model):
    if not nextstat.has_cuda():
        pytest.skip("no CUDA GPU: " + next(d.reason for d in nextstat.devices() if d.name == "cuda"))
    result = nextstat.hypotest_toys(model, 1.0, n_toys=100, device="cuda")
    assert result.device == "cuda:0" and result.device_reason is None
    check = result.gpu_check
    assert 0 < check["n_checked"] <= check["n_fits"]
    for what in ("nll", "gradient", "edm"):
        assert 0 <= check[what]["difference"] <= check[what]["tolerance"]
