"""Fixtures of elementwise ops with every kind of operand; unusual inputs, outputs and weights."""

import torch
import torch.nn.functional as F
from torch import nn

from cases import case, randn

DECOMPOSED = ("decomposed",)


@case(
    "arithmetic",
    randn((2, 3, 4), (2, 3, 4), (3, 1), (4,), ()),
    expect="add.Tensor sub.Tensor mul.Tensor div.Tensor rsub.Scalar pow.Tensor_Scalar "
    "neg.default reciprocal.default maximum.default minimum.default square.default",
)
class Arithmetic(nn.Module):
    """Scalars, alpha, and broadcasts of every kind."""

    def forward(self, x, y, column, row, scalar):
        positive = y.abs() + 0.5
        return (
            x + y,
            torch.add(x, y, alpha=2),
            torch.add(x, 3, alpha=0.5),
            x + column,
            row + x,
            x * scalar,
            column * row,
            x - y,
            torch.sub(x, row, alpha=-3),
            1 - x,
            torch.rsub(x, 2, alpha=3),
            torch.rsub(x, y),
            x * 2,
            2.5 * x,
            x / positive,
            x / 3,
            1 / positive,
            x / positive[:, :, :1],
            x**2,
            x**3,
            positive**0.5,
            positive**-1,
            positive**-0.5,
            -x,
            torch.square(x),
            torch.reciprocal(positive),
            torch.maximum(x, y),
            torch.minimum(x, row),
            x + x,
            x + True,
        )


@case(
    "arithmetic_more",
    randn((2, 3), (2, 3)),
    expect="div.Tensor_mode floor_divide.default remainder.Scalar fmod.Scalar pow.Scalar "
    "pow.Tensor_Tensor",
)
class ArithmeticMore(nn.Module):
    def forward(self, x, y):
        positive = y.abs() + 0.5
        return (
            torch.div(x, positive, rounding_mode="floor"),
            torch.div(x, 0.7, rounding_mode="trunc"),
            x // 0.5,
            x % 0.7,
            torch.fmod(x, 0.7),
            torch.pow(2, x),
            torch.pow(positive, x),
        )


@case(
    "unary",
    randn((3, 5)),
    expect="abs.default exp.default log.default sqrt.default rsqrt.default sin.default cos.default "
    "floor.default ceil.default round.default trunc.default sign.default erf.default exp2.default "
    "log2.default log10.default log1p.default expm1.default tan.default atan.default",
)
class Unary(nn.Module):
    def forward(self, x):
        positive = x.abs() + 0.1
        return (
            x.abs(),
            x.exp(),
            positive.log(),
            positive.sqrt(),
            positive.rsqrt(),
            x.sin(),
            x.cos(),
            x.floor(),
            x.ceil(),
            x.round(),
            x.trunc(),
            x.sign(),
            x.erf(),
            x.exp2(),
            positive.log2(),
            positive.log10(),
            positive.log1p(),
            x.expm1(),
            x.tan(),
            x.atan(),
        )


@case(
    "arithmetic_inplace",
    randn((2, 3, 4), (4,)),
    expect="add_.Tensor sub_.Tensor mul_.Tensor div_.Tensor pow_.Scalar neg_.default exp_.default "
    "fill_.Scalar zero_.default addcmul.default addcdiv.default lerp.Scalar copy_.default",
)
class ArithmeticInplace(nn.Module):
    def forward(self, x, row):
        y = x + 1
        y += row
        y.sub_(2, alpha=3)
        y *= 0.5
        y.div_(row.abs() + 1)
        z = y.clone()
        z.pow_(2)
        z.neg_()
        z.exp_()
        zero = torch.empty_like(z).fill_(3.0)
        other = z.clone()
        other.zero_()
        copied = z.clone()
        copied.copy_(row)
        return (
            y,
            z,
            zero,
            other,
            copied,
            torch.addcmul(x, y, row, value=0.5),
            torch.addcdiv(x, y, z + 1, value=2),
            torch.lerp(x, y, 0.3),
        )


