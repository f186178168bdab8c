"""Fixtures of attention as people write it out: where the scale stands, how keys are hidden, and how
heads share keys. Torch's own op is in sequences.py."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from cases import case, randn

DECOMPOSED = ("decomposed",)
HEADS, WIDTH = 2, 4
SCALE = 1 / math.sqrt(WIDTH + 1)  # no power of two, so that a lost factor shows


class Heads(nn.Module):
    """A fused projection, split into the heads of q, k and v."""

    def __init__(self, heads=HEADS):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(8, 3 * heads * WIDTH)

    def forward(self, x):
        batch, rows, _ = x.shape
        split = self.qkv(x).reshape(batch, rows, 3, self.heads, WIDTH)
        return split.permute(2, 0, 3, 1, 4).unbind(0)


def scores(q, k):
    return q @ k.transpose(-2, -1)


def scaled_q(q, k):
    return scores(q * SCALE, k)


def divided_q(q, k):
    return scores(q / (1 / SCALE), k)


def scaled_k(q, k):
    return scores(q, SCALE * k)


def split_scale(q, k):
    return scores(q * math.sqrt(SCALE), k * math.sqrt(SCALE))


def scaled_scores(q, k):
    return scores(q, k) * SCALE


def divided_scores(q, k):
    return scores(q, k) / (1 / SCALE)


def scaled_after_view(q, k):
    batch, heads, rows, _ = q.shape
    flat = torch.bmm(q.flatten(0, 1), k.flatten(0, 1).transpose(1, 2))
    return (flat * SCALE).view(batch, heads, rows, rows)


def scaled_before_permute(q, k):
    return torch.einsum("bqhd,bhkd->bhqk", q.transpose(1, 2) * SCALE, k)


def expanded_scale(q, k):
    return scores(q * torch.full((), SCALE).expand(1, 1, WIDTH), k)


def cast_scale(q, k):
    return scores(q, k) * torch.full((1,), SCALE, dtype=torch.float64).to(q.dtype)


def alpha(q, k):
    a, b = q.flatten(0, 1), k.flatten(0, 1).transpose(1, 2)
    zeros = torch.zeros(a.shape[0], a.shape[1], b.shape[2])
    return torch.baddbmm(zeros, a, b, beta=0, alpha=SCALE).view(*q.shape[:2], a.shape[1], -1)


def scaled_with_mask(q, k):
    rows = q.shape[-2]
    hidden = torch.full((rows, rows), -torch.inf).triu(1)
    return (scores(q, k) + hidden) * SCALE


def rotated(q, k):
    angle = torch.arange(q.shape[-2] * WIDTH).reshape(-1, WIDTH) / 3
    half = WIDTH // 2
    turned = torch.cat((-q[..., half:], q[..., :half]), -1)
    return scores(q * angle.cos() + turned * angle.sin(), k) * SCALE


@case("attention_scales", randn((2, 5, 8)), DECOMPOSED)
class Scales(nn.Module):
    FORMS = (
        scaled_q,
        divided_q,
        scaled_k,
        split_scale,
        scaled_scores,
        divided_scores,
        scaled_after_view,
        scaled_before_permute,
        expanded_scale,
        cast_scale,
        alpha,
        scaled_with_mask,
        rotated,
    )

    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleList(Heads() for _ in self.FORMS)

    def forward(self, x):
        results = []
        for form, heads in zip(self.FORMS, self.heads):
            q, k, v = heads(x)
            weights = F.dropout(form(q, k).softmax(-1), 0.1, self.training)
            results.append(weights @ v)
        return results


@case("attention_kept_scales", randn((2, 5, 8), (1,)))
class KeptScales(nn.Module):
    """Scales that cannot go into a projection: others read what they scale, they are not one number,
    they are not constant, or the softmax is not over the keys."""

    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleList(Heads() for _ in range(4))
        self.temperature = nn.Parameter(torch.ones(HEADS, 1, 1))

    def forward(self, x, factor):
        (q, k, v), (q1, k1, v1), (q2, k2, v2), (q3, k3, v3) = (heads(x) for heads in self.heads)
        return (
            (scores(q, k) * SCALE).softmax(-1) @ v + q,
            (scores(q1, k1) * self.temperature).softmax(-1) @ v1,
            (scores(q2, k2) * factor).softmax(-1) @ v2,
            (scores(q3, k3) * SCALE).softmax(-2) @ v3,
            q3,
        )


def mask_of_reals():
    """A query that sees nothing, one whose scores are all hidden by the least number, and others."""
    mask = torch.randn(2, 1, 5, 5)
    mask[0, 0, 1] = -torch.inf
    mask[0, 0, 2] = torch.finfo(torch.float32).min
    mask[1, 0, 3, 1:4] = -torch.inf
    return mask


@case("attention_mask_of_reals", lambda: (torch.randn(2, 5, 8), mask_of_reals()))
class MaskOfReals(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = Heads()

    def forward(self, x, mask):
        q, k, v = self.heads(x)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


@case(
    "attention_masks",
    lambda: (
        torch.randn(2, 5, 8),
        torch.rand(2, 1, 1, 5) < 0.7,
        torch.rand(2, 1, 5, 5) < 0.5,
        torch.randn(2, 1, 5, 5),
    ),
    DECOMPOSED,
)
class Masks(nn.Module):
    """Row 0 of `seen` may see nothing, row 1 of the constant mask does."""

    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleList(Heads() for _ in range(10))
        causal = torch.ones(5, 5, dtype=torch.bool).tril()
        self.register_buffer("causal", causal)
        blind = causal.clone()
        blind[1] = False
        self.register_buffer("blind", blind)

    def forward(self, x, keys, seen, bias):
        low, least = -torch.inf, torch.finfo(torch.float32).min
        parts = [heads(x) for heads in self.heads]
        s = [scores(q, k) * SCALE for q, k, _ in parts]
        blank = torch.zeros(())

        def guarded(masked):
            hidden = (masked == low).all(-1, keepdim=True)
            return torch.where(hidden, blank, masked.softmax(-1))

        weights = [
            s[0].masked_fill(~self.causal, low).softmax(-1),
            s[1].masked_fill(~self.causal, -1e9).softmax(-1),
            s[2].masked_fill(~keys, -1e9).softmax(-1),
            torch.where(keys, s[3], torch.tensor(least)).softmax(-1),
            (s[4] + bias).softmax(-1),
            (s[5] + (1.0 - keys.float()) * least).softmax(-1),
            guarded(s[6].masked_fill(~seen, low)),
            guarded(s[7] + torch.where(seen, bias, low)),
            guarded(s[8].masked_fill(~self.causal, low)),
            guarded(s[9].masked_fill(~self.blind, low)),
        ]
        return [w @ v for w, (_, _, v) in zip(weights, parts)]


@case("attention_groups", randn((2, 5, 8)), DECOMPOSED)
class Groups(nn.Module):
    """Four heads of queries, two of keys and values."""

    def __init__(self):
        super().__init__()
        self.q = nn.ModuleList(nn.Linear(8, 4 * WIDTH) for _ in range(4))
        self.kv = nn.ModuleList(nn.Linear(8, 4 * WIDTH) for _ in range(4))

    def forward(self, x):
        batch, rows, _ = x.shape

        def split(y, heads):
            return y.view(batch, rows, heads, WIDTH).transpose(1, 2)

        def repeat(y):
            return y[:, :, None].expand(-1, -1, 2, -1, -1).reshape(batch, 4, rows, WIDTH)

        results = []
        for i, (project_q, project_kv) in enumerate(zip(self.q, self.kv)):
            q = split(project_q(x), 4)
            k, v = (split(part, 2) for part in project_kv(x).chunk(2, -1))
            if i == 0:
                y = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
            elif i == 1:
                y = (scores(q, repeat(k)) * SCALE).softmax(-1) @ repeat(v)
            elif i == 2:
                more = [part.repeat_interleave(2, dim=1) for part in (k, v)]
                y = (scores(q, more[0]) / math.sqrt(WIDTH)).softmax(-1) @ more[1]
            else:
                y = F.scaled_dot_product_attention(q, repeat(k), repeat(v), is_causal=True)
            results.append(y.transpose(1, 2).reshape(batch, rows, -1))
        return results


class DeitBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.heads, self.scale = heads, (width // heads) ** -0.5

    def forward(self, x):
        batch, rows, width = x.shape
        split = self.qkv(self.norm1(x)).reshape(batch, rows, 3, self.heads, width // self.heads)
        q, k, v = split.permute(2, 0, 3, 1, 4).unbind(0)
        weights = ((q * self.scale) @ k.transpose(-2, -1)).softmax(-1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(batch, rows, width))
        return x + self.mlp(self.norm2(x))


@case("deit", randn((1, 3, 8, 8)), DECOMPOSED)
class Deit(nn.Module):
    """DeiT at small size: patches, class token, positions, blocks, head."""

    def __init__(self, width=12, heads=3):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 4, 4)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(torch.zeros(1, 5, width))
        self.blocks = nn.Sequential(*(DeitBlock(width, heads) for _ in range(2)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 7)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.token.expand(x.shape[0], -1, -1), x), 1) + self.positions
        return self.head(self.norm(self.blocks(x))[:, 0])
