"""Fixtures of the ops with parameters or windows: conv, batch norm, pools, linear, resize, pad."""

import torch
import torch.nn.functional as F
from torch import nn

from cases import case, randn

DECOMPOSED = ("decomposed",)
ALL_VARIANTS = ("channels_last", "decomposed")


class Branches(nn.Module):
    """Several layers applied to the same input, one output each."""

    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        return tuple(layer(x) for layer in self.layers)


@case("conv2d", randn((2, 6, 6, 7)), ALL_VARIANTS, expect="conv2d.default conv2d.padding")
class Conv2d(Branches):
    def __init__(self):
        super().__init__(
            nn.Conv2d(6, 4, 1),
            nn.Conv2d(6, 4, 3, bias=False),
            nn.Conv2d(6, 4, 3, padding=1),
            nn.Conv2d(6, 5, (2, 3), stride=(2, 3), padding=(1, 0)),
            nn.Conv2d(6, 5, 3, padding=2, dilation=2),
            nn.Conv2d(6, 5, (3, 2), stride=2, dilation=(2, 3), padding=(0, 3)),
            nn.Conv2d(6, 4, 3, padding="valid"),
            nn.Conv2d(6, 4, 5, padding="same"),
            nn.Conv2d(6, 4, (2, 4), padding="same", dilation=(1, 2), bias=False),
            nn.Conv2d(6, 1, 1, stride=2),
            nn.Conv2d(6, 7, (6, 7)),
        )


@case("conv2d_groups", randn((2, 6, 6, 5)), DECOMPOSED)
class Conv2dGroups(Branches):
    def __init__(self):
        super().__init__(
            nn.Conv2d(6, 4, 3, groups=2, padding=1),
            nn.Conv2d(6, 9, 1, groups=3, bias=False),
            nn.Conv2d(6, 6, 3, groups=6, padding=1),
            nn.Conv2d(6, 6, 5, groups=6, padding=2, stride=2, bias=False),
            nn.Conv2d(6, 12, 3, groups=6, padding=2, dilation=2),
            nn.Conv2d(6, 18, (3, 1), groups=6, bias=False),
        )


@case("conv2d_unbatched", randn((3, 8, 8)), DECOMPOSED)
class Conv2dUnbatched(nn.Module):
    """Conv and pool of a [C,H,W] image."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x):
        x = self.conv(x)
        return F.max_pool2d(x, 2), F.avg_pool2d(x, 2), F.adaptive_avg_pool2d(x, 1)


@case("conv2d_pad", randn((1, 3, 8, 9)), ALL_VARIANTS)
class Conv2dPad(nn.Module):
    """Explicit, asymmetric and cropping padding before convs and pools; one pad that may not be
    fused because its value is not zero, one because it has another consumer."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, stride=2)
        self.padded = nn.Conv2d(3, 4, 3, padding=1)
        self.depthwise = nn.Conv2d(3, 3, 3, groups=3)

    def forward(self, x):
        shared = F.pad(x, (0, 1, 0, 1))
        return (
            self.conv(shared),
            self.padded(F.pad(x, (1, 2, 3, 0))),
            self.depthwise(F.pad(x, (2, 0, 0, 2))),
            self.conv(F.pad(x, (1, 1, 1, 1), value=0.5)),
            self.conv(F.pad(x, (-1, 0, 2, -2))),
            self.padded(F.pad(x, (0, 0, 0, 0, 1, 0))[:, 1:]),
            F.max_pool2d(F.pad(x, (0, 1, 0, 1), value=float("-inf")), 3, 2),
            F.avg_pool2d(F.pad(x, (1, 0, 1, 0)), 3, 2),
            shared,
        )


@case("conv2d_padding_modes", randn((1, 3, 7, 6)))
class Conv2dPaddingModes(Branches):
    def __init__(self):
        super().__init__(
            nn.Conv2d(3, 4, 3, padding=2, padding_mode="reflect"),
            nn.Conv2d(3, 4, 3, padding=1, padding_mode="replicate"),
            nn.Conv2d(3, 4, (3, 1), padding=(1, 0), padding_mode="circular"),
        )


