"""Small whole networks, one for each family that the compiler must handle as a single delegate."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.export.pt2_archive._package import package_pt2

import export
from cases import case, randn

ALL_VARIANTS = ("channels_last", "decomposed")


def conv_bn(inputs, outputs, kernel=1, stride=1, groups=1, activation=nn.ReLU):
    layers = [
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
    ]
    return nn.Sequential(*layers, *([activation(inplace=True)] if activation else []))


class SqueezeExcite(nn.Module):
    def __init__(self, channels, squeezed):
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.reduce = nn.Conv2d(channels, squeezed, 1)
        self.expand = nn.Conv2d(squeezed, channels, 1)

    def forward(self, x):
        return x * F.hardsigmoid(self.expand(F.relu(self.reduce(self.pool(x)))))


class InvertedResidual(nn.Module):
    def __init__(self, inputs, expanded, outputs, kernel, stride, activation, squeeze):
        super().__init__()
        self.residual = stride == 1 and inputs == outputs
        self.block = nn.Sequential(
            conv_bn(inputs, expanded, activation=activation),
            conv_bn(expanded, expanded, kernel, stride, groups=expanded, activation=activation),
            SqueezeExcite(expanded, expanded // 4) if squeeze else nn.Identity(),
            conv_bn(expanded, outputs, activation=None),
        )

    def forward(self, x):
        return x + self.block(x) if self.residual else self.block(x)


@case(
    "mobile_block",
    randn((1, 3, 64, 64)),
    ALL_VARIANTS,
    expect="hardswish_.default hardsigmoid.default adaptive_avg_pool2d.default batch_norm.default",
)
class MobileNet(nn.Module):
    """The demo: MobileNetV3 in miniature."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            conv_bn(3, 16, 3, stride=2, activation=nn.Hardswish),
            InvertedResidual(16, 16, 16, 3, 2, nn.ReLU, squeeze=True),
            InvertedResidual(16, 48, 24, 3, 2, nn.ReLU, squeeze=False),
            InvertedResidual(24, 64, 24, 5, 1, nn.Hardswish, squeeze=True),
            InvertedResidual(24, 72, 32, 5, 2, nn.Hardswish, squeeze=True),
            conv_bn(32, 96, activation=nn.Hardswish),
        )
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(
            nn.Linear(96, 64), nn.Hardswish(), nn.Dropout(0.2), nn.Linear(64, 10)
        )

    def forward(self, x):
        return self.classifier(torch.flatten(self.pool(self.features(x)), 1))


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = width * 2
        self.body = nn.Sequential(
            conv_bn(inputs, width),
            conv_bn(width, width, 3, stride, groups=4),
            conv_bn(width, outputs, activation=None),
        )
        changes = stride != 1 or inputs != outputs
        self.shortcut = conv_bn(inputs, outputs, 1, stride, activation=None) if changes else None

    def forward(self, x):
        y = self.body(x)
        y += self.shortcut(x) if self.shortcut else x
        return F.relu(y, inplace=True)


@case(
    "residual_net", randn((2, 3, 24, 24)), ("decomposed",), expect="add_.Tensor max_pool2d.default"
)
class ResidualNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(conv_bn(3, 16, 5, 2), nn.MaxPool2d(3, 2, 1))
        self.stages = nn.Sequential(Bottleneck(16, 8, 1), Bottleneck(16, 12, 2))
        self.head = nn.Linear(24, 7)

    def forward(self, x):
        return self.head(self.stages(self.stem(x)).mean((2, 3)))


class DenseLayer(nn.Module):
    """Batch norm and ReLU before each conv: the norm cannot be folded into a padded conv."""

    def __init__(self, inputs, growth):
        super().__init__()
        self.body = nn.Sequential(
            nn.BatchNorm2d(inputs),
            nn.ReLU(inplace=True),
            nn.Conv2d(inputs, 2 * growth, 1, bias=False),
            nn.BatchNorm2d(2 * growth),
            nn.ReLU(inplace=True),
            nn.Conv2d(2 * growth, growth, 3, padding=1, bias=False),
        )

    def forward(self, features):
        return self.body(torch.cat(features, 1))


