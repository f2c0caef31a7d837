"""Measures nextstat.GpuFlowSession with the log-densities of two processes, in the memory of the GPU and of the host.

    python benches/derivatives/flow_session.py

Needs PyTorch and an NVIDIA GPU.
"""

import statistics
import sys
import time

import numpy as np
import torch

import nextstat


def median(repeat, work):
    times = []
    for turn in range(repeat + 20):
        start = time.perf_counter()
        work()
        if turn >= 20:
            times.append(time.perf_counter() - start)
    return 1e6 * statistics.median(times)


def main():
    if not (torch.cuda.is_available() and nextstat.has_cuda()):
        sys.exit("there is no NVIDIA GPU")
    print(torch.cuda.get_device_name())
    session = nextstat.GpuFlowSession(2, [(1.0, 0), (1.0, 1)])
    random = np.random.default_rng(1)
    for n in (1_000, 10_000, 100_000, 1_000_000):
        numbers = random.uniform(-8, -2, (2, n))
        there = torch.tensor(numbers, dtype=torch.float32, device="cuda")
        stream, address = torch.cuda.current_stream().cuda_stream, there.data_ptr()
        params = np.array([0.3 * n, 0.7 * n])
        by_pointer = median(300, lambda: session.nll_device_ptr_f32(address, n, params, stream=stream))
        by_host = median(100, lambda: session.nll(numbers, params))
        print(f"{n:9} events: float32 pointer {by_pointer:8.1f} us, from the host {by_host:9.1f} us")
    counts = [1000] * 1000
    numbers = random.uniform(-8, -2, (2, 1_000_000))
    params = np.tile([300.0, 700.0], (1000, 1))
    print(f"1000 sets of 1000 events from the host: {median(5, lambda: session.nll_batch(numbers, counts, params)):.0f} us")


if __name__ == "__main__":
    main()
