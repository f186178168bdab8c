"""A norm between two linear layers, as layline compiles it, all in one delegate, and as ExecuTorch
lowers it: the norm by a portable kernel, between two delegates. scripts/norm-kernels runs this."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from generated_section import write_section

LAYLINE = os.environ.get("LAYLINE", "build/layline")


def between_linears(norm, width):
    return torch.nn.Sequential(torch.nn.Linear(width, width), norm, torch.nn.Linear(width, width))


def between_convs(norm, channels):
    conv = torch.nn.Conv2d
    return torch.nn.Sequential(conv(channels, channels, 1), norm, conv(channels, channels, 1))


def layer_norm(rows, width):
    return between_linears(torch.nn.LayerNorm(width), width), (1, rows, width)


def rms_norm(rows, width):
    return between_linears(torch.nn.RMSNorm(width), width), (1, rows, width)


def group_norm(groups, channels, side):
    model = between_convs(torch.nn.GroupNorm(groups, channels), channels)
    return model, (1, channels, side, side)


CASES = {
    "layer norm, BERT-tiny": layer_norm(128, 128),
    "layer norm, DeiT-Tiny": layer_norm(197, 192),
    "layer norm, Swin-T": layer_norm(3136, 96),
    "layer norm, ViT-B/16": layer_norm(197, 768),
    "layer norm, one row": layer_norm(1, 256),
    "RMS norm, small Llama": rms_norm(64, 256),
    "RMS norm, one row": rms_norm(1, 2048),
    "group norm, 8 groups": group_norm(8, 64, 28),
    "group norm, 1 group": group_norm(1, 96, 14),
}


def times(model, shape, scratch):
    """Of ExecuTorch's program and ours, by turns, in microseconds."""
    program = torch.export.export(model.eval(), (torch.randn(shape),))
    torch.export.save(program, scratch / "model.pt2")
    lowered = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
    (scratch / "theirs.pte").write_bytes(lowered.to_executorch().buffer)
    command = [LAYLINE, "compile", scratch / "model.pt2", "-o", scratch / "ours.pte"]
    subprocess.run(command, check=True, capture_output=True)
    command = [LAYLINE, "bench", scratch / "theirs.pte", scratch / "ours.pte", "--json"]
    timed = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["programs"]
    return [run["latency_ms"]["median"] * 1e3 for run in timed]


def main():
    page = Path(sys.argv[1])
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for name, (model, shape) in CASES.items():
            portable, ours = times(model, shape, Path(scratch))
            size = ",".join(map(str, shape))
            rows.append(f"| {name} | [{size}] | {portable:.1f} | {ours:.1f} | {portable / ours:.2f}× |\n")
            print(rows[-1], end="", flush=True)
    head = "| | input | portable kernel, µs | in the delegate, µs | gain |\n| --- | --- | ---: | ---: | ---: |\n"
    write_section(page, "norm-kernels", head + "".join(rows))


main()
