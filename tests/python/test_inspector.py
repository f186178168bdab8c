"""ExecuTorch's own Inspector on layline's programs; skipped where executorch is not installed."""

from pathlib import Path

import layline
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("executorch.devtools")

from executorch.devtools import Inspector  # noqa: E402
from executorch.extension.pybindings.portable_lib import _load_for_executorch  # noqa: E402


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3)
        self.linear = torch.nn.Linear(8, 4)

    def forward(self, x):
        y = self.conv(x).relu()  # the convolution
        y = y.mean((2, 3))
        return self.linear(y).tanh()  # the linear layer


def line(ending: str) -> int:
    lines = Path(__file__).read_text().splitlines()
    return 1 + next(i for i, text in enumerate(lines) if text.endswith(ending))


@pytest.fixture
def traced(tmp_path):
    """An exported model, its program, and a trace of the program by ExecuTorch's own module."""

    def trace(**options):
        exported = torch.export.export(Net().eval(), (torch.randn(1, 3, 16, 16),))
        program = tmp_path / "net.pte"
        layline.compile(exported, **options).save(program)
        module = _load_for_executorch(str(program), enable_etdump=True)
        for _ in range(3):
            module.run_method("forward", (torch.randn(1, 3, 16, 16),))
        dump = tmp_path / "net.etdump"
        module.write_etdump_result_to_file(str(dump))
        return exported, program, dump

    return trace


def events_of(exported, program, dump):
    record = layline.etrecord(program, exported, dump)
    blocks = Inspector(etdump_path=str(dump), etrecord=record).event_blocks
    return {event.name: event for block in blocks for event in block.events}


def test_operators_of_xnnpack_lead_to_their_line(traced):
    events = events_of(*traced())
    for name, ending, module in (
        ("Convolution", "# the convolution", "conv"),
        ("Fully Connected", "# the linear layer", "linear"),
    ):
        (event,) = [event for key, event in events.items() if key.startswith(name)]
        assert event.delegate_backend_name == "XnnpackBackend"
        (trace,) = event.stack_traces.values()
        assert f'test_inspector.py", line {line(ending)}' in trace
        (modules,) = event.module_hierarchy.values()
        assert any(path == module or path.endswith(f".{module}") for path, _ in modules.values())


def test_kernels_outside_lead_to_their_line(traced):
    events = events_of(*traced(disable=["delegate"]))
    event = events["native_call_convolution.out"]
    (trace,) = event.stack_traces.values()
    assert f'test_inspector.py", line {line("# the convolution")}' in trace


def test_the_exported_program_stays_as_it_was(traced):
    exported, program, dump = traced()
    events_of(exported, program, dump)
    assert not any("debug_handle" in node.meta for node in exported.graph.nodes)


def test_a_stripped_program_is_refused(traced):
    exported, program, dump = traced(strip=True)
    with pytest.raises(layline.Error, match="unstripped"):
        layline.etrecord(program, exported, dump)
