"""Fixtures with dynamic shapes: one program for all sizes in range, and torch's outputs at five."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim

from cases import case, randn
from networks import HalfNet, InvertedResidual, conv_bn

BATCH = Dim("batch", min=1, max=8)
ROWS = Dim("rows", min=8, max=64)
COLUMNS = Dim("columns", min=8, max=64)
LENGTH = Dim("length", min=2, max=24)


def at_sizes(shape, *others):
    """The inputs of the export, and those of the other sizes."""
    return {"inputs": randn(shape), "other_sizes": [randn(other) for other in others]}


def batches(*image):
    return at_sizes((2, *image), (1, *image), (3, *image), (8, *image), (5, *image))


def tokens(*shape):
    return lambda: (torch.randint(0, 20, shape),)


def token_sizes(batch, *lengths):
    first, *others = [tokens(batch, length) for length in lengths]
    return {"inputs": first, "other_sizes": others}


@case("dynamic_batch", **batches(3, 12, 12), dynamic_shapes=({0: BATCH},))
class DynamicBatch(HalfNet):
    pass


@case("dynamic_batch_residual", **batches(3, 16, 16), dynamic_shapes=({0: BATCH},))
class DynamicBatchResidual(nn.Module):
    """Pools, a residual, and a flatten of a whole feature map before a linear."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(conv_bn(3, 8, 3), nn.MaxPool2d(2))
        self.body = nn.Sequential(conv_bn(8, 8, 3), conv_bn(8, 8, 3, activation=None))
        self.head = nn.Linear(8 * 4 * 4, 5)

    def forward(self, x):
        x = self.stem(x)
        x = F.avg_pool2d(F.relu(x + self.body(x)), 2)
        return self.head(x.flatten(1)).log_softmax(1)


@case("dynamic_batch_mobile", **batches(3, 16, 16), dynamic_shapes=({0: BATCH},))
class DynamicBatchMobile(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            conv_bn(3, 8, 3, 2, activation=nn.Hardswish),
            InvertedResidual(8, 16, 8, 3, 1, nn.ReLU, True),
            InvertedResidual(8, 24, 12, 5, 2, nn.Hardswish, True),
        )
        self.head = nn.Linear(12, 5)

    def forward(self, x):
        x = F.adaptive_avg_pool2d(self.body(x), 1)
        return self.head(torch.flatten(x, 1))


def images(first, *others):
    return at_sizes((1, 3, *first), *((1, 3, *other) for other in others))


SIZES = ((16, 24), (8, 8), (64, 64), (9, 33), (47, 10))


