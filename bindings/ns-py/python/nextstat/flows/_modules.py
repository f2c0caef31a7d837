"""PyTorch modules whose inputs and outputs are those of the graphs of a flow."""

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
