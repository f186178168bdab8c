"""Fixtures of the ops that move data or change shapes: views, slices, concats, reductions."""

import torch
import torch.nn.functional as F
from torch import nn

from cases import case, randn

DECOMPOSED = ("decomposed",)


@case(
    "views",
    randn((2, 3, 4, 5)),
    DECOMPOSED,
    expect="view.default reshape.default flatten.using_ints unflatten.int permute.default "
    "transpose.int squeeze.dim squeeze.default unsqueeze.default movedim.int movedim.intlist "
    "swapaxes.default numpy_T.default mT.default t.default view_as.default squeeze.dims",
)
class Views(nn.Module):
    def forward(self, x):
        matrix = x.view(6, 20)
        thin = x.unsqueeze(0).unsqueeze(-1)
        return (
            x.view(2, 12, 5),
            x.view(2, -1),
            x.view(-1),
            x.reshape(4, 30),
            torch.flatten(x, 1),
            torch.flatten(x, 1, 2),
            x.unflatten(3, (5, 1)),
            x.unflatten(-2, (2, -1)),
            x.permute(0, 2, 3, 1),
            x.permute(3, -2, 1, 0).reshape(5, 24),
            x.transpose(1, 2).reshape(2, 4, 15),
            torch.swapaxes(x, -1, 0),
            torch.movedim(x, 1, -1),
            torch.movedim(x, (0, 1), (2, 3)),
            matrix.t(),
            matrix.T,
            x.mT,
            thin.squeeze(0),
            thin.squeeze(),
            thin.squeeze((0, -1)),
            thin.squeeze(1),
            matrix.view_as(x),
            x.permute(0, 2, 3, 1).reshape(2, 20, 3).transpose(1, 2).reshape(2, 3, 4, 5),
            x.permute(1, 0, 2, 3).contiguous().view(3, 40).reshape(40, 3),
            torch.ravel(x.transpose(0, 1)),
        )


