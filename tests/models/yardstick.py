"""The public yardstick: fixtures with the modules and shapes of the 49 cases by which ExecuTorch counts
the permutes that a lowering leaves (backends/transforms/test/test_to_contiguous_channels_last_pass.py),
under the same names. docs/yardstick.md holds the counts."""

import torch
from torch import nn

from cases import case, randn

CHANNELS_LAST = ("channels_last",)


class Chain(nn.Sequential):
    """Layers in a row, of which some are functions: views and permutes between them."""

    def __init__(self, *steps):
        super().__init__(*(step if isinstance(step, nn.Module) else Function(step) for step in steps))


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


class First(nn.Module):
    """The first result of a recurrent layer: its outputs, without the state."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0]


class SelfAttention(nn.Module):
    def __init__(self, width=8, heads=2):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x, need_weights=False)[0]


class Residual(nn.Module):
    """A body whose result is pooled and added to its pooled input."""

    def __init__(self, pool, *body):
        super().__init__()
        self.pool = pool
        self.body = nn.Sequential(*body)

    def forward(self, x):
        shortcut = self.pool(x)
        return self.pool(self.body(x)) + shortcut


class Both(nn.Module):
    """Two layers of one input, side by side in the last axis."""

    def __init__(self, left, right):
        super().__init__()
        self.left, self.right = left, right

    def forward(self, x):
        return torch.cat((self.left(x), self.right(x)), -1)


def swap(x):
    """[N,C,L] to [N,L,C] and back."""
    return x.transpose(1, 2)


def to_last(x):
    return x.permute(0, 2, 3, 1)


def to_first(x):
    return x.permute(0, 3, 1, 2)


def lstm(inputs, hidden):
    return First(nn.LSTM(inputs, hidden, batch_first=True))


def depthwise1d(channels):
    return nn.Conv1d(channels, channels, 3, padding=1, groups=channels, bias=False)


def yardstick(name, shapes, make, also=(), expect=""):
    """A case whose inputs are normally distributed floats of the given shapes."""
    case(f"yardstick_{name}", randn(*shapes), also, expect=expect)(make)


def views():
    # A pool of one pixel does nothing, but to a compiler it is a channels-last op.
    double = lambda x: x * 2
    return Chain(
        nn.MaxPool2d(1, 1),
        lambda x: double(x.reshape(1, 4, 2, 2)),
        lambda x: double(x.reshape(1, 2, 4, 2)),
        nn.MaxPool2d(1, 1),
    )


def index_put():
    return Function(lambda x, row, column, values: torch.index_put(x, (row, column), values))


def index_select():
    return Function(lambda x, places: torch.index_select(x, 1, places))


for rank, shape in ((2, (2, 8)), (3, (1, 2, 8))):
    yardstick(f"conv1d_rank{rank}", [shape], lambda: nn.Conv1d(2, 4, 3))
yardstick("conv2d_rank3", [(2, 8, 8)], lambda: nn.Conv2d(2, 4, 3))
yardstick("conv2d_rank4", [(1, 2, 8, 8)], lambda: nn.Conv2d(2, 4, 3), CHANNELS_LAST)
for rank, shape in ((4, (2, 6, 6, 6)), (5, (1, 2, 6, 6, 6))):
    yardstick(f"conv3d_rank{rank}", [shape], lambda: nn.Conv3d(2, 4, 3), CHANNELS_LAST)
yardstick("linear_rank2", [(2, 8)], lambda: nn.Linear(8, 4))
yardstick("linear_rank3", [(2, 2, 8)], lambda: nn.Linear(8, 4))
yardstick("linear_rank4", [(1, 2, 2, 8)], lambda: nn.Linear(8, 4), CHANNELS_LAST)
yardstick("matmul_rank2", [(2, 3), (3, 4)], lambda: Function(torch.matmul))
yardstick(
    "matmul_rank4", [(2, 2, 2, 3), (2, 2, 3, 4)], lambda: Function(torch.matmul), CHANNELS_LAST
)
case(
    "yardstick_index_put",
    lambda: (torch.zeros(2, 4), torch.tensor([0, 1]), torch.tensor([2, 3]), torch.ones(2)),
    expect="index_put.default",
)(index_put)
case(
    "yardstick_index_select",
    lambda: (torch.randn(2, 4, 3), torch.tensor([0, 2])),
    expect="index_select.default",
)(index_select)
yardstick("pixel_shuffle", [(1, 8, 2, 2)], lambda: nn.PixelShuffle(2), CHANNELS_LAST)
yardstick("grouped_conv", [(1, 4, 8, 8)], lambda: nn.Conv2d(4, 4, 3, groups=2), CHANNELS_LAST)
yardstick("transpose_conv", [(1, 2, 8, 8)], lambda: nn.ConvTranspose2d(2, 4, 3), CHANNELS_LAST)
yardstick("views", [(1, 2, 2, 4)], views, CHANNELS_LAST)
yardstick(
    "transposes",
    [(1, 2, 3, 4)],
    lambda: Function(lambda x: to_first(x.transpose(2, 3))),
    CHANNELS_LAST,
)
yardstick(
    "maxpool2d_dilation",
    [(1, 2, 8, 8)],
    lambda: nn.MaxPool2d(3, stride=1, padding=1, dilation=2),
    CHANNELS_LAST,
)
yardstick("lstm", [(2, 4, 8)], lambda: lstm(8, 4), expect="lstm.input")
yardstick("groupnorm", [(1, 4, 4, 4)], lambda: nn.GroupNorm(2, 4), CHANNELS_LAST)
for rank, shape in ((2, (4, 8)), (3, (2, 4, 8))):
    yardstick(f"multihead_attention_rank{rank}", [shape], SelfAttention)
# The name is upstream's; the axis is the second there, too.
yardstick("cumsum_rank3_dim0", [(2, 3, 4)], lambda: Function(lambda x: torch.cumsum(x, 1)))
yardstick(
    "cumsum_rank4_dim3", [(1, 2, 3, 4)], lambda: Function(lambda x: torch.cumsum(x, 3)), CHANNELS_LAST
)
yardstick(
    "permute_silu_permute", [(1, 2, 3, 4)], lambda: Chain(to_last, nn.SiLU(), to_first)
)

yardstick(
    "model_1_conv_maxpool_residual_linear",
    [(2, 8, 64)],
    lambda: Chain(
        Residual(nn.MaxPool1d(2, 2), nn.Conv1d(8, 8, 3, padding=1)), swap, nn.Linear(8, 6)
    ),
)
yardstick(
    "model_2_conv_mha_linear_layernorm",
    [(2, 8, 32)],
    lambda: Chain(
        nn.Conv1d(8, 8, 3, padding=1), swap, SelfAttention(), nn.Linear(8, 8), nn.LayerNorm(8)
    ),
)
yardstick("model_3_lstm_linear", [(2, 16, 8)], lambda: Chain(lstm(8, 8), nn.Linear(8, 6)))
yardstick(
    "model_4_conv_lstm_linear_layernorm",
    [(2, 8, 32)],
    lambda: Chain(
        nn.Conv1d(8, 8, 3, padding=1), swap, lstm(8, 6), nn.Linear(6, 4), nn.LayerNorm(4)
    ),
)
yardstick(
    "model_5_dwconv_gelu_layernorm_avgpool",
    [(1, 8, 16, 16)],
    lambda: Chain(
        nn.Conv2d(8, 8, 3, padding=1, groups=8, bias=False),
        nn.GELU(),
        to_last,
        nn.LayerNorm(8),
        to_first,
        nn.AvgPool2d(2, 2),
    ),
)
yardstick(
    "model_6_gru_linear",
    [(2, 16, 8)],
    lambda: Chain(First(nn.GRU(8, 6, batch_first=True)), nn.Linear(6, 4)),
    expect="gru.input",
)
yardstick(
    "model_7_dwconv_batchnorm_linear",
    [(2, 8, 64)],
    lambda: Chain(depthwise1d(8), nn.BatchNorm1d(8), swap, nn.Linear(8, 4)),
)
yardstick(
    "model_8_conv_batchnorm_maxpool_residual",
    [(1, 8, 16, 16)],
    lambda: Residual(nn.MaxPool2d(2, 2), nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8)),
)
yardstick(
    "model_9_dilated_conv_batchnorm_avgpool_residual",
    [(1, 8, 16, 16)],
    lambda: Residual(
        nn.AvgPool2d(2, 2), nn.Conv2d(8, 8, 3, padding=2, dilation=2), nn.BatchNorm2d(8)
    ),
)
yardstick(
    "model_10_dwconv_batchnorm_linear_cat",
    [(2, 8, 64)],
    lambda: Chain(
        depthwise1d(8), nn.BatchNorm1d(8), swap, Both(nn.Linear(8, 4), nn.Linear(8, 4))
    ),
)
