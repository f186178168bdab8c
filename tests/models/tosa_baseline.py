"""Lowers the npu_* and quantised_tosa* fixtures with ExecuTorch's Arm backend and counts what it leaves.

    tosa_baseline.py PACKAGES PYTHON [NAME...]

PACKAGES is the folder of Arm's serializer, PYTHON the interpreter that has Arm's reference model.
Writes docs/data/tosa-baseline.json: for each fixture the TRANSPOSE operators of its TOSA program, the
bytes that they write, and the seconds of the lowering; for a quantised one also `units`, how far each
output is from torch's q/dq graph in the reference model, the most and the average, and of 8 bits
`cycles`, which Vela counts on the NPUs of scripts/vela-check.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import arm_packages

arm_packages.use(sys.argv[1])

import numpy as np
import torch
from executorch.backends.arm.tosa.compile_spec import TosaCompileSpec
from executorch.backends.arm.tosa.partitioner import TOSAPartitioner
from executorch.exir import to_edge_transform_and_lower

import export
import npu
import npu_quantised
from cases import CASES

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts"))

from other_script import load_script

VELA = load_script("vela-check")
BASELINE = ROOT / "docs" / "data" / "tosa-baseline.json"
ELEMENT_BYTES = {"FP32": 4, "INT32": 4, "FP16": 2, "INT16": 2, "INT8": 1, "BOOL": 1, "INT48": 6}


def transposes(path):
    """How many, and the bytes that they write."""
    from tosa.DType import DType
    from tosa.Op import Op
    from tosa.TosaGraph import TosaGraph

    names = {value: name for name, value in vars(DType).items() if isinstance(value, int)}
    block = TosaGraph.GetRootAs(path.read_bytes()).Regions(0).Blocks(0)
    sizes = {}
    for i in range(block.TensorsLength()):
        tensor = block.Tensors(i)
        count = 1
        for d in range(tensor.ShapeLength()):
            count *= tensor.Shape(d)
        sizes[tensor.Name()] = count * ELEMENT_BYTES.get(names[tensor.Type()], 0)
    found = [block.Operators(i) for i in range(block.OperatorsLength())
             if block.Operators(i).Op() == Op.TRANSPOSE]
    return len(found), sum(sizes[op.Outputs(0)] for op in found)


def boundary(program):
    """The scale, zero point and integers of each input and output of a q/dq graph."""
    quantize = lambda node: node.args[1:6]
    inputs = [quantize(next(iter(node.users))) for node in program.graph.nodes
              if node.op == "placeholder" and node.users
              and str(next(iter(node.users)).target).startswith("quantized_decomposed.quantize")]
    outputs = [quantize(node) for node in program.graph.output_node().args[0]]
    return inputs, outputs


def to_integers(array, scale, zero_point, least, greatest, dtype):
    integers = np.rint(array * np.float32(1 / np.float32(scale))) + zero_point
    return np.clip(integers, least, greatest).astype(str(dtype).removeprefix("torch."))


def units(python, path, program, inputs, expected):
    """How far the outputs of a program are off, in units of the last place."""
    from tosa.TosaGraph import TosaGraph

    block = TosaGraph.GetRootAs(path.read_bytes()).Regions(0).Blocks(0)
    in_types, out_types = boundary(program)
    folder = path.parent
    arguments = [f"--tosa_file={path}", f"--flatbuffer_dir={folder}", f"--output_dir={folder}"]
    names = [block.Inputs(i).decode() for i in range(block.InputsLength())]
    arguments += [f"--ifm_name={','.join(names)}",
                  f"--ifm_file={','.join(f'in{i}.npy' for i in range(len(names)))}"]
    for i, (array, by) in enumerate(zip(inputs, in_types, strict=True)):
        np.save(folder / f"in{i}.npy", to_integers(array.contiguous().numpy(), *by))
    names = [block.Outputs(i).decode() for i in range(block.OutputsLength())]
    arguments += [f"--ofm_name={','.join(names)}",
                  f"--ofm_file={','.join(f'out{i}.npy' for i in range(len(names)))}"]
    model = Path(python).parent / "tosa_reference_model"
    subprocess.run([model, *arguments], check=True, capture_output=True)
    rows = []
    for i, (wanted, by) in enumerate(zip(expected, out_types, strict=True)):
        wanted = to_integers(wanted.contiguous().numpy(), *by).astype(np.int64)
        off = np.abs(np.load(folder / f"out{i}.npy").astype(np.int64).reshape(wanted.shape) - wanted)
        rows.append([int(off.max()), round(float(off.mean()), 4)])
    return rows


def lower_quantised(name, python):
    model, inputs = npu_quantised.make(name)
    program = torch.export.export(model, inputs)
    prefix = next(p for p in npu_quantised.ACTIVATIONS if name.startswith(p))
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        expected = model(*inputs)
        expected = expected if isinstance(expected, (tuple, list)) else (expected,)
        spec = TosaCompileSpec(npu_quantised.ACTIVATIONS[prefix][0])
        start = time.perf_counter()
        to_edge_transform_and_lower(
            program, partitioner=[TOSAPartitioner(spec.dump_intermediate_artifacts_to(folder))])
        seconds = time.perf_counter() - start
        paths = list(Path(folder).glob("*.tosa"))
        counts = [transposes(path) for path in paths]
        row = {"transposes": sum(c for c, _ in counts), "bytes": sum(b for _, b in counts),
               "graphs": len(counts), "seconds": round(seconds, 1)}
        if len(paths) == 1 and "." not in name:  # a variant in another order has its twin's numbers
            row["units"] = units(python, paths[0], program, inputs, expected)
        if len(paths) == 1 and prefix == "quantised_tosa_":
            row["cycles"] = {npu: VELA.vela(paths[0], npu)[0] for npu in VELA.ACCELERATORS}
    return row


def lower(name):
    base, _, variant = name.partition(".")
    case = CASES[base]
    export.seed(base)
    model = export.randomise(case.make_model()).eval()
    inputs = case.make_inputs()
    if variant == "channels_last":
        model, inputs = export.channels_last(model), export.channels_last(inputs)
    program = torch.export.export(model, inputs)
    with tempfile.TemporaryDirectory() as folder:
        spec = TosaCompileSpec("TOSA-1.0+FP").dump_intermediate_artifacts_to(folder)
        start = time.perf_counter()
        to_edge_transform_and_lower(program, partitioner=[TOSAPartitioner(spec)])
        seconds = time.perf_counter() - start
        counts = [transposes(path) for path in Path(folder).glob("*.tosa")]
    return {"transposes": sum(c for c, _ in counts), "bytes": sum(b for _, b in counts),
            "graphs": len(counts), "seconds": round(seconds, 1)}


def main():
    python, names = sys.argv[2], sys.argv[3:] or [
        name + suffix for name, case in CASES.items() if name.startswith("npu_")
        for suffix in ("", *(f".{variant}" for variant in case.also))
    ] + npu_quantised.names()
    rows = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    for name in names:
        is_quantised = name.startswith("quantised_")
        rows[name] = lower_quantised(name, python) if is_quantised else lower(name)
        print(name, rows[name], flush=True)
        BASELINE.parent.mkdir(parents=True, exist_ok=True)
        BASELINE.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
