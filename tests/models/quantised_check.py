"""Compares quantised zoo models, compiled by layline, with torch and with ExecuTorch's own lowering.

    quantised_check.py LAYLINE ZOO_DIR [--inputs N] [NAME.VARIANT...]

For each model: delegates, kernels outside them and permutes, beside those of the float model; then on
N random inputs how often the greatest output is torch's, and the mean difference from torch relative
to the mean output, for layline's program and for ExecuTorch's (NAME.VARIANT.executorch.pte, which
baseline.py writes; left out where it is missing).
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import torch
from torchao.quantization.pt2e import quantize_pt2e  # noqa: F401  (registers ops)
from torch.utils import _pytree as pytree

ROW = "{:<34} {:>14} {:>14} {:>9} {:>9} {:>10} {:>10}  {}"


def compile_model(layline, model, scratch):
    program, report = scratch / "program.pte", scratch / "report.json"
    command = [layline, "compile", model, "-o", program, "--report", report]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        raise RuntimeError(result.stderr.strip().splitlines()[-1])
    return program, json.loads(report.read_text())


def counts(report):
    outside = sum(op["count"] for op in report["portable_ops"])
    return f"{report['delegates']}/{outside}/{report['permutes']['final']}"


def run(layline, program, names, files, outputs, scratch):
    """The outputs of a program, as flat arrays, in order."""
    folder = scratch / "out"
    inputs = [f"--input={name}={file}" for name, file in zip(names, files, strict=True)]
    command = [layline, "run", program, *inputs, "--output-dir", folder]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return [np.load(folder / f"{name}.npy") for name in outputs]


def check(layline, zoo, name, count, scratch):
    program, report = compile_model(layline, zoo / f"{name}.pt2", scratch)
    base = zoo / f"{name.partition('.')[0]}.pt2"
    float_counts = "-"
    if base.exists():
        float_scratch = scratch / "float"
        float_scratch.mkdir(exist_ok=True)
        float_counts = counts(compile_model(layline, base, float_scratch)[1])
    model = torch.export.load(zoo / f"{name}.pt2").module()
    reference = zoo / name
    first = [np.load(file) for file in sorted(reference.glob("input_*.npy"))]
    theirs = zoo / f"{name}.executorch.pte"
    random = np.random.default_rng(1)
    same, error, runs = [0, 0], [0.0, 0.0], 2 if theirs.exists() else 1
    for _ in range(count):
        inputs = [
            random.standard_normal(x.shape).astype(x.dtype)
            if x.dtype.kind == "f"
            else random.permutation(x.ravel()).reshape(x.shape)
            for x in first
        ]
        files = []
        for index, value in enumerate(inputs):
            files.append(scratch / f"input_{index}.npy")
            np.save(files[-1], value)
        with torch.no_grad():
            expected = pytree.tree_leaves(model(*map(torch.from_numpy, inputs)))
        expected = [value.numpy() for value in expected]
        programs = [(program, [i["name"] for i in report["inputs"]],
                     [o["name"] for o in report["outputs"]])]
        if runs == 2:
            programs.append((theirs, [f"input_{i}" for i in range(len(files))],
                             [f"output_{i}" for i in range(len(expected))]))
        for which, (file, names, outputs) in enumerate(programs):
            actual = run(layline, file, names, files, outputs, scratch)
            same[which] += int(actual[0].argmax() == expected[0].argmax())
            error[which] += float(
                np.mean([np.abs(a - e).mean() / np.abs(e).mean() for a, e in zip(actual, expected)])
            )
    own = [f"{same[0]}/{count}", f"{error[0] / count:.1e}"]
    other = [f"{same[1]}/{count}", f"{error[1] / count:.1e}"] if runs == 2 else ["-", "-"]
    wrong = "" if runs == 1 or same[0] >= same[1] else "agrees less often than ExecuTorch's"
    return [counts(report), float_counts, own[0], other[0], own[1], other[1], wrong]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("layline", type=Path)
    parser.add_argument("zoo", type=Path)
    parser.add_argument("--inputs", type=int, default=64)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_intermixed_args()
    names = arguments.names or sorted(
        file.stem
        for variant in ("int8", "w8a8", "int4")
        for file in arguments.zoo.glob(f"*.{variant}.pt2")
    )
    print("counts are delegates/kernels outside/permutes")
    print(ROW.format("model", "counts", "float", "top-1", "theirs", "error", "theirs", ""))
    for name in names:
        with tempfile.TemporaryDirectory() as scratch:
            try:
                row = check(arguments.layline, arguments.zoo, name, arguments.inputs, Path(scratch))
            except RuntimeError as failure:
                row = ["-"] * 6 + [str(failure)[:200]]
        print(ROW.format(name, *row).rstrip(), flush=True)


if __name__ == "__main__":
    main()