@case("conv1d", randn((2, 6, 17)), DECOMPOSED, expect="conv1d.default conv1d.padding")
class Conv1d(Branches):
    def __init__(self):
        super().__init__(
            nn.Conv1d(6, 4, 1),
            nn.Conv1d(6, 4, 3, padding=1, bias=False),
            nn.Conv1d(6, 4, 5, stride=2, padding=2),
            nn.Conv1d(6, 8, 3, dilation=3, padding=3, groups=2),
            nn.Conv1d(6, 6, 7, padding=3, groups=6),
            nn.Conv1d(6, 12, 4, padding="same", groups=6),
            nn.Sequential(nn.Conv1d(6, 5, 3), nn.BatchNorm1d(5), nn.ReLU()),
            nn.ConvTranspose1d(6, 4, 3, stride=2, output_padding=1),
        )


@case("conv_transpose2d", randn((2, 6, 5, 4)), DECOMPOSED, expect="conv_transpose2d.input")
class ConvTranspose2d(Branches):
    def __init__(self):
        super().__init__(
            nn.ConvTranspose2d(6, 4, 2, stride=2),
            nn.ConvTranspose2d(6, 4, 3, stride=2, padding=1, output_padding=1),
            nn.ConvTranspose2d(
                6, 5, (4, 3), stride=(3, 2), padding=(1, 0), output_padding=(2, 0), bias=False
            ),
            nn.ConvTranspose2d(6, 4, 3, padding=1, dilation=2),
            nn.ConvTranspose2d(6, 4, 3, stride=2, groups=2),
            nn.ConvTranspose2d(6, 6, 4, stride=2, padding=1, groups=6, bias=False),
            nn.Sequential(
                nn.ConvTranspose2d(6, 4, 2, stride=2, bias=False), nn.BatchNorm2d(4), nn.ReLU()
            ),
        )


