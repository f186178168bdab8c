"""Every test that docs/upstream.md and docs/testing.md name exists: a demand without its test is not
met."""

import pathlib
import re
import sys


def named_tests(text):
    """`Suite.Name`, a path and `fixture NAME` in backticks of a table's last column.

    A row whose last column begins with "not yet" says that the demand is not met.
    """
    for line in text.splitlines():
        if not re.match(r"\| [A-D][0-9]+ \|", line):
            continue
        row, *_, tests = [cell.strip() for cell in line.strip("|").split("|")]
        names = [] if tests.startswith("not yet") else re.findall(r"`([^`]+)`", tests)
        if not names and not tests.startswith("not yet"):
            yield row, None
        elif not names:
            yield row, "docs/upstream.md"
        for name in names:
            yield row, name


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    sources = "".join(path.read_text() for path in (root / "tests").rglob("*_test.cc"))
    defined = {
        f"{suite}.{name}"
        for suite, name in re.findall(
            r"^(?:TEST|TEST_F|TEST_P|RC_GTEST_PROP)\(\s*(\w+),\s*(\w+)", sources, re.MULTILINE
        )
    }
    missing = []
    rows = set()
    for row, name in named_tests((root / "docs" / "upstream.md").read_text()):
        rows.add(row)
        if name is None:
            missing.append(f"{row}: no test")
        elif name.startswith("fixture "):
            if not (root / "tests" / "data" / f"{name.removeprefix('fixture ')}.pt2").exists():
                missing.append(f"{row}: {name}")
        elif "/" in name:
            if not (root / name).exists():
                missing.append(f"{row}: {name}")
        elif name not in defined:
            missing.append(f"{row}: {name}")
    for name in re.findall(r"`([A-Z]\w+\.[A-Z]\w+)`", (root / "docs" / "testing.md").read_text()):
        if name not in defined:
            missing.append(f"docs/testing.md: {name}")
    wanted = {f"A{i}" for i in range(1, 6)} | {f"B{i}" for i in range(1, 12)}
    wanted |= {f"C{i}" for i in range(1, 9)} | {f"D{i}" for i in range(1, 10)}
    missing += [f"{row}: no row" for row in sorted(wanted - rows)]
    print("\n".join(missing) or f"{len(rows)} requirements, each with its tests")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
