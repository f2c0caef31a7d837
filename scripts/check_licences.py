#!/usr/bin/env python3
"""Checks licences and duplicate versions of all dependencies against deny.toml.

Reads the same file as `cargo deny check licenses bans sources`. It needs only cargo and Python, because building
cargo-deny from source would take longer than all other checks. Prints every violation. Exits with 1 if there is one.
"""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys
import tomllib
from collections import defaultdict

ROOT = pathlib.Path(__file__).resolve().parents[1]


def satisfied(expression: str, allowed: set[str]) -> bool:
    """Returns whether the allowed licences are sufficient for an SPDX expression."""
    tokens = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))
    position = 0

    def either():
        nonlocal position
        result = both()
        while position < len(tokens) and tokens[position].upper() == "OR":
            position += 1
            other = both()
            result = result or other
        return result

    def both():
        nonlocal position
        result = one()
        while position < len(tokens) and tokens[position].upper() == "AND":
            position += 1
            other = one()
            result = result and other
        return result

    def one():
        nonlocal position
        token = tokens[position]
        position += 1
        if token == "(":
            result = either()
            if position >= len(tokens) or tokens[position] != ")":
                raise ValueError(f"unbalanced licence expression '{expression}'")
            position += 1
            return result
        if position + 1 < len(tokens) and tokens[position].upper() == "WITH":
            token = f"{token} WITH {tokens[position + 1]}"
            position += 2
        return token in allowed

    result = either()
    if position != len(tokens):
        raise ValueError(f"cannot read licence expression '{expression}'")
    return result


def reachable(metadata) -> set[str]:
    """Returns the packages with which our crates are built. These are all normal and build dependencies, and the
    development dependencies of our crates."""
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    found, queue = set(metadata["workspace_members"]), list(metadata["workspace_members"])
    ours = set(queue)
    while queue:
        here = queue.pop()
        for dependency in nodes[here]["deps"]:
            kinds = {kind["kind"] for kind in dependency["dep_kinds"]}
            if (here in ours or kinds != {"dev"}) and dependency["pkg"] not in found:
                found.add(dependency["pkg"])
                queue.append(dependency["pkg"])
    return found


def main() -> int:
    policy = tomllib.loads((ROOT / "deny.toml").read_text(encoding="utf-8"))
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--all-features"]
    for target in policy["graph"]["targets"]:
        command += ["--filter-platform", target]
    metadata = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    kept = reachable(metadata)
    packages = [package for package in metadata["packages"] if package["id"] in kept]

    allowed = set(policy["licenses"]["allow"])
    exceptions = {e["crate"]: set(e["allow"]) for e in policy["licenses"].get("exceptions", [])}
    registries = set(policy["sources"]["allow-registry"])
    skipped = {entry["crate"].split("@")[0] for entry in policy["bans"].get("skip", [])}
    problems, versions = [], defaultdict(set)
    for package in packages:
        name = f"{package['name']} {package['version']}"
        versions[package["name"]].add(package["version"])
        licence = package["license"]
        if not licence:
            problems.append(f"{name} names no licence")
        elif not satisfied(licence, allowed | exceptions.get(package["name"], set())):
            problems.append(f"{name} is under '{licence}', which deny.toml does not allow")
        source = package["source"]
        if source is not None and source not in {f"registry+{registry}" for registry in registries}:
            problems.append(f"{name} comes from {source}, not from an allowed registry")
    for name, several in sorted(versions.items()):
        if len(several) > 1 and name not in skipped:
            problems.append(f"{name} is there in versions {', '.join(sorted(several))}: agree on one, or list it under [bans] skip")
    for name in sorted(skipped):
        if len(versions.get(name, ())) < 2:
            problems.append(f"deny.toml skips {name}, which is not duplicated any more: remove the entry")

    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    print(f"licences: {len(packages)} packages, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
