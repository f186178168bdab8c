"""Compiles the files that docs/adding-a-*.md show whole: they must fit the sources as they are.

    examples_check.py COMPILER GENERATED

A block of C++ with the project's namespace in it is a file, by the last name of one in the text before.
Other blocks are lines to add to a file, and are not compiled.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def files(page: Path):
    text = page.read_text()
    for block in re.finditer(r"^```cpp\n(.*?)^```", text, re.M | re.S):
        if "namespace layline" in block[1]:
            names = re.findall(r"`src/([\w/]+\.(?:cc|h))`", text[: block.start()])
            yield names[-1], block[1]


def main() -> int:
    compiler, generated = sys.argv[1:]
    compiled = 0
    with tempfile.TemporaryDirectory() as scratch:
        for page in sorted((ROOT / "docs").glob("adding-*.md")):
            for name, code in files(page):
                path = Path(scratch) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(code)
        for path in sorted(Path(scratch).rglob("*.cc")):
            command = [compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]
            folders = [f"-I{scratch}", f"-I{ROOT}/src", f"-I{ROOT}/include", "-isystem", generated]
            if subprocess.run([*command, *folders, path]).returncode != 0:
                return 1
            compiled += 1
            print(f"{path.relative_to(scratch)} compiles")
    return compiled < 3


sys.exit(main())
