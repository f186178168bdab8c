"""Compiles the code of docs/adding-*.md, docs/changing-*.md and docs/embedding.md: it must fit the sources
as they are.

    examples_check.py COMPILER GENERATED [PAGE.md...]

The text before a block names its file, the last one counts. A block of C++ with the project's namespace
in it is a whole file. A block that includes the public headers is a program of an embedder. A block of
`diff` is a change of a file: what it keeps and removes must stand there, in one place only. Each page gets
a copy of the files that it changes, which stands before the sources, so that headers are changed, too.

Files that need more than the compiler's own libraries, NEED_MORE, are changed and not compiled.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = ["adding-*.md", "changing-*.md", "embedding.md"]
NEED_MORE = ("tests/", "src/cli/runtime/")


class Misfit(Exception):
    pass


def changed(source: str, diff: str, where: str) -> str:
    """The source with the change made."""
    lines = [(line[:1], line[1:]) for line in diff.splitlines()]
    old = "".join(f"{text}\n" for sign, text in lines if sign != "+")
    new = "".join(f"{text}\n" for sign, text in lines if sign != "-")
    found = f"\n{source}".count(f"\n{old}")
    if old == new or found != 1:
        raise Misfit(f"{where}: found {found} times, not once:\n{old}")
    return f"\n{source}".replace(f"\n{old}", f"\n{new}")[1:]


def files(page: Path) -> dict[str, str]:
    """What the page adds and changes, by the names of the files."""
    text = page.read_text()
    found = {}
    for block in re.finditer(r"^```(cpp|diff)\n(.*?)^```", text, re.M | re.S):
        kind, code = block.groups()
        names = re.findall(r"`((?:src|tests)/[\w/]+\.(?:cc|h))`", text[: block.start()])
        if kind == "diff":
            if not names:
                raise Misfit(f"{page.name}: no file is named before\n{code}")
            source = found.get(names[-1]) or (ROOT / names[-1]).read_text()
            found[names[-1]] = changed(source, code, f"{page.name}, {names[-1]}")
        elif "namespace layline" in code:
            found[names[-1]] = code
        elif "#include <layline/" in code:
            found[f"src/{page.stem}/{block.start()}.cc"] = code
        elif page.stem != "embedding":
            raise Misfit(f"{page.name}: neither a file nor a diff:\n{code}")
    return found


def compiles(page: Path, compiler: str, generated: str) -> int:
    """How many files were compiled; 0, which is a failure, if one does not compile."""
    compiled = 0
    with tempfile.TemporaryDirectory() as scratch:
        names = files(page)
        for name, code in names.items():
            path = Path(scratch) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(code)
        for name in sorted(names):
            if not name.endswith(".cc") or name.startswith(NEED_MORE):
                continue
            command = [compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]
            folders = [f"-I{scratch}/src", f"-I{ROOT}/src", f"-I{ROOT}/include", "-isystem", generated]
            if subprocess.run([*command, *folders, Path(scratch) / name]).returncode != 0:
                return 0
            compiled += 1
            print(f"{page.name}: {name} compiles", flush=True)
    return compiled


def main() -> int:
    compiler, generated, *pages = sys.argv[1:]
    docs = ROOT / "docs"
    paths = [Path(page) for page in pages] or [p for name in PAGES for p in sorted(docs.glob(name))]
    try:
        return 0 if all([compiles(page, compiler, generated) for page in paths]) else 1
    except Misfit as misfit:
        print(misfit)
        return 1


sys.exit(main())
