"""Measures nextstat.GpuFlowSession with the log-densities of two processes, in the memory of the GPU and of the host.

    python benches/derivatives/flow_session.py

First compares the results with sums of NumPy. Needs PyTorch and an NVIDIA GPU.
"""

import statistics
import sys
import time

import numpy as np
import torch

import nextstat

RATES = (0.3, 0.7)


def median(repeat, work):
    times = []
    for turn in range(repeat + 50):
        start = time.perf_counter()
        work()
        if turn >= 50:
            times.append(time.perf_counter() - start)
    return 1e6 * statistics.median(times)


def expected(numbers, params):
    p = np.exp(numbers.astype(np.float64))
    total = params @ p
    slopes = p / total
    return params.sum() - np.log(total).sum(), 1 - slopes.sum(axis=1), slopes @ slopes.T


def compare(session, n, random):
    """The largest difference from NumPy, relative to the largest number of each result, and whether the same numbers give
    the same bits from the host and on the GPU."""
    single = random.uniform(-8, -2, (2, n)).astype(np.float32)
    params = n * np.array(RATES)
    stream = torch.cuda.current_stream().cuda_stream
    there, wide = torch.tensor(single, device="cuda"), torch.tensor(single, device="cuda", dtype=torch.float64)
    found = session.nll_device_ptr_f32(there.data_ptr(), n, params, stream=stream)
    others = [session.nll(single.astype(np.float64), params), session.nll_device(wide, params, stream=stream)]
    pairs = zip(found, expected(single, params))
    difference = max(np.max(np.abs(np.asarray(a) - b)) / np.max(np.abs(b)) for a, b in pairs)
    return difference, all(np.array_equal(a, b) for other in others for a, b in zip(found[:3], other[:3]))


def main():
    if not (torch.cuda.is_available() and nextstat.has_cuda()):
        sys.exit("there is no NVIDIA GPU")
    print(torch.cuda.get_device_name())
    session = nextstat.GpuFlowSession(2, [(1.0, 0), (1.0, 1)])
    random = np.random.default_rng()
    for n in (1, 127, 1_000, 10_000, 100_000, 1_000_000):
        difference, same = compare(session, n, random)
        print(f"{n:9} events: differs from NumPy by {difference:.1e}, {'the same bits' if same else 'OTHER BITS'} from the host")
        if not (same and difference < 1e-11):
            sys.exit("wrong results")
    small = torch.tensor(np.full((2, 1), -3.0), dtype=torch.float32, device="cuda")
    print(f"        1 event: float32 pointer {median(1000, lambda: session.nll_device_ptr_f32(small.data_ptr(), 1, [0.3, 0.7])):8.1f} us")
    for n in (1_000, 10_000, 100_000, 1_000_000):
        numbers = random.uniform(-8, -2, (2, n))
        there = torch.tensor(numbers, dtype=torch.float32, device="cuda")
        stream, address = torch.cuda.current_stream().cuda_stream, there.data_ptr()
        params = n * np.array(RATES)
        by_pointer = [median(500, lambda: session.nll_device_ptr_f32(address, n, params, stream=stream)) for _ in range(3)]
        by_host = [median(100, lambda: session.nll(numbers, params)) for _ in range(3)]
        times = lambda values: " ".join(f"{value:8.1f}" for value in values)  # noqa: E731
        print(f"{n:9} events: float32 pointer {times(by_pointer)} us, from the host {times(by_host)} us")
    counts = [1000] * 1000
    numbers = random.uniform(-8, -2, (2, 1_000_000))
    params = np.tile([300.0, 700.0], (1000, 1))
    print(f"1000 sets of 1000 events from the host: {median(5, lambda: session.nll_batch(numbers, counts, params)):.0f} us")


if __name__ == "__main__":
    main()
