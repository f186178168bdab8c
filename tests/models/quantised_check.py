"""Compares quantised zoo models, compiled by layline, with torch and with ExecuTorch's own lowering.

    quantised_check.py LAYLINE ZOO_DIR PAGE [--inputs N] [NAME.VARIANT...]

For each model: delegates, kernels outside them and permutes, beside those of the float model and of
NAME.VARIANT.executorch.pte (baseline.py writes it, or why there is none). Then, on N random inputs,
each program run by the stock runtime:

- how often the greatest output is that of torch's own quantised graph;
- of scales that are fixed: the mean difference from torch, in steps of the output's scale, or of
  1/255 of torch's range where the output is not quantised;
- of scales that are chosen at run time: the mean error against the float model, relative to its mean
  output, beside the error of torch's quantised graph. (Kernels choose a scale for each row or image,
  torch one for the whole tensor, so the two differ by design.)

Where fixed scales leave us a step off or more, torch's own graph is run again, on some of the inputs,
with its sums exact (torch adds floats, in an order of its own), and then as integer kernels are
defined, with exact sums and biases rounded to 32-bit integers in the scale of the sums. No integer
kernel is nearer to torch, but by luck.

Results go into ZOO_DIR/quantised.json, and the table of all of them between the marks in PAGE. The
exit code says whether every model is as it should be: as many delegates and permutes as the float
model or fewer (placement minimises time, so it may have more permutes of fewer bytes), at most one
more kernel outside, less than a step off on average (or hardly more than
exact integer sums are), no worse against the float model than torch, torch's greatest output as often
as ExecuTorch's own program.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import executorch.kernels.quantized  # noqa: F401  (registers kernels)
import numpy as np
import torch
from executorch.runtime import Runtime
from torch.utils import _pytree as pytree
from torchao.quantization.pt2e import quantize_pt2e  # noqa: F401  (registers ops)

from generated_section import write_section
from program_stats import stats

VARIANTS = ("int8", "w8a8", "int4")
EXACT_INPUTS = 16


def compiled(layline, model, program):
    report = program.with_suffix(".json")
    command = [layline, "compile", model, "-o", program, "--report", report]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        raise RuntimeError(result.stderr.strip().splitlines()[-1])
    told = json.loads(report.read_text())
    return {
        "delegates": told["delegates"],
        "kernels": sum(op["count"] for op in told["portable_ops"]),
        "permutes": told["permutes"]["final"],
        "permuted_bytes": told["permutes"]["bytes"],
    }


def counted(program):
    told = stats(program)
    return {
        "delegates": told["delegates"],
        "kernels": told["kernels"],
        "permutes": told["transposes"],
    }


def torch_model(file):
    module = torch.export.load(file).module()
    return lambda inputs: pytree.tree_leaves(module(*inputs))


class ExactSums(torch.fx.Interpreter):
    """torch's graph with sums of quantised numbers exact, and their biases as they are, or integers
    of 32 bits."""

    def __init__(self, file, integer_biases):
        super().__init__(torch.export.load(file).module(), garbage_collect_values=False)
        self.integer_biases = integer_biases

    def __call__(self, inputs):
        return pytree.tree_leaves(self.run(*inputs))

    def run_node(self, node):
        kernel = str(node.target).split(".")[:2]
        if kernel not in (["aten", "conv2d"], ["aten", "linear"]):
            return super().run_node(node)
        x, weight = node.args[:2]
        if "dequantize_per_tensor" not in str(x.target) or "dequantize_per_channel" not in str(weight.target):
            return super().run_node(node)
        arguments, keywords = self.fetch_args_kwargs_from_env(node)
        arguments = [v.double() if isinstance(v, torch.Tensor) else v for v in arguments]
        if self.integer_biases and len(arguments) > 2 and arguments[2] is not None:
            scale = self.env[weight.args[1]].double() * x.args[1]
            arguments[2] = (arguments[2] / scale).round() * scale
        return node.target(*arguments, **keywords).float()


def runtime_model(file):
    method = Runtime.get().load_program(file).load_method("forward")
    return lambda inputs: [value.clone() for value in method.execute(inputs)]


def output_steps(file):
    """The scale with which each output was quantised at last; none for one that was not."""
    program = torch.export.load(file)
    nodes = {node.name: node for node in program.graph.nodes}
    moves = ("view", "reshape", "flatten", "permute", "transpose", "squeeze", "unsqueeze")
    steps = []
    for name in program.graph_signature.user_outputs:
        node = nodes[name]
        while node.op == "call_function" and str(node.target).split(".")[1] in moves:
            node = node.args[0]
        if "dequantize_per_tensor.default" not in str(node.target):
            node = None
        steps.append(node.args[1] if node else None)
    return steps


def random_inputs(examples, generator):
    """Images of noise; tokens and masks as in the example, shuffled."""
    inputs = []
    for x in examples:
        if x.is_floating_point():
            inputs.append(torch.randn(x.shape, generator=generator, dtype=x.dtype))
        else:
            order = torch.randperm(x.numel(), generator=generator)
            inputs.append(x.flatten()[order].reshape(x.shape))
    return inputs


def span(value):
    return (value.max() - value.min()).item()


def mean_difference(actual, expected, units):
    parts = [(a - e).abs().mean().item() / u for a, e, u in zip(actual, expected, units)]
    return sum(parts) / len(parts)


def agreement(models, steps, has_float, examples, count):
    """Sums over all inputs, by model: "torch", "layline" and "executorch"."""
    generator = torch.Generator().manual_seed(1)
    same = dict.fromkeys(models, 0)
    off = dict.fromkeys(models, 0.0)
    for _ in range(count):
        inputs = random_inputs(examples, generator)
        with torch.no_grad():
            results = {side: run([x.clone() for x in inputs]) for side, run in models.items()}
        expected = results["torch"]
        base = results["float"] if has_float else expected
        if steps:
            units = [step or span(value) / 255 for step, value in zip(steps, expected)]
        else:
            units = [value.abs().mean().item() for value in base]
        for side, result in results.items():
            same[side] += int(result[0].argmax() == expected[0].argmax())
            off[side] += mean_difference(result, expected if steps else base, units) / count
    return same, off


def not_lowered(zoo, name):
    """Why ExecuTorch has no program of the model, as baseline.py found it."""
    table = zoo / "baseline.json"
    entries = json.loads(table.read_text()) if table.exists() else {}
    return entries.get(name, {}).get("fails")


def check(layline, zoo, name, count, scratch):
    source, program = zoo / f"{name}.pt2", scratch / "program.pte"
    base = zoo / f"{name.partition('.')[0]}.pt2"
    theirs = zoo / f"{name}.executorch.pte"
    with np.load(zoo / f"{name}.npz") as arrays:
        names = sorted(array for array in arrays.files if array.startswith("input_"))
        examples = [torch.from_numpy(arrays[array]) for array in names]
    result = {"inputs": count, "layline": compiled(layline, source, program)}
    result["float"] = compiled(layline, base, scratch / "float.pte")
    steps = output_steps(source) if name.endswith(".int8") else None
    models = {"torch": torch_model(source), "layline": runtime_model(program)}
    if not steps:
        models["float"] = torch_model(base)
    if theirs.exists():
        result["executorch"] = counted(theirs)
        try:
            models["executorch"] = runtime_model(theirs)
            models["executorch"](examples)
        except RuntimeError as error:
            models.pop("executorch", None)
            told = str(error).strip().splitlines()[0][:100]
            result["executorch"]["fails"] = f"is lowered but does not run: {told}"
    elif fails := not_lowered(zoo, name):
        result["executorch"] = {"fails": f"cannot be lowered: {fails}"}
    result["in_steps"] = steps is not None
    same, off = agreement(models, steps, not steps, examples, count)
    for side in models.keys() - {"float"}:
        result.setdefault(side, {}).update(same=same[side], off=off[side])
    if steps and off["layline"] >= 1:
        models = {side: models[side] for side in ("torch", "layline")}
        models |= {"sums": ExactSums(source, False), "integers": ExactSums(source, True)}
        result["exact"] = agreement(models, steps, False, examples, min(count, EXACT_INPUTS))[1]
    return result


def faults(result):
    """What is not as it should be."""
    ours, real, theirs = result["layline"], result["float"], result.get("executorch", {})
    if ours["delegates"] > real["delegates"]:
        yield "more delegates than the float model"
    if ours["permutes"] > real["permutes"] and ours["permuted_bytes"] >= real["permuted_bytes"]:
        yield "more permutes than the float model, of as many bytes"
    if ours["kernels"] > real["kernels"] + 1:
        yield "more kernels outside than the float model"
    exact = result.get("exact", {"layline": ours["off"], "integers": 0})
    if result["in_steps"] and exact["layline"] >= max(1, 1.05 * exact["integers"]):
        yield "a step off on average"
    # Real numbers are added up in another order: errors that are equal differ in the last digits.
    if not result["in_steps"] and ours["off"] > 1.001 * result["torch"]["off"]:
        yield "further from the float model than torch"
    if result["in_steps"] and ours["same"] < theirs.get("same", 0):
        yield "torch's greatest output less often than ExecuTorch's"


def row(name, result):
    sides = ("float", "layline", "executorch")
    shown = [name]
    for key in ("delegates", "kernels", "permutes"):
        shown += [result.get(side, {}).get(key, "–") for side in sides]
    off = [result.get(side, {}).get("off") for side in ("torch", "layline", "executorch")]
    for side in sides[1:]:
        same = result.get(side, {}).get("same")
        shown.append("–" if same is None else f"{same} of {result['inputs']}")
    steps = ["–" if value is None or not result["in_steps"] else f"{value:.2f}" for value in off]
    errors = ["–" if value is None or result["in_steps"] else f"{value:.1%}" for value in off]
    return [*shown, *steps[1:], *errors]


def table(results):
    head = ["model", "delegates", "", "", "kernels outside", "", "", "permutes", "", "",
            "greatest output as torch's", "", "steps off", "", "error against float", "", ""]
    names = ["", *["float", "layline", "ExecuTorch"] * 3, *["layline", "ExecuTorch"] * 2,
             "torch", "layline", "ExecuTorch"]
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), names,
             *(row(*item) for item in sorted(results.items()))]
    text = "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines)
    for name, result in sorted(results.items()):
        if "fails" in result.get("executorch", {}):
            text += f"\nExecuTorch: {name} {result['executorch']['fails']}\n"
        if exact := result.get("exact"):
            text += (
                f"\n{name}, {EXACT_INPUTS} inputs: torch's own graph is {exact['sums']:.2f} steps off"
                f" with its sums exact, {exact['integers']:.2f} with biases of 32 bits, too;"
                f" layline's program {exact['layline']:.2f}.\n"
            )
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("layline", type=Path)
    parser.add_argument("zoo", type=Path)
    parser.add_argument("page", type=Path)
    parser.add_argument("--inputs", type=int, default=64)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_intermixed_args()
    names = arguments.names or sorted(
        file.stem for variant in VARIANTS for file in arguments.zoo.glob(f"*.{variant}.pt2")
    )
    known = arguments.zoo / "quantised.json"
    wrong = False
    torch.set_num_threads(1)
    for name in names:
        with tempfile.TemporaryDirectory() as scratch:
            try:
                result = check(arguments.layline, arguments.zoo, name, arguments.inputs, Path(scratch))
            except RuntimeError as error:
                print(f"{name}: {error}", flush=True)
                wrong = True
                continue
        # Read anew: another process may have added to it meanwhile.
        results = json.loads(known.read_text()) if known.exists() else {}
        results[name] = result
        known.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
        found = list(faults(result))
        wrong = wrong or bool(found)
        print(f"{name}: {', '.join(found) or 'as it should be'}", flush=True)
    results = json.loads(known.read_text()) if known.exists() else {}
    write_section(arguments.page, "quantised-check", table(results))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
