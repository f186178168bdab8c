"""A tiny language model of the Llama family as two methods of one program, which share their weights
and their cache: `prefill` reads a prompt, `decode` one token more. Both give the next token."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.export.pt2_archive._package import package_pt2

import export

VOCABULARY, WIDTH, HEADS, SHARED_HEADS, LAYERS, PLACES, PROMPT = 40, 16, 4, 2, 2, 12, 5
FEATURES = WIDTH // HEADS


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(WIDTH, WIDTH, bias=False)
        self.k = nn.Linear(WIDTH, SHARED_HEADS * FEATURES, bias=False)
        self.v = nn.Linear(WIDTH, SHARED_HEADS * FEATURES, bias=False)
        self.o = nn.Linear(WIDTH, WIDTH, bias=False)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, SHARED_HEADS, PLACES, FEATURES))

    def forward(self, x, places, rotation, visible):
        split = lambda y: y.view(1, x.shape[1], -1, FEATURES).transpose(1, 2)
        q, k = rotate(split(self.q(x)), rotation), rotate(split(self.k(x)), rotation)
        self.keys.index_copy_(2, places, k)
        self.values.index_copy_(2, places, split(self.v(x)))
        y = F.scaled_dot_product_attention(
            q, self.keys, self.values, attn_mask=visible, enable_gqa=True
        )
        return self.o(y.transpose(1, 2).reshape(1, x.shape[1], WIDTH))


def rotate(x, rotation):
    cosine, sine = rotation
    low, high = x.chunk(2, -1)
    return x * cosine + torch.cat([-high, low], -1) * sine


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm, self.mlp_norm = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.attention = Attention()
        self.gate = nn.Linear(WIDTH, 24, bias=False)
        self.up = nn.Linear(WIDTH, 24, bias=False)
        self.down = nn.Linear(24, WIDTH, bias=False)

    def forward(self, x, *context):
        x = x + self.attention(self.attention_norm(x), *context)
        y = self.mlp_norm(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.RMSNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        angles = torch.outer(
            torch.arange(PLACES), 10 ** -torch.linspace(0, 1, FEATURES // 2)
        ).repeat(1, 2)
        self.register_buffer("cosines", angles.cos())
        self.register_buffer("sines", angles.sin())

    def forward(self, tokens, places):
        """The next token, and the logits that it is the largest of."""
        rotation = self.cosines[places], self.sines[places]
        visible = torch.arange(PLACES) <= places[:, None]
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, places, rotation, visible)
        logits = self.head(self.norm(x[:, -1:]))
        return logits.argmax(-1), logits


def write(directory):
    """llama.pt2, and in llama.npz the arrays of each method on its own, and the tokens that torch
    generates: those of the prompt, then one for each call."""
    path = directory / "llama"
    model = export.randomise(Llama()).eval()
    start = {name: buffer.clone() for name, buffer in model.named_buffers()}
    prompt = torch.randint(0, VOCABULARY, (1, PROMPT))
    methods = {
        "prefill": (prompt, torch.arange(PROMPT)),
        "decode": (prompt[:, :1], torch.tensor([0])),
    }
    programs, arrays = {}, {}
    for method, inputs in methods.items():
        model.load_state_dict(start, strict=False)
        programs[method] = export.export(model, inputs)
        programs[method].example_inputs = None
        arrays |= export.under(method, export.run(model, inputs))
    package_pt2(f"{path}.pt2", exported_programs=programs)

    model.load_state_dict(start, strict=False)
    tokens = prompt[0].tolist()
    with torch.no_grad():
        token, _ = model(prompt, torch.arange(PROMPT))
        tokens.append(token.item())
        while len(tokens) < PLACES:
            token, _ = model(token, torch.tensor([len(tokens) - 1]))
            tokens.append(token.item())
    export.save_arrays(path, arrays | {"generated": np.array(tokens)})
    print("llama generates", tokens)


ARCHIVES = {"llama": write}
