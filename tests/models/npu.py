"""Small networks of the kinds that run on NPUs: fixtures for the count of transposes that is left of
them, beside that of ExecuTorch's Arm backend (scripts/tosa-baseline, docs/benchmarks.md)."""

import torch
import torch.nn.functional as F
from torch import nn

from cases import case, randn


def conv(inputs, outputs, kernel=3, **options):
    return nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, **options)


def npu(name, shape, also=()):
    """Registers a fixture with one input of normally distributed floats."""
    return case(f"npu_{name}", randn(shape), also)


@npu("four_convs", (1, 3, 32, 32), ("channels_last",))
class FourConvs(nn.Sequential):
    def __init__(self):
        widths = (3, 16, 16, 16, 16)
        super().__init__(*(
            layer for i in range(4) for layer in (conv(widths[i], widths[i + 1]), nn.ReLU())
        ))


class BasicBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.body = nn.Sequential(
            conv(inputs, outputs, stride=stride, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(),
            conv(outputs, outputs, bias=False), nn.BatchNorm2d(outputs),
        )
        self.shortcut = nn.Sequential(
            nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
        ) if stride != 1 else nn.Identity()

    def forward(self, x):
        return F.relu(self.body(x) + self.shortcut(x))


@npu("resnet", (1, 3, 64, 64))
class ResNet(nn.Sequential):
    def __init__(self):
        super().__init__(
            conv(3, 8, 7, stride=2, bias=False), nn.BatchNorm2d(8), nn.ReLU(),
            nn.MaxPool2d(3, 2, 1), BasicBlock(8, 8, 1), BasicBlock(8, 16, 2),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10),
        )


@npu("unet", (1, 3, 32, 32))
class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        double = lambda a, b: nn.Sequential(conv(a, b), nn.ReLU(), conv(b, b), nn.ReLU())
        self.down1, self.down2, self.bottom = double(3, 8), double(8, 16), double(16, 16)
        self.up2, self.up1 = nn.ConvTranspose2d(16, 16, 2, 2), nn.ConvTranspose2d(16, 8, 2, 2)
        self.join2, self.join1 = double(32, 16), double(16, 8)
        self.head = nn.Conv2d(8, 2, 1)

    def forward(self, x):
        one = self.down1(x)
        two = self.down2(F.max_pool2d(one, 2))
        y = self.up2(self.bottom(F.max_pool2d(two, 2)))
        y = self.up1(self.join2(torch.cat((two, y), 1)))
        return self.head(self.join1(torch.cat((one, y), 1)))


class InvertedResidual(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        hidden = inputs * 4
        self.residual = stride == 1 and inputs == outputs
        self.body = nn.Sequential(
            nn.Conv2d(inputs, hidden, 1, bias=False), nn.BatchNorm2d(hidden), nn.ReLU6(),
            conv(hidden, hidden, stride=stride, groups=hidden, bias=False),
            nn.BatchNorm2d(hidden), nn.ReLU6(),
            nn.Conv2d(hidden, outputs, 1, bias=False), nn.BatchNorm2d(outputs),
        )

    def forward(self, x):
        return x + self.body(x) if self.residual else self.body(x)


@npu("mobilenet", (1, 3, 64, 64))
class MobileNet(nn.Sequential):
    def __init__(self):
        super().__init__(
            conv(3, 8, stride=2, bias=False), nn.BatchNorm2d(8), nn.ReLU6(),
            InvertedResidual(8, 8, 1), InvertedResidual(8, 16, 2), InvertedResidual(16, 16, 1),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10),
        )


@npu("grouped_conv", (1, 8, 16, 16))
class GroupedConv(nn.Sequential):
    def __init__(self):
        super().__init__(conv(8, 16, groups=2), nn.ReLU())


@npu("conv_flatten_linear", (1, 3, 8, 8))
class ConvFlattenLinear(nn.Sequential):
    def __init__(self):
        super().__init__(conv(3, 8), nn.ReLU(), nn.Flatten(), nn.Linear(512, 10))


class Fork(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(conv(3, 8), nn.ReLU())
        self.left, self.right = nn.Linear(512, 10), nn.Linear(512, 4)

    def forward(self, x):
        x = self.body(x)
        return self.left(x.flatten(1)), self.right(x.flatten(1))


npu("fork", (1, 3, 8, 8))(Fork)


class SqueezeConvs(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.reduce, self.expand = conv(3, 16), nn.Conv2d(16, 4, 1), nn.Conv2d(4, 16, 1)

    def forward(self, x):
        x = self.conv(x)
        gate = F.relu(self.reduce(x.mean((2, 3), keepdim=True)))
        return x * torch.sigmoid(self.expand(gate))


npu("squeeze_convs", (1, 3, 16, 16))(SqueezeConvs)


class SqueezeLinears(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.reduce, self.expand = conv(3, 16), nn.Linear(16, 4), nn.Linear(4, 16)

    def forward(self, x):
        x = self.conv(x)
        gate = F.relu(self.reduce(x.mean((2, 3))))
        return x * torch.sigmoid(self.expand(gate)).view(x.shape[0], -1, 1, 1)


npu("squeeze_linears", (1, 3, 16, 16))(SqueezeLinears)


@npu("pixel_shuffle", (1, 3, 16, 16))
class PixelShuffle(nn.Sequential):
    def __init__(self):
        super().__init__(conv(3, 16), nn.PixelShuffle(2), conv(4, 4))


class ConvNeXtBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.depthwise = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width)
        self.expand, self.project = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.scale = nn.Parameter(torch.randn(width))

    def forward(self, x):
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        y = self.scale * self.project(F.gelu(self.expand(y)))
        return x + y.permute(0, 3, 1, 2)


@npu("convnext", (1, 16, 16, 16))
class ConvNeXt(nn.Sequential):
    def __init__(self):
        super().__init__(ConvNeXtBlock(16))


@npu("two_convnext", (1, 16, 16, 16))
class TwoConvNeXt(nn.Sequential):
    def __init__(self):
        super().__init__(ConvNeXtBlock(16), ConvNeXtBlock(16))


@npu("groupnorm_silu", (1, 3, 16, 16))
class GroupNormSilu(nn.Sequential):
    def __init__(self):
        super().__init__(conv(3, 16), nn.GroupNorm(4, 16), nn.SiLU())


class VitBlock(nn.Module):
    def __init__(self, width=32, heads=4):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        n, s, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(n, s, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(n, s, c)
        x = x + self.proj(y)
        return x + self.mlp(self.norm2(x))


npu("vit", (1, 17, 32))(VitBlock)


class ChannelShuffle(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(8, 16, 1, groups=2), conv(16, 16, groups=16)
        self.third = nn.Conv2d(16, 8, 1, groups=2)

    def forward(self, x):
        y = F.relu(self.first(x))
        n, c, h, w = y.shape
        y = y.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)
        return self.third(self.second(y))


npu("channel_shuffle", (1, 8, 16, 16))(ChannelShuffle)


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(8, 12, batch_first=True), nn.Linear(12, 5)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


npu("lstm", (1, 6, 8))(Lstm)
