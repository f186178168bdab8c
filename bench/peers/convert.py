"""Converts a model of zoo/ for another runtime, with that runtime's own tools.

    convert.py MODEL.pt2 FORMAT OUTPUT

FORMAT is a key of CONVERTERS. OUTPUT is the file to write; OpenVINO's and MNN's are made from the
.onnx file beside it. The file of NAME.int8 is made from that of NAME, the network in floats, by the static
quantisation of ONNX Runtime, LiteRT or MNN: 8 bits for activations, and for weights by channel, calibrated
with the inputs of zoo/NAME.npz, as zoo/NAME.int8.pt2 is; inputs and outputs stay floats. OpenVINO's is made from
the quantised .onnx file. Prints, as the last line, {"seconds": ...}: the time of the conversion alone, after
the model is loaded and the tools are imported, until the file is written.
"""

import json
import sys
import time
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")


def to_onnx(model, output):
    import torch

    program = torch.export.load(model)
    start = time.monotonic()
    torch.onnx.export(program, (), output, dynamo=True, external_data=False, verbose=False)
    return time.monotonic() - start


def in_floats(output):
    """The file of the network in floats."""
    return output.with_name(Path(output.stem).stem + output.suffix)


def calibration_inputs(model, onnx_file):
    """The inputs of the network in floats, by their names in the .onnx file."""
    import onnx
    import runtimes

    names = [value.name for value in onnx.load(onnx_file, load_external_data=False).graph.input]
    return dict(zip(names, runtimes.arrays(model.with_suffix(".npz"), "input"), strict=True))


def to_quantised_onnx(model, output):
    from onnxruntime import quantization
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Calibration(quantization.CalibrationDataReader):
        def __init__(self, inputs):
            self.batches = iter([inputs])

        def get_next(self):
            return next(self.batches, None)

    source = in_floats(output)
    inputs = calibration_inputs(model, source)
    start = time.monotonic()
    prepared = output.with_suffix(".prepared")
    quant_pre_process(str(source), str(prepared), skip_symbolic_shape=True)
    quantization.quantize_static(
        str(prepared), str(output), Calibration(inputs), per_channel=True,
        quant_format=quantization.QuantFormat.QDQ,
        activation_type=quantization.QuantType.QUInt8, weight_type=quantization.QuantType.QInt8,
    )  # fmt: skip
    prepared.unlink()
    return time.monotonic() - start


def to_openvino(model, output):
    import openvino

    start = time.monotonic()
    converted = openvino.convert_model(output.with_suffix(".onnx"))
    openvino.save_model(converted, output, compress_to_fp16=False)
    return time.monotonic() - start


def to_mnn(model, output):
    # The converter itself. Its command, mnnconvert, and all of MNN.tools install another package with
    # the first `pip` of PATH, outside the venv, and report every conversion to a server.
    import _tools

    source = output.with_suffix(".onnx")
    start = time.monotonic()
    _tools.mnnconvert(["", "-f", "ONNX", "--modelFile", str(source), "--MNNModel", str(output)])
    return time.monotonic() - start


def to_quantised_mnn(model, output):
    import tempfile

    import _tools
    import numpy as np

    source = in_floats(output)
    inputs = calibration_inputs(model, source.with_suffix(".onnx"))
    with tempfile.TemporaryDirectory() as scratch:
        sample = Path(scratch) / "samples" / "0"
        sample.mkdir(parents=True)
        listed = [{"name": name, "shape": value.shape} for name, value in inputs.items()]
        (sample / "input.json").write_text(json.dumps({"inputs": listed}))
        for name, value in inputs.items():
            np.savetxt(sample / f"{name}.txt", value.reshape(-1))
        # EMA is the largest value of the samples; with the default, KL, mnnquant 3.6.1 ends with a signal.
        settings = Path(scratch) / "settings.json"
        settings.write_text(json.dumps({
            "path": f"{sample.parent}/", "input_type": "sequence", "used_sample_num": 1,
            "batch_size": 1, "feature_quantize_method": "EMA", "weight_quantize_method": "MAX_ABS",
        }))  # fmt: skip
        start = time.monotonic()
        _tools.mnnquant(["", str(source), str(output), str(settings)])
        return time.monotonic() - start


def to_litert(model, output):
    import litert_torch
    import torch

    program = torch.export.load(model)
    inputs, _ = program.example_inputs
    start = time.monotonic()
    litert_torch.convert(program.module(), inputs).export(str(output))
    return time.monotonic() - start


def to_quantised_litert(model, output):
    import runtimes
    from ai_edge_litert.interpreter import Interpreter
    from ai_edge_quantizer import quantizer, recipe
    from ai_edge_quantizer.qtyping import TFLOperationName

    source = str(in_floats(output))
    ((signature, names),) = Interpreter(source).get_signature_list().items()
    inputs = runtimes.arrays(model.with_suffix(".npz"), "input")
    start = time.monotonic()
    quantised = quantizer.Quantizer(source)
    quantised.load_quantization_recipe(recipe.static_wi8_ai8())
    for boundary in (TFLOperationName.INPUT, TFLOperationName.OUTPUT):
        quantised.update_quantization_recipe(".*", boundary, algorithm_key="no_quantize")
    sample = dict(zip(names["inputs"], inputs, strict=True))
    result = quantised.quantize(quantised.calibrate({signature: [sample]}))
    result.export_model(str(output), overwrite=True)
    return time.monotonic() - start


CONVERTERS = {"onnx": to_onnx, "xml": to_openvino, "mnn": to_mnn, "tflite": to_litert}
CONVERTERS_INT8 = {
    "onnx": to_quantised_onnx, "xml": to_openvino, "mnn": to_quantised_mnn,
    "tflite": to_quantised_litert,
}  # fmt: skip

if __name__ == "__main__":
    model, form, output = sys.argv[1:]
    converters = CONVERTERS_INT8 if Path(output).stem.endswith(".int8") else CONVERTERS
    seconds = converters[form](Path(model), Path(output))
    print(json.dumps({"seconds": round(seconds, 2)}))
