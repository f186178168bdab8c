"""Folders of src/ include what docs/architecture.md says they stand on, and nothing else.

The block under "Dependencies point one way" is a list of chains: in `a, b <- c <- d`, c stands on a and b, and
d on c. A folder may include what it stands on, directly or by way of others. Every arrow must be of use, and no
folder may stand on itself. That the check fails where it should is checked first, on made-up trees.
"""

import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def chains(page: str) -> dict[str, set[str]]:
    """What each folder of the diagram stands on."""
    block = re.search(r"Dependencies point one way.*?^```\n(.*?)^```", page, re.M | re.S)
    below: dict[str, set[str]] = {}
    for line in block[1].split("\n") if block else []:
        if not line.strip():
            continue
        terms = [re.split(r",\s*", term.strip()) for term in re.split(r"<-+", line)]
        for names in terms:
            for name in names:
                below.setdefault(name, set())
        for lower, upper in zip(terms, terms[1:]):
            for name in upper:
                below[name].update(lower)
    return below


def reachable(below: dict[str, set[str]], folder: str) -> set[str]:
    found: set[str] = set()
    waiting = [folder]
    while waiting:
        new = below[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def folder_of(path: str, folders) -> str | None:
    """The innermost folder of the diagram that a path of src/ lies in."""
    return max((f for f in folders if path.startswith(f + "/")), key=len, default=None)


def problems(root: Path) -> list[str]:
    below = chains((root / "docs" / "architecture.md").read_text())
    if not below:
        return ["docs/architecture.md: no diagram of the dependencies"]
    allowed = {folder: reachable(below, folder) for folder in below}
    found = [f"the diagram: {f} stands on itself" for f in below if f in allowed[f]]
    used = set()
    ours = {path.name for path in (root / "src").iterdir() if path.is_dir()}
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in (".cc", ".h"):
            continue
        name = path.relative_to(root / "src").as_posix()
        folder = folder_of(name, below)
        if folder is None:
            found.append(f"src/{name}: the diagram does not have its folder")
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            include = re.match(r'\s*#\s*include\s*["<]([^">]+)[">]', line)
            if not include or include[1].split("/")[0] not in ours:
                continue
            other = folder_of(include[1], below)
            if other == folder:
                continue
            used.add((folder, other))
            if other not in allowed[folder]:
                found.append(f"src/{name}:{number}: {folder} does not stand on {other}: {line.strip()}")
    for folder, lower in below.items():
        found += [f"the diagram: nothing in {folder} includes {name}"
                  for name in sorted(lower) if (folder, name) not in used]
    return found


def problems_of(diagram: str, files: dict[str, str]) -> list[str]:
    """Those of a tree with this diagram, whose files include each other."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        (root / "docs").mkdir()
        (root / "docs" / "architecture.md").write_text(
            f"Dependencies point one way:\n\n```\n{diagram}\n```\n")
        for name, include in files.items():
            path = root / "src" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f'#pragma once\n#include "{include}"\n')
        return problems(root)


def self_test() -> None:
    right = {"low/a.h": "cstddef", "mid/b.h": "low/a.h", "mid/sub/d.h": "mid/b.h", "top/c.cc": "mid/b.h"}
    diagram = "low <- mid <--- top\n       mid <- mid/sub"
    assert problems_of(diagram, right) == []
    assert problems_of(diagram, {**right, "top/e.cc": "low/a.h"}) == [], "by way of mid"

    def fails(expected: str, drawn: str = diagram, **planted: str) -> None:
        files = {**right, **{name.replace("__", "/") + ".h": file for name, file in planted.items()}}
        told = problems_of(drawn, files)
        assert len(told) == 1 and expected in told[0], (expected, told)

    fails("src/low/up.h:2: low does not stand on top", low__up="top/c.h")
    fails("src/mid/up.h:2: mid does not stand on mid/sub", mid__up="mid/sub/d.h")
    fails("src/mid/sub/up.h:2: mid/sub does not stand on top", mid__sub__up="top/c.h")
    fails("src/new/n.h: the diagram does not have its folder", new__n="cstddef")
    fails("nothing in top includes low", "low <- mid <- top\nmid <- mid/sub\nlow <- top")
    fails("no diagram", "")
    told = problems_of(diagram + "\ntop <- low", {**right, "low/up.h": "top/c.h"})
    assert told == [f"the diagram: {name} stands on itself" for name in ("low", "mid", "top")], told


def main() -> int:
    self_test()
    found = problems(ROOT)
    for line in found:
        print(line)
    return bool(found)


sys.exit(main())