class SharedConv(nn.Module):
    """A conv with a second consumer: batch norm may not be folded into it in place."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(4, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)

    def forward(self, x):
        x = self.conv(x)
        return x + self.norm(x)


@case("parallel_branches", randn((1, 6, 9, 8)), ALL_VARIANTS)
class ParallelBranches(nn.Module):
    """Convolutions and norms of one value that are added up, as RepVGG, MobileOne and FastViT are
    trained."""

    def __init__(self):
        super().__init__()
        self.stem = nn.ModuleList([nn.Conv2d(6, 8, 3, stride=2, padding=1), nn.Conv2d(6, 8, 1, stride=2)])
        self.dense = nn.ModuleList([nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.Conv2d(8, 8, 1)])
        self.channels = nn.ModuleList(
            [nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.Conv2d(8, 8, 1, groups=8, bias=False)]
        )
        self.norms = nn.ModuleList(nn.BatchNorm2d(n) for n in (8, 8, 8, 8, 8, 8, 8))
        self.gamma = nn.Parameter(torch.randn(8, 1, 1))
        for norm in self.norms:
            nn.init.uniform_(norm.weight, 0.5, 2)
            nn.init.uniform_(norm.bias, -1, 1)
            norm.running_mean.uniform_(-1, 1)
            norm.running_var.uniform_(0.5, 2)

    def forward(self, x):
        n = self.norms
        x = F.gelu(n[0](self.stem[0](x)) + n[1](self.stem[1](x)))
        x = F.relu(n[2](self.dense[0](x)) + self.dense[1](x) + n[3](x))
        mixed = n[4](x) + self.channels[1](x) + n[5](self.channels[0](x))
        return x + self.gamma * (mixed - n[6](x))


@case("batch_norm", randn((2, 4, 6, 5)), DECOMPOSED, expect="batch_norm.default")
class BatchNorm(Branches):
    def __init__(self):
        super().__init__(
            nn.BatchNorm2d(4),
            nn.BatchNorm2d(4, affine=False),
            nn.Sequential(nn.Conv2d(4, 5, 3), nn.BatchNorm2d(5, eps=0.01)),
            nn.Sequential(nn.Conv2d(4, 5, 1, bias=False), nn.BatchNorm2d(5), nn.ReLU6()),
            nn.Sequential(nn.Conv2d(4, 8, 3, groups=4), nn.BatchNorm2d(8)),
            nn.Sequential(nn.BatchNorm2d(4), nn.Conv2d(4, 5, 3)),
            nn.Sequential(nn.BatchNorm2d(4), nn.Conv2d(4, 5, 3, padding=1)),
            nn.Sequential(nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 5, 1)),
            nn.Sequential(nn.ReLU(), nn.BatchNorm2d(4), nn.BatchNorm2d(4)),
            nn.Sequential(nn.Conv2d(4, 5, 3), nn.ReLU(), nn.BatchNorm2d(5)),
            SharedConv(),
        )


@case("batch_norm1d", randn((3, 8)), DECOMPOSED)
class BatchNorm1d(Branches):
    def __init__(self):
        super().__init__(
            nn.BatchNorm1d(8),
            nn.Sequential(nn.Linear(8, 5), nn.BatchNorm1d(5), nn.ReLU()),
            nn.Sequential(nn.BatchNorm1d(8), nn.Linear(8, 5, bias=False)),
            nn.Sequential(nn.Unflatten(1, (4, 2)), nn.BatchNorm1d(4)),
        )


@case("max_pool2d", randn((2, 3, 8, 7)), ALL_VARIANTS, expect="max_pool2d.default")
class MaxPool2d(Branches):
    def __init__(self):
        super().__init__(
            nn.MaxPool2d(2),
            nn.MaxPool2d(3, stride=2, padding=1),
            nn.MaxPool2d((3, 2), stride=(1, 2), padding=(1, 0)),
            nn.MaxPool2d(3, stride=1, dilation=2),
            nn.MaxPool2d(3, stride=2, ceil_mode=True),
            nn.MaxPool2d(3, stride=2, padding=1, ceil_mode=True),
            nn.MaxPool2d(2, stride=3),
            nn.MaxPool2d(1),
            nn.MaxPool2d(1, stride=2),
            nn.MaxPool2d((1, 3), stride=(1, 2), dilation=(1, 2), padding=(0, 1)),
        )


@case("avg_pool2d", randn((2, 3, 8, 7)), ("channels_last",), expect="avg_pool2d.default")
class AvgPool2d(Branches):
    def __init__(self):
        super().__init__(
            nn.AvgPool2d(2),
            nn.AvgPool2d(3, stride=2),
            nn.AvgPool2d(3, stride=1, padding=1),
            nn.AvgPool2d(3, stride=1, padding=1, count_include_pad=False),
            nn.AvgPool2d((3, 2), stride=(2, 1), padding=(1, 0)),
            nn.AvgPool2d(3, stride=2, ceil_mode=True),
            nn.AvgPool2d(3, stride=2, padding=1, ceil_mode=True),
            nn.AvgPool2d(3, stride=2, padding=1, ceil_mode=True, count_include_pad=False),
            nn.AvgPool2d(2, divisor_override=3),
            nn.AvgPool2d(3, stride=2, padding=1, divisor_override=5),
            nn.AvgPool2d(1, stride=2),
            nn.AvgPool2d((8, 7)),
        )


@case("pool1d", randn((2, 3, 12)), DECOMPOSED)
class Pool1d(Branches):
    def __init__(self):
        super().__init__(
            nn.MaxPool1d(3, stride=2, padding=1),
            nn.AvgPool1d(3, stride=2, padding=1),
            nn.AdaptiveAvgPool1d(1),
            nn.AdaptiveAvgPool1d(4),
            nn.AdaptiveMaxPool1d(1),
        )


@case("adaptive_pool", randn((2, 3, 12, 9)), ALL_VARIANTS, expect="adaptive_avg_pool2d.default")
class AdaptivePool(Branches):
    def __init__(self):
        super().__init__(
            nn.AdaptiveAvgPool2d(1),
            nn.AdaptiveAvgPool2d((4, 3)),
            nn.AdaptiveAvgPool2d((5, 4)),
            nn.AdaptiveAvgPool2d((None, 1)),
            nn.AdaptiveAvgPool2d((12, 9)),
            nn.AdaptiveAvgPool2d((6, 2)),
        )


@case("adaptive_max_pool", randn((2, 3, 12, 9)), expect="adaptive_max_pool2d.default")
class AdaptiveMaxPool(Branches):
    def __init__(self):
        super().__init__(
            nn.AdaptiveMaxPool2d(1), nn.AdaptiveMaxPool2d((4, 3)), nn.AdaptiveMaxPool2d((5, 4))
        )


@case("linear", randn((3, 8), (2, 3, 8), (8,), (2, 2, 3, 8)), DECOMPOSED, expect="linear.default")
class Linear(nn.Module):
    def __init__(self):
        super().__init__()
        self.biased = nn.Linear(8, 5)
        self.plain = nn.Linear(8, 1, bias=False)

    def forward(self, *inputs):
        return tuple(layer(x) for x in inputs for layer in (self.biased, self.plain))


@case(
    "matmul_constant",
    randn((4, 6), (2, 4, 6)),
    DECOMPOSED,
    expect="addmm.default mm.default matmul.default",
)
class MatmulConstant(nn.Module):
    """Contractions with a weight on either side."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(6, 5))
        self.left = nn.Parameter(torch.empty(3, 4))
        self.batched = nn.Parameter(torch.empty(2, 6, 3))
        self.bias = nn.Parameter(torch.empty(5))
        self.full_bias = nn.Parameter(torch.empty(4, 5))
        self.vector = nn.Parameter(torch.empty(6))

    def forward(self, x, y):
        return (
            torch.addmm(self.bias, x, self.weight),
            torch.addmm(self.full_bias, x, self.weight, beta=0.5, alpha=2),
            torch.mm(x, self.weight),
            torch.mm(self.left, x),
            torch.matmul(y, self.weight) + self.bias,
            torch.matmul(self.left, y),
            torch.bmm(y, self.batched),
            torch.matmul(x, self.vector),
            torch.mv(x, self.vector),
        )


