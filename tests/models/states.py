"""Fixtures of models that remember: buffers that change from run to run, and inputs that change.

Every fixture runs several steps on one loaded program (see export.py)."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.export.pt2_archive._package import package_pt2

import export
from cases import case, randn

DECOMPOSED = ("decomposed",)


class Stateful(nn.Module):
    def __init__(self, **buffers):
        super().__init__()
        for name, buffer in buffers.items():
            self.register_buffer(name, buffer)


@case("mutable_buffer", randn((2, 3)), DECOMPOSED, steps=3)
class RunningSum(Stateful):
    """A buffer that is read, then updated, then read again."""

    def __init__(self):
        super().__init__(total=torch.tensor([0.5, 1.0, 1.5]))

    def forward(self, x):
        y = x + self.total
        self.total.add_(x[0])
        return y, self.total * 2


@case("state_counter", randn((2, 3)), DECOMPOSED, steps=3)
class Counter(Stateful):
    """Integers, a buffer that is an output, and one that is not saved with the weights."""

    def __init__(self):
        super().__init__(count=torch.tensor(0))
        self.register_buffer("seen", torch.zeros(3, dtype=torch.bool), persistent=False)

    def forward(self, x):
        self.count += 1
        self.seen.logical_or_(x[0] > 0)
        return x * self.count, self.count, self.seen


@case("state_attribute", randn((3,)), steps=3)
class ChangedAttribute(nn.Module):
    """A tensor that was never registered as a buffer, beside one that is made anew by each call."""

    def __init__(self):
        super().__init__()
        self.total = torch.ones(3)

    def forward(self, x):
        fresh = torch.tensor([1.0, 2.0, 3.0])
        fresh.add_(x)
        self.total.add_(fresh)
        return self.total + fresh


@case("state_order", randn((2, 3)), DECOMPOSED, steps=3)
class WriteAfterRead(Stateful):
    """Old values that are still needed when new ones are written."""

    def __init__(self):
        super().__init__(
            last=torch.randn(2, 3), a=torch.randn(2, 3), b=torch.randn(2, 3), c=torch.randn(2, 3)
        )

    def forward(self, x):
        previous = self.last.clone()
        self.last.copy_(x)
        # A swap, and a queue.
        a, b, c = self.a.clone(), self.b.clone(), self.c.clone()
        self.a.copy_(b)
        self.b.copy_(a)
        self.c.copy_(a + x)
        return previous, a, c, (previous - c).view(6), self.b.t()


@case("state_views", randn((2, 6), (3, 4)), DECOMPOSED, steps=3)
class PartialWrites(Stateful):
    """Writes through views, two to one buffer, and buffers that are overwritten or never read."""

    def __init__(self):
        super().__init__(
            table=torch.randn(4, 6), image=torch.randn(1, 2, 3, 4), reset=torch.randn(5),
            scratch=torch.zeros(2, 6), sink=torch.zeros(2, 6),
        )

    def forward(self, x, y):
        self.table[1:3] = x
        self.table[:, 0].add_(1.5)
        self.table.t()[2:4].mul_(0.5)
        flat = self.image.view(6, 4)
        flat[:3] += y
        before = self.reset + 1
        self.reset.zero_()
        self.scratch.fill_(3.0)
        self.scratch[0] += x[0]
        self.sink.copy_(x)
        return self.table.sum(0), self.image * 2, before, self.scratch @ self.table.t()


@case("state_conv", randn((1, 3, 8, 8)), ("channels_last", "decomposed"), steps=3)
class ConvolvedState(Stateful):
    """An image that is remembered between convolutions, which run channels-last."""

    def __init__(self):
        super().__init__(memory=torch.randn(1, 4, 8, 8))
        self.read = nn.Conv2d(7, 4, 3, padding=1)
        self.write = nn.Conv2d(4, 4, 1)

    def forward(self, x):
        y = self.read(torch.cat([x, self.memory], 1)).relu()
        self.memory.copy_(self.write(y))
        return y.mean((2, 3))


@case("state_stream", randn((1, 3, 4)), DECOMPOSED, steps=3)
class StreamingConv(Stateful):
    """A causal convolution that keeps the frames its next window needs."""

    def __init__(self):
        super().__init__(frames=torch.zeros(1, 3, 2))
        self.conv = nn.Conv1d(3, 4, 3)

    def forward(self, x):
        window = torch.cat([self.frames, x], 2)
        self.frames.copy_(window[:, :, -2:])
        return self.conv(window)


class Attention(Stateful):
    """One step of decoding with a cache of keys and values, rows of [batch, head, place, feature]
    or of [batch, place, head, feature]."""

    heads, features, places = 2, 4, 6

    def __init__(self, place_axis):
        shape = [1, self.heads, self.heads, self.features]
        shape[place_axis] = self.places
        super().__init__(keys=torch.zeros(shape), values=torch.zeros(shape))
        self.place_axis = place_axis
        width = self.heads * self.features
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def store(self, cache, place, row):
        return cache.index_copy_(self.place_axis, place, row)

    def forward(self, x, place):
        q, k, v = self.qkv(x).view(1, 1, 3, self.heads, self.features).unbind(2)
        q = q.transpose(1, 2)
        if self.place_axis == 2:
            k, v = k.transpose(1, 2), v.transpose(1, 2)
        keys, values = self.store(self.keys, place, k), self.store(self.values, place, v)
        if self.place_axis == 1:
            keys, values = keys.transpose(1, 2), values.transpose(1, 2)
        seen = torch.arange(self.places) <= place
        y = F.scaled_dot_product_attention(q, keys, values, attn_mask=seen.view(1, 1, 1, -1))
        return self.out(y.transpose(1, 2).reshape(1, 1, -1))


def next_token():
    step = 0

    def inputs():
        nonlocal step
        step += 1
        return torch.randn(1, 1, 8), torch.tensor([step - 1])

    return inputs


@case("state_cache", next_token, DECOMPOSED, steps=4, expect="index_copy_.default")
class HeadsFirst(Attention):
    def __init__(self):
        super().__init__(2)


@case("state_cache_rows", next_token, DECOMPOSED, steps=4, expect="index_put_.default")
class PlacesFirst(Attention):
    """The cache lies as [batch, place, head, feature] in the model: attention reads it transposed."""

    def __init__(self):
        super().__init__(1)

    def store(self, cache, place, row):
        cache[:, place] = row
        return cache


@case("state_inputs", randn((2, 3), (1, 2, 3, 3)), DECOMPOSED, steps=2)
class ChangedInputs(nn.Module):
    """Inputs that the model changes in place; one is returned as it was."""

    def forward(self, x, image):
        before = x.clone()
        x.add_(1)
        x[0] *= 2
        image.relu_()
        return before, x * 3, image.sum()


class Writer(Stateful):
    def forward(self, x):
        self.shared.copy_(x)
        self.other.copy_(x)
        return x + 1


class Reader(Stateful):
    def forward(self, x):
        return x + self.shared, x + self.other


def write_shared(directory):
    """Two methods with buffers of the same names. One begins with the same numbers in both, so what the
    first method writes is what the second reads. The other does not, so they are two buffers."""
    methods = {
        "write": Writer(shared=torch.ones(3), other=torch.ones(3)),
        "read": Reader(shared=torch.ones(3), other=torch.zeros(3)),
    }
    programs, arrays = {}, {}
    for method, module in methods.items():
        inputs = randn((3,))()
        programs[method] = export.export(module, inputs)
        programs[method].example_inputs = None
        arrays |= export.under(method, export.run(module, inputs))
    # Running the writer has changed its buffers, which the archive is to have as they were.
    for buffer in methods["write"].buffers():
        buffer.fill_(1)
    package_pt2(f"{directory / 'state_of_two_methods'}.pt2", exported_programs=programs)
    export.save_arrays(directory / "state_of_two_methods", arrays)


ARCHIVES = {"state_of_two_methods": write_shared}
