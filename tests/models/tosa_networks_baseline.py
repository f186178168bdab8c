"""Lowers whole networks with ExecuTorch's Arm backend, for scripts/tosa-networks.

    tosa_networks_baseline.py PACKAGES OUTPUT_DIR [--retrace] MODEL.pt2...

PACKAGES is the folder of Arm's serializer. Writes OUTPUT_DIR/NAME.VARIANT.tosa for each
zoo/NAME.VARIANT.pt2 (npu_networks.py) that becomes one program, and says why for the others. What exists
already is skipped. The backend's slowest pass is made faster, with the same result (quick_retrace.py);
--retrace leaves it as it is, to compare.
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

import quick_retrace
from npu_networks import SPECIFICATIONS


def lower(model, output):
    program = torch.export.load(model)
    specification = SPECIFICATIONS[model.stem.split(".")[-1]]
    with tempfile.TemporaryDirectory() as folder:
        spec = TosaCompileSpec(specification).dump_intermediate_artifacts_to(folder)
        to_edge_transform_and_lower(program, partitioner=[TOSAPartitioner(spec)])
        programs = list(Path(folder).glob("*.tosa"))
        if len(programs) != 1:
            return f"{len(programs)} programs"
        output.write_bytes(programs[0].read_bytes())
        return "one program"


def main():
    models = [argument for argument in sys.argv[3:] if argument != "--retrace"]
    if "--retrace" not in sys.argv:
        quick_retrace.use()
    for model in map(Path, models):
        output = Path(sys.argv[2]) / f"{model.stem}.tosa"
        if output.exists():
            continue
        try:
            told = lower(model, output)
        except Exception as error:  # whatever the backend raises is told
            told = f"{type(error).__name__}: {str(error).splitlines()[0]}"
        print(f"{model.stem}: {told}", flush=True)


if __name__ == "__main__":
    main()
