"""nextstat.GpuFlowSession on an NVIDIA GPU, with arrays of PyTorch there and with ONNX Runtime's I/O binding."""

import concurrent.futures

import numpy as np
import pytest

import nextstat

RATES = [(40.0, 0), (1.0, 1), 25.0]
PARAMS = [1.3, 900.0]


def test_without_a_gpu_the_error_says_so():
    if nextstat.has_cuda():
        pytest.skip("there is a GPU")
    with pytest.raises(nextstat.DeviceError):
        nextstat.GpuFlowSession(2, RATES)


@pytest.mark.skipif(not hasattr(nextstat._native, "GpuFlowSession"), reason="this build has no CUDA backend")
def test_mistakes_are_named():
    with pytest.raises(ValueError, match="on one NVIDIA GPU, not on 'cpu'"):
        nextstat.GpuFlowSession(2, RATES, device="cpu")
    with pytest.raises(TypeError, match="a rate is a number, or a factor and the index"):
        nextstat.GpuFlowSession(2, ["many"])


gpu = pytest.mark.skipif(not nextstat.has_cuda(), reason="there is no NVIDIA GPU: GpuFlowSession was NOT tested on one")


def log_probs(n, dtype=np.float64):
    return np.random.default_rng(3).uniform(-8, -2, (3, n)).astype(dtype)


def reference(log_probs, params, dtype=np.float64):
    rates = np.array([40 * params[0], params[1], 25.0])
    p = np.exp(log_probs.astype(np.float64))
    total = rates @ p
    nll = rates.sum() - np.log(total).sum()
    slopes = np.array([40 * p[0], p[1]]) / total
    return nll, np.array([40.0, 1.0]) - slopes.sum(axis=1), slopes @ slopes.T


def close(got, want, relative):
    for g, w in zip(got, want):
        assert np.max(np.abs(np.asarray(g) - w)) <= relative * np.max(np.abs(w))


@gpu
@pytest.mark.parametrize("n", [1, 1000, 10_000, 100_000])
def test_host_and_device_give_the_same_bits(n):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pointers on the GPU were NOT tested")
    session = nextstat.GpuFlowSession(2, RATES)
    numbers = log_probs(n)
    host = session.nll(numbers, PARAMS)
    close(host[:3], reference(numbers, PARAMS), 1e-12)
    there = session.nll_device(torch.tensor(numbers, device="cuda"), PARAMS)
    assert host[0] == there[0] and all(np.array_equal(a, b) for a, b in zip(host[1:3], there[1:3]))
    single = torch.tensor(numbers, dtype=torch.float32, device="cuda")
    torch.cuda.synchronize()
    stream = torch.cuda.current_stream().cuda_stream
    by_pointer = session.nll_device_ptr_f32(single.data_ptr(), n, PARAMS, stream=stream)
    close(by_pointer[:3], reference(numbers.astype(np.float32), PARAMS), 1e-12)
    close(by_pointer[:3], host[:3], 1e-3)
    again = session.nll_device(single, PARAMS)
    assert again[0] == by_pointer[0]


@gpu
@pytest.mark.parametrize("long", [False, True])
def test_work_of_the_stream_comes_first(long):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: streams of the caller were NOT tested")
    session = nextstat.GpuFlowSession(2, RATES)
    streams = [torch.cuda.Stream() for _ in range(3)]
    matrix = torch.randn(4096, 4096, device="cuda")
    there = torch.full((3, 20_000), -np.inf, dtype=torch.float32, device="cuda")
    torch.cuda.synchronize()
    for turn in range(30):
        # Every size and every kind of call may leave memory that the next one uses.
        n = (1, 500, 20_000)[turn // 3 % 3]
        numbers = np.ascontiguousarray(log_probs(20_030, np.float32)[:, turn : turn + n])
        given = torch.tensor(numbers).pin_memory()
        stream = streams[turn % 3]
        with torch.cuda.stream(stream):
            there.fill_(-np.inf)
            if long:
                # Milliseconds, longer than the host looks for the answer without a pause.
                for _ in range(8):
                    matrix @ matrix
            own = there.reshape(-1)[: 3 * n].reshape(3, n)
            own.copy_(given, non_blocking=True)
        found = session.nll_device_ptr_f32(own.data_ptr(), n, PARAMS, stream=stream.cuda_stream)
        close(found[:3], reference(numbers, PARAMS), 1e-12)
        assert found[3] is None
        if turn % 4 == 0:
            close(session.nll(numbers.astype(np.float64), PARAMS)[:3], found[:3], 1e-15)
            close(session.nll_batch(numbers.astype(np.float64), [n], [PARAMS])[0][:3], found[:3], 1e-13)
        stream.synchronize()


@gpu
def test_threads_share_a_session():
    session = nextstat.GpuFlowSession(2, RATES)
    sizes = [1 + 977 * i for i in range(16)]
    sets = [np.ascontiguousarray(log_probs(n)) for n in sizes]
    expected = [session.nll(numbers, PARAMS) for numbers in sets]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda i: session.nll(sets[i % 16], PARAMS), range(320)))
    for i, result in enumerate(found):
        assert result[0] == expected[i % 16][0] and np.array_equal(result[2], expected[i % 16][2])


@gpu
def test_output_of_onnx_runtime_is_read_in_place():
    ort = pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed: its output was NOT tested")
    onnx = pytest.importorskip("onnx", reason="onnx is not installed: output of ONNX Runtime was NOT tested")
    if "CUDAExecutionProvider" not in ort.get_available_providers():
        pytest.skip("ONNX Runtime has no CUDA provider: its output on the GPU was NOT tested")
    from onnx import TensorProto, helper

    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [3, None])  # noqa: E731
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["log_prob"])], "g", [value("x")], [value("log_prob")])
    network = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    run = ort.InferenceSession(network.SerializeToString(), providers=["CUDAExecutionProvider"])
    numbers = log_probs(1000, np.float32)
    binding = run.io_binding()
    binding.bind_cpu_input("x", -numbers)
    binding.bind_output("log_prob", "cuda")
    run.run_with_iobinding(binding)
    output = binding.get_outputs()[0]
    session = nextstat.GpuFlowSession(2, RATES)
    got = session.nll_device_ptr_f32(output.data_ptr(), 1000, PARAMS)
    close(got[:3], reference(numbers, PARAMS), 1e-12)


@gpu
def test_batches_and_events_without_density():
    session = nextstat.GpuFlowSession(2, RATES, constraints=[(0, 1.0, 0.1)])
    numbers = log_probs(500)
    counts = [100, 0, 400]
    params = np.array([PARAMS, PARAMS, [1.1, 800.0]])
    batch = session.nll_batch(numbers, counts, params)
    single = session.nll(np.ascontiguousarray(numbers[:, 100:]), params[2])
    close(batch[2][:3], single[:3], 1e-13)
    numbers[:, 17] = -np.inf
    value, _, _, bad = session.nll(numbers, PARAMS)
    assert value == np.inf and bad == 17
    with pytest.raises(ValueError, match="in memory of the host"):
        session.nll_device_ptr_f32(numbers.ctypes.data, 500, PARAMS)
