"""What scripts/wheels and scripts/programs share: the version, the targets, and the licences of what is linked in."""

from __future__ import annotations

import collections
import dataclasses
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[1]


@dataclasses.dataclass(frozen=True)
class Target:
    """How one target is built."""

    #: The tag of its wheels, where the platform has a choice.
    tag: str | None
    #: Behind the name of the target for `cargo zigbuild`: the oldest glibc. None: built by the system's own linker.
    zig: str | None
    #: Whether releases have it.
    released: bool = True

    @property
    def by_zig(self) -> bool:
        return self.zig is not None


# Zig links against an old glibc or against musl on any Linux. macOS and Windows need the linker of their own system.
TARGETS = {
    "x86_64-unknown-linux-gnu": Target("manylinux_2_17", ".2.17"),
    "aarch64-unknown-linux-gnu": Target("manylinux_2_17", ".2.17"),
    "x86_64-unknown-linux-musl": Target("musllinux_1_2", ""),
    "aarch64-unknown-linux-musl": Target("musllinux_1_2", ""),
    "x86_64-apple-darwin": Target(None, None),
    "aarch64-apple-darwin": Target(None, None),
    "x86_64-pc-windows-msvc": Target(None, None),
    "aarch64-pc-windows-msvc": Target(None, None),
    # Any Linux builds it with mingw, and wine runs it.
    "x86_64-pc-windows-gnu": Target(None, None, released=False),
}

#: For a Rust toolchain that has the sources of the standard library but not the target itself: option --build-std.
BUILD_STD = ["-Z", "build-std=std,panic_unwind"]

#: The oldest macOS that the builds start on; that of the first machines with Apple's processors.
MACOS = "11.0"


def version() -> str:
    """The version of the workspace."""
    return tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]


def pinned(*names: str) -> list[str]:
    """Requirements of the tests with their versions, from tests/python/requirements.txt."""
    lines = (ROOT / "tests" / "python" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    known = dict(line.split("==") for line in lines if "==" in line and not line.startswith("#"))
    return [f"{name}=={known[name]}" for name in names]


def environment(build_std: bool = False) -> dict[str, str]:
    """What builds run with. Maturin and cargo-zigbuild look for Zig beside the Python that the path names first."""
    path = os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ.get("PATH", "")])
    # A released toolchain builds its standard library only if it is told that this may change.
    unstable = {"RUSTC_BOOTSTRAP": "1"} if build_std else {}
    return {**os.environ, "PATH": path, "MACOSX_DEPLOYMENT_TARGET": MACOS, **unstable}


def run(command: list[object], **options: object) -> subprocess.CompletedProcess[str]:
    """Runs a command from the root of the repository and shows it. Ends the script if it fails."""
    words = [str(word) for word in command]
    print("+", shlex.join(words), flush=True)
    options.setdefault("cwd", ROOT)
    done = subprocess.run(words, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{words[0]} failed with exit code {done.returncode}")
    return done


def licences(package: str, target: str, features: str = "") -> str:
    """The licences of all packages that are linked into a package of the workspace, with their texts."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target]
    if features:
        command += ["--features", features]
    told = json.loads(run(command, stdout=subprocess.PIPE).stdout)
    packages = {found["id"]: found for found in told["packages"]}
    nodes = {node["id"]: node for node in told["resolve"]["nodes"]}
    start = next(found["id"] for found in packages.values() if found["name"] == package)

    linked, waiting = {start}, [start]
    while waiting:
        for link in nodes[waiting.pop()]["deps"]:
            # Neither what only tests need nor what only runs while building.
            if link["pkg"] not in linked and any(kind["kind"] is None for kind in link["dep_kinds"]):
                linked.add(link["pkg"])
                waiting.append(link["pkg"])

    texts: dict[str, list[str]] = collections.defaultdict(list)
    lines = []
    for found in sorted((packages[one] for one in linked), key=lambda found: (found["name"], found["version"])):
        if found["source"] is None:
            continue
        name = f"{found['name']} {found['version']}"
        files = list(_texts(pathlib.Path(found["manifest_path"]).parent))
        lines.append(f"{name}: {found['license']}" + ("" if files else f"; by {', '.join(found['authors']) or 'its authors'}"))
        for text in files:
            texts[text].append(name)
    parts = ["Packages that are linked into this program or library, and their licences.", "\n".join(lines)]
    parts += [f"{'=' * 100}\n{', '.join(names)}\n\n{text}" for text, names in texts.items()]
    return "\n\n".join(parts) + "\n"


def _texts(folder: pathlib.Path):
    """The different texts of licences below a folder of a package. Sources in C have their own, in a folder of theirs."""
    seen = set()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name.upper().startswith(("LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE")):
            if path.suffix.lower() in ("", ".md", ".txt") or path.suffix[1:].isupper():
                text = path.read_text(encoding="utf-8", errors="replace").strip()
                if text and text not in seen:
                    seen.add(text)
                    yield text
