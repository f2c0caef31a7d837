"""nextstat.upload_parquet: columns of Parquet files in the memory of an NVIDIA GPU.

Without a GPU, the memory of the process stands for it if the wheel has the feature `cuda-on-host` and the environment
variable NEXTSTAT_CUDA_ON_HOST is set. scripts/test sets both.
"""

import ctypes
import gc
import os

import numpy as np
import pytest

import nextstat

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: upload_parquet was NOT tested")
import pyarrow.parquet as pq  # noqa: E402

N = 20_000


def table(n=N):
    random = np.random.default_rng(4)
    m = random.uniform(100, 160, n)
    m[5:n:1000] = np.nan
    return {"m": m, "t": random.normal(size=n), "k": random.integers(0, 9, n, dtype=np.int32)}


def write(path, columns, rows=3000):
    pq.write_table(pa.table(columns), path, row_group_size=rows)
    return path


def is_there():
    try:
        nextstat.upload_parquet(os.devnull)
    except nextstat.DeviceError:
        return False
    except (ValueError, OSError):
        return nextstat.has_cuda() or "NEXTSTAT_CUDA_ON_HOST" in os.environ
    return True


there = pytest.mark.skipif(
    not is_there(),
    reason="there is no NVIDIA GPU, and NEXTSTAT_CUDA_ON_HOST is not set: columns on a device were NOT tested",
)


def on_host(column):
    """The numbers of an array on the device, read by its __cuda_array_interface__."""
    interface = column.__cuda_array_interface__
    assert (interface["typestr"], interface["strides"], interface["version"]) == ("<f8", None, 3)
    if nextstat.has_cuda():
        torch = pytest.importorskip("torch", reason="PyTorch is not installed: arrays on the GPU were NOT read")
        tensor = torch.as_tensor(column, device=column.device)
        assert tensor.data_ptr() == interface["data"][0]
        return tensor.cpu().numpy()
    n = int(np.prod(interface["shape"]))
    numbers = (ctypes.c_double * n).from_address(interface["data"][0])
    return np.array(numbers).reshape(interface["shape"])


def by_dlpack(array):
    if nextstat.has_cuda():
        torch = pytest.importorskip("torch", reason="PyTorch is not installed: DLPack on the GPU was NOT tested")
        tensor = torch.from_dlpack(array)
        assert tensor.data_ptr() == array.__cuda_array_interface__["data"][0]
        return tensor.cpu().numpy()
    return np.from_dlpack(array)


@there
def test_columns_are_those_of_read_parquet(tmp_path):
    path = write(tmp_path / "events.parquet", table())
    events = nextstat.upload_parquet(path)
    host = nextstat.read_parquet(path)
    assert events.names == list(events) == events.keys() == list(host) and len(events) == 3
    assert (events.rows, events.outside, events.device) == (N, 0, "cuda:0")
    for name, numbers in host.items():
        column = events[name]
        assert name in events and (column.name, len(column)) == (name, N)
        for found in (on_host(column), by_dlpack(column), column.to_numpy()):
            np.testing.assert_array_equal(found, numbers)
    for found in (on_host(events), by_dlpack(events)):
        np.testing.assert_array_equal(found, np.array(list(host.values())))
    some = nextstat.upload_parquet(path, ["k", "m"], threads=1, host_memory="1M")
    assert some.names == ["k", "m"]
    np.testing.assert_array_equal(some["m"].to_numpy(), host["m"])


@there
def test_rows_within_bounds_are_copied(tmp_path):
    columns = table()
    path = write(tmp_path / "events.parquet", columns)
    bounds = {"m": (110, 150), "t": (None, 1.0)}
    events = nextstat.upload_parquet(path, bounds=bounds)
    inside = (columns["m"] >= 110) & (columns["m"] <= 150), columns["t"] <= 1.0
    kept = inside[0] & inside[1]
    assert (events.rows, events.outside) == (kept.sum(), N - kept.sum())
    assert events.outside_by_column == {"m": N - inside[0].sum(), "t": N - inside[1].sum(), "k": 0}
    for name, numbers in columns.items():
        np.testing.assert_array_equal(on_host(events[name]), numbers[kept])
        np.testing.assert_array_equal(by_dlpack(events[name]), numbers[kept])


