"""Fixtures of the ops that work along a sequence: recurrent layers and attention."""

import torch
import torch.nn.functional as F
from torch import nn

from cases import case, randn

DECOMPOSED = ("decomposed",)


class AllResults(nn.Module):
    """Recurrent layers with their last states, which are results, too."""

    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x, state):
        return [
            layer(x, (state, 2 * state) if isinstance(layer, nn.LSTM) else state)
            for layer in self.layers
        ]


@case(
    "recurrent",
    randn((3, 5, 6), (4, 3, 4)),
    expect="lstm.input gru.input rnn_tanh.input rnn_relu.input",
)
class Recurrent(AllResults):
    def __init__(self):
        form = {"batch_first": True, "num_layers": 2, "bidirectional": True}
        super().__init__(
            nn.LSTM(6, 4, **form),
            nn.LSTM(6, 4, bias=False, **form),
            nn.GRU(6, 4, **form),
            nn.GRU(6, 4, batch_first=True, num_layers=4, bias=False),
            nn.RNN(6, 4, **form),
            nn.RNN(6, 4, nonlinearity="relu", **form),
        )


@case("recurrent_time_first", randn((5, 3, 6), (1, 3, 4)), DECOMPOSED)
class RecurrentTimeFirst(AllResults):
    def __init__(self):
        super().__init__(nn.LSTM(6, 4), nn.GRU(6, 4), nn.RNN(6, 4))


@case("recurrent_projection", randn((3, 5, 6)))
class RecurrentProjection(nn.Module):
    """An LSTM whose hidden state is shorter than its cell, and a sequence without a batch."""

    def __init__(self):
        super().__init__()
        self.projected = nn.LSTM(6, 4, batch_first=True, proj_size=2)
        self.plain = nn.GRU(6, 4)

    def forward(self, x):
        return self.projected(x), self.plain(x[0])


@case(
    "recurrent_cells",
    randn((3, 6), (3, 4)),
    expect="lstm_cell.default gru_cell.default rnn_tanh_cell.default",
)
class RecurrentCells(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTMCell(6, 4)
        self.gru = nn.GRUCell(6, 4, bias=False)
        self.rnn = nn.RNNCell(6, 4)

    def forward(self, x, state):
        return self.lstm(x, (state, 2 * state)), self.gru(x, state), self.rnn(x, state)


@case(
    "attention",
    lambda: (
        torch.randn(2, 4, 5, 6),
        torch.randn(2, 4, 7, 6),
        torch.randn(2, 4, 7, 3),
        torch.randn(2, 2, 7, 6),
        torch.rand(2, 1, 5, 7) < 0.5,
    ),
    DECOMPOSED,
    expect="scaled_dot_product_attention.default",
)
class Attention(nn.Module):
    """Masks of every kind; row 1 of the constant masks sees no key at all."""

    def __init__(self):
        super().__init__()
        visible = torch.rand(5, 7) < 0.7
        visible[1] = False
        self.register_buffer("visible", visible)
        self.register_buffer("penalty", torch.randn(4, 5, 7).masked_fill(~visible, -torch.inf))

    def forward(self, q, k, v, few, mask):
        attend = F.scaled_dot_product_attention
        return (
            attend(q, k, v),
            attend(q, k, v, scale=0.3),
            attend(q, k, v, is_causal=True),
            attend(q, k, v, attn_mask=mask),
            attend(q, k, v, attn_mask=self.visible),
            attend(q, k, v, attn_mask=self.penalty),
            attend(q, k, v, attn_mask=torch.where(mask, 1.0, -torch.inf)),
            attend(q[:, 0], k[:, 0], v[:, 0]),
            attend(q[0, 0], k[0, 0], v[0, 0]),
            attend(q, few, few, enable_gqa=True),
            attend(q, few, few, attn_mask=mask, enable_gqa=True),
        )


@case(
    "attention_bias",
    randn((2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 5, 7)),
    DECOMPOSED,
    expect="scaled_dot_product_attention.default",
)
class AttentionBias(nn.Module):
    """Additive masks that are computed, that are finite but very low, and that are inputs."""

    def __init__(self):
        super().__init__()
        self.positions = nn.Parameter(torch.zeros(4, 7))
        low = torch.zeros(5, 7)
        low[1], low[2, 3:] = torch.finfo(torch.float32).min, torch.finfo(torch.float32).min
        self.register_buffer("low", low)

    def forward(self, q, k, bias):
        attend = F.scaled_dot_product_attention
        return (
            attend(q, k, k, attn_mask=q @ self.positions + 0.5),
            attend(q, k, k, attn_mask=self.low),
            attend(q, k, k, attn_mask=bias),
            attend(q, k, k, attn_mask=bias.masked_fill(self.low < 0, -torch.inf)),
        )
