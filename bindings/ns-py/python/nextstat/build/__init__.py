"""Builds models of events in Python, without writing JSON.

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
"""

from ._expression import Expression, exp, log, sqrt
from ._model import Density, EventFile, ModelBuilder, Observable, Parameter

__all__ = ["Density", "EventFile", "Expression", "ModelBuilder", "Observable", "Parameter", "exp", "log", "sqrt"]