@case(
    "matmul",
    randn((2, 4, 6), (2, 6, 3), (4, 6), (6,), (3, 2, 4, 6), (3, 1, 6, 4)),
    DECOMPOSED,
    expect="bmm.default baddbmm.default dot.default",
)
class Matmul(nn.Module):
    """Contractions of two activations: broadcast batch dims, vectors, transposed operands."""

    def forward(self, a, b, m, v, p, q):
        return (
            torch.bmm(a, b),
            torch.matmul(a, b),
            a @ m.t(),
            torch.matmul(m, m.T),
            torch.matmul(a, v),
            torch.matmul(v, b),
            torch.dot(v, v),
            torch.matmul(p, q),
            p @ p.transpose(-1, -2),
            torch.baddbmm(a @ b, a, b, beta=0.5, alpha=2),
        )


@case("einsum", randn((2, 4, 6), (2, 6, 3)), expect="einsum.default")
class Einsum(nn.Module):
    def forward(self, a, b):
        return torch.einsum("bij,bjk->bki", a, b), torch.einsum("bij->bj", a)


@case(
    "upsample",
    randn((1, 3, 4, 5)),
    ALL_VARIANTS,
    expect="upsample_nearest2d.vec upsample_bilinear2d.vec",
)
class Upsample(nn.Module):
    def forward(self, x):
        return (
            F.interpolate(x, scale_factor=2),
            F.interpolate(x, size=(9, 7)),
            F.interpolate(x, scale_factor=(1.5, 2.4)),
            F.interpolate(x, size=(2, 3)),
            F.interpolate(x, scale_factor=2, mode="bilinear"),
            F.interpolate(x, size=(9, 7), mode="bilinear"),
            F.interpolate(x, size=(9, 7), mode="bilinear", align_corners=True),
            F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True),
            F.interpolate(x, scale_factor=(1.5, 2.4), mode="bilinear"),
            F.interpolate(x, scale_factor=1.7, mode="bilinear", recompute_scale_factor=True),
            F.interpolate(x, size=(2, 3), mode="bilinear"),
            F.interpolate(x, size=(1, 1), mode="bilinear", align_corners=True),
        )


@case("pad", randn((2, 3, 5, 6), (2, 3, 7)), DECOMPOSED, expect="pad.default")
class Pad(nn.Module):
    def forward(self, x, y):
        return (
            F.pad(x, (1, 2)),
            F.pad(x, (1, 2, 3, 0), value=1.5),
            F.pad(x, (0, 0, 0, 0, 1, 2), value=-1),
            F.pad(x, (1, 1, 1, 1, 1, 1, 1, 1)),
            F.pad(x, (-1, 2, 1, -2)),
            F.pad(y, (3, 2), value=float("-inf")).amax(-1),
        )


@case("pad_modes", randn((2, 3, 5, 6), (2, 3, 7)), DECOMPOSED, expect="pad.default")
class PadModes(nn.Module):
    """Decomposed, reflect and replicate are gathers and circular is a chain of slice_scatter."""

    def forward(self, x, y):
        return (
            F.pad(x, (2, 1, 3, 2), mode="reflect"),
            F.pad(x, (2, 1, 0, 4), mode="replicate"),
            F.pad(x, (2, 1, 1, 3), mode="circular"),
            F.pad(y, (3, 2), mode="reflect"),
            F.pad(y, (3, 2), mode="replicate"),
            F.pad(y, (3, 2), mode="circular"),
        )


