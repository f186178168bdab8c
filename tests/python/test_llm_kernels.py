"""Programs that call ExecuTorch's kernels for language models, in its Python runtime: decoders with a
cache give what torch gives. Skipped where torch or ExecuTorch is not installed."""

import json
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("executorch.runtime")
pytest.importorskip("executorch.extension.llm.custom_ops")

# Runs the steps of an .npz in a process of its own: the runtime ends the process on some errors, and
# layline's own runtime is in this one.
_RUN = """
import sys
import numpy, torch
from executorch.extension.llm.custom_ops import custom_ops
from executorch.runtime import Runtime, Verification
program, arrays, out = sys.argv[1:]
method = Runtime.get().load_program(program, verification=Verification.Minimal).load_method("forward")
assert "llama::custom_sdpa.out" in Runtime.get().operator_registry.operator_names
given = numpy.load(arrays)
results = {}
for step in range(sum(name.endswith("/input_0") for name in given)):
    inputs = [torch.from_numpy(given[f"step_{step}/input_{k}"]) for k in (0, 1)]
    results[f"step_{step}/output_0"] = method.execute(inputs)[0].numpy()
numpy.savez(out, **results)
"""


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def check(model, arrays, attentions, tmp_path):
    program, report, out = (tmp_path / name for name in ("model.pte", "report.json", "out.npz"))
    compile = (sys.executable, "-m", "layline", "compile", model, "-o", program)
    run(*compile, "--kernels", "llm", "--report", report)
    made = json.loads(report.read_text())
    assert "llama::custom_sdpa.out" in made["kernels"]
    counts = {entry["op"]: entry["count"] for entry in made["portable_ops"]}
    assert counts["causal_attention"] == attentions
    run(sys.executable, "-c", _RUN, program, arrays, out)
    with numpy.load(arrays) as expected, numpy.load(out) as given:
        assert len(given.files) > 3
        for name in given.files:
            numpy.testing.assert_allclose(given[name], expected[name], atol=1e-5, err_msg=name)


@pytest.mark.parametrize("name, count", [("decoder", 1), ("decoder_strict", 1), ("custom_ops", 2)])
def test_fixtures(name, count, data, tmp_path):
    check(data / f"{name}.pt2", data / f"{name}.npz", count, tmp_path)


def test_a_long_cache(transformers, tmp_path, monkeypatch):
    """A decoder of transformers whose cache is so long that layline's own attention counts keys."""
    pytest.importorskip("torchao")
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "models"))
    import decoders

    monkeypatch.setattr(decoders, "PLACES", 300)
    monkeypatch.setattr(decoders, "LENGTHS", (5, 1, 120, 1, 150, 1))
    torch.manual_seed(5)
    decoders._write(tmp_path, "long")
    check(tmp_path / "long.pt2", tmp_path / "long.npz", 1, tmp_path)
