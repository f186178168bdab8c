"""A tiny decoder with ExecuTorch's own ops for attention on a cache, as its llama models and
optimum-executorch export them. Each layer has other ops. The cache is long enough for layline to read
only what is filled of it."""

import torch
import torch.nn.functional as F
from executorch.extension.llm.custom_ops import custom_ops  # noqa: F401  (registers llama::)
from torch import nn
from torch.export import Dim

from cases import case

VOCABULARY, WIDTH, HEADS, SHARED_HEADS, PLACES = 24, 32, 4, 2, 256
FEATURES = WIDTH // HEADS


def split(x):
    return x.unflatten(-1, (-1, FEATURES))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.RMSNorm(WIDTH)
        self.q = nn.Linear(WIDTH, WIDTH, bias=False)
        self.k = nn.Linear(WIDTH, SHARED_HEADS * FEATURES, bias=False)
        self.v = nn.Linear(WIDTH, SHARED_HEADS * FEATURES, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, PLACES, SHARED_HEADS, FEATURES))

    def forward(self, x, places):
        y = self.norm(x)
        y = self.attend(split(self.q(y)), split(self.k(y)), split(self.v(y)), places)
        return x + self.out(y.flatten(2))


class Separate(Layer):
    """The cache and the attention of optimum-executorch: heads in front, but not in the cache."""

    def attend(self, q, k, v, places):
        start = places[0].item()
        torch._check(start >= 0)
        torch.ops.llama.update_cache(k, self.keys, start)
        torch.ops.llama.update_cache(v, self.values, start)
        keys, values = self.keys.transpose(1, 2), self.values.transpose(1, 2)
        return torch.ops.llama.custom_sdpa(
            q, keys.transpose(1, 2), values.transpose(1, 2), start, None, 0.0, True, scale=0.5
        )


class Together(Layer):
    def attend(self, q, k, v, places):
        start = places[0].item()
        torch._check(start >= 0)
        return torch.ops.llama.sdpa_with_kv_cache(
            q, k, v, self.keys, self.values, start, q.shape[1], None, 0.0, True
        )


class Masked(Layer):
    """Places in any order, and a mask of numbers, as a ring of places has them."""

    def attend(self, q, k, v, places):
        torch.ops.llama.update_cache_with_indices(k, self.keys, 0, places[None])
        torch.ops.llama.update_cache_with_indices(v, self.values, 0, places[None])
        seen = torch.arange(PLACES) <= places[:, None]
        mask = torch.where(seen, 0.0, float("-inf"))
        return torch.ops.llama.custom_sdpa(q, self.keys, self.values, 0, mask, 0.0, False)


def steps():
    place = 0

    def step(lengths=iter((5, 1, 1, 70, 1, 150, 1))):
        nonlocal place
        length = next(lengths)
        place += length
        return torch.randint(0, VOCABULARY, (1, length)), torch.arange(place - length, place)

    return step


@case(
    "custom_ops",
    steps,
    dynamic_shapes=({1: (LENGTH := Dim("length", max=PLACES - 1))}, {0: LENGTH}),
    steps=7,
)
class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(PLACES, WIDTH)
        self.layers = nn.ModuleList([Separate(), Together(), Masked()])
        self.norm = nn.RMSNorm(WIDTH)

    def forward(self, tokens, places):
        x = self.embedding(tokens) + self.positions(places)
        for layer in self.layers:
            x = layer(x, places)
        return F.linear(self.norm(x), self.embedding.weight)
