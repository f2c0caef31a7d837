"""Issues warnings of the package at the line that called it."""

from __future__ import annotations

import contextlib
import re
import sys
import warnings
from collections.abc import Iterable, Iterator

_PACKAGE = __name__.partition(".")[0]


def warn(text: str) -> None:
    """Issues a `UserWarning` of the first line outside the package, however many functions of the package are between."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, stacklevel=level)


@contextlib.contextmanager
def without(texts: Iterable[str]) -> Iterator[None]:
    """Leaves out warnings with these texts, which have been issued before or will be."""
    with warnings.catch_warnings():
        for text in texts:
            warnings.filterwarnings("ignore", message=rf"{re.escape(text)}\Z")
        yield
