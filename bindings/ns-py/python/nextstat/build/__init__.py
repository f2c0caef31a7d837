"""Builds models in Python, without writing JSON: models of events, and binned models.

Models of events:

    from nextstat import build

    m = build.ModelBuilder("search")
    mass = m.observable("m", 100, 160)
    mu, n_background = m.parameter("mu", 1, 0, 5), m.parameter("n_background", 900, 0, 5000)
    scale = m.nuisance("scale")
    peak = m.gaussian("signal", mass, mean=125 * (1 + 0.01 * scale), sigma=1.5)
    falling = m.exponential("background", mass, slope=m.parameter("slope", 0.02, 0, 1))
    m.channel("SR", {peak: 50 * mu, falling: n_background}, data=events)
    m.interest(mu)
    nextstat.upper_limit(m.model())

Every method returns an object that later methods take as an argument. The result is an HS3 document (`document`,
`write`), which all analyses accept, also on the command line.

Binned models, from histograms of hist or boost-histogram, from arrays, or from columns:

    b = build.BinnedBuilder("search", poi="mu")
    sr = b.channel("SR", data=h_data)
    sr.sample("signal", h_signal, norm_factors="mu")
    sr.sample("background", h_background).templates("scale", up=h_up, down=h_down, smooth=True)
    nextstat.upper_limit(b.model())

The result is a workspace, which pyhf reads too. `from_config` builds one from a configuration file.
"""

from ._bins import BinnedBuilder, BinnedChannel, BinnedSample, BuiltWorkspace, from_config
from ._expression import Expression, cos, cosh, erf, erfc, exp, gamma, lgamma, log, sin, sinh, sqrt, tanh
from ._histogram import Filled, fill
from ._model import Density, EventFile, ModelBuilder, Observable, Parameter

__all__ = [
    "BinnedBuilder",
    "BinnedChannel",
    "BinnedSample",
    "BuiltWorkspace",
    "Density",
    "EventFile",
    "Expression",
    "Filled",
    "ModelBuilder",
    "Observable",
    "Parameter",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "fill",
    "from_config",
    "gamma",
    "lgamma",
    "log",
    "sin",
    "sinh",
    "sqrt",
    "tanh",
]
