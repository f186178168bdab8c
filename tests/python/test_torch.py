"""The package beside torch; skipped where torch is not installed."""

import runpy
import subprocess
import sys
from pathlib import Path

import layline
import numpy
import pytest

torch = pytest.importorskip("torch")


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3)
        self.linear = torch.nn.Linear(8, 4)

    def forward(self, x):
        return self.linear(self.conv(x).relu().mean((2, 3)))


def test_module_and_exported_program():
    model, x = Net().eval(), torch.randn(2, 3, 16, 16)
    for program in (
        layline.compile(model, (x,)),
        layline.compile(torch.export.export(model, (x,))),
    ):
        (y,) = program.run(x)
        assert isinstance(y, torch.Tensor)
        torch.testing.assert_close(y, model(x), rtol=1e-4, atol=1e-5)
        (as_numpy,) = program.run(x.numpy())
        assert isinstance(as_numpy, numpy.ndarray)
        numpy.testing.assert_array_equal(as_numpy, y.numpy())
    assert layline.compile(model, (x,)).report.model == "Net"
    with pytest.raises(layline.Error, match="needs args"):
        layline.compile(model)


def test_dynamic_shapes():
    model = Net().eval()
    batch = torch.export.Dim("batch", min=1, max=8)
    program = layline.compile(
        model, (torch.randn(2, 3, 16, 16),), dynamic_shapes={"x": {0: batch}}
    )
    for size in (1, 5, 8):
        x = torch.randn(size, 3, 16, 16)
        torch.testing.assert_close(program.run(x)[0], model(x), rtol=1e-4, atol=1e-5)


def test_channels_last_and_grad_tensors():
    model = Net().eval()
    x = torch.randn(1, 3, 16, 16).to(memory_format=torch.channels_last).requires_grad_()
    (y,) = layline.compile(model, (x.detach(),)).run(x)
    torch.testing.assert_close(y, model(x).detach(), rtol=1e-4, atol=1e-5)


def test_bfloat16():
    class Double(torch.nn.Module):
        def forward(self, x):
            return x + x

    x = torch.randn(4, 4).bfloat16()
    program = layline.compile(Double(), (x,))
    torch.testing.assert_close(program.run(x)[0], x + x)


def test_errors_point_at_the_line():
    class Refused(torch.nn.Module):
        def forward(self, x):
            return torch.linalg.svdvals(x)  # this line

    with pytest.raises(layline.Error) as caught:
        layline.compile(Refused(), (torch.randn(4, 4),))
    lines = Path(__file__).read_text().splitlines()
    line = 1 + next(i for i, text in enumerate(lines) if text.endswith("# this line"))
    assert f"test_torch.py:{line}" in str(caught.value)


def test_beside_executorch():
    """A process may hold ExecuTorch's own package too, imported before or after."""
    pytest.importorskip("executorch")
    for script in (
        "import executorch.runtime; run()",
        "run(); import executorch.runtime; run()",
        "import executorch.exir, executorch.backends.xnnpack.partition.xnnpack_partitioner; run()",
    ):
        prelude = """
import layline, torch
def run():
    x = torch.randn(2, 3)
    (y,) = layline.compile(torch.nn.ReLU(), (x,)).run(x)
    assert torch.equal(y, x.relu())
"""
        subprocess.run([sys.executable, "-c", prelude + script], check=True)


def test_the_drop_in_example(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    example = Path(__file__).parents[2] / "examples" / "drop_in.py"
    runpy.run_path(str(example), run_name="__main__")
    assert (tmp_path / "model.pte").stat().st_size > 0
    assert "permutes" in capsys.readouterr().out
