"""Lowers the npu_* fixtures with ExecuTorch's Arm backend and counts what it leaves.

    tosa_baseline.py PACKAGES [NAME...]

PACKAGES is the folder of Arm's serializer. Writes docs/data/tosa-baseline.json: for each fixture the
TRANSPOSE operators of its TOSA program, the bytes that they write, and the seconds of the lowering.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

import arm_packages

arm_packages.use(sys.argv[1])

import torch
from executorch.backends.arm.tosa.compile_spec import TosaCompileSpec
from executorch.backends.arm.tosa.partitioner import TOSAPartitioner
from executorch.exir import to_edge_transform_and_lower

import export
import npu
from cases import CASES

ROOT = Path(__file__).resolve().parents[2]
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
    names = sys.argv[2:] or [
        name + suffix for name, case in CASES.items() if name.startswith("npu_")
        for suffix in ("", *(f".{variant}" for variant in case.also))
    ]
    rows = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    for name in names:
        rows[name] = lower(name)
        print(name, rows[name], flush=True)
        BASELINE.parent.mkdir(parents=True, exist_ok=True)
        BASELINE.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
