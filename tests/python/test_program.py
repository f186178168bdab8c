"""The package without torch: models from files, NumPy arrays in and out."""

import dataclasses
import json
import subprocess
import sys
import threading

import layline
import numpy
import pytest


def test_runs_as_torch_does(data, arrays):
    program = layline.compile(data / "mobile_block.pt2")
    outputs = program.run(*arrays("mobile_block", "input"))
    expected = arrays("mobile_block", "output")
    assert len(outputs) == len(expected)
    for output, wanted in zip(outputs, expected):
        assert isinstance(output, numpy.ndarray)
        numpy.testing.assert_allclose(output, wanted, rtol=1e-4, atol=1e-5)


def test_inputs_by_name_and_in_any_strides(data, arrays):
    program = layline.compile(data / "mobile_block.pt2")
    (x,) = arrays("mobile_block", "input")
    (wanted,) = program.run(x)
    name = program.report.inputs[0].name
    channels_last = numpy.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    assert not channels_last.flags.c_contiguous
    numpy.testing.assert_array_equal(program.run(**{name: channels_last})[0], wanted)
    padded = numpy.zeros((*x.shape[:-1], x.shape[-1] * 2), x.dtype)
    padded[..., ::2] = x
    numpy.testing.assert_array_equal(program.run(padded[..., ::2])[0], wanted)
    read_only = x.copy()
    read_only.flags.writeable = False
    numpy.testing.assert_array_equal(program.run(read_only)[0], wanted)


def test_half_precision(data, arrays):
    outputs = layline.compile(data / "half_net.pt2").run(*arrays("half_net", "input"))
    assert outputs[0].dtype == numpy.float16
    numpy.testing.assert_allclose(
        outputs[0].astype("f4"), arrays("half_net", "output")[0].astype("f4"), rtol=1e-2, atol=1e-2
    )


def test_dynamic_sizes(data, arrays):
    program = layline.compile(data / "dynamic_batch.pt2")
    (output,) = program.run(*arrays("dynamic_batch", "size_2/input"))
    (expected,) = arrays("dynamic_batch", "size_2/output")
    numpy.testing.assert_allclose(output, expected, rtol=1e-4, atol=1e-5)
    assert program.report.inputs[0].symbolic_shape is not None


def test_states_live_until_reset(data):
    program = layline.compile(data / "state_counter.pt2")
    shapes = [(tensor.shape, tensor.dtype) for tensor in program.report.inputs]
    given = [numpy.ones(shape, {"f32": "f4", "i64": "i8"}[dtype]) for shape, dtype in shapes]
    first = [output.copy() for output in program.run(*given)]
    second = program.run(*given)
    assert any(not numpy.array_equal(a, b) for a, b in zip(first, second))
    program.reset()
    for a, b in zip(first, program.run(*given)):
        numpy.testing.assert_array_equal(a, b)


def test_outputs_outlive_the_program(data, arrays):
    program = layline.compile(data / "mobile_block.pt2")
    inputs = arrays("mobile_block", "input")
    (output,) = program.run(*inputs)
    kept = output.copy()
    program.run(*[x * 2 for x in inputs])
    del program
    numpy.testing.assert_array_equal(output, kept)


def test_saved_program_runs_elsewhere(data, arrays, tmp_path):
    program = layline.compile(data / "mobile_block.pt2")
    path = tmp_path / "block.pte"
    program.save(path)
    assert path.read_bytes() == program.buffer
    inputs = arrays("mobile_block", "input")
    for source in (path, str(path), program.buffer):
        numpy.testing.assert_array_equal(
            layline.Session(source).run(*inputs)[0], program.run(*inputs)[0]
        )


def test_threads_may_share_a_program(data, arrays):
    program = layline.compile(data / "mobile_block.pt2")
    inputs = arrays("mobile_block", "input")
    (wanted,) = program.run(*inputs)
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(program.run(*inputs)[0])) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8
    for result in results:
        numpy.testing.assert_array_equal(result, wanted)


def keys(value):
    """The keys of JSON objects, nested as they are; of a list, those of all its items."""
    if isinstance(value, dict):
        return {key: keys(member) for key, member in value.items()}
    if isinstance(value, list):
        merged = {}
        for item in value:
            merged.update(keys(item) or {})
        return merged or None
    return None


@pytest.mark.parametrize("model", ["mobile_block", "dynamic_batch", "state_counter", "half_net"])
def test_the_report_has_every_key_of_the_json(data, model):
    program = layline.compile(data / f"{model}.pt2")
    written = json.loads(program._compiled.report_json())
    # What is only for Model Explorer.
    graphs = {graph["id"] for graph in written["graphs"]}
    written = {key: value for key, value in written.items() if key not in {"label", "graphs", *graphs}}

    def as_json(value):
        if dataclasses.is_dataclass(value):
            members = {}
            for field in dataclasses.fields(value):
                member = getattr(value, field.name)
                if member is not None:
                    members[field.metadata.get("key", field.name)] = as_json(member)
            return members
        return [as_json(item) for item in value] if isinstance(value, list) else value

    assert as_json(program.report) == written
    assert keys(as_json(program.report)) == keys(written)


