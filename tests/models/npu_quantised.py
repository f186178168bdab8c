"""Writes fixtures that Arm's own quantiser made: 8-bit weights, and activations of 8 bits
(quantised_tosa_*, TOSA-1.0+INT) or of 16 (quantised_tosa16_*, TOSA-1.0+INT+int16).

    npu_quantised.py PACKAGES OUTPUT_DIR [NAME...]

PACKAGES is the folder of Arm's serializer, which its quantiser imports (scripts/tosa-fixtures). The
models are those of npu.py and yardstick.py, and some of single functions that are made of tables.
"""

import sys
from pathlib import Path

import arm_packages

if __name__ == "__main__":
    arm_packages.use(sys.argv[1])

import torch
import torch.nn.functional as F
from executorch.backends.arm.quantizer.arm_quantizer import (
    TOSAQuantizer,
    get_symmetric_a16w8_quantization_config,
    get_symmetric_quantization_config,
)
from executorch.backends.arm.tosa.specification import TosaSpecification
from torch import nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

import export
import npu
import yardstick  # both register their cases
from cases import CASES, randn

# How activations are quantised: the specification, and the quantiser's configuration.
ACTIVATIONS = {
    "quantised_tosa_": ("TOSA-1.0+INT", get_symmetric_quantization_config),
    "quantised_tosa16_": ("TOSA-1.0+INT+int16", get_symmetric_a16w8_quantization_config),
}
OWN = {}  # models that have no twin in float
# Recurrent layers of fewer steps than their twins: each step is quantised op by op, and the file grows.
FEW_STEPS = {
    "yardstick_model_3_lstm_linear": randn((2, 4, 8)),
    "yardstick_model_4_conv_lstm_linear_layernorm": randn((2, 8, 4)),
    "yardstick_model_6_gru_linear": randn((2, 4, 8)),
}


def own(name, *shapes):
    def register(make_model):
        OWN[name] = (make_model, randn(*shapes))
        return make_model
    return register


@own("shared_scale", (1, 3, 12, 12))
class SharedScale(nn.Module):
    """A concatenation whose parts have one scale, although only one of them has a ReLU: the zero
    point is that of the other, so the ReLU is not implied by the rounding."""

    def __init__(self):
        super().__init__()
        self.left, self.right = npu.conv(3, 6), npu.conv(3, 6)
        self.head = nn.Conv2d(12, 4, 1)

    def forward(self, x):
        return self.head(torch.cat((torch.relu(self.left(x)), self.right(x)), 1))


@own("functions", (4, 64))
class Functions(nn.Module):
    def forward(self, x):
        positive = x * x + 0.3
        return (F.gelu(x), torch.sigmoid(x), torch.tanh(x), F.hardswish(x), F.silu(x), torch.exp(x),
                torch.rsqrt(positive), torch.reciprocal(positive), F.hardsigmoid(x), torch.log(positive))


@own("softmax", (2, 5, 24))
class Softmax(nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1), torch.softmax(x, 1)


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5))


