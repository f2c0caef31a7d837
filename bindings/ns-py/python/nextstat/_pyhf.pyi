from typing import Any

from numpy.typing import ArrayLike

from ._native import Model, PatchArgument

def from_pyhf(
    source: Any,
    data: ArrayLike | None = None,
    *,
    measurement: str | None = None,
    patch: PatchArgument | list[PatchArgument] | None = None,
    poi: str | None = None,
    **options: Any,
) -> Model: ...
