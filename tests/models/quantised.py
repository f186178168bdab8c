"""Quantised models: by hand, with scales and zero points that no convention would choose, and by
PyTorch's own quantisers (PT2E with XNNPACK's quantiser, torchao)."""

import torch
from torch import nn

import export
import quantise
from cases import randn
from torch.ao.quantization.fx import _decomposed  # noqa: F401  (registers quantized_decomposed)

_OPS = torch.ops.quantized_decomposed
_RANGES = {torch.int8: (-128, 127), torch.uint8: (0, 255)}


def round_trip(x, scale, zero_point, dtype=torch.int8, low=None, high=None):
    """What a quantised graph writes between two ops."""
    low, high = (low, high) if low is not None else _RANGES[dtype]
    integers = _OPS.quantize_per_tensor(x, scale, zero_point, low, high, dtype)
    return _OPS.dequantize_per_tensor(integers, scale, zero_point, low, high, dtype)


class Weight(nn.Module):
    """int8 weights, one scale for each index of an axis."""

    def __init__(self, shape, axis=0, low=-127, high=127):
        super().__init__()
        self.axis, self.low, self.high = axis, low, high
        integers = torch.randint(low, high + 1, shape, dtype=torch.int8)
        self.register_buffer("integers", integers)
        fan_in = max(1, integers[0].numel())
        scales = (torch.rand(shape[axis]) + 0.5) / (0.6 * high * fan_in**0.5)
        self.register_buffer("scales", scales)
        self.register_buffer("zeros", torch.zeros(shape[axis], dtype=torch.int64))

    def forward(self):
        return _OPS.dequantize_per_channel(
            self.integers, self.scales, self.zeros, self.axis, self.low, self.high, torch.int8
        )


