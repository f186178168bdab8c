"""Runs the commands in README.md, docs/report.md and docs/tutorials, and compares what they print with
what is shown.

    commands_check.py LAYLINE [FILE.md...]

A command is also what a sentence has between backticks, if it begins with `layline`, names a file and has
no PLACEHOLDER; it only has to succeed. A block of commands has lines that begin with `$ `; the lines below one, up to the next, are its
output, of which only times and sizes of files may differ, and `...` stands for any lines. Files of a page are
made in one scratch folder, in which the models of tests/data are. A model that is not among them is
looked for in zoo/; where that is not exported, a small network takes its place, and its output is
not compared.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
STAND_IN = ROOT / "tests/data/mobile_block.pt2"
SIZES = re.compile(r"^(file|segment|arena) bytes.*")
TIMES = re.compile(r"[0-9.]+ ms|[0-9.]+ MB|-?\b[0-9]+\.[0-9]+x?\b")


def blocks(page: str):
    """The commands of each block with their outputs: [(command, lines)]."""
    for block in re.findall(r"^```(?:console)?\n(.*?)^```", page, re.M | re.S):
        commands = []
        for line in block.splitlines():
            if line.startswith("$ "):
                commands.append((line[2:], []))
            elif commands:
                commands[-1][1].append(line)
        yield from commands
    prose = re.sub(r"^```.*?^```", "", page, flags=re.M | re.S)
    for command in re.findall(r"`(layline [a-z][^`]*)`", prose):
        command = " ".join(command.split())
        if re.search(r"\.(pt2|pte)\b", command) and not re.search(r"\b[A-Z]{3,}\b", command):
            yield command, []


def prepare(folder: Path, command: str) -> bool:
    """Puts the models that the command names into the folder. False if one is a stand-in."""
    real = True
    for model in re.findall(r"[\w./-]+\.pt2", command):
        target = folder / model
        if target.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / model).exists():
            target.symlink_to(ROOT / model)
        elif (ROOT / "zoo" / model).exists():
            target.symlink_to(ROOT / "zoo" / model)
        else:
            real = False
            shutil.copy(STAND_IN, target)
    for file in re.findall(r"docs/[\w./-]+", command):
        if not (folder / file).exists():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).symlink_to(ROOT / file)
    return real


def normal(lines) -> list[str]:
    return [SIZES.sub(r"\1 bytes", TIMES.sub("#", line)).rstrip() for line in "\n".join(lines).strip().split("\n")]


def same(shown: list[str], printed: list[str]) -> bool:
    pattern = "\n".join(".*" if line == "..." else re.escape(line) for line in normal(shown))
    return re.fullmatch(pattern, "\n".join(normal(printed)), re.S) is not None


def check_page(path: Path, layline: Path) -> list[str]:
    problems = []
    stand_ins = False
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "bin").mkdir()
        (folder / "bin/layline").symlink_to(layline)
        # NO_COLOR and one width: what is printed must not depend on the terminal.
        environment = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "NO_COLOR": "1"}
        count = 0
        for command, shown in blocks(path.read_text()):
            count += 1
            stand_ins = not prepare(folder, command) or stand_ins
            if "image.npy" in command:
                write_image(folder / "image.npy", stand_ins)
            ran = subprocess.run(
                ["bash", "-c", command], cwd=folder, env=environment, text=True, capture_output=True
            )
            printed = (ran.stdout + ran.stderr).splitlines()
            if ran.returncode != 0 and not any(line.startswith("layline: ") for line in shown):
                problems.append(f"{path.name}: $ {command}\n  fails: {ran.stderr.strip()}")
            elif shown and not stand_ins and not same(shown, printed):
                text = "\n  ".join(printed)
                problems.append(f"{path.name}: $ {command}\n  prints something else:\n  {text}")
        print(f"{path.name}: {count} commands{', with stand-ins for models of the zoo' if stand_ins else ''}")
        if count == 0:
            problems.append(f"{path.name}: no commands found")
    return problems


def write_image(path: Path, stand_in: bool) -> None:
    """What the README calls an image: zeros, or the input of the network that stands in."""
    if stand_in:
        with zipfile.ZipFile(STAND_IN.with_suffix(".npz")) as archive:
            path.write_bytes(archive.read("input_0.npy"))
        return
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3, 224, 224), }"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    data = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
    path.write_bytes(data + bytes(4 * 3 * 224 * 224))


def main() -> int:
    layline = Path(sys.argv[1]).resolve()
    pages = [Path(p) for p in sys.argv[2:]] or [
        ROOT / "README.md", ROOT / "docs/report.md", *sorted((ROOT / "docs/tutorials").glob("*.md"))
    ]
    problems = [problem for page in pages for problem in check_page(page, layline)]
    print("\n".join(problems))
    return bool(problems)


sys.exit(main())
