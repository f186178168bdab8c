"""Lowers zoo models with ExecuTorch's own Python lowering, to compare with.

    baseline.py ZOO_DIR [NAME...]

For each ZOO_DIR/NAME.pt2 (by default every one without a variant) it writes NAME.executorch.pte and
the entry of ZOO_DIR/baseline.json: lowering_seconds, and what program_stats counts. The time is that
of lowering alone: after the program is loaded, until its bytes are ready. A program that exists is
not lowered again, only counted.
"""

import argparse
import json
import logging
import time
import warnings
from pathlib import Path

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower

from program_stats import stats

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)


def lower(source, target):
    """Writes the program and returns the seconds that lowering took."""
    program = torch.export.load(source)
    start = time.monotonic()
    edge = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
    data = edge.to_executorch().buffer
    seconds = time.monotonic() - start
    target.write_bytes(data)
    return seconds


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
    for index, name in enumerate(names, 1):
        target = arguments.zoo / f"{name}.executorch.pte"
        if name in entries and target.exists():
            entries[name] |= stats(target)
            table.write_text(json.dumps(entries, indent=1, sort_keys=True) + "\n")
            print(f"[{index}/{len(names)}] {name}: exists", flush=True)
            continue
        seconds = lower(arguments.zoo / f"{name}.pt2", target)
        entries[name] = {"lowering_seconds": round(seconds, 2), **stats(target)}
        table.write_text(json.dumps(entries, indent=1, sort_keys=True) + "\n")
        print(f"[{index}/{len(names)}] {name}: {seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main()
