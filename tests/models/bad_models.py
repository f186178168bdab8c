"""Models that layline must refuse with a clear message: bad/NAME.pt2, without references."""

import torch
from torch import nn
from torch.export import Dim

import export


class ControlFlow(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda t: t + 1, lambda t: t * 2, (x,))


class WhileLoop(nn.Module):
    def forward(self, x):
        step = lambda i, t: (i + 1, t * 2)
        return torch._higher_order_ops.while_loop(lambda i, t: i < 3, step, (torch.tensor(0), x))


class Nonzero(nn.Module):
    """An output whose size depends on the data."""

    def forward(self, x):
        return torch.nonzero(x > 0)


class Item(nn.Module):
    """A size read from the data."""

    def forward(self, x, n):
        size = n.item()
        torch._check(size >= 1)
        torch._check(size <= 4)
        return x[:size] * 2


class MaskedSelect(nn.Module):
    def forward(self, x):
        return x[x > 0]


class UnsupportedOps(nn.Module):
    """Several unsupported ops, one of them twice: all are to be listed at once."""

    def forward(self, x):
        spectrum = torch.fft.fft2(x)
        inverse = torch.linalg.inv(x)
        values = torch.linalg.eigvalsh(x @ x.mT)
        return spectrum.abs() + torch.linalg.inv(inverse), values


class LateWindows(nn.Module):
    """Overlapping windows that are read after a write to what they view."""

    def forward(self, x):
        x = x.clone()
        windows = x.unfold(1, 3, 1)
        x.add_(1)
        return windows


class Complex(nn.Module):
    def forward(self, x):
        return torch.view_as_complex(x) * 2


class Random(nn.Module):
    def forward(self, x):
        return x + torch.rand_like(x)


class ChangedParameter(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3), requires_grad=False)

    def forward(self, x):
        self.weight.add_(1)
        return x * self.weight


class SharedBuffer(nn.Module):
    """A buffer that changes, and a view of its memory."""

    def __init__(self):
        super().__init__()
        self.register_buffer("all", torch.zeros(4, 3))
        self.register_buffer("first", self.all[0])

    def forward(self, x):
        self.all.add_(x)
        return self.first * 2


class ChangedImage(nn.Module):
    def forward(self, x):
        return x.relu_().sum()


def subclass_weights():
    """Weights of a tensor subclass: they are serialised as a pickle, not as raw bytes."""
    from torchao.quantization import Int8WeightOnlyConfig, quantize_

    model = nn.Sequential(nn.Linear(8, 4), nn.ReLU()).eval()
    quantize_(model, Int8WeightOnlyConfig())
    return model


MODELS = {
    "control_flow": (ControlFlow, lambda: (torch.randn(3, 3),)),
    "while_loop": (WhileLoop, lambda: (torch.randn(3),)),
    "nonzero": (Nonzero, lambda: (torch.randn(4),)),
    "item": (Item, lambda: (torch.randn(4, 2), torch.tensor(3))),
    "masked_select": (MaskedSelect, lambda: (torch.randn(4),)),
    "unsupported_ops": (UnsupportedOps, lambda: (torch.randn(4, 4),)),
    "late_windows": (LateWindows, lambda: (torch.randn(2, 5),)),
    "complex": (Complex, lambda: (torch.randn(3, 2),)),
    "subclass_weights": (subclass_weights, lambda: (torch.randn(2, 8),)),
    "changed_parameter": (ChangedParameter, lambda: (torch.randn(3),)),
    "changed_image": (ChangedImage, lambda: (export.channels_last(torch.randn(1, 3, 4, 4)),)),
    "shared_buffer": (SharedBuffer, lambda: (torch.randn(4, 3),)),
    "random": (Random, lambda: (torch.randn(3, 2),)),
    "unbounded": (nn.ReLU, lambda: (torch.randn(3, 2),), ({0: Dim("batch")},)),
}


def _writer(name, model, inputs, dynamic_shapes=None):
    def write(directory):
        folder = directory / "bad"
        folder.mkdir(exist_ok=True)
        program = export.export(model().eval(), inputs(), dynamic_shapes=dynamic_shapes)
        torch.export.save(program, f"{folder / name}.pt2")

    return write


ARCHIVES = {f"bad/{name}": _writer(name, *entry) for name, entry in MODELS.items()}