@own("norms", (2, 12, 16))
class Norms(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.group, self.rms = nn.LayerNorm(16), nn.GroupNorm(3, 12), RmsNorm(16)

    def forward(self, x):
        return self.layer(x), self.group(x), self.rms(x)


@own("arithmetic", (3, 10, 12), (10, 12), (3, 12, 8))
class Arithmetic(nn.Module):
    def forward(self, x, y, z):
        return (x + y, x - y, x * y, x @ z, x.mean(-1), x.sum(1, keepdim=True), x.amax(-1),
                torch.clamp(x, -0.5, 1.25), torch.relu(x), x.mean((0, 2)))


@own("pools", (1, 6, 13, 13))
class Pools(nn.Module):
    def forward(self, x):
        return (F.max_pool2d(x, 3, 2, 1), F.avg_pool2d(x, 3, 2), F.adaptive_avg_pool2d(x, 1),
                F.max_pool2d(F.relu(x), 2))


@own("moves", (1, 6, 8, 8))
class Moves(nn.Module):
    """Pads, slices, parts side by side, chosen rows, larger images."""

    def __init__(self):
        super().__init__()
        self.register_buffer("rows", torch.tensor([5, 0, 3]))

    def forward(self, x):
        return (F.pad(x, (1, 2, 0, 1), value=0.5), x[:, 1:5, ::2, 3:], torch.cat((x, x[:, :2]), 1),
                torch.index_select(x, 2, self.rows), F.interpolate(x, scale_factor=2.0),
                F.interpolate(x, scale_factor=2.0, mode="bilinear"), x.expand(3, -1, -1, -1))


@own("convs", (1, 6, 11, 11))
class Convs(nn.Module):
    """With and without a bias: plain, strided, depthwise, grouped, transposed."""

    def __init__(self):
        super().__init__()
        self.plain, self.bare = npu.conv(6, 8), npu.conv(6, 8, bias=False)
        self.strided = nn.Conv2d(6, 8, 3, 2)
        self.depthwise, self.multiplied = npu.conv(6, 6, groups=6), npu.conv(6, 12, groups=6)
        self.grouped, self.bare_grouped = npu.conv(6, 8, groups=2), npu.conv(6, 4, groups=2, bias=False)
        self.transposed = nn.ConvTranspose2d(6, 4, 2, 2)
        self.linear, self.bare_linear = nn.Linear(11, 7), nn.Linear(11, 7, bias=False)

    def forward(self, x):
        return (self.plain(x), self.bare(x), F.relu6(self.strided(x)), F.relu(self.depthwise(x)),
                self.multiplied(x), self.grouped(x), self.bare_grouped(x), self.transposed(x),
                self.linear(x), self.bare_linear(x))


def quantised(model, inputs, activations):
    specification, configuration = ACTIVATIONS[activations]
    quantiser = TOSAQuantizer(TosaSpecification.create_from_string(specification))
    quantiser.set_global(configuration(is_per_channel=True))
    exported = torch.export.export(model, inputs).module(check_guards=False)
    prepared = prepare_pt2e(exported, quantiser)
    with torch.no_grad():
        prepared(*inputs)
    return convert_pt2e(prepared)


def names():
    """Without what has no twin in integers: indices that come in beside the numbers."""
    cases = [name + suffix for name, case in CASES.items()
             if name.startswith(("npu_", "yardstick_"))
             for suffix in ("", *(f".{variant}" for variant in case.also))]
    return [activations + name.removeprefix("npu_") for activations in ACTIVATIONS
            for name in (*OWN, *cases)]


def make(name):
    """The quantised model of this name, and its inputs."""
    activations = next(prefix for prefix in ACTIVATIONS if name.startswith(prefix))
    base, _, variant = name.removeprefix(activations).partition(".")
    if base in OWN:
        make_model, make_inputs = OWN[base]
    else:
        case = CASES[base if base in CASES else f"npu_{base}"]
        make_model, make_inputs = case.make_model, FEW_STEPS.get(base, case.make_inputs)
    export.seed(base)
    model = export.randomise(make_model()).eval()
    inputs = make_inputs()
    if variant == "channels_last":
        model, inputs = export.channels_last(model), export.channels_last(inputs)
    return quantised(model, inputs, activations), inputs


def drop_traces(model):
    """Where each op stands in the source would be most of the file."""
    for module in model.modules():
        for node in module.graph.nodes if isinstance(module, torch.fx.GraphModule) else ():
            node.meta.pop("stack_trace", None)


def main():
    directory = Path(sys.argv[2])
    for name in sys.argv[3:] or names():
        model, inputs = make(name)
        drop_traces(model)
        export.save_program(directory / name, model, inputs, samples=False)
        if "." not in name:  # a variant computes the same
            export.save_reference(directory / name, model, inputs)
        print(name, flush=True)


if __name__ == "__main__":
    main()
