"""Lowers zoo models with ExecuTorch's own Python lowering, to compare with.

    baseline.py ZOO_DIR [NAME...]

For each ZOO_DIR/NAME.pt2 (by default every one without a variant) it writes NAME.executorch.pte and
the entry of ZOO_DIR/baseline.json: lowering_seconds, and what program_stats counts; or, where
ExecuTorch cannot lower the model, "fails": what it says. The time is that of lowering alone, after the
program is loaded, until its bytes are ready: of the processor and on one thread, so that what else the
machine does is not counted. A program that exists is not lowered again, only counted.
"""

import argparse
import json
import logging
import time
import warnings
from pathlib import Path

import executorch.kernels.quantized  # noqa: F401  (registers kernels)
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower

from program_stats import stats

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)


def lower(source, target):
    """Writes the program and returns the seconds that lowering took."""
    program = torch.export.load(source)
    start = time.process_time()
    edge = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
    data = edge.to_executorch().buffer
    seconds = time.process_time() - start
    target.write_bytes(data)
    return seconds


def reason(error):
    """What was the matter at first: the passes of ExecuTorch wrap one another's errors."""
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:120]}"


def entry(source, target):
    try:
        seconds = lower(source, target)
    except Exception as error:  # whatever it is, it is what the table shows
        return {"fails": reason(error)}
    return {"lowering_seconds": round(seconds, 2), **stats(target)}


def record(table, name, fields):
    """Reads the table anew: another process may have added to it meanwhile."""
    entries = json.loads(table.read_text()) if table.exists() else {}
    entries[name] = fields
    table.write_text(json.dumps(entries, indent=1, sort_keys=True) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("zoo", type=Path)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    names = arguments.names or sorted(
        p.stem for p in arguments.zoo.glob("*.pt2") if "." not in p.stem
    )
    table = arguments.zoo / "baseline.json"
    entries = json.loads(table.read_text()) if table.exists() else {}
    torch.set_num_threads(1)
    for index, name in enumerate(names, 1):
        target = arguments.zoo / f"{name}.executorch.pte"
        if name in entries and target.exists():
            fields, told = entries[name] | stats(target), "exists"
        else:
            fields = entry(arguments.zoo / f"{name}.pt2", target)
            told = fields.get("fails") or f"{fields['lowering_seconds']} s"
        record(table, name, fields)
        print(f"[{index}/{len(names)}] {name}: {told}", flush=True)


if __name__ == "__main__":
    main()
