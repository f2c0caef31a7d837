"""Shared fixtures: where the reference numbers are, and the settings of the run."""

import os
import pathlib
import signal
import sys
import warnings

import pytest

# A shell that starts the tests in the background makes them and their child processes ignore interrupts. Undo that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# pyhf's schema validator uses a deprecated class of its own dependency.
warnings.filterwarnings("ignore", category=DeprecationWarning, module="pyhf")


def reference_folder() -> pathlib.Path | None:
    """The folder with `workspaces/` and `reference/`, from NEXTSTAT_REFERENCE_DIR."""
    folder = os.environ.get("NEXTSTAT_REFERENCE_DIR")
    return pathlib.Path(folder) if folder else None


def pytest_configure(config):
    config.addinivalue_line("filterwarnings", "ignore:jsonschema.RefResolver is deprecated:DeprecationWarning")


def pytest_report_header():
    folder = reference_folder()
    if folder is None:
        return "reference numbers: NOT COMPARED, NEXTSTAT_REFERENCE_DIR is not set"
    return f"reference numbers: {folder}"


def pytest_terminal_summary(terminalreporter):
    if reference_folder() is None:
        terminalreporter.write_line(
            "NOTE: the tests against published reference numbers were left out, because NEXTSTAT_REFERENCE_DIR is not set.",
            yellow=True,
        )


@pytest.fixture(scope="session")
def fixtures() -> pathlib.Path:
    """The folder of our own small workspaces."""
    return pathlib.Path(__file__).parents[1] / "fixtures"


@pytest.fixture(autouse=True, scope="module")
def default_pyhf():
    """No module of tests inherits the minimiser that another has set: pyhf keeps it for the whole process."""
    if "pyhf" in sys.modules:
        sys.modules["pyhf"].set_backend("numpy", "scipy")
