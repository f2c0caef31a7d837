"""The progress bar in Python."""

import io
import sys
import types

import pytest

from nextstat import _progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(_progress.time, "monotonic", lambda: now[0])
    return now


def bar(monkeypatch, stream, unit=""):
    monkeypatch.setattr(sys, "stderr", stream)
    return _progress.Bar(unit)


def test_a_terminal_shows_rate_and_time_left_after_half_a_second(monkeypatch, clock):
    stream = Terminal()
    show = bar(monkeypatch, stream, "toys")
    clock[0] += 0.4
    show(400, 10_000, False)
    assert stream.getvalue() == ""
    clock[0] += 1.6
    show(2_500, 10_000, False)
    assert stream.getvalue() == "\r[=======>                      ] 2,500/10,000 toys, 1.25e+03/s, 6 s left"
    show(10_000, 10_000, True)
    # The line is removed.
    assert stream.getvalue().endswith("\r" + " " * (len(stream.getvalue().split("\r")[1])) + "\r")


def test_a_short_analysis_writes_nothing_on_a_terminal(monkeypatch, clock):
    stream = Terminal()
    show = bar(monkeypatch, stream)
    show(1, 2, False)
    show(2, 2, True)
    assert stream.getvalue() == ""


def test_a_file_gets_one_line(monkeypatch, clock):
    stream = io.StringIO()
    show = bar(monkeypatch, stream)
    clock[0] += 100
    show(1, 2, False)
    show(2, 2, True)
    assert stream.getvalue() == "[==============================] 2/2, 0.02/s\n"


def test_a_notebook_has_an_output_that_is_updated(monkeypatch, clock):
    shown = []

    class Handle:
        def update(self, content, raw):
            shown.append(content)

    def display(content, raw, display_id):
        shown.append(content)
        return Handle()

    inner = types.ModuleType("IPython.display")
    inner.display = display
    outer = types.ModuleType("IPython")
    outer.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    outer.display = inner
    monkeypatch.setitem(sys.modules, "IPython", outer)
    monkeypatch.setitem(sys.modules, "IPython.display", inner)
    stream = io.StringIO()
    show = bar(monkeypatch, stream, "fits")
    show(1, 4, False)
    assert not shown
    clock[0] += 2
    show(2, 4, False)
    show(4, 4, True)
    assert [content["text/html"][:36] for content in shown] == [f'<progress value="{n}" max="4"></progress>'[:36] for n in (2, 4)]
    assert "2/4 fits, 1/s, 2 s left" in shown[0]["text/html"] and stream.getvalue() == ""