@case(
    "promotion",
    lambda: (
        torch.randn(2, 3),
        torch.arange(6).view(2, 3) - 2,
        torch.arange(3, dtype=torch.int32) + 1,
        torch.tensor([[True, False, True], [False, True, False]]),
        torch.randn(3).half(),
        torch.tensor(2),
    ),
)
class Promotion(nn.Module):
    """Operands of different dtypes: the result has the wider category, and 0-d tensors and scalars
    widen only across categories."""

    def forward(self, x, long, integer, boolean, half, zero_dim):
        return (
            x + long,
            x * integer,
            x * boolean,
            long + integer,
            long * 2,
            long + 0.5,
            long / 2,
            long / integer,
            integer + boolean,
            boolean + boolean,
            half * 1.5,
            half + x,
            half * integer,
            x * zero_dim,
            integer * zero_dim,
            boolean * 2.5,
            long.float().mean(),
            long.sum(),
            boolean.sum(0),
            torch.cat([x, long.float()], 1),
            torch.cat([x, long], 1),
            torch.where(boolean, long, x),
        )


@case(
    "comparisons",
    lambda: (torch.randn(3, 4), torch.randn(3, 4), torch.arange(12).view(3, 4) % 3),
    expect="gt.Scalar gt.Tensor ge.Scalar lt.Tensor le.Scalar eq.Scalar ne.Tensor where.self",
)
class Comparisons(nn.Module):
    def forward(self, x, y, i):
        mask = x > 0
        return (
            mask,
            x > y,
            x >= 0.5,
            x < y,
            x <= 0,
            i == 1,
            i != i.t().reshape(3, 4),
            torch.where(mask, x, y),
            torch.where(mask, x, 0.0),
            torch.where(mask, 1.0, x),
            torch.where(mask, x, torch.zeros(())),
            (x > 0).float() * y,
        )


@case(
    "logic",
    randn((3, 4), (3, 4)),
    expect="logical_and.default logical_or.default logical_not.default bitwise_not.default "
    "masked_fill.Scalar isnan.default any.default any.dim all.dim",
)
class Logic(nn.Module):
    def forward(self, x, y):
        mask = x > 0
        return (
            torch.logical_and(mask, y > 0),
            torch.logical_or(mask, y > 0),
            torch.logical_not(mask),
            ~mask & (y > 0),
            x.masked_fill(mask, -1.0),
            torch.isnan(y / x.sign().relu()),
            mask.any(),
            mask.any(1),
            mask.all(0),
        )


@case("zero_dim", lambda: (torch.tensor(1.5), torch.tensor(3), torch.randn(2, 3)), DECOMPOSED)
class ZeroDim(nn.Module):
    """0-d tensors as inputs, parameters, constants, intermediate values and outputs."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(0.0))
        self.register_buffer("offset", torch.tensor(0.25))
        self.register_buffer("count", torch.tensor(7))

    def forward(self, x, integer, matrix):
        constant = torch.tensor(2.5)
        return (
            x,
            x * 2,
            x + self.scale,
            self.offset,
            constant,
            integer + self.count,
            integer * x,
            matrix * x + self.offset,
            matrix.sum(),
            matrix.mean() / matrix.amax(),
            matrix[1, 2],
            x.unsqueeze(0),
            matrix * self.scale * constant,
            torch.stack([x, self.scale, matrix.sum()]),
            torch.sigmoid(x).reshape(1, 1),
            x.view(()),
            F.relu(matrix - matrix.sum()),
        )


@case(
    "odd_outputs",
    lambda: (torch.randn(2, 3), torch.randn(4), torch.randn(1, 2, 2, 2)),
    ("channels_last",),
)
class OddOutputs(nn.Module):
    """Outputs that are inputs, weights, constants, duplicates, views of an input, or None; an input
    that is not used, and a parameter that is not used."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(3))
        self.dead = nn.Parameter(torch.empty(1000))
        self.register_buffer("table", torch.arange(4))

    def forward(self, x, unused, image):
        y = F.relu(x)
        return {
            "input": x,
            "again": [x, y, y],
            "view": x.view(3, 2),
            "permuted": x.t(),
            "nothing": None,
            "parameter": self.weight,
            "table": self.table,
            "made": torch.zeros(2, 2),
            "full": torch.full((2,), 3.5),
            "range": torch.arange(1, 9, 2),
            "image": image,
            "sum": y + self.weight,
        }


@case("only_views", randn((2, 3, 4)))
class OnlyViews(nn.Module):
    """Nothing to compute at all."""

    def forward(self, x):
        return x.permute(2, 0, 1).reshape(4, 6)


@case("no_inputs", lambda: ())
class NoInputs(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(2, 3))

    def forward(self):
        return F.relu(self.weight) + torch.ones(3)


