"""Names of parameters: a list that may still be called, as the method of earlier versions."""

from __future__ import annotations

import warnings
from typing import Any


class ParameterNames(list[str]):
    """The names of all parameters, in the order of arrays."""

    def __call__(self) -> list[str]:
        """The earlier form of `parameter_names`, for one release."""
        warnings.warn("parameter_names() becomes parameter_names, without brackets", DeprecationWarning, stacklevel=2)
        return list(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return (list, (list(self),))