@case(
    "shuffles",
    randn((2, 12, 4, 6)),
    DECOMPOSED,
    expect="pixel_shuffle.default pixel_unshuffle.default channel_shuffle.default",
)
class Shuffles(nn.Module):
    def forward(self, x):
        n, c, h, w = x.shape
        windows = x.view(n, c, h // 2, 2, w // 3, 3).permute(0, 2, 4, 3, 5, 1).reshape(-1, 6, c)
        return (
            F.pixel_shuffle(x, 2),
            F.pixel_unshuffle(x, 2),
            F.channel_shuffle(x, 3),
            x.view(n, 3, c // 3, h, w).transpose(1, 2).contiguous().view(n, c, h, w),
            windows,
            windows.view(n, h // 2, w // 3, 2, 3, c).permute(0, 5, 1, 3, 2, 4).reshape(n, c, h, w),
        )


@case("flip_roll", randn((2, 3, 4)), expect="flip.default roll.default")
class FlipRoll(nn.Module):
    def forward(self, x):
        return x.flip((2,)), x.flip(0, 1), torch.roll(x, 1, 2), torch.roll(x, (1, -2), (0, 2))


@case(
    "concat_split",
    randn((2, 6, 5), (2, 6, 5), (2, 1, 5)),
    DECOMPOSED,
    expect="cat.default stack.default split.Tensor split_with_sizes.default chunk.default "
    "unbind.int concat.default tensor_split.sections",
)
class ConcatSplit(nn.Module):
    def forward(self, x, y, z):
        first, second = x.chunk(2, 1)
        pieces = torch.split(y, 4, dim=1)
        three = torch.split(x, [1, 2, 3], 1)
        return (
            torch.cat([x, y, z], 1),
            torch.cat([x, y], 0),
            torch.cat((x, y, x), -1),
            torch.concat([x] * 7, 1),
            torch.stack([x, y]),
            torch.stack([x, y], -1),
            torch.stack([x, y], 1),
            first * second,
            *pieces,
            three[0] + three[2],
            sum(y.unbind(1)),
            torch.tensor_split(x, 4, 1)[0],
            torch.cat([x], 1),
            torch.hstack([x, y]),
        )


@case(
    "slices",
    randn((3, 6, 7)),
    DECOMPOSED,
    expect="slice.Tensor select.int narrow.default unsqueeze.default",
)
class Slices(nn.Module):
    def forward(self, x):
        return (
            x[:, 1:3],
            x[:, ::2],
            x[:, 1::3, -3:],
            x[:, :-2],
            x[1:100],
            x[:, 0],
            x[:, :, -1],
            x[1, 2, 3],
            x[..., 2:3],
            x[:, None],
            x.narrow(1, 2, 3),
            x.select(2, 3),
        )


@case("gather", randn((3, 6, 7)), expect="index_select.default index.Tensor gather.default")
class Gather(nn.Module):
    """Indices are constants."""

    def __init__(self):
        super().__init__()
        self.register_buffer("indices", torch.tensor([4, 0, 4]))

    def forward(self, x):
        return (
            torch.index_select(x, 1, self.indices),
            x[:, self.indices],
            x[:, [0, 2]],
            x[[0, 1], :, [2, 3]],
            torch.gather(x, 1, self.indices.view(1, 3, 1)),
        )


@case(
    "scatter",
    lambda: (torch.randn(3, 4, 5), torch.tensor([[2, 0, 1, -1]]), torch.tensor([[3], [-2]])),
    expect="index_put.default index_put_.default scatter.src",
)
class Scatter(nn.Module):
    def forward(self, x, i, j):
        y = x.clone()
        y[:, 1] = 7
        y[1, [0, 2]] = x[0, :2] * 2
        put = torch.ops.aten.index_put
        places = i.abs().view(1, 4, 1)
        return (
            y,
            torch.index_put(x, (torch.tensor([2, 0]),), x[:2] * 2),
            put(x, [None, i[0]], x[:, :, :1] * 2),
            put(x, [torch.tensor([0, 2]), None, j[:, 0]], torch.tensor(3.0)),
            put(x, [None, i, j], x[:, :1, :4] * 2),
            torch.scatter(x, 0, places, x * 2),
            torch.scatter(x, 2, torch.tensor([[[4, 1]]]), x),
        )


@case(
    "reductions",
    randn((2, 3, 4, 5)),
    DECOMPOSED,
    expect="mean.dim mean.default sum.dim_IntList sum.default amax.default amin.default",
)
class Reductions(nn.Module):
    def forward(self, x):
        return (
            x.mean((2, 3)),
            x.mean((-1, -2), keepdim=True),
            x.mean(1),
            x.mean(-1, keepdim=True),
            x.mean(),
            x.sum(1),
            x.sum((0, 2), keepdim=True),
            x.sum(),
            torch.amax(x, 1),
            torch.amax(x, (2, 3), keepdim=True),
            torch.amax(x, ()),
            torch.amin(x, -1),
        )


@case(
    "reductions_more",
    randn((2, 3, 4, 5)),
    expect="max.dim min.dim max.default min.default var.dim var.correction std.dim prod.dim_int "
    "argmax.default linalg_vector_norm.default cumsum.default",
)
class ReductionsMore(nn.Module):
    def forward(self, x):
        return (
            x.max(1)[0],
            x.min(2, keepdim=True).values,
            x.max(),
            x.min(),
            torch.var(x, 1),
            torch.var(x, (0, 1), correction=0),
            torch.std(x, (2, 3), unbiased=False),
            torch.prod(x, 1),
            torch.argmax(x, 1),
            torch.norm(x, 2, 1),
            F.normalize(x, dim=1),
            torch.cumsum(x, 2),
        )


@case("mean_pool", randn((2, 6, 4, 5)), ("channels_last", "decomposed"))
class MeanPool(nn.Module):
    """The reductions that classifiers end with, each after a conv."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(6, 4, 1)

    def forward(self, x):
        x = self.conv(x)
        return (
            x.mean((2, 3)),
            x.mean((2, 3), keepdim=True),
            x.mean(3).mean(2),
            x.mean(2, keepdim=True),
            x.mean(1),
            x.sum((2, 3)),
            x.amax((2, 3)),
            x.flatten(2).mean(-1),
        )


@case("softmax", randn((2, 3, 4, 5)), DECOMPOSED, expect="softmax.int log_softmax.int")
class Softmax(nn.Module):
    def forward(self, x):
        return (
            *(F.softmax(x, axis) for axis in range(-1, 3)),
            *(F.log_softmax(x, axis) for axis in range(-1, 3)),
            F.softmax(x[0, 0, 0], 0),
            F.softmin(x, 1),
        )


@case(
    "expand_repeat",
    randn((2, 1, 4), (3,), ()),
    DECOMPOSED,
    expect="expand.default repeat.default expand_as.default tile.default "
    "repeat_interleave.self_int broadcast_to.default",
)
class ExpandRepeat(nn.Module):
    def forward(self, x, y, z):
        return (
            x.expand(2, 3, 4),
            x.expand(5, -1, 3, -1),
            x.expand(2, 3, 4) * y[:, None],
            x.repeat(1, 2, 3),
            x.repeat(2, 1, 1, 2),
            y.expand_as(x.expand(2, 4, 4)[..., :3]),
            z.expand(2, 3),
            torch.tile(x, (2, 2)),
            torch.broadcast_to(y, (2, 3)),
            torch.repeat_interleave(x, 2, dim=2),
        )


@case(
    "no_ops",
    randn((2, 3, 4, 4)),
    DECOMPOSED,
    expect="dropout.default feature_dropout.default alpha_dropout.default contiguous.default "
    "clone.default detach.default alias.default",
)
class NoOps(nn.Module):
    def __init__(self):
        super().__init__()
        self.identity = nn.Identity()
        self.drop = nn.Sequential(nn.Dropout(0.3), nn.Dropout2d(0.3), nn.AlphaDropout(0.3))
        self.inplace = nn.Dropout(0.3, inplace=True)

    def forward(self, x):
        y = self.drop(x) + 1
        y = self.inplace(y)
        return (
            y,
            self.identity(x).contiguous() * 2,
            x.clone().detach() + torch.ops.aten.alias(x),
            x.to(torch.float32).float() + 0,
            x.to(memory_format=torch.channels_last) * 2,
            x.contiguous(memory_format=torch.channels_last).permute(0, 2, 3, 1),
            x.expand(2, 3, 4, 4).view(2, 3, 4, 4) * 1,
            x.flatten(0, 0) / 1,
        )


@case(
    "casts",
    lambda: (torch.randn(3, 4) * 3, torch.arange(12).view(3, 4), torch.rand(3, 4) > 0.5),
    expect="to.dtype type_as.default _to_copy.default",
)
class Casts(nn.Module):
    def forward(self, x, i, b):
        return (
            x.to(torch.int32),
            x.long(),
            x.half().float(),
            x.double(),
            x.bool(),
            i.float(),
            i.to(torch.int32),
            i.to(torch.uint8),
            i.bool(),
            b.float(),
            b.long(),
            i.type_as(x) * x,
            torch.ops.aten._to_copy(x, dtype=torch.float64).float(),
        )


@case(
    "unfold",
    randn((2, 3, 7, 8), (2, 24, 10), (2, 24, 12)),
    expect="unfold.default im2col.default col2im.default",
)
class Unfold(nn.Module):
    """Windows and patches that overlap, that tile, and that leave a rest."""

    def forward(self, x, columns, tiles):
        return (
            x.unfold(3, 2, 2),
            x.unfold(2, 3, 2),
            x.unfold(1, 3, 1),
            x.unfold(-1, 2, 1) * 2,
            F.unfold(x, (2, 3), dilation=(2, 1), padding=(1, 0), stride=(1, 2)),
            F.unfold(x, 2, stride=2),
            F.unfold(x[0], 3),
            F.fold(columns, (5, 6), (2, 3), padding=(1, 0), stride=(1, 2), dilation=(2, 1)),
            F.fold(tiles, (7, 8), 2, stride=2),
        )


@case(
    "triangles",
    lambda: (torch.randn(2, 4, 5), torch.randn(4, 4) > 0),
    expect="triu.default tril.default diff.default",
)
class Triangles(nn.Module):
    """Parts of a matrix, masks made of constants, and differences."""

    def forward(self, x, flags):
        mask = torch.triu(torch.full((4, 5), float("-inf")), diagonal=1)
        late = torch.arange(5) > 2
        return (
            torch.triu(x),
            torch.tril(x, diagonal=-1),
            torch.tril(flags, 1),
            torch.softmax(x + mask, -1),
            torch.softmax(x.masked_fill(mask < 0, float("-inf")), -1),
            torch.where(late, x, 3.0),
            torch.where(late, x * 2, x - 1),
            torch.where(late[:4, None], torch.arange(5.0), x),
            torch.diff(x),
            torch.diff(x, n=2, dim=1, prepend=x[:, :1] * 2, append=x[:, :2]),
            torch.diff(flags, dim=0),
        )


@case("many_axes", randn((2, 3, 2, 2, 3, 2, 2, 2), (3, 1, 2, 1, 2, 1, 2)))
class ManyAxes(nn.Module):
    """More axes than XNNPACK has, also in a permute that cannot be written with fewer."""

    def forward(self, x, y):
        z = torch.relu(x + y)
        reversed_axes = z.permute(7, 6, 5, 4, 3, 2, 1, 0)
        return (
            z,
            reversed_axes * 2,
            z.permute(1, 3, 5, 7, 0, 2, 4, 6) + 1,
            torch.cat([z, x], 3),
            z[:, 1:, :, :, ::2],
            torch.softmax(z, -1),
            torch.softmax(z, 2),
            z.sum((1, 3, 5)),
            z @ x.transpose(-1, -2),
        )


@case(
    "cache_update",
    lambda: (
        torch.randn(1, 2, 6, 4),
        torch.randn(1, 2, 1, 4),
        torch.tensor([4]),
        torch.tensor([5, 0]),
        torch.rand(1, 1, 6, 1) > 0.5,
    ),
    expect="index_copy_.default index_put_.default index_copy.default where.self",
)
class CacheUpdate(nn.Module):
    """One step written into a cache, at a place that is an input; and choices by a mask that is
    broadcast."""

    def forward(self, cache, step, place, places, mask):
        keys = cache.clone()
        keys.index_copy_(2, place, step)
        values = cache * 2
        values[:, :, place - 6] = step
        return (
            keys,
            values,
            cache.index_copy(2, places, torch.cat([step, step * 3], 2)),
            torch.where(mask, cache, step),
            cache.masked_fill(mask, float("-inf")),
            torch.where(mask, cache, 0.5),
        )