@case(
    "zero_size",
    lambda: (torch.randn(0, 3), torch.randn(2, 0, 4), torch.randn(2, 3)),
)
class ZeroSize(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 5)
        self.register_buffer("empty", torch.empty(0, 4))

    def forward(self, x, y, z):
        return (
            self.linear(x),
            F.relu(y) * 2,
            y.sum(1),
            torch.cat([x, z], 0),
            z[1:1],
            y.permute(1, 0, 2).reshape(0, 8),
            self.empty,
            x.sum(),
        )


@case(
    "odd_inputs",
    lambda: (
        torch.randn(2, 3),
        None,
        2.5,
        [torch.randint(-5, 5, (2, 3)), torch.randint(0, 5, (3,), dtype=torch.int32)],
        {"mask": torch.tensor([True, False, True]), "scale": 3},
        torch.randint(0, 6, (2, 2)),
        "text",
    ),
)
class OddInputs(nn.Module):
    """None, numbers, a string, nested containers, integer and boolean tensors as inputs."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(6, 4)

    def forward(self, x, nothing, number, integers, named, tokens, text):
        assert nothing is None and text == "text"
        return (
            x * number + named["scale"],
            x + integers[0],
            integers[1] * 2,
            x.masked_fill(named["mask"], 0.0),
            self.embedding(tokens),
        )


@case("weight_views", randn((2, 4), (1, 3, 5, 5)))
class WeightViews(nn.Module):
    """Tied parameters, transposed and stepped ones, and several views of one storage."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.tied = nn.Linear(4, 4, bias=False)
        self.tied.weight = self.first.weight
        self.transposed = nn.Parameter(torch.empty(4, 6).t())
        pool = torch.randn(100) * 0.5
        self.register_buffer("head", pool[3:15].view(3, 4))
        self.register_buffer("overlapping", pool[10:22].view(4, 3))
        self.register_buffer("stepped", pool[20:44:2].view(3, 4))
        self.register_buffer("broadcast", pool[50:54].expand(3, 4))
        self.conv = nn.Conv2d(3, 4, 3)
        self.conv.weight = nn.Parameter(torch.empty(3, 3, 3, 4).permute(3, 0, 1, 2))

    def forward(self, x, image):
        return (
            self.tied(F.relu(self.first(x))),
            F.linear(x, self.transposed),
            F.linear(x, self.head) @ self.overlapping.t(),
            F.linear(x, self.stepped),
            F.linear(x, self.broadcast),
            self.conv(image),
        )


@case("inplace_views", randn((2, 3, 4), (2, 3, 4, 4)), DECOMPOSED)
class InplaceViews(nn.Module):
    """Writes through views show in their bases, and in other views made before the write."""

    def forward(self, x, image):
        a = x + 0
        a[:, 0].add_(1)
        b = x + 0
        b.view(-1).relu_()
        c = x + 0
        row = c[1]
        c[:, 1:3].mul_(2)
        c[..., ::2] = 5.0
        d = x.clone()
        transposed = d.transpose(1, 2)
        transposed[:, 1].sub_(3)
        transposed.select(1, 0)[:, 1].zero_()
        e = image * 1
        red, _, blue = e.unbind(1)
        red.sigmoid_()
        blue.copy_(red)
        f = image * 1
        low, high = f.permute(0, 2, 3, 1).chunk(2, dim=2)
        high += low
        g = torch.zeros(2, 4)
        g[0, 1:3] = x[0, 0, :2]
        return a, b, c, row, d, transposed, e, f, g


@case("scalar_chain", randn((1, 3, 8, 8)), ("channels_last", "decomposed"))
class ScalarChain(nn.Module):
    """Normalisation written out: scalars and [1,C,1,1] constants before and after a conv."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.rand(1, 3, 1, 1))
        self.register_buffer("std", torch.rand(1, 3, 1, 1) + 0.5)
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.scale = nn.Parameter(torch.empty(4, 1, 1))

    def forward(self, x):
        x = (x / 2 + 0.5 - self.mean) / self.std
        y = self.conv(x)
        return y * self.scale + 1, (y + self.scale.view(1, 4, 1, 1)).relu() * 0.1, 1 - y / 2


@case("modes", randn((2, 3, 4)))
class Modes(nn.Module):
    """Blocks that torch.export keeps as nested graphs, with views and writes across their borders;
    and random numbers that nobody reads."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.zeros(4))

    def forward(self, x):
        torch.rand([])
        y = x * 2
        with torch.no_grad():
            half = y[:, :2]
            z = half * self.scale
            with torch.autocast("cpu", enabled=False):
                w = z @ z.mT
        with torch.autocast("cuda", dtype=torch.float16):
            v = half @ half.mT
        half.add_(1)
        return y, z, w, v, half