@case("dense_net", randn((1, 3, 24, 24)))
class DenseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = conv_bn(3, 8, 3, 2)
        self.layers = nn.ModuleList(DenseLayer(8 + 4 * i, 4) for i in range(3))
        self.transition = nn.Sequential(
            nn.BatchNorm2d(20),
            nn.ReLU(inplace=True),
            nn.Conv2d(20, 10, 1, bias=False),
            nn.AvgPool2d(2),
        )
        self.head = nn.Linear(10, 5)

    def forward(self, x):
        features = [self.stem(x)]
        for layer in self.layers:
            features.append(layer(features))
        x = F.relu(self.transition(torch.cat(features, 1)), inplace=True)
        return self.head(torch.flatten(F.adaptive_avg_pool2d(x, (1, 1)), 1))


def channel_shuffle(x, groups):
    n, c, h, w = x.shape
    return x.view(n, groups, c // groups, h, w).transpose(1, 2).contiguous().view(n, c, h, w)


class ShuffleUnit(nn.Module):
    def __init__(self, channels):
        super().__init__()
        half = channels // 2
        self.branch = nn.Sequential(
            conv_bn(half, half),
            conv_bn(half, half, 3, groups=half, activation=None),
            conv_bn(half, half),
        )

    def forward(self, x):
        kept, changed = x.chunk(2, dim=1)
        return channel_shuffle(torch.cat((kept, self.branch(changed)), 1), 2)


@case("shuffle_net", randn((1, 3, 14, 14)), ALL_VARIANTS, expect="chunk.default")
class ShuffleNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = conv_bn(3, 12, 3, 2)
        self.units = nn.Sequential(ShuffleUnit(12), ShuffleUnit(12))
        self.head = nn.Linear(12, 5)

    def forward(self, x):
        return self.head(self.units(self.stem(x)).mean([2, 3]))


@case("inception_block", randn((1, 3, 15, 15)), ("decomposed",))
class InceptionBlock(nn.Module):
    """Input normalisation by channel, factored convs, parallel branches, padded average pool."""

    def __init__(self):
        super().__init__()
        self.one = conv_bn(3, 4)
        self.tall = nn.Sequential(
            conv_bn(3, 4),
            nn.Conv2d(4, 5, (1, 7), padding=(0, 3), bias=False),
            nn.Conv2d(5, 6, (7, 1), padding=(3, 0), bias=False),
            nn.BatchNorm2d(6, eps=0.001),
        )
        self.pool = conv_bn(3, 3)
        self.reduce = nn.Conv2d(13, 8, 3, 2)

    def forward(self, x):
        red = torch.unsqueeze(x[:, 0], 1) * 1.1 + (-0.2)
        green = torch.unsqueeze(x[:, 1], 1) * 0.9 + 0.1
        blue = torch.unsqueeze(x[:, 2], 1) * 0.8 + 0.3
        x = torch.cat((red, green, blue), 1)
        pooled = F.avg_pool2d(x, kernel_size=3, stride=1, padding=1)
        y = torch.cat([self.one(x), F.relu(self.tall(x), inplace=True), self.pool(pooled)], 1)
        return torch.cat([self.reduce(y), F.max_pool2d(y, 3, 2)], 1)


@case("fire_net", randn((1, 3, 33, 33)))
class FireNet(nn.Module):
    """SqueezeNet in miniature: no batch norm, ceil-mode pools, a conv as classifier."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, 2)
        self.squeeze = nn.Conv2d(16, 4, 1)
        self.expand1 = nn.Conv2d(4, 8, 1)
        self.expand3 = nn.Conv2d(4, 8, 3, padding=1)
        self.classifier = nn.Conv2d(16, 6, 1)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.stem(x)), 3, 2, ceil_mode=True)
        x = F.relu(self.squeeze(x))
        x = torch.cat([F.relu(self.expand1(x)), F.relu(self.expand3(x))], 1)
        x = F.max_pool2d(x, 3, 2, ceil_mode=True)
        x = F.relu(self.classifier(F.dropout(x, 0.5, self.training)))
        return torch.flatten(F.adaptive_avg_pool2d(x, (1, 1)), 1)


@case("segmentation_net", randn((1, 3, 24, 20)), ALL_VARIANTS, expect="upsample_bilinear2d.vec")
class SegmentationNet(nn.Module):
    """DeepLab in miniature: atrous branches, a pooled branch resized back, a dict of outputs."""

    def __init__(self):
        super().__init__()
        self.stem = conv_bn(3, 8, 3, 2)
        self.deep = conv_bn(8, 12, 3, 2)
        self.atrous = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(12, 6, 3, padding=d, dilation=d, bias=False), nn.BatchNorm2d(6), nn.ReLU()
            )
            for d in (1, 2, 4)
        )
        self.pooled = nn.Sequential(nn.AdaptiveAvgPool2d(1), conv_bn(12, 6))
        self.project = conv_bn(24, 8)
        self.low = nn.Conv2d(8, 5, 1)
        self.high = nn.Conv2d(8, 5, 1)

    def forward(self, x):
        low = self.stem(x)
        deep = self.deep(low)
        size = deep.shape[-2:]
        pooled = F.interpolate(self.pooled(deep), size=size, mode="bilinear", align_corners=False)
        y = self.project(torch.cat([*(branch(deep) for branch in self.atrous), pooled], 1))
        y = F.interpolate(y, size=low.shape[-2:], mode="bilinear", align_corners=False)
        y = self.low(low) + self.high(y)
        out = F.interpolate(y, size=x.shape[-2:], mode="bilinear", align_corners=False)
        return {"out": out, "aux": F.interpolate(self.low(low), scale_factor=2, mode="bilinear")}


class LayerNorm2d(nn.LayerNorm):
    def forward(self, x):
        x = x.permute(0, 2, 3, 1)
        return super().forward(x).permute(0, 3, 1, 2)


@case(
    "convnext_block",
    randn((1, 3, 32, 32)),
    ("decomposed",),
    expect="layer_norm.default gelu.default",
)
class ConvNeXtBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 4, 4), LayerNorm2d(16, eps=1e-6))
        self.depthwise = nn.Conv2d(16, 16, 7, padding=3, groups=16)
        self.norm = nn.LayerNorm(16, eps=1e-6)
        self.expand = nn.Linear(16, 48)
        self.project = nn.Linear(48, 16)
        self.layer_scale = nn.Parameter(torch.ones(16, 1, 1))
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        x = self.stem(x)
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        y = self.project(F.gelu(self.expand(y))).permute(0, 3, 1, 2)
        x = x + self.layer_scale * y
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


@case("vgg_net", randn((2, 3, 16, 16)), ALL_VARIANTS)
class VggNet(nn.Module):
    """A flatten of a whole feature map before a linear: the permute belongs into the weights."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1),
            nn.ReLU(True),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 10, 3, padding=1),
            nn.ReLU(True),
            nn.MaxPool2d(2),
        )
        self.head = nn.Sequential(nn.Linear(160, 24), nn.ReLU(True), nn.Dropout(), nn.Linear(24, 5))

    def forward(self, x):
        x = F.adaptive_avg_pool2d(self.features(x), (4, 4))
        return self.head(torch.flatten(x, 1))


@case(
    "half_net", lambda: (torch.randn(1, 3, 16, 16).half(),), ("channels_last",), dtype=torch.float16
)
class HalfNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(conv_bn(3, 8, 3, 2), conv_bn(8, 8, 3, groups=8), conv_bn(8, 12))
        self.head = nn.Linear(12, 5)

    def forward(self, x):
        return self.head(self.body(x).mean((2, 3)))


def write_methods(directory):
    """One archive with two methods of different signatures."""
    methods = {
        "encode": (export.randomise(conv_bn(3, 8, 3, 2)).eval(), randn((1, 3, 8, 8))()),
        "decode": (export.randomise(nn.ConvTranspose2d(8, 3, 2, 2)).eval(), randn((1, 8, 4, 4))()),
    }
    path = directory / "methods"
    programs, arrays = {}, {}
    for method, (model, inputs) in methods.items():
        programs[method] = export.export(model, inputs)
        arrays |= export.under(method, export.run(model, inputs))
    package_pt2(f"{path}.pt2", exported_programs=programs)
    export.save_arrays(path, arrays)


ARCHIVES = {"methods": write_methods}
