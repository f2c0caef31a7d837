"""PyTorch modules whose inputs and outputs are those of the graphs of a flow."""

import copy

import torch  # type: ignore


class LogProb(torch.nn.Module):
    """A module that computes `log_prob` from `x` (and `context`)."""

    def __init__(self, flow, spread):
        super().__init__()
        self.flow = flow
        self.register_buffer("location", spread[0])
        self.register_buffer("scale", spread[1])
        self.register_buffer("jacobian", spread[1].log().sum())

    def forward(self, x, context=None):
        return self.own((x - self.location) / self.scale, context) - self.jacobian


class ZukoLogProb(LogProb):
    """Log-density of a flow of zuko, which returns a distribution for its context."""

    def own(self, x, context):
        return self.flow(context).log_prob(x)


class OtherLogProb(LogProb):
    """Log-density of a flow with a method `log_prob`, such as a flow of nflows."""

    def own(self, x, context):
        return self.flow.log_prob(x) if context is None else self.flow.log_prob(x, context)


class ContextGradient(torch.nn.Module):
    """Module from `x` and `context` to the derivatives of `log_prob` by the context, one row per event."""

    def __init__(self, log_prob):
        super().__init__()
        self.log_prob = log_prob.requires_grad_(False)

    def forward(self, x, context):
        # The log-density of an event depends on its own context alone.
        with torch.enable_grad():
            context = context.detach().requires_grad_(True)
            return torch.autograd.grad(self.log_prob(x, context).sum(), context)[0]

    def traced(self, x, context):
        """The same as a module of plain operations, without automatic differentiation, for any number of events."""
        from torch._decomp import core_aten_decompositions  # type: ignore
        from torch.fx.experimental.proxy_tensor import make_fx  # type: ignore

        trace = make_fx(
            self, decomposition_table=core_aten_decompositions(), tracing_mode="symbolic", _allow_non_fake_inputs=True
        )
        return trace(x, context)

    def differs(self, x, context):
        """The fraction of the derivatives that differ from central differences. At kinks a few may differ."""
        wide = copy.deepcopy(self.log_prob).double()
        x, context = x.double(), context.double()
        found, step, wrong = ContextGradient(wide)(x, context), 1e-5, 0
        with torch.no_grad():
            for k in range(context.shape[1]):
                moved = torch.zeros_like(context)
                moved[:, k] = step
                rise = (wide(x, context + moved) - wide(x, context - moved)).reshape(-1)
                error = (found[:, k] - rise / (2 * step)).abs()
                wrong += (~(error <= 1e-4 * found[:, k].abs().clamp(min=1.0))).sum().item()
        return wrong / found.numel()


class Sampler(torch.nn.Module):
    """A module that computes `x` from `z` (and `context`). Uniform numbers in [0, 1] are moved to the box of the
    base."""

    def __init__(self, flow, spread, box=None):
        super().__init__()
        self.flow = flow
        self.register_buffer("location", spread[0])
        self.register_buffer("scale", spread[1])
        self.has_box = box is not None
        if box is not None:
            self.register_buffer("low", box[0].clone())
            self.register_buffer("width", (box[1] - box[0]).clone())

    def forward(self, z, context=None):
        if self.has_box:
            z = self.low + self.width * z
        return self.location + self.scale * self.own(z, context)


class ZukoSampler(Sampler):
    """Sampler of a flow of zuko."""

    def own(self, z, context):
        return self.flow(context).transform.inv(z)


class NflowsSampler(Sampler):
    """Sampler of a flow of nflows."""

    def own(self, z, context):
        embedded = None if context is None else self.flow._embedding_net(context)
        return self.flow._transform.inverse(z, context=embedded)[0]


def log_prob_module(flow, spread):
    """Returns the module of the log-density of a flow."""
    if callable(getattr(flow, "log_prob", None)):
        return OtherLogProb(flow, spread).eval()
    if hasattr(flow, "transform") and hasattr(flow, "base"):
        return ZukoLogProb(flow, spread).eval()
    raise ValueError(
        f"a {type(flow).__name__} is no flow: give a flow of zuko or nflows, or a module with a method log_prob(x)"
    )


def sampler_module(flow, spread, context):
    """Returns the module of the sampler of a flow, and the kind of its random numbers; None without a sampler."""
    if hasattr(flow, "_transform") and hasattr(flow, "_distribution"):
        if type(flow._distribution).__name__ != "StandardNormal":
            return None
        return NflowsSampler(flow, spread).eval(), "normal"
    if not (hasattr(flow, "transform") and hasattr(flow, "base")) or callable(getattr(flow, "log_prob", None)):
        return None
    base = flow.base(torch.zeros(context, dtype=spread[0].dtype) if context else None)
    while isinstance(base, torch.distributions.Independent):
        base = base.base_dist
    if isinstance(base, torch.distributions.Normal):
        standard = bool((base.loc == 0).all()) and bool((base.scale == 1).all())
        return (ZukoSampler(flow, spread).eval(), "normal") if standard else None
    if isinstance(base, torch.distributions.Uniform):
        return ZukoSampler(flow, spread, (base.low, base.high)).eval(), "uniform"
    return None