@there
def test_arrays_keep_the_memory(tmp_path):
    columns = table()
    path = write(tmp_path / "events.parquet", columns)
    arrays = []
    for _ in range(5):
        events = nextstat.upload_parquet(path, ["t"])
        column = events["t"]
        arrays += [by_dlpack(column), by_dlpack(events)[0]]
        capsule = column.__dlpack__()
        assert "dltensor" in repr(capsule)
        # An array that nobody takes is freed with its capsule.
        del events, column, capsule
        gc.collect()
    for array in arrays:
        np.testing.assert_array_equal(array, columns["t"])


@there
def test_a_file_without_rows_has_empty_columns(tmp_path):
    path = write(tmp_path / "events.parquet", table(0))
    events = nextstat.upload_parquet(path)
    assert events.rows == 0 and events["m"].__cuda_array_interface__["data"][0] == 0
    assert events["m"].__cuda_array_interface__["shape"] == (0,) and len(events["m"].to_numpy()) == 0
    assert by_dlpack(events["m"]).shape == (0,) and by_dlpack(events).shape == (3, 0)


@there
def test_mistakes_are_named(tmp_path):
    path = write(tmp_path / "events.parquet", table())
    for arguments, kind, message in (
        ({"columns": ["mass"]}, ValueError, "has no column 'mass'"),
        ({"bounds": {"mass": (0, 1)}}, ValueError, "a column 'mass' that is not copied; the columns are m, t, k"),
        ({"bounds": {"m": (1, 0)}}, ValueError, "give the lower one first"),
        ({"host_memory": 1000}, MemoryError, "raise the limit"),
        ({"device": "cpu"}, ValueError, "to one NVIDIA GPU, not to 'cpu'"),
        ({"threads": 0}, ValueError, None),
    ):
        with pytest.raises(kind, match=message):
            nextstat.upload_parquet(path, **arguments)
    with pytest.raises(FileNotFoundError):
        nextstat.upload_parquet(tmp_path / "none.parquet")
    (tmp_path / "text.parquet").write_text("x")
    with pytest.raises(ValueError, match="cannot be read as a Parquet file"):
        nextstat.upload_parquet(tmp_path / "text.parquet")
    events = nextstat.upload_parquet(path)
    with pytest.raises(KeyError, match="mass"):
        events["mass"]
    kind, index = events.__dlpack_device__()
    assert kind == (2 if nextstat.has_cuda() else 1)
    with pytest.raises(BufferError):
        events["m"].__dlpack__(dl_device=(kind, index + 1))
    with pytest.raises(BufferError):
        events["m"].__dlpack__(copy=True)
    assert events["m"].__dlpack__(max_version=(1, 0), dl_device=(kind, index), copy=False, stream=1)


@pytest.mark.skipif(nextstat.has_cuda() or "NEXTSTAT_CUDA_ON_HOST" in os.environ, reason="there is a device")
def test_without_a_gpu_the_error_says_so(tmp_path):
    with pytest.raises(nextstat.DeviceError, match="CUDA"):
        nextstat.upload_parquet(write(tmp_path / "events.parquet", table()))


@pytest.mark.skipif(not nextstat.has_cuda(), reason="there is no NVIDIA GPU: a session was NOT tested with columns")
def test_a_session_of_flows_reads_columns_in_place(tmp_path):
    random = np.random.default_rng(5)
    log_probs = random.uniform(-8, -2, (2, N))
    path = write(tmp_path / "events.parquet", {"signal": log_probs[0], "background": log_probs[1]})
    session = nextstat.GpuFlowSession(2, [(1.0, 0), (1.0, 1)])
    found = session.nll_device(nextstat.upload_parquet(path), [6000, 14_000])
    expected = session.nll(log_probs, [6000, 14_000])
    assert all(np.array_equal(a, b) for a, b in zip(found[:3], expected[:3]))
