"""Fixtures of the activation functions, alone, in place, and after layers that may fuse them."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from cases import case, randn
from layers import Branches

DECOMPOSED = ("decomposed",)


def wide(*shape):
    """Values well beyond the knees of every activation."""
    return lambda: (torch.randn(shape) * 4,)


@case(
    "activations",
    wide(2, 3, 4, 5),
    DECOMPOSED,
    expect="relu.default relu6.default hardtanh.default hardswish.default hardsigmoid.default "
    "silu.default sigmoid.default tanh.default elu.default leaky_relu.default prelu.default "
    "gelu.default",
)
class Activations(nn.Module):
    def __init__(self):
        super().__init__()
        self.prelu_one = nn.PReLU()
        self.prelu_channels = nn.PReLU(3)

    def forward(self, x):
        return (
            F.relu(x),
            F.relu6(x),
            F.hardtanh(x),
            F.hardtanh(x, -2.0, 0.5),
            F.hardswish(x),
            F.hardsigmoid(x),
            F.silu(x),
            torch.sigmoid(x),
            torch.tanh(x),
            F.elu(x),
            F.elu(x, alpha=0.3),
            F.leaky_relu(x),
            F.leaky_relu(x, 0.2),
            self.prelu_one(x),
            self.prelu_channels(x),
            F.gelu(x),
            F.gelu(x, approximate="tanh"),
        )


@case("gelu_written_out", wide(2, 3, 8), expect="erf.default tanh.default pow.Tensor_Scalar")
class GeluWrittenOut(nn.Module):
    """As models spell it that do not call torch's."""

    def forward(self, x):
        cubic = x + 0.044715 * torch.pow(x, 3.0)
        return (
            x * 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0))),
            0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * cubic)),
            0.5 * x * (1.0 + torch.tanh(x * 0.7978845608 * (1.0 + 0.044715 * x * x))),
        )


@case(
    "activations_more",
    wide(2, 3, 4),
    expect="softplus.default selu.default celu.default mish.default log_sigmoid.default "
    "threshold.default hardshrink.default softshrink.default glu.default",
)
class ActivationsMore(nn.Module):
    """Those that no classification model of torchvision uses."""

    def forward(self, x):
        return (
            F.softplus(x),
            F.selu(x),
            F.celu(x, 0.7),
            F.mish(x),
            F.logsigmoid(x),
            F.softsign(x),
            F.tanhshrink(x),
            F.threshold(x, 0.5, -1.0),
            F.hardshrink(x),
            F.softshrink(x),
            F.glu(torch.cat([x, x + 1], 1), 1),
        )


@case(
    "activations_inplace",
    wide(2, 3, 4),
    expect="relu_.default relu6_.default hardtanh_.default hardswish_.default hardsigmoid_.default "
    "silu_.default sigmoid_.default tanh_.default elu_.default leaky_relu_.default clamp_.default",
)
class ActivationsInplace(nn.Module):
    """Each works on a copy of its own, and the copy is read again after it was overwritten."""

    def forward(self, x):
        functions = (
            F.relu_,
            lambda t: F.relu6(t, inplace=True),
            lambda t: F.hardtanh_(t, -2.0, 1.0),
            lambda t: F.hardswish(t, inplace=True),
            lambda t: F.hardsigmoid(t, inplace=True),
            lambda t: F.silu(t, inplace=True),
            torch.sigmoid_,
            torch.tanh_,
            F.elu_,
            F.leaky_relu_,
            lambda t: t.clamp_(-1, 2),
            lambda t: t.clamp_min_(-0.5),
        )
        outputs = []
        for i, function in enumerate(functions):
            copy = x + i * 0.1
            function(copy)
            outputs.append(copy * 2)
        return tuple(outputs)


@case(
    "hardswish_forms",
    wide(2, 3, 4),
    DECOMPOSED,
)
class HardswishForms(nn.Module):
    """The same functions, spelt out."""

    def forward(self, x):
        return (
            x * F.relu6(x + 3) / 6,
            x * (F.relu6(x + 3) * (1 / 6)),
            F.relu6(x + 3.0) / 6.0,
            x * torch.clamp(x + 3, 0, 6) / 6,
            x * torch.sigmoid(x),
            0.5 * x * (1 + torch.erf(x * 0.7071067811865476)),
            x * torch.sigmoid(1.702 * x),
            x * torch.tanh(F.softplus(x)),
            torch.maximum(x, torch.zeros_like(x)),
            torch.clamp(x, min=0),
            -F.relu(-x),
        )


@case("fused_activations", randn((1, 3, 7, 7)), DECOMPOSED)
class FusedActivations(Branches):
    """Activations that fit into the output range of the layer before them, and chains of ranges."""

    def __init__(self):
        super().__init__(
            nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU6()),
            nn.Sequential(nn.Conv2d(3, 3, 3, groups=3), nn.Hardtanh(-0.5, 0.25)),
            nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Hardtanh(-1, 0.5)),
            nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Sigmoid(), nn.ReLU()),
            nn.Sequential(nn.ConvTranspose2d(3, 4, 2), nn.ReLU()),
            nn.Sequential(nn.Flatten(), nn.Linear(147, 5), nn.ReLU()),
            nn.Sequential(nn.AvgPool2d(3), nn.ReLU6()),
            nn.Sequential(nn.MaxPool2d(3), nn.ReLU()),
            nn.Sequential(nn.Conv2d(3, 3, 1), nn.PReLU(3), nn.Conv2d(3, 2, 1), nn.LeakyReLU(0.3)),
        )


@case(
    "clamp",
    wide(3, 5),
    DECOMPOSED,
    expect="clamp.default clamp_min.default clamp_max.default clamp.Tensor",
)
class Clamp(nn.Module):
    def forward(self, x):
        return (
            torch.clamp(x, -1, 2),
            torch.clamp(x, min=0.5),
            torch.clamp(x, max=-0.25),
            torch.clamp(x, min=2, max=1),
            x.clamp_min(0.1),
            x.clamp_max(0.1),
            torch.clamp(x, min=torch.tensor([0.0, 1.0, -1.0, 2.0, -2.0])),
            torch.clamp(torch.clamp(x, 0, 3), 1, 6),
        )