class Conv(nn.Module):
    """Padding, stride, a ReLU that the zero point does not imply, and one that it does."""

    def __init__(self, groups=1, channels=6, outputs=8):
        super().__init__()
        self.groups = groups
        self.weight = Weight((outputs, channels // groups, 3, 3))
        self.bias = nn.Parameter(torch.randn(outputs) * 0.3)

    def forward(self, x):
        x = round_trip(x, 0.031, 11)
        y = nn.functional.conv2d(x, self.weight(), self.bias, 2, 1, 1, self.groups)
        return round_trip(torch.relu(y), 0.027, -7), round_trip(torch.relu(-y), 0.03, -128)


class Pointwise(nn.Module):
    """A linear over channels, written with the permutes of a transformer."""

    def __init__(self):
        super().__init__()
        self.weight = Weight((10, 6))
        self.bias = nn.Parameter(torch.randn(10) * 0.3)

    def forward(self, x):
        x = round_trip(x, 0.04, 3)
        rows = x.permute(0, 2, 3, 1).reshape(-1, 6)
        y = round_trip(nn.functional.linear(rows, self.weight(), self.bias), 0.05, -9)
        return y.reshape(x.shape[0], x.shape[2], x.shape[3], 10).permute(0, 3, 1, 2)


class Transposed(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = Weight((6, 4, 2, 2), axis=1)

    def forward(self, x):
        y = nn.functional.conv_transpose2d(round_trip(x, 0.033, -20), self.weight(), None, 2)
        return round_trip(y, 0.06, 17)


class Arithmetic(nn.Module):
    """Residuals, a constant that is quantised too, operands shared with real ops."""

    def __init__(self):
        super().__init__()
        self.shift = nn.Parameter(torch.randn(1, 6, 1, 1))

    def forward(self, x, y):
        x, y = round_trip(x, 0.03, 5), round_trip(y, 0.021, -30)
        total = round_trip(torch.relu(x + y), 0.029, -100)
        product = round_trip(total * x, 0.05, 2)
        difference = round_trip(product - round_trip(self.shift, 0.02, 0), 0.06, 1)
        return difference, torch.tanh(x) * y


class Movement(nn.Module):
    """What only moves integers: one scale throughout."""

    def forward(self, x):
        q = lambda t: round_trip(t, 0.03, 9)
        x = q(x)
        pooled = q(nn.functional.max_pool2d(x, 2))
        padded = q(nn.functional.pad(pooled, (2, 1, 1, 2)))
        parts = q(torch.cat([q(x[:, 2:]), q(padded[:, :3])], 1))
        clamped = q(nn.functional.hardtanh(parts, -1.0, 1.5))
        shuffled = q(clamped.reshape(1, -1, 6, 2, 3).permute(0, 2, 1, 4, 3).flatten(2))
        return shuffled, q(x.flatten(1).reshape(1, 9, -1))


class Averages(nn.Module):
    """A global average to another scale, an average pool, activations without integer kernels."""

    def forward(self, x):
        x = round_trip(x, 0.03, 9)
        gate = round_trip(x.mean((2, 3), keepdim=True), 0.011, 40)
        gate = round_trip(torch.sigmoid(gate), 1 / 256, -128)
        x = round_trip(nn.functional.hardswish(x * gate), 0.02, -100)
        return round_trip(nn.functional.avg_pool2d(x, 2), 0.015, -90)


class Unsigned(nn.Module):
    """uint8 activations, as older tools make them."""

    def __init__(self):
        super().__init__()
        self.weight = Weight((8, 6, 1, 1))

    def forward(self, x):
        q = lambda t, scale, zero: round_trip(t, scale, zero, torch.uint8)
        x = q(x, 0.03, 121)
        y = q(torch.relu(nn.functional.conv2d(x, self.weight())), 0.02, 0)
        return q(y[:, :6] + x, 0.04, 77)


class Narrow(nn.Module):
    """A range that leaves integers out, on both sides."""

    def forward(self, x):
        x = round_trip(x, 0.03, 5, torch.int8, -127, 120)
        return round_trip(x + x, 0.02, 3, torch.int8, -100, 90)


class Integers(nn.Module):
    """Quantised tensors that cross the model's boundary."""

    def forward(self, x):
        x = _OPS.dequantize_per_tensor(x, 0.04, 3, -128, 127, torch.int8)
        y = round_trip(x * x, 0.05, -128)
        return _OPS.quantize_per_tensor(y + x, 0.06, 2, -128, 127, torch.int8)


class IntegerBias(nn.Module):
    """The bias in 32-bit integers, counted in the scale of the sums."""

    def __init__(self, weight, x_scale):
        super().__init__()
        outputs = weight.scales.shape
        self.register_buffer("integers", torch.randint(-3000, 3000, outputs, dtype=torch.int32))
        self.register_buffer("scales", weight.scales * x_scale)
        self.register_buffer("zeros", torch.zeros(outputs, dtype=torch.int64))

    def forward(self):
        info = torch.iinfo(torch.int32)
        return _OPS.dequantize_per_channel(
            self.integers, self.scales, self.zeros, 0, info.min, info.max, torch.int32
        )


class IntegerBiases(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.linear = Weight((8, 6, 3, 3)), Weight((5, 8))
        self.conv_bias = IntegerBias(self.conv, 0.03)
        self.linear_bias = IntegerBias(self.linear, 0.02)

    def forward(self, x):
        x = round_trip(x, 0.03, -4)
        y = torch.relu(nn.functional.conv2d(x, self.conv(), self.conv_bias()))
        rows = round_trip(round_trip(y, 0.04, -60).mean((2, 3)), 0.02, -90)
        return round_trip(nn.functional.linear(rows, self.linear(), self.linear_bias()), 0.02, 12)


class WeightOnly(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = Weight((10, 32))
        self.conv = Weight((4, 3, 3, 3))
        self.bias = nn.Parameter(torch.randn(10))

    def forward(self, x, image):
        y = nn.functional.linear(x, self.linear(), self.bias)
        return y, nn.functional.conv2d(image, self.conv(), None, 1, 1)


# ---- Dynamic activations ----


def dynamic(x):
    """What PT2E writes before a dynamically quantised op."""
    scale, zero = _OPS.choose_qparams.tensor(x, -128, 127, 1.1920928955078125e-07, torch.int8)
    integers = _OPS.quantize_per_tensor.tensor(x, scale, zero, -128, 127, torch.int8)
    return _OPS.dequantize_per_tensor.tensor(integers, scale, zero, -128, 127, torch.int8)


class DynamicConv(nn.Module):
    def __init__(self, inputs, outputs, kernel=1):
        super().__init__()
        self.weight = Weight((outputs, inputs, kernel, kernel))
        self.bias = nn.Parameter(torch.randn(outputs) * 0.2)
        self.padding = kernel // 2

    def forward(self, x, quantised=None):
        x = dynamic(x) if quantised is None else quantised
        return nn.functional.conv2d(x, self.weight(), self.bias, 1, self.padding)


class DynamicLinear(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = Weight((outputs, inputs))
        self.bias = nn.Parameter(torch.randn(outputs) * 0.2)

    def forward(self, x):
        return nn.functional.linear(dynamic(x), self.weight(), self.bias)


class DynamicTransposed(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = Weight((4, 6, 2, 2), axis=1)
        self.bias = nn.Parameter(torch.randn(6) * 0.2)

    def forward(self, x):
        y = nn.functional.conv_transpose2d(dynamic(x), self.weight(), self.bias, 2)
        return torch.relu(y)


class DynamicHeads(nn.Module):
    """Queries, keys and values of one activation, quantised once, each split into heads."""

    def __init__(self):
        super().__init__()
        self.weights = nn.ModuleList(Weight((16, 16)) for _ in range(3))
        self.biases = nn.ParameterList(torch.randn(16) * 0.2 for _ in range(3))

    def forward(self, x):
        rows = dynamic(x)
        q, k, v = (
            nn.functional.linear(rows, weight(), bias).reshape(1, -1, 4, 4).transpose(1, 2)
            for weight, bias in zip(self.weights, self.biases)
        )
        y = nn.functional.scaled_dot_product_attention(q, k, v)
        return y.transpose(1, 2).flatten(2)


_BINARY = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
}


class BinaryChain(nn.Module):
    """A per-channel op is the first to read the input, which also feeds a quantised chain that runs
    through that op (pytorch/executorch #20376)."""

    def __init__(self, op, constant_first):
        super().__init__()
        self.op, self.constant_first = _BINARY[op], constant_first
        self.scale = nn.Parameter(torch.rand(1, 4, 1, 1) + 0.5)
        self.first, self.second = DynamicConv(4, 4, 3), DynamicConv(4, 4)

    def binary(self, x):
        return self.op(self.scale, x) if self.constant_first else self.op(x, self.scale)

    def forward(self, x):
        if self.constant_first:
            x = x.abs() + 1
        y = self.binary(x)
        return self.second(torch.relu(self.first(x)) + y) + y


class SharedRelu(nn.Module):
    """One activation for a quantised conv, and through a per-channel op for another."""

    def __init__(self, op, constant_first):
        super().__init__()
        self.op, self.constant_first = _BINARY[op], constant_first
        self.scale = nn.Parameter(torch.rand(1, 4, 1, 1) + 0.5)
        self.first, self.second = DynamicConv(4, 4), DynamicConv(4, 4)

    def forward(self, x):
        y = torch.relu(x) + (0.5 if self.constant_first else 0.0)
        z = self.op(self.scale, y) if self.constant_first else self.op(y, self.scale)
        return self.first(y) + self.second(z)


class SharedActivation(nn.Module):
    """Quantised once, read by two convs and by real ops."""

    def __init__(self):
        super().__init__()
        self.first, self.second = DynamicConv(4, 8, 3), DynamicConv(4, 8)

    def forward(self, x):
        y = torch.tanh(x)
        q = dynamic(y)
        return self.first(y, q) * self.second(y, q), y.mean((2, 3)), y.flatten(1)


class DynamicPointwise(nn.Module):
    """Linear over channels between permutes, rows of very different sizes."""

    def __init__(self):
        super().__init__()
        self.first, self.second = DynamicLinear(6, 12), DynamicLinear(12, 6)

    def forward(self, x):
        rows = x.permute(0, 2, 3, 1)
        return x + self.second(torch.relu(self.first(rows))).permute(0, 3, 1, 2)


class SmallNet(nn.Module):
    """A residual block with depthwise convs, a gate and a classifier."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU6())
        self.depthwise = nn.Sequential(nn.Conv2d(8, 8, 3, 1, 1, groups=8), nn.BatchNorm2d(8), nn.Hardswish())
        self.project = nn.Conv2d(8, 8, 1)
        self.gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 8, 1), nn.Hardsigmoid())
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = self.stem(x)
        y = self.depthwise(x)
        y = self.project(y * self.gate(y)) + x
        return self.head(torch.nn.functional.adaptive_avg_pool2d(y, 1).flatten(1))


class SmallTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(16)
        self.qkv, self.project = nn.Linear(16, 48), nn.Linear(16, 16)
        self.up, self.down = nn.Linear(16, 32), nn.Linear(32, 16)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).reshape(1, -1, 3, 2, 8).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v)
        x = x + self.project(y.transpose(1, 2).flatten(2))
        return x + self.down(nn.functional.gelu(self.up(x)))


class Bottleneck(nn.Module):
    """A block of ResNet-50."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        width = outputs // 4
        norm = nn.BatchNorm2d
        self.body = nn.Sequential(
            *(nn.Conv2d(inputs, width, 1, bias=False), norm(width), nn.ReLU()),
            *(nn.Conv2d(width, width, 3, stride, 1, bias=False), norm(width), nn.ReLU()),
            *(nn.Conv2d(width, outputs, 1, bias=False), norm(outputs)),
        )
        self.skip = nn.Identity()
        if inputs != outputs:
            self.skip = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), norm(outputs))

    def forward(self, x):
        return torch.relu(self.body(x) + self.skip(x))


class SmallDetr(nn.Module):
    """What detection.Detr is made of, in small: bottlenecks, a transformer over pixels, two heads."""

    def __init__(self, width=16, queries=5):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 7, 2, 3), nn.BatchNorm2d(8), nn.ReLU())
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.blocks = nn.Sequential(Bottleneck(8, 16, 2), Bottleneck(16, 16, 1))
        self.project = nn.Conv2d(16, width, 1)
        self.transformer = nn.Transformer(width, 2, 1, 1, 32, dropout=0.0, batch_first=True)
        self.position = nn.Parameter(torch.randn(1, 16, width))
        self.queries = nn.Parameter(torch.randn(1, queries, width))
        self.classes, self.boxes = nn.Linear(width, 7), nn.Linear(width, 4)

    def forward(self, x):
        x = self.blocks(self.pool(self.stem(x)))
        x = self.project(x).flatten(2).permute(0, 2, 1)
        y = self.transformer(x + self.position, self.queries)
        return self.classes(y), self.boxes(y).sigmoid()


def _linears():
    return nn.Sequential(nn.Linear(64, 96), nn.GELU(), nn.Linear(96, 32))


def _torchao(quantiser, *arguments):
    return lambda: quantiser(export.randomise(_linears()).eval(), *arguments)


def _rows():
    return (torch.randn(1, 6, 4, 4) * torch.tensor([0.1, 1.0, 5.0, 0.3]).reshape(1, 1, 4, 1),)


_IMAGE = randn((1, 6, 6, 6))

# Name -> (model, inputs), both functions, called with torch seeded.
MODELS = {
    "static_conv": (Conv, randn((2, 6, 7, 8))),
    "static_grouped": (lambda: Conv(groups=2), randn((1, 6, 7, 8))),
    "static_depthwise": (lambda: Conv(groups=6, outputs=12), randn((1, 6, 7, 8))),
    "static_pointwise": (Pointwise, randn((1, 6, 4, 5))),
    "static_transposed": (Transposed, randn((1, 6, 4, 5))),
    "static_arithmetic": (Arithmetic, randn((1, 6, 4, 5), (1, 6, 4, 5))),
    "static_movement": (Movement, _IMAGE),
    "static_averages": (Averages, _IMAGE),
    "static_unsigned": (Unsigned, _IMAGE),
    "static_narrow": (Narrow, _IMAGE),
    "static_integers": (
        Integers,
        lambda: (torch.randint(-128, 128, (1, 3, 4, 5), dtype=torch.int8),),
    ),
    "static_integer_bias": (IntegerBiases, _IMAGE),
    "weight_only": (WeightOnly, randn((3, 32), (1, 3, 6, 6))),
    "weight_only_torchao": (_torchao(quantise.int8_weights), randn((1, 5, 64))),
    "dynamic_transposed": (DynamicTransposed, randn((2, 4, 5, 6))),
    "dynamic_heads": (DynamicHeads, randn((1, 6, 16))),
    "dynamic_shared_activation": (SharedActivation, randn((2, 4, 5, 6))),
    "dynamic_pointwise": (DynamicPointwise, _rows),
    "pt2e_static": (lambda: (export.randomise(SmallNet()).eval(), False), randn((1, 3, 16, 16))),
    "pt2e_dynamic": (lambda: (export.randomise(SmallNet()).eval(), True), randn((1, 3, 16, 16))),
    "pt2e_static_transformer": (
        lambda: (export.randomise(SmallTransformer()).eval(), False),
        randn((1, 7, 16)),
    ),
    "pt2e_dynamic_transformer": (
        lambda: (export.randomise(SmallTransformer()).eval(), True),
        randn((1, 7, 16)),
    ),
    "pt2e_dynamic_detr": (
        lambda: (export.randomise(SmallDetr()).eval(), True),
        randn((1, 3, 32, 32)),
    ),
    "torchao_int4": (_torchao(quantise.int4), randn((1, 5, 64))),
    "torchao_int4_per_channel": (_torchao(quantise.int4, 0), randn((1, 5, 64))),
}
for _op in _BINARY:
    for _first in (False, True):
        _side = "left" if _first else "right"
        MODELS[f"dynamic_quant_per_channel_binary_chain_{_op}_{_side}"] = (
            lambda op=_op, first=_first: BinaryChain(op, first),
            randn((1, 4, 5, 6)),
        )
        MODELS[f"dynamic_quant_per_channel_shared_relu_{_op}_{_side}"] = (
            lambda op=_op, first=_first: SharedRelu(op, first),
            randn((1, 4, 5, 6)),
        )


def _write(directory, name):
    make_model, make_inputs = MODELS[name]
    model, inputs = make_model(), make_inputs()
    if isinstance(model, tuple):
        model = quantise.pt2e(model[0], inputs, model[1])
    path = directory / f"quantised_{name}"
    export.save_program(path, model, inputs, samples=False)
    export.save_reference(path, model, inputs)


ARCHIVES = {
    f"quantised_{name}": lambda directory, name=name: _write(directory, name) for name in MODELS
}
