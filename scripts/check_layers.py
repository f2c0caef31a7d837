#!/usr/bin/env python3
"""Checks that the top-level modules of each crate have no circular dependencies.

    scripts/check_layers.py             every crate in `crates` and `bindings`
    scripts/check_layers.py FOLDER...   the crates in these folders

Reads paths in `src` that begin with `crate::` or `super::`. If `lib.rs` or `main.rs` re-exports a name, the name
counts as the module from which it comes. Tests, comments and `lib.rs` itself are not read. If modules depend on each
other, prints one shortest circle for each group of such modules, and exits with 1.
"""

from __future__ import annotations

import pathlib
import re
import sys
from collections import deque

ROOT = pathlib.Path(__file__).resolve().parents[1]


def code(path: pathlib.Path) -> str:
    """Returns the text of a file without comments, and without the tests at its end."""
    text = re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
    return re.split(r"#\[cfg\((?:all\()?test\b[^\n]*\n(?:#\[[^\n]*\n)*\s*(?:pub(?:\([^)]*\))? )?mod \w+ \{", text)[0]


def names(tree: str) -> list[str]:
    """Returns the first names of the paths that follow `crate::` in a text, such as `a::b` or `{a, b::{c, d}}`."""
    if not tree.startswith("{"):
        return re.findall(r"\A\w+", tree)
    depth, part, parts = 0, "", []
    for sign in tree:
        depth += (sign == "{") - (sign == "}")
        if depth == 0 or (depth == 1 and sign == ","):
            parts.append(part)
            part = ""
        elif not (depth == 1 and sign == "{"):
            part += sign
        if depth == 0:
            break
    return [name for part in parts for name in re.findall(r"\A\s*(\w+)", part)]


def exports(root: str) -> dict[str, str]:
    """Returns the names that the root of a crate re-exports, each with the module from which it comes."""
    found = {}
    for module, tree in re.findall(r"\bpub(?:\([^)]*\))? use (?:self::|crate::)?(\w+)::(\{[^;]*\}|[\w:]+)\s*;", root):
        for name in re.findall(r"\w+", tree):
            found.setdefault(name, module)
    return found


def dependencies(source: pathlib.Path) -> dict[tuple[str, str], str]:
    """Returns pairs of modules. The first module of a pair depends on the second. Each pair has a file with the
    dependency."""
    roots = [path for path in (source / "lib.rs", source / "main.rs") if path.exists()]
    root = "\n".join(code(path) for path in roots)
    modules = set(re.findall(r"^\s*(?:pub(?:\([^)]*\))? )?mod (\w+);", root, re.M))
    exported = exports(root)
    found: dict[tuple[str, str], str] = {}
    for path in sorted(source.rglob("*.rs")):
        parts = list(path.relative_to(source).with_suffix("").parts)
        if path in roots or parts[0] not in modules or "tests" in parts:
            continue
        # This number of `super::` in a row refers to the root of the crate. A folder's `mod.rs` counts as the folder.
        depth, text = len(parts) - (parts[-1] == "mod"), code(path)
        starts = [match.end() for match in re.finditer(r"\bcrate::", text)]
        starts += [match.end() for match in re.finditer(r"(?<![\w:])(?:super::){%d}(?!super)" % depth, text)]
        for start in starts:
            for name in names(text[start:]):
                target = name if name in modules else exported.get(name, "")
                if target in modules and target != parts[0]:
                    found.setdefault((parts[0], target), str(path.relative_to(source)))
    return found


def way(graph: dict[str, list[str]], start: str, end: str) -> list[str]:
    """Returns the shortest chain of dependencies from one module to another, with both ends; empty if there is none."""
    before, queue = {start: start}, deque([start])
    while queue:
        at = queue.popleft()
        for following in graph.get(at, []):
            if following == end:
                path = [end, at]
                while path[-1] != start:
                    path.append(before[path[-1]])
                return path[::-1]
            if following not in before:
                before[following] = at
                queue.append(following)
    return []


def circles(found: dict[tuple[str, str], str]) -> list[list[str]]:
    """Returns the shortest circle of dependencies through each module. A circle is left out if it shares a module
    with a shorter circle."""
    graph: dict[str, list[str]] = {}
    for module, target in sorted(found):
        graph.setdefault(module, []).append(target)
    result: list[list[str]] = []
    for circle in sorted((way(graph, module, module) for module in graph), key=len):
        if circle and not any(set(circle) & set(other) for other in result):
            result.append(circle)
    return result


def main(arguments: list[str]) -> int:
    folders = [pathlib.Path(name) for name in arguments] or sorted([*ROOT.glob("crates/*"), *ROOT.glob("bindings/*")])
    bad = False
    for folder in folders:
        found = dependencies(folder / "src")
        for circle in circles(found):
            bad = True
            print(f"{folder.name}: modules depend on each other in a circle: {' -> '.join(circle)}")
            for pair in zip(circle, circle[1:]):
                print(f"    {pair[0]} uses {pair[1]} in {found[pair]}")
    return int(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
