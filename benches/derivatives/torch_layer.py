"""Measures nextstat.torch on a GPU, and for comparison on the CPU.

    python benches/derivatives/torch_layer.py WORKSPACE:SAMPLE [WORKSPACE:SAMPLE ...] [--asimov]

The inputs of each workspace are the nominal yields of the sample. The measurements are:

* enqueued: one `nll` with derivatives by yields and parameters; many calls are enqueued one after another.
* graph pair: forward and backward pass through autograd, and the same with an empty `autograd.Function`. Both are
  measured with a wait after each call, and with one wait after 100 calls.
* batch: 1 024 histograms in one call, and in 1 024 calls.
* cpu: the same value and derivatives of one histogram on the CPU.

With --asimov the data are the expected counts for a signal of strength 1, and templates and widths follow the yields.

Needs PyTorch. Without an NVIDIA GPU, says so and prints only the row of the CPU.
"""

import statistics
import sys
import time

import numpy as np
import torch

import nextstat
import nextstat.torch as nt


class Empty(torch.autograd.Function):
    """A function with almost no work. Its time is the smallest time of any custom function."""

    @staticmethod
    def forward(ctx, yields, params):
        ctx.save_for_backward(yields, params)
        return yields.sum() + params.sum()

    @staticmethod
    def backward(ctx, flow):
        yields, params = ctx.saved_tensors
        return flow * yields, flow * params


def median(repeat, work):
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def microseconds(seconds):
    return f"{1e6 * seconds:10.1f} us"


def measure_cpu(model, sample, options):
    session = nextstat.DifferentiableSession(model, [sample], threads=1, **options)
    yields, params = session.nominal, session.init
    for _ in range(20):
        session.nll(yields, params)
    print("  cpu, one histogram     ", microseconds(median(200, lambda: session.nll(yields, params))))


def measure_gpu(model, sample, options):
    session = nextstat.DifferentiableSession(model, [sample], device="cuda", **options)
    n, m = len(session.nominal), len(session.parameter_names)
    rng = np.random.default_rng(1)
    on_gpu = lambda x: torch.tensor(x, device="cuda")  # noqa: E731
    y = on_gpu(session.nominal * rng.uniform(0.9, 1.1, (1024, n)))
    p = on_gpu(session.init + rng.uniform(-0.05, 0.05, (1024, m)))
    made = torch.empty(1024 * (1 + n + m) + 512, dtype=torch.float64, device="cuda")

    def enqueue(row, rows):
        stream = torch.cuda.current_stream().cuda_stream
        session._enqueue(rows, y[row].data_ptr(), p[row].data_ptr(), made.data_ptr(), stream)

    def back_to_back(count):
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        first.record()
        for i in range(count):
            enqueue(i % 1024, 1)
        last.record()
        torch.cuda.synchronize()
        return 1e-3 * first.elapsed_time(last) / count

    back_to_back(100)
    print("  enqueued, each         ", microseconds(statistics.median(back_to_back(2000) for _ in range(5))))

    def pair(function, count):
        yields, params = y[0].clone().requires_grad_(), p[0].clone().requires_grad_()

        def work():
            for _ in range(count):
                yields.grad = params.grad = None
                function(yields, params).backward()
            torch.cuda.synchronize()

        return work

    for name, count, turns in [("graph pair, waited for  ", 1, 1000), ("graph pairs, enqueued   ", 100, 30)]:
        # The two are measured in turns, so that both have the same conditions.
        pairs = [pair(lambda a, b: nt.nll(session, a, b), count), pair(Empty.apply, count)]
        times = [[], []]
        for turn in range(turns):
            for work, own in zip(pairs, times, strict=True):
                start = time.perf_counter()
                work()
                if turn >= turns // 10:
                    own.append((time.perf_counter() - start) / count)
        ours, empty = (statistics.median(own) for own in times)
        print(f"  {name}", microseconds(ours), " empty function", microseconds(empty), end="")
        print(f"  difference {1e6 * (ours - empty):.1f} us")

    def batch():
        enqueue(0, 1024)
        torch.cuda.synchronize()

    def calls():
        for i in range(1024):
            nt.nll(session, y[i], p[i])
        torch.cuda.synchronize()

    batch(), calls()
    together, single = median(20, batch), median(3, calls)
    print("  1024 in one call       ", microseconds(together), " 1024 calls", microseconds(single), end="")
    print(f"  ratio {single / together:.0f}")
    here = nextstat.DifferentiableSession(model, [sample], **options)
    enqueue(0, 1024)
    torch.cuda.synchronize()
    want = here.nll(y.cpu().numpy(), p.cpu().numpy())
    got = made.cpu().numpy()
    values, both = got[:1024], got[1024 : 1024 * (1 + n + m)].reshape(1024, n + m)
    by_yields, by_params = both[:, :n], both[:, n:]
    off = np.max(np.abs(values - want[0]) / np.maximum(1.0, np.abs(want[0])))
    scale = lambda x: np.maximum(1.0, np.abs(x).max(axis=1, keepdims=True))  # noqa: E731
    off_y = np.max(np.abs(by_yields - want[1]) / scale(want[1]))
    off_p = np.max(np.abs(by_params - want[2]) / scale(want[2]))
    print(f"  largest difference to the CPU: value {off:.1e}, by yields {off_y:.1e}, by parameters {off_p:.1e}")


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--asimov"]
    if not arguments:
        sys.exit(__doc__)
    changing = {"asimov": 1.0, "follow": ["templates", "staterror", "shapesys"]}
    options = changing if "--asimov" in sys.argv else {}
    there = torch.cuda.is_available() and nextstat.has_cuda()
    print(torch.cuda.get_device_name() if there else "there is no NVIDIA GPU: only the CPU is measured")
    for argument in arguments:
        path, sample = argument.rsplit(":", 1)
        model = nextstat.load_workspace(path)
        print(f"{path}: inputs {sample}, {len(model.parameter_names)} parameters")
        measure_cpu(model, sample, options)
        if there:
            measure_gpu(model, sample, options)


if __name__ == "__main__":
    main()
