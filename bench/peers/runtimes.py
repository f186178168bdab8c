"""Runs a converted model in one of the other runtimes, as a process of its own, so that what loading
adds to the resident memory is that runtime's alone.

    runtimes.py RUNTIME MODEL THREADS REFERENCE

The inputs are input_I of REFERENCE, an .npz file, and the outputs are compared with output_I. Prints a
line of JSON: load_ms (from the file to a session that is ready), memory_bytes (what loading and the
first run added), error and version. Then, for every number of seconds that it reads, it runs the
model for about that long, and prints the run times in milliseconds as a JSON list.

Every runtime computes in float32 on the given number of threads. A run includes handing over the
inputs and reading the outputs as numpy arrays, as a user of the Python API does.
"""

import json
import re
import sys
import time
from pathlib import Path

import numpy as np


def load_onnxruntime(model, threads):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    onnxruntime.set_default_logger_severity(3)

    def load():
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        names = [x.name for x in session.get_inputs()]
        return lambda inputs: session.run(None, dict(zip(names, inputs, strict=True)))

    return load, onnxruntime.__version__


def load_openvino(model, threads):
    import openvino

    # Without the precision, processors that have bfloat16 units would use them.
    settings = {
        "INFERENCE_NUM_THREADS": threads,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
    }

    def load():
        request = openvino.compile_model(model, "CPU", settings).create_infer_request()

        def run(inputs):
            results = request.infer(list(inputs), share_inputs=True, share_outputs=True)
            return list(results.values())

        return run

    return load, re.match(r"[\d.]+\d", openvino.__version__).group()


def load_litert(model, threads):
    from importlib.metadata import version

    from ai_edge_litert.interpreter import Interpreter

    def load():
        interpreter = Interpreter(model_path=model, num_threads=threads)
        interpreter.allocate_tensors()
        # The converter makes 32-bit tokens of 64-bit ones.
        inputs_of_model = [(x["index"], x["dtype"]) for x in interpreter.get_input_details()]
        outputs_of_model = [x["index"] for x in interpreter.get_output_details()]

        def run(inputs):
            for (index, dtype), value in zip(inputs_of_model, inputs, strict=True):
                interpreter.set_tensor(index, value.astype(dtype, copy=False))
            interpreter.invoke()
            return [interpreter.get_tensor(index) for index in outputs_of_model]

        return run

    return load, version("ai-edge-litert")


def load_mnn(model, threads):
    import MNN

    def load():
        network = MNN.Interpreter(model)
        session = network.createSession({"numThread": threads, "precision": "high"})
        inputs_of_model = list(network.getSessionInputAll(session).values())
        outputs_of_model = list(network.getSessionOutputAll(session).values())

        def host(array):
            kind = MNN.Halide_Type_Float
            return MNN.Tensor(array.shape, kind, array, MNN.Tensor_DimensionType_Caffe)

        def run(inputs):
            for tensor, value in zip(inputs_of_model, inputs, strict=True):
                tensor.copyFrom(host(value))
            network.runSession(session)
            results = []
            for tensor in outputs_of_model:
                result = host(np.zeros(tensor.getShape(), np.float32))
                tensor.copyToHostTensor(result)
                results.append(np.array(result.getNumpyData()))
            return results

        return run

    return load, MNN.version()


RUNTIMES = {
    "onnxruntime": load_onnxruntime,
    "openvino": load_openvino,
    "litert": load_litert,
    "mnn": load_mnn,
}


def resident_bytes():
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1)) * 1024


def arrays(reference, stem):
    """The arrays input_0, input_1, ... of an .npz file, in order."""
    with np.load(reference) as archive:
        names = [name for name in archive.files if name.startswith(f"{stem}_")]
        return [archive[name] for name in sorted(names, key=lambda n: int(n.rpartition("_")[2]))]


def largest_error(actual, expected):
    """The largest difference, relative to the largest expected value; NaN where one is NaN."""
    if [a.shape for a in actual] != [e.shape for e in expected]:
        raise ValueError(f"outputs {[a.shape for a in actual]}, expected {[e.shape for e in expected]}")
    return max(
        float(np.max(np.abs(a - e)) / (np.max(np.abs(e)) or 1.0))
        for a, e in zip(actual, expected, strict=True)
    )


def timed(run, inputs, seconds):
    times = []
    end = time.perf_counter() + seconds
    while not times or time.perf_counter() < end:
        start = time.perf_counter()
        run(inputs)
        times.append((time.perf_counter() - start) * 1e3)
    return times


def main():
    runtime, model, threads, reference = sys.argv[1:]
    # What the runtimes themselves print must not stand between the answers.
    answers = sys.stdout
    sys.stdout = sys.stderr
    inputs, expected = arrays(reference, "input"), arrays(reference, "output")
    load, version = RUNTIMES[runtime](model, int(threads))

    def answer(value):
        print("answer " + json.dumps(value), file=answers, flush=True)

    before, start = resident_bytes(), time.perf_counter()
    run = load()
    load_ms = (time.perf_counter() - start) * 1e3
    outputs = run(inputs)
    memory = resident_bytes() - before
    error = largest_error([np.array(output) for output in outputs], expected)
    answer({"load_ms": load_ms, "memory_bytes": memory, "error": error, "version": version})
    for line in sys.stdin:
        answer(timed(run, inputs, float(line)))


if __name__ == "__main__":
    main()
