"""Fixtures of ops one after another: each output is one op, or one way of calling it."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from cases import case, randn


def ints(*shape, low=-9, high=9):
    return torch.randint(low, high + 1, shape)


class Outputs(nn.Module):
    """A module whose outputs a function lists."""

    def forward(self, *inputs):
        return type(self).outputs(*inputs)


@case("functions", lambda: (torch.randn(3, 4), torch.randn(3, 4), torch.rand(3, 4)))
class Functions(Outputs):
    def outputs(x, y, unit):
        odd = torch.where(x > 1, torch.inf, torch.where(x < -1, -torch.inf, torch.where(y > 1, torch.nan, x)))
        return (
            unit.asin(), unit.acos(), x.sinh(), x.cosh(), x.asinh(), (1 + unit).acosh(), (unit / 2).atanh(),
            x.sgn(), torch.special.expit(x), x.deg2rad(), x.rad2deg(), x.frac(), x.erfc(),
            torch.sinc(x), torch.sinc(x.round()), (0.1 + 0.8 * unit).logit(), unit.logit(0.1), odd.isfinite(), odd.isposinf(),
            odd.isneginf(), x.signbit(), odd.nan_to_num(), odd.nan_to_num(1.0, 2.0, -3.0),
            (100 * x).round(decimals=-1), x.round(decimals=2), x.positive(), F.rrelu(x),
            torch.atan2(x, y), torch.fmax(odd, y), torch.fmin(odd, y), torch.hypot(x, y),
            torch.logaddexp(x, y), torch.logaddexp2(x, y), torch.xlogy(x, unit + 0.1), torch.xlogy(x.round(), unit),
            torch.ldexp(x, y.round()), torch.copysign(x, y), torch.heaviside(x, y),
            torch.heaviside(x.round(), y), torch.isclose(x, x + 1e-6), torch.isclose(odd, odd),
            F.softplus(x, beta=2, threshold=1), F.softplus(x, threshold=0.5), x.clip(-1, 1), x.clamp(min=y),
        )  # fmt: skip


@case("bits", lambda: (ints(3, 4), ints(4), torch.rand(3, 4) < 0.5, ints(3, 4, low=0, high=200).to(torch.uint8)))
class Bits(Outputs):
    def outputs(a, b, flag, byte):
        small = a.to(torch.int8)
        return (
            a & b, a | b, a ^ b, ~a, a & 6, a | 5, a ^ 3, small & small.flip(0), ~small, ~byte, byte & 15,
            a << 2, a >> 1, a << b.abs(), a >> b.abs(), flag & flag.flip(0), flag | True, flag ^ True, ~flag,
            torch.bitwise_and(a, b), torch.bitwise_not(flag), torch.bitwise_left_shift(a, 1),
        )  # fmt: skip


NUMBERS = [0.0, -0.0, 1e-4, 0.05, -0.099, 0.1, 0.7, -1.0, 1.0, 1.5, -40.0, 88.9, -89.2, 3e4, torch.inf, -torch.inf, torch.nan]


@case("angles", lambda: (torch.tensor(NUMBERS),))
class Angles(Outputs):
    """Circular and hyperbolic functions where they end, begin and are not defined."""

    def outputs(x):
        return (
            x.asin(), x.acos(), x.atan(), x.sinh(), x.cosh(), x.asinh(), x.acosh(), x.atanh(),
            torch.atan2(x[:, None], x), x.clamp(-1.5, 1.5).tan(),
        )  # fmt: skip


@case("bits_signed", lambda: (ints(3, 4), ints(3, 4, low=0, high=40), ints(3, 4, low=0, high=9), torch.rand(3, 4) < 0.5))
class BitsSigned(Outputs):
    """Also of counts that shift every bit out, and without unsigned numbers, which TOSA does not have."""

    def outputs(a, b, count, flag):
        short, narrow, small = a.to(torch.int32), a.to(torch.int16), a.to(torch.int8)
        return (
            a & b, a | b, a ^ b, ~a, a & 6, short | 5, short ^ short.flip(0), narrow & 12, small & small.flip(0), ~small,
            a << 2, a >> 1, short << count, short >> count, short >> b.to(torch.int32), narrow >> 2, small >> 1,
            flag & flag.flip(0), flag | flag.flip(1), flag ^ True, ~flag,
        )  # fmt: skip


@case("sorting", lambda: (torch.randn(3, 5, 4), torch.randperm(24).reshape(4, 6)))
class Sorting(Outputs):
    def outputs(x, n):
        return (
            *torch.topk(x, 2), *torch.topk(x, 3, dim=1, largest=False), *torch.topk(n, 4, dim=0),
            *torch.sort(x), *torch.sort(n, dim=0, descending=True), torch.argsort(x, dim=1),
            torch.argsort(n, descending=True), *torch.kthvalue(x, 2, dim=1), *torch.median(x, dim=-1),
            *torch.median(n, dim=1), *torch.topk(x[0, 0, 0], 1),
        )  # fmt: skip


@case(
    "scatter_more",
    lambda: (torch.randn(4, 5), torch.tensor([[0, 1], [2, 2], [4, 0]]), torch.randn(3, 2), torch.tensor([2, 0, 2])),
)
class ScatterMore(Outputs):
    def outputs(x, index, updates, rows):
        whole = torch.arange(20).reshape(4, 5)
        put = x.index_put((rows,), torch.ones(3, 5), accumulate=True)
        pair = x.index_put((rows, rows), updates[:, 0], accumulate=True)
        masked = x.clone()
        masked[x > 0] = 0.5
        few = x.clone()
        few[:, torch.tensor([True, False, True, True, False])] = 2.0
        return (
            x.scatter(1, index, 1.5), x.scatter_add(1, index, updates), x.scatter_reduce(1, index, updates, "sum"),
            whole.scatter_add(0, index % 4, 7 * index), x.index_add(0, rows, torch.ones(3, 5), alpha=2),
            x.index_fill(1, rows, -1.0), F.one_hot(rows, 4), x.take(index), x.take_along_dim(rows[:, None] % 4, 0),
            put, pair, masked, few,
        )  # fmt: skip


GRIDS = [
    (mode, padding, corners)
    for mode in ("bilinear", "nearest")
    for padding in ("zeros", "border", "reflection")
    for corners in (False, True)
]


@case("grids", lambda: (torch.randn(2, 3, 5, 6), 1.5 * torch.randn(2, 4, 3, 2), torch.randn(2, 2, 3)))
class Grids(Outputs):
    def outputs(x, grid, theta):
        sampled = [
            F.grid_sample(x, grid, mode=mode, padding_mode=padding, align_corners=corners)
            for mode, padding, corners in GRIDS
        ]
        maps = [F.affine_grid(theta, (2, 1, 3, 4), align_corners=corners) for corners in (False, True)]
        return (*sampled, *maps, F.grid_sample(x, maps[0], align_corners=False))


@case("diagonals", lambda: (torch.randn(4, 4), torch.randn(2, 3, 5), torch.randn(3)))
class Diagonals(Outputs):
    def outputs(x, y, v):
        return (
            x.trace(), x.diagonal(), x.diagonal(1), y.diagonal(-1, 1, 2), y.diagonal(0, 0, 2), x.diag(),
            v.diag(), v.diag(1), v.diag(-2), torch.diag_embed(y), torch.diag_embed(v, 1), x @ torch.eye(4),
            torch.eye(2, 3) + v, x[torch.tril_indices(4, 4)[0], torch.tril_indices(4, 4)[1]],
            y[:, torch.triu_indices(3, 5, 1)[0], torch.triu_indices(3, 5, 1)[1]],
        )  # fmt: skip


@case("products", randn((3, 4), (3, 4), (2, 3, 4), (2, 4, 5), (5,)))
class Products(nn.Module):
    def __init__(self):
        super().__init__()
        self.bilinear = nn.Bilinear(4, 4, 6)

    def forward(self, a, b, batch, other, v):
        three = torch.stack((a, b, a + b), 1)
        return (
            torch.addmv(v[:3], a, b[0]), torch.addr(a, v[:3], v[1:], beta=0.5, alpha=2),
            torch.addbmm(torch.ones(3, 5), batch, other), torch.outer(v, v[:2]), torch.ger(v, v),
            torch.tensordot(batch, a, dims=([1, 2], [0, 1])), torch.tensordot(a, batch, dims=([1], [2])),
            torch.kron(a[:2, :2], b), torch.cross(three, three.flip(2), dim=1), torch.linalg.cross(a[:, :3], b[:, 1:]),
            F.cosine_similarity(a, b), F.cosine_similarity(batch, batch[:, :1], dim=-1),
            F.pairwise_distance(a, b), torch.cdist(batch, batch.flip(1)), torch.cdist(a, b, p=1),
            self.bilinear(a, b), torch.linalg.multi_dot((a, b.T, a)), torch.addmm(v, batch[0], other[0], beta=2, alpha=0.5),
        )  # fmt: skip


@case("resampling", randn((1, 2, 7), (1, 2, 5, 6), (1, 2, 3, 4, 5)))
class Resampling(Outputs):
    def outputs(line, image, volume):
        results = []
        for x in (line, image, volume):
            results += [F.interpolate(x, scale_factor=f, mode="nearest-exact") for f in (2, 1.7, 0.6)]
        for x in (line, volume):
            results += [F.interpolate(x, scale_factor=f, mode="nearest") for f in (2, 1.7)]
        results += [F.interpolate(volume, size=(2, 6, 9), mode="nearest")]
        results += [F.interpolate(volume, scale_factor=f, mode="trilinear") for f in (2, 0.6)]
        results += [F.interpolate(volume, size=(5, 3, 7), mode="trilinear", align_corners=True)]
        for mode in ("bilinear", "bicubic"):
            results += [F.interpolate(image, size=size, mode=mode, antialias=True) for size in ((3, 2), (9, 4))]
        return results


@case("joins", randn((3, 4), (3, 4), (5,), (2,)))
class Joins(Outputs):
    def outputs(a, b, u, v):
        return (
            torch.column_stack((a, b, a[:, 0])), torch.dstack((a, b)), torch.dstack((u, u)),
            *torch.meshgrid(u, v, indexing="ij"), *torch.meshgrid(u, v, indexing="xy"),
            torch.cartesian_prod(u, v), torch.block_diag(a, v, b[:1]), a + torch.linspace(0, 1, 4),
            a * torch.logspace(-1, 1, 4), torch.linspace(3, -3, 7),
        )  # fmt: skip


@case("statistics", lambda: (torch.randn(3, 4, 5), ints(3, 4)))
class Statistics(Outputs):
    def outputs(x, n):
        holes = torch.where(x > 1, torch.nan, x)
        low = torch.where(x[0] > 0, -torch.inf, x[0])
        return (
            x.logsumexp(-1), x.logsumexp((0, 2), keepdim=True), torch.full_like(low, -torch.inf).logsumexp(0),
            low.logsumexp(1), holes.nansum(), holes.nansum(1), holes.nanmean(2), n.count_nonzero(), n.count_nonzero(1),
            *torch.var_mean(x), *torch.var_mean(x, 1), *torch.std_mean(x), *torch.std_mean(x, (0, 2), keepdim=True),
            *torch.var_mean(x, dim=0, correction=0), torch.linalg.norm(x, dim=1), torch.linalg.norm(x[0]),
            torch.linalg.norm(x, ord=1, dim=2), x.cumprod(1), x.cumprod(-1), n.cumprod(0),
            F.adaptive_avg_pool3d(x[None, None], (2, 3, 2)), F.adaptive_max_pool3d(x[None, None], 2),
        )  # fmt: skip


SCALARS = (2, -3, 1.5, True)


def each_overload(x, s):
    """Every overload with a number on one side, as far as torch takes it for the dtype."""
    number = 1 if isinstance(s, bool) else s
    yield x + s
    yield s * x
    yield x / s
    yield x == s
    yield x < s
    yield torch.ge(x, s)
    yield torch.where(x > 0, x, s)
    yield torch.where(x > 0, s, x)
    yield torch.add(x, x, alpha=2) if x.dtype != torch.bool else x | x
    if x.dtype == torch.bool:
        return
    yield x - number
    yield number - x
    yield torch.rsub(x, number, alpha=2)
    yield x % number
    yield x // number
    yield torch.fmod(x, number)
    yield torch.div(x, number, rounding_mode="trunc")
    if x.dtype != torch.uint8:
        yield x.clamp(-2, number)
    yield x.clamp_min(number)
    if x.dtype.is_floating_point:
        yield x.abs() ** number
        yield 2.0**x
        yield number / (x.abs() + 1)
        yield x.masked_fill(x > 0, number)
        yield torch.addcmul(x, x, x, value=number)


@case(
    "scalars",
    lambda: (
        torch.randn(2, 3),
        torch.randn(2, 3).to(torch.float64),
        ints(2, 3),
        ints(2, 3).to(torch.int32),
        ints(2, 3, low=0).to(torch.uint8),
        torch.rand(2, 3) < 0.5,
        torch.randn(()),
        ints().to(torch.int16),
    ),
)
class Scalars(Outputs):
    """dtypes x ops x numbers, under torch's promotion; the last two tensors have no axes."""

    def outputs(*tensors):
        results = []
        for x in tensors:
            found = [y for s in SCALARS for y in each_overload(x, s)]
            for dtype in sorted({y.dtype for y in found}, key=str):
                results.append(torch.cat([y.flatten() for y in found if y.dtype == dtype]))
        return results