@case("dynamic_image", **images(*SIZES), dynamic_shapes=({2: ROWS, 3: COLUMNS},))
class DynamicImage(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(conv_bn(3, 8, 3, 2), conv_bn(8, 4, 3))

    def forward(self, x):
        return F.interpolate(self.body(x), size=x.shape[-2:], mode="bilinear")


@case(
    "dynamic_image_pool",
    **images((24, 32), (17, 17), (64, 64), (19, 33), (47, 20)),
    dynamic_shapes=({2: Dim("rows", min=17, max=64), 3: Dim("columns", min=17, max=64)},),
)
class DynamicImagePool(nn.Module):
    """Of any size up to the global pool, and of fixed size behind it."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            conv_bn(3, 8, 3, 2), nn.MaxPool2d(3, 2, 1), conv_bn(8, 12, 3), nn.AvgPool2d(2)
        )
        self.head = nn.Linear(12, 5)

    def forward(self, x):
        return self.head(F.adaptive_avg_pool2d(self.body(x), 1).flatten(1))


@case(
    "dynamic_everything",
    **at_sizes((2, 3, 16, 24), (1, 3, 8, 8), (3, 3, 32, 30), (8, 3, 10, 34), (5, 3, 48, 10)),
    dynamic_shapes=(
        {0: BATCH, 2: 2 * Dim("half_rows", min=4, max=32), 3: 2 * Dim("half", min=4, max=32)},
    ),
)
class DynamicEverything(nn.Module):
    """Three dynamic sizes at once, of which two are even: a small U-Net, upsampled by a factor."""

    def __init__(self):
        super().__init__()
        self.down = conv_bn(3, 8, 3)
        self.deep = nn.Sequential(nn.MaxPool2d(2), conv_bn(8, 8, 3))
        self.up = nn.ConvTranspose2d(8, 8, 2, 2)
        self.head = nn.Conv2d(16, 3, 1)

    def forward(self, x):
        shallow = self.down(F.pad(x, (1, 1, 1, 1)))
        y = self.head(torch.cat([shallow, self.up(self.deep(shallow))], 1))
        return F.interpolate(y, scale_factor=2, mode="nearest")


class Attention(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        qkv = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Encoder(nn.Module):
    def __init__(self, causal):
        super().__init__()
        self.tokens = nn.Embedding(20, 16)
        self.places = nn.Embedding(24, 16)
        self.norm, self.norm_out = nn.LayerNorm(16), nn.LayerNorm(16)
        self.attention = Attention(16, 2, causal)
        self.mlp = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))

    def forward(self, ids):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        x = x + self.attention(self.norm(x))
        return x + self.mlp(self.norm_out(x))


@case("dynamic_length", **token_sizes(1, 7, 2, 24, 13, 8), dynamic_shapes=({1: LENGTH},))
class DynamicLength(Encoder):
    def __init__(self):
        super().__init__(causal=False)


@case("dynamic_length_causal", **token_sizes(1, 7, 2, 24, 13, 8), dynamic_shapes=({1: LENGTH},))
class DynamicLengthCausal(Encoder):
    def __init__(self):
        super().__init__(causal=True)


@case(
    "dynamic_batch_and_length",
    inputs=tokens(2, 7),
    other_sizes=[tokens(1, 2), tokens(8, 24), tokens(3, 13), tokens(5, 8)],
    dynamic_shapes=({0: BATCH, 1: LENGTH},),
)
class DynamicBatchAndLength(Encoder):
    """Two symbols that meet where heads are split off and merged again."""

    def __init__(self):
        super().__init__(causal=True)


@case("dynamic_length_last", **token_sizes(1, 7, 2, 24, 13, 8), dynamic_shapes=({1: LENGTH},))
class DynamicLengthLast(Encoder):
    """What stands at the end, as for the next token, though nobody knows yet where that is."""

    def __init__(self):
        super().__init__(causal=True)
        self.head = nn.Linear(16, 20)

    def forward(self, ids):
        x = super().forward(ids)
        return self.head(x[:, -1]), x[:, -2:], x[:, -2::2]


def rms_norm(x, weight):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * weight


@case("dynamic_length_rotary", **token_sizes(1, 7, 2, 24, 13, 8), dynamic_shapes=({1: LENGTH},))
class DynamicLengthRotary(nn.Module):
    """As in Llama: rotary positions, grouped queries, a mask made of comparisons."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(20, 16)
        self.norm = nn.Parameter(torch.ones(16))
        self.q, self.kv = nn.Linear(16, 16, bias=False), nn.Linear(16, 16, bias=False)
        self.out = nn.Linear(16, 16, bias=False)
        self.register_buffer("frequencies", torch.tensor([1.0, 0.1]))

    def rotate(self, x, length):
        angles = torch.arange(length).float()[:, None] * self.frequencies[None]
        angles = torch.cat([angles, angles], -1)
        first, second = x.chunk(2, -1)
        return x * angles.cos() + torch.cat([-second, first], -1) * angles.sin()

    def forward(self, ids):
        x = self.tokens(ids)
        batch, length, _ = x.shape
        y = rms_norm(x, self.norm)
        q = self.q(y).view(batch, length, 4, 4).transpose(1, 2)
        k, v = self.kv(y).view(batch, length, 2, 2, 4).permute(2, 0, 3, 1, 4)
        q, k = self.rotate(q, length), self.rotate(k, length)
        k, v = k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)
        places = torch.arange(length)
        hidden = places[None] > places[:, None]
        scores = q @ k.transpose(2, 3) * 0.5
        scores = scores.masked_fill(hidden, float("-inf")).softmax(-1)
        y = (scores @ v).transpose(1, 2).reshape(batch, length, 16)
        return x + self.out(y)


