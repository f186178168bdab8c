"""Converts a model of zoo/ for another runtime, with that runtime's own tools.

    convert.py MODEL.pt2 FORMAT OUTPUT

FORMAT is a key of CONVERTERS. OUTPUT is the file to write; OpenVINO's and MNN's are made from the
.onnx file beside it. Prints, as the last line, {"seconds": ...}: the time of the conversion alone,
after the model is loaded and the tools are imported, until the file is written.
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
