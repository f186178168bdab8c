"""Lowers quantised models with ExecuTorch's Arm backend, and keeps its TOSA programs.

    vela_baseline.py PACKAGES OUTPUT_DIR MODEL.pt2...

PACKAGES is the folder of Arm's serializer. Writes OUTPUT_DIR/MODEL.tosa for each model that becomes
one program, and says why for the others.
"""

import sys
import tempfile
from pathlib import Path

import arm_packages

arm_packages.use(sys.argv[1])

import torch
from executorch.backends.arm.tosa.compile_spec import TosaCompileSpec
from executorch.backends.arm.tosa.partitioner import TOSAPartitioner
from executorch.exir import to_edge_transform_and_lower


def lower(model, output):
    program = torch.export.load(model)
    with tempfile.TemporaryDirectory() as folder:
        spec = TosaCompileSpec("TOSA-1.0+INT").dump_intermediate_artifacts_to(folder)
        to_edge_transform_and_lower(program, partitioner=[TOSAPartitioner(spec)])
        programs = list(Path(folder).glob("*.tosa"))
        if len(programs) != 1:
            return f"{len(programs)} programs"
        output.write_bytes(programs[0].read_bytes())
        return "lowered"


def main():
    for model in map(Path, sys.argv[3:]):
        try:
            told = lower(model, Path(sys.argv[2]) / f"{model.stem}.tosa")
        except Exception as error:  # whatever the backend raises is told
            told = f"{type(error).__name__}: {str(error).splitlines()[0]}"
        print(f"{model.stem}: {told}", flush=True)


if __name__ == "__main__":
    main()