@case("half_scalars", lambda: (torch.randn(2, 3), torch.randn(())), dtype=torch.float16)
class ScalarsHalf(Outputs):
    def outputs(x, s):
        half = x.half(), s.half()
        return [y for h in half for n in (2, 1.5) for y in (h + n, h * n, n - h, h / n, h > n, h * s)]


@case("no_axes", lambda: (torch.randn(()), torch.randn(3), torch.tensor(2)))
class NoAxes(nn.Module):
    """Tensors without axes as inputs, constants and outputs."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(0.7))
        self.register_buffer("count", torch.tensor(3))

    def forward(self, s, v, n):
        return (
            s, s + 1, s * self.scale, v * s, v + self.scale, v.sum(), v.mean() * s, n + self.count, n * 2.5,
            s.reshape(1), v[1], torch.stack((s, s)), s.sigmoid(), s > 0, torch.where(s > 0, v, s),
            s.softmax(0), torch.cat((v, s[None])), s.expand(2, 2), n.float() / 3, self.scale.clone(), v.max(),
        )  # fmt: skip


@case("later_write", randn((3, 6)))
class LaterWrite(nn.Module):
    """Views that copy nothing see what is written to their base; non-overlapping windows are such."""

    def forward(self, x):
        x = x.clone()
        tiles, diagonal = x.unfold(1, 2, 2), x.diagonal()
        x.add_(1)
        x[0].mul_(2)
        diagonal.zero_()
        return x, tiles, diagonal


@case("far_from_zero", lambda: (torch.linspace(-30, -8, 24),))
class FarFromZero(Outputs):
    """Activations that decay like exp(x), divided by it: every digit counts."""

    def outputs(x):
        e = x.exp()
        return F.softplus(x) / e, F.logsigmoid(-x) / e, F.mish(x) / (x * e), F.softplus(x, beta=0.5) / (0.5 * x).exp()


@case(
    "other_names",
    lambda: (torch.rand(3, 4), 1 + torch.rand(3, 4)),
    expect="absolute.default arctan2.default multiply.Tensor subtract.Tensor divide.Tensor_mode greater_equal.Scalar "
    "concatenate.default row_stack.default linalg_matmul.default special_softmax.default special_erf.default",
)
class OtherNames(Outputs):
    """Aliases."""

    def outputs(x, y):
        s, z = torch.special, x.clone()
        z.subtract_(y).multiply_(2).negative_()
        return (
            torch.absolute(-x), torch.arccos(x), torch.arccosh(y), torch.arcsin(x), torch.arcsinh(x), torch.arctan(x),
            torch.arctan2(x, y), torch.arctanh(x / 2), torch.multiply(x, y), torch.subtract(x, y, alpha=2),
            torch.divide(x, y), torch.divide(x, y, rounding_mode="floor"), torch.negative(x), torch.greater(x, y),
            torch.greater_equal(x, 0.5), torch.less(x, y), torch.less_equal(x, 0.5), torch.not_equal(x, y),
            torch.concatenate([x, y]), torch.row_stack([x, y]), torch.linalg.matmul(x, y.T), torch.true_divide(x, 2),
            s.softmax(x, 1), s.log_softmax(x, 1), s.erf(x), s.erfc(x), s.expm1(x), s.exp2(x), s.log1p(x), s.logit(x),
            s.sinc(x), s.xlogy(x, y), s.xlogy(2, y), s.logsumexp(x, 1), s.round(x, decimals=1), z,
        )  # fmt: skip


@case(
    "searching",
    lambda: (torch.randn(3, 4), torch.tensor([[-1, 0, 2, -3]]), torch.randn(2, 3, 4, 4)),
    expect="take_along_dim.default isin.Tensor_Tensor bucketize.Tensor searchsorted.Tensor aminmax.default "
    "median.default rot90.default inner.default float_power.Tensor_Scalar repeat_interleave.self_Tensor",
)
class Searching(Outputs):
    def outputs(x, index, volume):
        edges, n = torch.tensor([-1.0, -0.2, 0.2, 1.0]), torch.arange(12).reshape(3, 4)
        return (
            x.take_along_dim(index, 0), x.take_along_dim(torch.tensor([[-1], [1], [-4]]), 1), x.take(index),
            x.index_fill(0, torch.tensor([-1]), 2.0), x.take_along_dim(x.argsort(1), 1),
            torch.isin(n, torch.tensor([1, 5, 7])), torch.isin(n, 4, invert=True),
            torch.bucketize(x, edges), torch.bucketize(x, x[0, :1], right=True, out_int32=True),
            torch.searchsorted(x.sort(1).values, x, side="right"), torch.searchsorted(edges, x),
            *torch.aminmax(x), *torch.aminmax(x, dim=1, keepdim=True), torch.median(x), torch.fliplr(x), torch.flipud(x),
            torch.rot90(x), torch.rot90(volume, 2, (2, 3)), torch.rot90(volume, -1, (-1, 1)), torch.inner(x, x), torch.inner(x, x[0, 0]),
            torch.float_power(x.abs(), 1.5), torch.float_power(x.abs(), x), *torch.broadcast_tensors(x[:, :1], x[:1]),
            x.repeat_interleave(torch.tensor([2, 0, 3]), dim=0, output_size=5),
            x.repeat_interleave(torch.tensor([2]), output_size=24),
            torch.einsum("...ij,...jk->...ik", volume, volume), torch.einsum("i...,j...", x, x),
        )  # fmt: skip


@case("losses", randn((3, 4), (3, 4)), expect="mse_loss.default l1_loss.default smooth_l1_loss.default huber_loss.default")
class Losses(Outputs):
    def outputs(x, y):
        return (
            F.mse_loss(x, y), F.mse_loss(x, y, reduction="none"), F.mse_loss(x, y, reduction="sum"), F.l1_loss(x, y),
            F.smooth_l1_loss(x, y), F.smooth_l1_loss(x, y, beta=0.3), F.smooth_l1_loss(x, y, beta=0.0), F.huber_loss(x, y, delta=0.7),
        )  # fmt: skip


@case(
    "bags",
    lambda: (torch.randn(5, 4), torch.tensor([[0, 4, 2], [1, 1, 3]]), torch.randn(2, 3)),
    expect="embedding_bag.padding_idx",
)
class Bags(Outputs):
    def outputs(table, rows, weights):
        flat, starts = rows.flatten(), torch.tensor([0, 2, 4])
        return (
            F.embedding_bag(rows, table, mode="sum"), F.embedding_bag(rows, table), F.embedding_bag(rows, table, mode="max"),
            F.embedding_bag(rows, table, mode="sum", per_sample_weights=weights), F.embedding_bag(flat, table, starts),
            F.embedding_bag(flat, table, torch.tensor([0, 3, 6]), include_last_offset=True),
        )  # fmt: skip


@case(
    "norm_statistics",
    randn((2, 6, 3, 4)),
    expect="native_layer_norm.default native_group_norm.default max_pool2d_with_indices.default",
)
class NormStatistics(Outputs):
    def outputs(x):
        pooled, _ = torch.ops.aten.max_pool2d_with_indices(x, [2, 2])
        return (
            *torch.ops.aten.native_layer_norm(x, [3, 4], None, None, 1e-5),
            *torch.ops.aten.native_group_norm(x, None, None, 2, 6, 12, 3, 1e-5),
            torch.ops.aten.native_layer_norm(x, [4], None, None, 1e-5)[0], pooled,
        )  # fmt: skip


@case(
    "views_inplace",
    randn((1, 3, 4)),
    expect="unsqueeze_.default squeeze_.dim squeeze_.default transpose_.default t_.default floor_divide_.Tensor",
)
class ViewsInplace(Outputs):
    """The base is read after a write through what was its view."""

    def outputs(x):
        base = x * 3
        y = base.view(3, 4)
        y.unsqueeze_(0).add_(1)
        y.squeeze_(0).t_()
        z = base + 1
        z.squeeze_().transpose_(0, 1)
        z.floor_divide_(2).floor_divide_(torch.full((1,), 3.0))
        return base, y * 2, z


@case("assertions", lambda: (torch.rand(3, 4), torch.tensor(2)), expect="item.default _assert_scalar.default")
class Assertions(Outputs):
    """Checks, and what only they read, are not compiled."""

    def outputs(x, n):
        torch._check(n.item() > 1)
        torch._assert_async((torch.rand_like(x) < 2).all())
        return x + 1


@case(
    "half_transposed",
    lambda: (torch.randn(1, 4, 5, 5), torch.randn(1, 4, 6)),
    dtype=torch.float16,
    expect="conv_transpose2d.input conv_transpose1d.default",
)
class HalfTransposed(nn.Module):
    def __init__(self):
        super().__init__()
        self.images = nn.ModuleList(
            [nn.ConvTranspose2d(4, 6, 3), nn.ConvTranspose2d(4, 4, 3, stride=2, groups=2, bias=False)]
        )
        self.rows = nn.ConvTranspose1d(4, 2, 3, padding=1)

    def forward(self, image, row):
        image, row = image.half(), row.half()
        return *(layer(image) for layer in self.images), self.rows(row)


@case("volumes_transposed", randn((1, 4, 2, 3, 3)), expect="conv_transpose3d.input")
class VolumesTransposed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(
            [
                nn.ConvTranspose3d(4, 2, 3),
                nn.ConvTranspose3d(4, 6, (2, 3, 2), stride=(1, 2, 2), padding=(1, 1, 0), output_padding=(0, 1, 1), groups=2),
                nn.ConvTranspose3d(4, 2, 2, dilation=2, bias=False),
            ]
        )

    def forward(self, x):
        return tuple(layer(x) for layer in self.layers)
