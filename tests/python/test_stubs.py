"""The stubs of the package say what its modules have: every name, argument and default."""

import subprocess
import sys


def test_stubs_match_the_modules():
    command = [sys.executable, "-m", "mypy.stubtest", "nextstat", "--concise"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
