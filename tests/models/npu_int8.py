"""Writes fixtures that Arm's own quantiser made: int8 weights and activations (TOSA-1.0+INT).

    npu_int8.py PACKAGES OUTPUT_DIR [NAME...]

PACKAGES is the folder of Arm's serializer, which its quantiser imports (scripts/tosa-fixtures).
"""

import sys
from pathlib import Path

import arm_packages

arm_packages.use(sys.argv[1])

import torch
from executorch.backends.arm.quantizer.arm_quantizer import (
    TOSAQuantizer,
    get_symmetric_quantization_config,
)
from executorch.backends.arm.tosa.specification import TosaSpecification
from torch import nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

import export
import npu  # registers its cases
from cases import CASES

NAMES = ("conv_flatten_linear", "grouped_conv", "squeeze_convs", "groupnorm_silu")


class SharedScale(nn.Module):
    """A concatenation whose parts have one scale, although only one of them has a ReLU: the zero
    point is that of the other, so the ReLU is not implied by the rounding."""

    def __init__(self):
        super().__init__()
        self.left, self.right = npu.conv(3, 6), npu.conv(3, 6)
        self.head = nn.Conv2d(12, 4, 1)

    def forward(self, x):
        return self.head(torch.cat((torch.relu(self.left(x)), self.right(x)), 1))


def quantised(model, inputs):
    quantiser = TOSAQuantizer(TosaSpecification.create_from_string("TOSA-1.0+INT"))
    quantiser.set_global(get_symmetric_quantization_config(is_per_channel=True))
    exported = torch.export.export(model, inputs).module(check_guards=False)
    prepared = prepare_pt2e(exported, quantiser)
    with torch.no_grad():
        prepared(*inputs)
    return convert_pt2e(prepared)


def main():
    directory = Path(sys.argv[2])
    models = {name: (CASES[f"npu_{name}"].make_model, CASES[f"npu_{name}"].make_inputs)
              for name in NAMES}
    models["shared_scale"] = (SharedScale, lambda: (torch.randn(1, 3, 12, 12),))
    for name in sys.argv[3:] or models:
        make_model, make_inputs = models[name]
        export.seed(name)
        model = export.randomise(make_model()).eval()
        inputs = make_inputs()
        path = directory / f"quantised_tosa_{name}"
        export.save(path, quantised(model, inputs), inputs, samples=False)
        print(path.name, flush=True)


if __name__ == "__main__":
    main()
