"""Converts a model of zoo/ for another runtime, with that runtime's own tools.

    convert.py MODEL.pt2 FORMAT OUTPUT

FORMAT is a key of CONVERTERS. OUTPUT is the file to write; OpenVINO's and MNN's are made from the
.onnx file beside it. The .onnx file of NAME.int8 is made from that of NAME, the network in floats, by
ONNX Runtime's static quantisation: 8 bits for activations, and for weights by channel, calibrated with
the inputs of zoo/NAME, as zoo/NAME.int8.pt2 is. Prints, as the last line, {"seconds": ...}: the time of the conversion alone,
after the model is loaded and the tools are imported, until the file is written.
"""

import json
import sys
import time
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")


def to_onnx(model, output):
    if output.stem.endswith(".int8"):
        return to_quantised_onnx(model.parent / Path(output.stem).stem, output)
    import torch

    program = torch.export.load(model)
    start = time.monotonic()
    torch.onnx.export(program, (), output, dynamo=True, external_data=False, verbose=False)
    return time.monotonic() - start


def to_quantised_onnx(reference, output):
    from onnxruntime import quantization
    from onnxruntime.quantization.shape_inference import quant_pre_process

    import runtimes

    class Calibration(quantization.CalibrationDataReader):
        def __init__(self, names):
            values = runtimes.arrays(reference, "input")
            self.batches = iter([dict(zip(names, values, strict=True))])

        def get_next(self):
            return next(self.batches, None)

    import onnx

    source = output.parent / f"{reference.name}.onnx"
    names = [value.name for value in onnx.load(source, load_external_data=False).graph.input]
    start = time.monotonic()
    prepared = output.with_suffix(".prepared")
    quant_pre_process(str(source), str(prepared), skip_symbolic_shape=True)
    quantization.quantize_static(
        str(prepared), str(output), Calibration(names), per_channel=True,
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


def to_litert(model, output):
    import litert_torch
    import torch

    program = torch.export.load(model)
    inputs, _ = program.example_inputs
    start = time.monotonic()
    litert_torch.convert(program.module(), inputs).export(str(output))
    return time.monotonic() - start


CONVERTERS = {"onnx": to_onnx, "xml": to_openvino, "mnn": to_mnn, "tflite": to_litert}

if __name__ == "__main__":
    model, form, output = sys.argv[1:]
    seconds = CONVERTERS[form](Path(model), Path(output))
    print(json.dumps({"seconds": round(seconds, 2)}))
