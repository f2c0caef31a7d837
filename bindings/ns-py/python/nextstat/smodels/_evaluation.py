"""Which data a likelihood or a limit is for, and in which form a confidence level is returned."""

from __future__ import annotations

from enum import Enum
from typing import Any

__all__ = ["Evaluation", "confidence"]


class Evaluation(Enum):
    """The data that a number is for. Methods also take the value as text, or an enumeration of SModelS."""

    observed = "observed"
    """The observed data."""
    aposteriori = "aposteriori"
    """Expected without signal, after a fit of the observed data. Likelihoods are those of the observed data."""
    apriori = "apriori"
    """Expected without signal, before a fit: the data are the yields at the start values of the parameters."""

    @classmethod
    def of(cls, given: Any, expected: Any = None) -> Evaluation:
        """Reads `evaluationType`, or `expected` of SModelS 2 if that is given: False, True or "posteriori".

        Raises `ValueError` for another value.
        """
        if expected is not None:
            given = expected
        # SModelS's own enumeration is not imported: its members have the names of ours.
        text = str(getattr(given, "name", given)).lower().replace("_", "").replace(" ", "")
        try:
            return _NAMES[text]
        except KeyError:
            raise ValueError(f"evaluationType is {given!r}; give 'observed', 'apriori' or 'aposteriori'") from None


_NAMES = {
    "observed": Evaluation.observed,
    "obs": Evaluation.observed,
    "false": Evaluation.observed,
    "apriori": Evaluation.apriori,
    "priori": Evaluation.apriori,
    "prior": Evaluation.apriori,
    "true": Evaluation.apriori,
    "aposteriori": Evaluation.aposteriori,
    "posteriori": Evaluation.aposteriori,
    "posterior": Evaluation.aposteriori,
}


def confidence(cls: float, return_type: str, cl: float) -> float:
    """Returns CLs in the form `return_type`; alpha is `1 - cl`. Raises `ValueError` for an unknown form."""
    alpha = 1.0 - cl
    forms = {"CLs": cls, "1-CLs": 1.0 - cls, "CLs-alpha": cls - alpha, "alpha-CLs": alpha - cls}
    if return_type not in forms:
        raise ValueError(f"return_type is {return_type!r}; give one of {', '.join(forms)}")
    return forms[return_type]