@case(
    "dynamic_merge",
    **at_sizes((2, 7, 6), (1, 2, 6), (8, 24, 6), (3, 13, 6), (5, 8, 6)),
    dynamic_shapes=({0: BATCH, 1: LENGTH},),
)
class DynamicMerge(nn.Module):
    """Two symbols merged into one size, split again, and swapped."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 10)

    def forward(self, x):
        batch, length, width = x.shape
        rows = self.layer(x.reshape(batch * length, width))
        return rows, rows.view(batch, length, 2, 5).permute(1, 0, 3, 2).flatten(2)


@case(
    "dynamic_two_inputs",
    inputs=randn((2, 7, 6), (2, 8, 6)),
    other_sizes=[
        randn((1, 2, 6), (1, 3, 6)),
        randn((8, 23, 6), (8, 24, 6)),
        randn((3, 13, 6), (3, 14, 6)),
        randn((5, 8, 6), (5, 9, 6)),
    ],
    dynamic_shapes=(
        {0: BATCH, 1: (SHORT := Dim("short", min=2, max=23))},
        {0: BATCH, 1: SHORT + 1},
    ),
)
class DynamicTwoInputs(nn.Module):
    """Sizes that two inputs share, one of them plus one; slices, pads, joins and reductions."""

    def forward(self, x, y):
        joined = torch.cat([x, y], 1)
        every_other = joined[:, 1::2]
        return (
            joined.mean(1),
            F.pad(x, (0, 0, 1, 0)) * y,
            every_other.softmax(1),
            y[:, 1:] + x[:, :1],
            joined.sum((1, 2)),
            x.amax(1),
            torch.zeros_like(x) + torch.full((x.shape[1], 6), 0.5),
            y[:, :-1].expand(x.shape[0], x.shape[1], 6) - x,
        )


@case(
    "dynamic_numbers",
    **at_sizes((2, 7, 3), (1, 1, 3), (8, 24, 3), (3, 2, 3), (5, 8, 3)),
    dynamic_shapes=({0: BATCH, 1: Dim("any_length", max=24)},),
    expect="add.Tensor div.Tensor full.default arange.start",
)
class DynamicNumbers(nn.Module):
    """Sizes as numbers. The length has no lower bound."""

    def forward(self, x):
        batch, length, _ = x.shape
        places = torch.arange(length)
        return (
            x + length,
            x.sum(1) / length,
            torch.where(places * 2 < length - 3, 1.0, -1.0),
            torch.full((batch, 2), length * batch) - batch,
            torch.arange(length, length + 4),
            places.clamp(max=length // 2),
            torch.scalar_tensor(length - 20),
            x[:, 0],
            x[:, -1],
        )


@case(
    "dynamic_half",
    inputs=randn((2, 7, 3), (2, 14, 3)),
    other_sizes=[randn((2, 2, 3), (2, 4, 3)), randn((2, 12, 3), (2, 24, 3))],
    dynamic_shapes=({1: (HALF := Dim("half", min=2, max=12))}, {1: 2 * HALF}),
)
class DynamicHalf(nn.Module):
    """A slice that begins where the size of another input says."""

    def forward(self, x, y):
        return x * y[:, x.shape[1] :]


@case(
    "dynamic_place",
    inputs=lambda: (torch.randn(1, 3, 4), torch.tensor([2, 3, 4])),
    other_sizes=[
        lambda: (torch.randn(1, 1, 4), torch.tensor([0])),
        lambda: (torch.randn(1, 6, 4), torch.tensor([2, 3, 4, 5, 6, 7])),
    ],
    dynamic_shapes=({1: (FEW := Dim("few", max=6))}, {0: FEW}),
    expect="item.default narrow.default select.int",
)
class DynamicPlace(nn.Module):
    """A place that is read from a tensor: rows of a table from there on, and the place as a number."""

    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.randn(8, 4))

    def forward(self, x, places):
        length = x.shape[1]
        place = places[0].item()
        torch._check(place >= 0)
        torch._check(place + length <= 8)
        rows = self.table.narrow(0, place, length)
        return (
            x + rows,
            x * self.table[place : place + length],
            x + self.table[place],
            x + place,
            (torch.arange(length) + place) * (place * 2 + length),
            torch.arange(8) < place + length,
        )


STEPS = Dim("steps", min=1, max=30)


@case(
    "dynamic_recurrent",
    **at_sizes((2, 7, 6), (2, 1, 6), (2, 30, 6), (2, 8, 6), (2, 2, 6)),
    dynamic_shapes=({1: STEPS},),
    expect="lstm.input gru.input rnn_tanh.input",
)
class DynamicRecurrent(nn.Module):
    """Loops: both directions, several layers, and one loop on the results of another."""

    def __init__(self):
        super().__init__()
        form = {"batch_first": True, "bidirectional": True}
        self.lstm = nn.LSTM(6, 4, num_layers=2, **form)
        self.gru = nn.GRU(8, 5, **form)
        self.rnn = nn.RNN(10, 3, batch_first=True)

    def forward(self, x):
        x, (hidden, cell) = self.lstm(x)
        x, last = self.gru(x)
        return self.rnn(x)[0], hidden, cell, last


@case(
    "dynamic_recurrent_projection",
    **at_sizes((7, 2, 6), (1, 2, 6), (30, 2, 6), (8, 2, 6), (2, 2, 6)),
    dynamic_shapes=({0: STEPS},),
)
class DynamicRecurrentProjection(nn.Module):
    """Two loops with the same weights, and a state that is shorter than the cell."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(6, 4, proj_size=2, bias=False)

    def forward(self, x):
        y, (hidden, cell) = self.lstm(x)
        return y + self.lstm(2 * x)[0], hidden, F.relu(cell)
