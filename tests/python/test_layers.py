"""`check_layers.py` finds modules that depend on each other in circles, and nothing else."""

import pathlib
import subprocess
import sys

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check_layers.py"


def check(folder, files):
    """Runs the check on a crate with these files."""
    for name, text in files.items():
        path = folder / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return subprocess.run([sys.executable, SCRIPT, folder], capture_output=True, text=True)


ROOT = "mod plan;\nmod fit;\nmod error;\npub use fit::{Fit, Step};\n"


def test_a_circle_through_folders_and_exports_is_named(tmp_path):
    files = {
        "lib.rs": ROOT,
        "plan/mod.rs": "mod part;\n",
        "plan/part.rs": "use super::super::error::E;\n",
        "error.rs": "use crate::{Step, other::{fit}};\n",
        "fit.rs": "fn f() { super::plan::go() }\n",
    }
    done = check(tmp_path, files)
    assert done.returncode == 1
    assert "in a circle: error -> fit -> plan -> error" in done.stdout
    assert "error uses fit in error.rs" in done.stdout
    assert "plan uses error in plan/part.rs" in done.stdout


def test_tests_comments_and_paths_within_a_module_do_not_count(tmp_path):
    files = {
        "lib.rs": ROOT,
        "plan/mod.rs": "//! See [`crate::fit`].\nmod part;\nuse crate::error::E;\n",
        "plan/part.rs": "use super::fit;\nuse crate::plan::E;\n",
        "plan/tests.rs": "use crate::fit::Fit;\n",
        "error.rs": "#[cfg(test)]\nmod tests {\n    use super::*;\n    use crate::Fit;\n}\n",
        "fit.rs": "use crate::plan::Plan;\n",
    }
    done = check(tmp_path, files)
    assert (done.returncode, done.stdout) == (0, "")
