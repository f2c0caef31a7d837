"""Measures profiled statistics with their gradient in PyTorch, and a long training.

    python benches/derivatives/profiled.py WORKSPACE:SAMPLE [WORKSPACE:SAMPLE ...] [--device cuda] [--steps 2000]

The inputs of each workspace are the nominal yields of the sample. A small network computes them. There are three
measurements:

* q0: value and gradient of one histogram, for tensors on the device, including the wait for the result. Cold fits
  start at the starting points of the model, warm fits at the minima of the step before. For comparison, an autograd
  function computes a sum.
* loop: a step of training with q0 as loss, in turns with the same step with a sum as loss. The difference is the cost
  of the statistic. Median of 5 loops of 20 steps each.
* long: memory of the process and of the GPU after a tenth of the steps and at the end, the loss at the beginning and
  at the end, and whether a second run with the same seed gives the same numbers.

Fits run on the CPU. Tensors of a GPU are copied. Needs PyTorch.
"""

import argparse
import pathlib
import statistics
import time

import numpy as np
import torch

import nextstat
import nextstat.torch as nt


def median(repeat, work):
    times = []
    for i in range(repeat):
        start = time.perf_counter()
        work(i)
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


class Empty(torch.autograd.Function):
    """A function with almost no work. Its time is the time that PyTorch itself needs."""

    @staticmethod
    def forward(ctx, yields):
        ctx.save_for_backward(yields)
        return yields.sum()

    @staticmethod
    def backward(ctx, flow):
        (yields,) = ctx.saved_tensors
        return flow * yields


class Network(torch.nn.Module):
    """Distributes the events of a sample over the bins."""

    def __init__(self, nominal):
        super().__init__()
        self.nominal = torch.nn.Parameter(torch.as_tensor(nominal), requires_grad=False)
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, 32), torch.nn.Tanh(), torch.nn.Linear(32, len(nominal)))
        self.double()

    def forward(self, events):
        share = torch.softmax(self.layers(events), dim=1).mean(dim=0)
        return self.nominal * (0.5 + 0.5 * share * len(self.nominal))


def resident():
    """Returns the memory of the process in MB."""
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def on_gpu(device):
    """Returns the memory of the GPU that all processes together use, in MB."""
    if device == "cpu":
        return 0.0
    torch.cuda.synchronize()
    free, total = torch.cuda.mem_get_info()
    return (total - free) / 1e6


def train(session, device, steps, loss_of, note=None):
    """Return the losses of a training, and the median time of its steps in ms."""
    torch.manual_seed(1)
    network = Network(session.nominal).to(device)
    events = torch.randn(512, 4, dtype=torch.float64).to(device)
    optimiser = torch.optim.Adam([p for p in network.parameters() if p.requires_grad], lr=1e-3)
    losses, times = [], []
    for step in range(steps):
        start = time.perf_counter()
        optimiser.zero_grad()
        loss = loss_of(network(events))
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
        times.append(time.perf_counter() - start)
        if note:
            note(step)
    return np.array(losses), 1e3 * statistics.median(times)


def measure(path, sample, device, steps):
    model = nextstat.load_workspace(path)
    options = {"threads": 1, "asimov": 1.0}
    open_session = lambda **more: nextstat.ProfiledDifferentiableSession(model, [sample], **options, **more)  # noqa: E731
    session = open_session()
    n = len(session.nominal)
    print(f"{path}: {len(model.parameter_names)} parameters, {n} yields of {sample}, tensors on {device}")
    rng = np.random.default_rng(1)
    rows = torch.tensor(session.nominal * (1.0 + 1e-3 * rng.uniform(-1.0, 1.0, (64, n))), device=device)

    def pair(function):
        yields = rows[0].clone().requires_grad_()

        def work(i):
            yields.data = rows[i % 64]
            yields.grad = None
            function(yields).backward()
            if device != "cpu":
                torch.cuda.synchronize()

        return work

    cases = [("empty function", Empty.apply)]
    for name, warm in [("cold", False), ("warm", True)]:
        own = open_session(warm=warm)
        cases.append((f"q0 with gradient, {name}", lambda yields, own=own: nt.q0(own, yields)))
    for name, function in cases:
        work = pair(function)
        median(5, work)
        print(f"  {name}: {median(51, work):.3f} ms")
    loss = lambda yields: -nt.q0(session, yields)  # noqa: E731
    turns = [(train(session, device, 20, loss)[1], train(session, device, 20, torch.sum)[1]) for _ in range(5)]
    with_q0, without = (statistics.median(times) for times in zip(*turns, strict=True))
    print(f"  step of a loop of 20: {with_q0:.3f} ms with q0, {without:.3f} ms with a sum: {with_q0 - without:.3f} ms more")
    used = []

    def note(step):
        if step in (steps // 10, steps - 1):
            used.append((resident(), on_gpu(device)))

    runs = []
    for _ in range(2):
        own = open_session()
        runs.append(train(own, device, steps, lambda yields, own=own: -nt.q0(own, yields), note)[0])
    (host, gpu), (host_end, gpu_end) = used[:2]
    print(
        f"  {steps} steps: loss {runs[0][0]:.6f} to {runs[0][-1]:.6f}; process {host:.1f} to {host_end:.1f} MB, "
        f"GPU {gpu:.1f} to {gpu_end:.1f} MB; a second run is {'equal' if np.array_equal(*runs) else 'DIFFERENT'}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="+", metavar="WORKSPACE:SAMPLE")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=2000)
    arguments = parser.parse_args()
    for case in arguments.cases:
        measure(*case.rsplit(":", 1), arguments.device, arguments.steps)


if __name__ == "__main__":
    main()
