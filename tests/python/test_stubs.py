"""The stubs of the package say what its modules have: every name, argument and default."""

import pathlib
import subprocess
import sys

ALLOWED = pathlib.Path(__file__).with_name("stubtest_allowlist.txt")


def test_stubs_match_the_modules():
    command = [sys.executable, "-m", "mypy.stubtest", "nextstat", "--concise", "--allowlist", str(ALLOWED)]
    # Optional, and not needed where a class is marked as final.
    command += ["--ignore-disjoint-bases", "--ignore-unused-allowlist"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