def test_options_are_those_of_the_command(data):
    model = data / "mobile_block.pt2"
    name = layline.compile(model).report.inputs[0].name
    assert layline.compile(model).report.permutes.final == 1
    assert layline.compile(model, input_order={name: "nhwc"}).report.permutes.final == 0
    assert layline.compile(model, disable=["delegate"]).report.delegates == 0
    assert layline.compile(model, verify=True).report.delegates == 1
    tosa = layline.compile(model, target="tosa")
    assert tosa.buffer[4:8] == b"TOSA"
    with pytest.raises(layline.Error, match="a program for tosa does not run on this machine"):
        tosa.run(numpy.zeros(1))


def test_targets_are_those_of_the_compiler(data):
    assert list(layline.targets())[0] == layline.compile(data / "mobile_block.pt2").report.target
    assert layline.targets()["tosa"] == "a TOSA 1.0 .tosa for Arm NPUs"
    with pytest.raises(layline.Error, match=" and ".join(layline.targets())):
        layline.compile(data / "mobile_block.pt2", target="other")


def test_explains(data):
    program = layline.compile(data / "mobile_block.pt2")
    text = program.explain()
    assert "no choice of loop orders takes less" in text
    survivor = program.report.permutes.survivors[0]
    assert survivor.forced_by[1] in text
    node = survivor.forced_by[1].split(" ")[0]
    assert "in the program" in program.explain(node)
    with pytest.raises(layline.Error, match="no node `nowhere`"):
        program.explain("nowhere")


def test_shows_itself_in_notebooks(data):
    program = layline.compile(data / "mobile_block.pt2")
    report = program.report
    assert f"{report.ops} ops" in repr(program)
    shown = program._repr_html_()
    assert f"<td>{report.ops}</td>" in shown
    assert "<script" not in shown


def test_writes_reports(data, tmp_path):
    program = layline.compile(data / "mobile_block.pt2")
    program.save_report(tmp_path / "report.json")
    assert json.loads((tmp_path / "report.json").read_text())["ops"] == program.report.ops
    program.save_report(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")


def refused(match, *args, **options):
    with pytest.raises(layline.Error, match=match) as caught:
        layline.compile(*args, **options)
    assert "\n" not in str(caught.value)


def test_refusals_of_models(data, tmp_path):
    refused("nowhere.pt2", tmp_path / "nowhere.pt2")
    refused("not int", 3)
    refused("no target `gpu`", data / "mobile_block.pt2", target="gpu")
    refused("nhwc or nchw, not 'hwnc'", data / "mobile_block.pt2", input_order={"x": "hwnc"})
    refused("nothing", data / "mobile_block.pt2", disable=["nothing"])
    refused("exported already", data / "mobile_block.pt2", (1,))
    # The user's own node and line of source.
    refused(r"nonzero.*\.py:\d+", data / "bad" / "nonzero.pt2")


def test_refusals_of_inputs(data, arrays):
    program = layline.compile(data / "mobile_block.pt2")
    (x,) = arrays("mobile_block", "input")

    def refused(match, *inputs, **named):
        with pytest.raises(layline.Error, match=match):
            program.run(*inputs, **named)

    refused("not given")
    refused("2 inputs are given", x, x)
    refused("no input `other`", x, other=x)
    refused("expected f32", x.astype("f8"))
    refused("expected f32", x[..., 1:])
    refused("not list", [1, 2])
    refused("dtype", x.astype("c8"))
    refused("`backward` is not loaded", x, method="backward")
    program.run(x)  # still fine


def test_a_damaged_program_is_refused(tmp_path):
    damaged = tmp_path / "damaged.pte"
    damaged.write_bytes(b"ET12" * 100)
    with pytest.raises(layline.Error):
        layline.Session(damaged)
    with pytest.raises(layline.Error):
        layline.Session(damaged.read_bytes())
    with pytest.raises(layline.Error, match="nowhere"):
        layline.Session(tmp_path / "nowhere.pte")


def test_the_command_is_in_the_package(data, tmp_path):
    program = layline.compile(data / "mobile_block.pt2")
    command = [sys.executable, "-m", "layline"]
    version = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert version.stdout == f"layline {program.report.version}\n"
    model = str(data / "mobile_block.pt2")
    subprocess.run([*command, "compile", model], cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "mobile_block.pte").read_bytes() == program.buffer
    assert subprocess.run([*command, "compile", "no.pt2"], capture_output=True).returncode == 1


def test_an_input_that_lies_right_is_copied_once(tmp_path):
    """Into the runtime's memory, and nowhere else: by the peak of a process that has nothing else."""
    size = 128 << 20
    (tmp_path / "sum.txt").write_text(
        f'graph "forward" {{\n  input "x" %x : f32[8,{size // 32}]\n  %y = reduce_sum(%x) {{ axes = [1] }}\n  output "y" %y\n}}\n'
    )
    script = """
import layline, numpy, resource
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
program = layline.compile("sum.txt", disable=["delegate"])  # XNNPACK has memory of its own
x = numpy.ones((8, SIZE // 32), "f4")
before = peak()
(y,) = program.run(x)
assert y[0, 0] == SIZE // 32, y
print(peak() - before)
""".replace("SIZE", str(size))
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert int(ran.stdout) < 1.6 * size


def test_only_running_loads_the_runtime(data):
    script = f"""
import sys, layline
layline.compile({str(data / "mobile_block.pt2")!r})
assert "layline._runtime" not in sys.modules
assert "torch" not in sys.modules
assert "libexecutorch" not in open("/proc/self/maps").read()
"""
    subprocess.run([sys.executable, "-c", script], check=True)
