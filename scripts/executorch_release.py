"""The release of ExecuTorch that programs are written for, run in and compared with."""

import re
from pathlib import Path


def executorch_release():
    pins = (Path(__file__).resolve().parent / "requirements.txt").read_text()
    return re.search(r"^executorch==(\S+)", pins, re.MULTILINE)[1]
