"""``nextstat.selftest``: the same as the command, as a dictionary."""

import pytest

import nextstat

has_gpu = any(device.available and device.name.startswith("cuda") for device in nextstat.devices())


def test_the_cpu_passes():
    result = nextstat.selftest(device="cpu")
    assert result["passed"] and result["target"] == "cpu" and result["n_missing"] == result["n_failed"] == 0
    binned = next(check for check in result["checks"] if check["name"] == "binned fit on the CPU")
    assert binned["status"] == "passed" and binned["value"] <= binned["bound"] and binned["remedy"] is None


@pytest.mark.skipif(has_gpu, reason="this machine has a CUDA GPU")
@pytest.mark.parametrize("device", ["cuda", "tensorrt"])
def test_what_is_missing_has_a_remedy(device):
    result = nextstat.selftest(device=device)
    missing = [check for check in result["checks"] if check["status"] == "missing"]
    assert not result["passed"] and len(missing) == result["n_missing"] > 0
    assert all(check["remedy"] for check in missing)


def test_an_unknown_device_is_refused():
    with pytest.raises(ValueError, match="unknown device 'gpu'.*tensorrt"):
        nextstat.selftest(device="gpu")
