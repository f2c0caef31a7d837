"""The stubs of the package agree with its modules: every name, argument and default."""

import pathlib
import subprocess
import sys

ALLOWED = pathlib.Path(__file__).with_name("stubtest_allowlist.txt")


def test_stubs_match_the_modules():
    command = [sys.executable, "-m", "mypy.stubtest", "nextstat", "--concise", "--allowlist", str(ALLOWED)]
    # Declarations of disjoint bases are optional, and not needed for classes that are final.
    command += ["--ignore-disjoint-bases", "--ignore-unused-allowlist"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
