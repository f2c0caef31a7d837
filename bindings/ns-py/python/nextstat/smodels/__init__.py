"""Limits for reinterpretations, with the names that [SModelS](https://smodels.github.io) gives to its statistics.

    from nextstat.smodels import PyhfData, PyhfUpperLimitComputer

    data = PyhfData({"SR_low": 5.2, "SR_high": 3.9}, "background_only.json", regions)
    computer = PyhfUpperLimitComputer(data, lumi=139.0)
    computer.getUpperLimitOnMu("observed")

Classes, methods and arguments are named as in SModelS 3.2 (and, where they differ, also as in 2.3), so that a program for its
modules `pyhfInterface` and `statsTools` runs with another import. All numbers come from `nextstat.upper_limit`, `nextstat.hypotest` and
`nextstat.fit`. SModelS need not be installed. What differs: docs/smodels.md.
"""

from ._computer import PyhfUpperLimitComputer
from ._data import PyhfData
from ._evaluation import Evaluation
from ._statistics import StatsComputer

__all__ = ["Evaluation", "PyhfData", "PyhfUpperLimitComputer", "StatsComputer"]
