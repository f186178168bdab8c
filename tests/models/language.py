"""What language models are made of: tables of embeddings, quantised or tied to the head, positions of
which only the last is read, and weights in bfloat16."""

import torch
import torch.nn.functional as F
from executorch.exir.passes import _quant_patterns_and_replacements  # noqa: F401  (embedding_byte)
from torch import nn
from torch.ao.quantization.fx import _decomposed  # noqa: F401  (registers quantized_decomposed)
from torch.export import Dim

import export
from cases import case

_OPS = torch.ops.quantized_decomposed
VOCABULARY, WIDTH = 96, 32


def tokens(*shape):
    return lambda: (torch.randint(0, VOCABULARY, shape),)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.mlp_norm = nn.RMSNorm(WIDTH, 1e-5), nn.RMSNorm(WIDTH)
        self.qkv, self.project = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.gate, self.up = nn.Linear(WIDTH, 48), nn.Linear(WIDTH, 48)
        self.down = nn.Linear(48, WIDTH)

    def forward(self, x):
        heads = self.qkv(self.norm(x)).unflatten(-1, (3, 4, -1)).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.project(y.transpose(1, 2).flatten(2))
        y = self.mlp_norm(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


@case("tied_embedding", tokens(1, 7))
class TiedEmbedding(nn.Module):
    """The table of the tokens is the weight of the head."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(VOCABULARY, WIDTH)
        self.norm = nn.RMSNorm(WIDTH)

    def forward(self, tokens):
        return F.linear(self.norm(self.table(tokens)), self.table.weight)


@case("last_position", tokens(2, 6))
class LastPosition(TiedEmbedding):
    def __init__(self):
        super().__init__()
        self.block = Block()
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens):
        return self.head(self.norm(self.block(self.table(tokens))))[:, -1]


@case(
    "last_of_any_position",
    tokens(1, 6),
    dynamic_shapes=({1: Dim("length", min=1, max=9)},),
    other_sizes=(tokens(1, 1), tokens(1, 9)),
)
class LastOfAny(LastPosition):
    """How many positions there are is known when the model runs."""


class QuantisedTables(nn.Module):
    """Tables with all kinds of scales, as quantisers write them and in ExecuTorch's own ops. The
    first is the weight of a head, too."""

    def __init__(self):
        super().__init__()
        self.register_buffer("bytes", integers(-128, 128, VOCABULARY, WIDTH))
        self.register_buffer("nibbles", integers(-8, 8, VOCABULARY, WIDTH))
        self.register_buffer("packed", integers(0, 256, VOCABULARY, WIDTH // 2, torch.uint8))
        for name, groups in (("rows", ()), ("groups", (4,))):
            scales = (torch.rand(VOCABULARY, *groups) + 0.5) / 100
            self.register_buffer(f"{name}_scales", scales)
        zeros = torch.randint(-20, 20, (VOCABULARY,))
        self.register_buffer("zeros", zeros)
        self.register_buffer("no_zeros", torch.zeros_like(zeros))
        self.register_buffer("group_zeros", integers(-3, 4, VOCABULARY, 4, torch.int32))

    def forward(self, tokens):
        scales, groups = self.rows_scales, self.groups_scales
        whole = (-128, 127, torch.int8)
        tied = _OPS.dequantize_per_channel(self.bytes, scales, self.no_zeros, 0, *whole)
        shifted = _OPS.dequantize_per_channel(self.bytes, scales, self.zeros, 0, *whole)
        nibbles = _OPS.dequantize_per_channel_group(
            self.nibbles, groups, self.group_zeros, -8, 7, torch.int8, WIDTH // 4, torch.float32
        )
        zeros = self.group_zeros.float()
        return (
            F.linear(F.embedding(tokens, tied), tied),
            F.embedding(tokens, shifted),
            F.embedding(tokens, nibbles),
            nibbles.t()[:, tokens[0]],
            _OPS.embedding_byte(self.bytes, scales, self.zeros.float(), -128, 127, tokens),
            _OPS.embedding_byte.dtype(
                self.bytes, groups, None, -128, 127, tokens, dtype=torch.float32
            ),
            _OPS.embedding_4bit(self.packed, groups, zeros, -8, 7, tokens),
            _OPS.embedding_2bit(self.packed, scales, None, -2, 1, tokens),
        )


def integers(low, high, rows, columns, dtype=torch.int8):
    return torch.randint(low, high, (rows, columns), dtype=dtype)


def _write_tables(directory):
    model, inputs = QuantisedTables(), tokens(1, 5)()
    export.save_program(directory / "quantised_tables", model, inputs, samples=False)
    export.save_reference(directory / "quantised_tables", model, inputs)


class InBfloat16(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.block = nn.Embedding(VOCABULARY, WIDTH), Block()
        self.register_buffer("sum", torch.zeros(1, WIDTH))

    def forward(self, tokens):
        x = self.block(self.table(tokens))
        self.sum.add_(x[:, -1])
        return F.linear(x, self.table.weight).float(), self.sum.float()


def _write_bfloat16(directory):
    """The reference is what the same weights give in f32, to which layline is nearer than torch."""
    inputs = tokens(1, 5)()
    model = export.randomise(InBfloat16()).eval().to(torch.bfloat16)
    export.save_program(directory / "bfloat16", model, inputs, samples=False)
    wide = model.float()
    # Without a number of its own the norm takes one that goes with the dtype.
    wide.block.mlp_norm.eps = torch.finfo(torch.bfloat16).eps
    steps = [inputs, tokens(1, 5)()]
    export.save_reference(directory / "bfloat16", wide, inputs, steps)


ARCHIVES = {"quantised_tables": _write_tables, "bfloat16": _write_bfloat16}
