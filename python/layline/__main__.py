"""The `layline` command, which is a program of its own beside this file."""

import os
import sys
from pathlib import Path


def main() -> None:
    command = Path(__file__).parent / "bin" / "layline"
    os.execv(command, ["layline", *sys.argv[1:]])


if __name__ == "__main__":
    main()