@case("norms", randn((2, 6, 5, 4)), DECOMPOSED, expect="group_norm.default layer_norm.default")
class Norms(Branches):
    def __init__(self):
        super().__init__(
            nn.LayerNorm(4),
            nn.LayerNorm((5, 4), elementwise_affine=False),
            nn.GroupNorm(3, 6),
            nn.InstanceNorm2d(6, affine=True),
            nn.RMSNorm(4, eps=1e-6),
        )


@case("conv3d", randn((2, 4, 5, 6, 7)), ALL_VARIANTS, expect="conv3d.default conv3d.padding")
class Conv3d(Branches):
    def __init__(self):
        super().__init__(
            nn.Conv3d(4, 3, 1),
            nn.Conv3d(4, 6, 3, padding=1, groups=2),
            nn.Conv3d(4, 4, (2, 3, 1), stride=(2, 1, 3), bias=False),
            nn.Conv3d(4, 4, 3, padding=2, dilation=2, groups=4),
            nn.Conv3d(4, 5, (3, 1, 2), padding="same"),
            nn.Sequential(nn.Conv3d(4, 5, 2, stride=2, padding=1), nn.ReLU6()),
        )


@case("pool3d", randn((2, 3, 5, 6, 7)), DECOMPOSED, expect="max_pool3d.default avg_pool3d.default")
class Pool3d(Branches):
    def __init__(self):
        super().__init__(
            nn.MaxPool3d(2),
            nn.MaxPool3d((3, 2, 1), stride=(1, 2, 1), padding=(1, 1, 0)),
            nn.MaxPool3d(2, stride=1, dilation=2, ceil_mode=True),
            nn.AvgPool3d(2),
            nn.AvgPool3d(3, stride=2, padding=1),
            nn.AvgPool3d((2, 3, 1), stride=1, padding=(1, 1, 0), count_include_pad=False),
        )


@case(
    "resize_cubic",
    randn((2, 3, 5, 6)),
    expect="upsample_bicubic2d.vec",
)
class ResizeCubic(nn.Module):
    """Positions of a vision transformer are resized so: at compile time, if they are weights."""

    def __init__(self):
        super().__init__()
        self.positions = nn.Parameter(torch.zeros(1, 3, 4, 4))

    def forward(self, x):
        positions = F.interpolate(self.positions, (5, 6), mode="bicubic")
        return (
            x + positions,
            F.interpolate(x, (7, 4), mode="bicubic", align_corners=True),
            F.interpolate(x, scale_factor=1.7, mode="bicubic"),
        )


@case(
    "resize_sequence",
    randn((2, 3, 5)),
    DECOMPOSED,
    expect="upsample_linear1d.vec upsample_nearest1d.vec",
)
class ResizeSequence(nn.Module):
    def forward(self, x):
        return (
            F.interpolate(x, 10),
            F.interpolate(x, scale_factor=1.7),
            F.interpolate(x, 8, mode="linear"),
            F.interpolate(x, scale_factor=2, mode="linear"),
            F.interpolate(x, 9, mode="linear", align_corners=True),
        )


@case("weight_norm", randn((2, 4, 8)), expect="_weight_norm.default")
class WeightNorm(Branches):
    def __init__(self):
        norm = nn.utils.parametrizations.weight_norm
        super().__init__(
            norm(nn.Conv1d(4, 6, 3)), norm(nn.Conv1d(4, 4, 3, groups=2), dim=2), norm(nn.Linear(8, 3))
        )


@case("standardised_weights", randn((2, 3, 6, 6)), expect="batch_norm.default")
class StandardisedWeights(nn.Module):
    """A norm that takes the statistics of what it is given."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(4, 3, 3, 3))
        self.gain = nn.Parameter(torch.zeros(4))
        self.norm = nn.BatchNorm2d(4, track_running_stats=False)

    def forward(self, x):
        flat = self.weight.reshape(1, 4, -1)
        weight = F.batch_norm(flat, None, None, self.gain, training=True, momentum=0.0)
        return self.norm(F.conv2d(x, weight.reshape_as(self.weight)))
