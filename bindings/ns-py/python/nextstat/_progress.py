"""The progress bar of long analyses: what is done, the rate and the remaining time, on a terminal or in a notebook."""

from __future__ import annotations

import html
import importlib
import sys
import time
from typing import Any, TextIO

#: Seconds that an analysis runs without a bar. Most analyses end before.
QUIET = 0.5

#: Number of characters of the bar.
WIDTH = 30


class Bar:
    """A bar that is called with the numbers done and in all, and with whether this is the last call.

    On a terminal it is one line, which is removed at the end. In a notebook it is an output of its own. Other streams, such as
    files, get one line at the end.
    """

    def __init__(self, unit: str = "") -> None:
        self._unit = f" {unit}" if unit else ""
        self._started = time.monotonic()
        self._stream: TextIO = sys.stderr
        self._display: Any = None
        self._length = 0

    def __call__(self, done: int, total: int, last: bool) -> None:
        passed = time.monotonic() - self._started
        text = self._text(done, total, passed)
        if _notebook() is not None:
            if self._display is not None or passed >= QUIET:
                self._show(done, total, text)
        elif not self._stream.isatty():
            if last:
                self._write(f"{text}\n")
        elif last:
            self._write(f"\r{'':<{self._length}}\r" if self._length else "")
        elif passed >= QUIET:
            self._write(f"\r{text:<{self._length}}")
            self._length = max(self._length, len(text))

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()

    def _text(self, done: int, total: int, passed: float) -> str:
        share = min(done / total, 1.0) if total else 0.0
        full = int(WIDTH * share)
        bar = "=" * full + (">" if full < WIDTH else "")
        rate = done / passed if passed > 0 else 0.0
        left = f", {_duration((total - done) / rate)} left" if rate > 0 and done < total else ""
        return f"[{bar:<{WIDTH}}] {done:,}/{total:,}{self._unit}, {rate:.3g}/s{left}"

    def _show(self, done: int, total: int, text: str) -> None:
        display = _notebook()
        page = f'<progress value="{done}" max="{total}"></progress> {html.escape(text.split("] ", 1)[-1])}'
        content = {"text/plain": text, "text/html": page}
        if self._display is None:
            self._display = display(content, raw=True, display_id=True)
        else:
            self._display.update(content, raw=True)


def _notebook() -> Any:
    """The function that shows outputs of a notebook; None elsewhere."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    return importlib.import_module("IPython.display").display


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = int(seconds // 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
