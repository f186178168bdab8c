"""Compares layline with ExecuTorch's own programs, ONNX Runtime, OpenVINO, LiteRT and MNN.

    compare.py [--threads N...] [--rounds N] [--seconds S] [--convert] [--models NAME...]

Each model zoo/NAME.pt2 is converted for every runtime (convert.py; kept in zoo/peers/ until the model
or the converter's version changes) and compiled by layline. Every runtime's outputs are compared with
torch's. Then come rounds: in each one every runtime runs the model for a while, alone, in an order
that turns from round to round, so that what disturbs the machine disturbs them all. A runtime's
latency is the median over the rounds of its median in a round, and its ratio the median over the
rounds of its latency over ours in the same round.

NAME.int8 is a network whose convolutions and products are quantised, statically; the others get theirs
from the network in floats (convert.py), and every runtime is compared with torch's floats.

layline's and ExecuTorch's programs run in the stock ExecuTorch runtime through `layline bench`, the
others through their Python packages (runtimes.py). --convert only converts, for which the machine need
not be quiet. The results go into zoo/peers.json, and the tables of all of them into
docs/benchmarks.md. LAYLINE chooses another command than build/layline.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np

import runtimes
import tables
from executorch_release import executorch_release
from expectations import CNNS, TRANSFORMERS
from generated_section import write_section
from machine import machine
from progress import Progress

ROOT = Path(__file__).resolve().parent.parent.parent
ZOO = ROOT / "zoo"
CONVERTED = ZOO / "peers"
CONVERSIONS = CONVERTED / "conversions.json"
RESULTS = ZOO / "peers.json"
PAGE = ROOT / "docs" / "benchmarks.md"
LAYLINE = os.environ.get("LAYLINE", str(ROOT / "build" / "layline"))
MODELS = [
    *CNNS, *TRANSFORMERS, "mobilenet_v2.int8", "mobilenet_v3_small.int8", "resnet18.int8",
    "resnet50.int8", "efficientnet_b0.int8", "shufflenet_v2_x1_0.int8",
]  # fmt: skip
# A runtime that is further from torch's outputs than this computes something else; in int8, that is no
# more than a plausibility check: how good a quantisation is depends on its calibration.
LARGEST_ERROR, LARGEST_ERROR_INT8 = 1e-3, 0.5
# The file that a runtime reads, and what makes it.
FORMATS = {"onnxruntime": "onnx", "openvino": "xml", "litert": "tflite", "mnn": "mnn"}
CONVERTERS = {"onnx": "onnxscript", "xml": "openvino", "tflite": "litert-torch", "mnn": "MNN"}
CONVERTERS_INT8 = {
    "onnx": "onnxruntime", "xml": "openvino", "tflite": "ai-edge-quantizer", "mnn": "MNN",
}  # fmt: skip


class Failure(Exception):
    """Why a runtime cannot run a model, in a line."""


def read_json(path):
    return json.loads(path.read_text()) if path.exists() else {}


def write_json(path, value):
    path.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n")


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "no message"


def reason(text):
    """Why a converter failed. MNN's tells what it lacks, goes on, and writes nothing."""
    lacking = [line for line in text.splitlines() if "Not Support" in line]
    return lacking[0].partition("These ")[2].strip() if lacking else last_line(text)


def is_int8(name):
    return name.endswith(".int8")


def in_floats(name):
    return name.removesuffix(".int8")


def reference(name):
    """What torch was given, and what it computed in floats."""
    return ZOO / f"{in_floats(name)}.npz"


def conversions_to(name, form):
    """The files to make, (name, form) of each, from the ones before it. OpenVINO and MNN convert the
    .onnx file, OpenVINO the quantised one; the others quantise their own file in floats."""
    if is_int8(name) and form != "xml":
        return [*conversions_to(in_floats(name), form), (name, form)]
    if form in ("xml", "mnn"):
        return [*conversions_to(name, "onnx"), (name, form)]
    return [(name, form)]


def convert(name, form):
    """What conversions.json says of the model in this format, converted now unless it was before."""
    model, target = ZOO / f"{in_floats(name)}.pt2", CONVERTED / f"{name}.{form}"
    converter = (CONVERTERS_INT8 if is_int8(name) else CONVERTERS)[form]
    key = f"{target.name} {converter} {version(converter)} {model.stat().st_mtime_ns}"
    known = read_json(CONVERSIONS).get(target.name, {})
    if known.get("key") == key and ("error" in known or target.exists()):
        return known
    command = [sys.executable, Path(__file__).with_name("convert.py"), model, form, target]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0 and target.exists():
        entry = json.loads(last_line(done.stdout))
    else:
        entry = {"error": reason(done.stderr + done.stdout)}
    entry |= {"key": key, "load": round(os.getloadavg()[0], 1)}
    write_json(CONVERSIONS, read_json(CONVERSIONS) | {target.name: entry})
    return entry


class Program:
    """A .pte file in the stock ExecuTorch runtime; a process for each round."""

    def __init__(self, file, name, threads, scratch):
        self.file, self.threads = file, threads
        self.properties = self._bench(1) | {"error": self._error(name, scratch)}

    def _bench(self, iterations):
        command = [LAYLINE, "bench", self.file, "--threads", str(self.threads), "--json"]
        command += ["--iterations", str(iterations)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
        result = json.loads(done.stdout)["programs"][0]
        self.latency_ms = result["latency_ms"]["median"]
        return {key: result[key] for key in ("load_ms", "memory_bytes")}

    def _error(self, name, scratch):
        """Inputs and outputs are matched by order: `run` tells their names."""
        command = [LAYLINE, "run", self.file, "--threads", str(self.threads)]
        told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        named = [line.partition(":")[0].split() for line in told.splitlines()]
        inputs = [words[1] for words in named if words[0] == "input"]
        outputs = [words[1] for words in named if words[0] == "output"]
        given = runtimes.arrays(reference(name), "input")
        np.savez(scratch / "inputs.npz", **dict(zip(inputs, given, strict=True)))
        command += ["--inputs", scratch / "inputs.npz", "--output-dir", scratch]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        actual = [np.load(scratch / f"{output}.npy") for output in outputs]
        return runtimes.largest_error(actual, runtimes.arrays(reference(name), "output"))

    def time(self, seconds):
        self._bench(max(1, round(seconds * 1e3 / self.latency_ms)))
        return self.latency_ms

    def close(self):
        pass


class Peer:
    """A process of runtimes.py, which waits between its turns."""

    def __init__(self, runtime, file, name, threads):
        command = [sys.executable, Path(__file__).with_name("runtimes.py")]
        command += [runtime, file, str(threads), reference(name)]
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True
        )
        self.properties = self._answer()

    def _answer(self):
        for line in self.process.stdout:
            word, _, value = line.partition(" ")
            if word == "answer":
                return json.loads(value)
        self.process.wait()
        self.log.seek(0)
        raise Failure(last_line(self.log.read()))

    def time(self, seconds):
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        return statistics.median(self._answer())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def size_of(file):
    """Its bytes; OpenVINO keeps the weights beside the graph."""
    weights = file.with_suffix(".bin")
    return file.stat().st_size + (weights.stat().st_size if file.suffix == ".xml" else 0)


def start(runtime, name, threads, scratch):
    """The runtime with the model loaded, its file, and the seconds to make the file from a .pt2."""
    if runtime == "layline":
        file, report = scratch / "layline.pte", scratch / "report.json"
        command = [LAYLINE, "compile", ZOO / f"{name}.pt2", "-o", file, "--report", report, "--profile", "host"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        told = read_json(report)
        program = Program(file, name, threads, scratch)
        program.properties |= {
            "delegates": told["delegates"], "permutes": told["permutes"]["final"],
            "permuted_bytes": told["permutes"]["bytes"], "moves": told["moves"],
        }  # fmt: skip
        return program, file, told["compile_ms"] / 1e3
    if runtime == "executorch":
        file = ZOO / f"{name}.executorch.pte"
        if not file.exists():
            raise Failure(f"not lowered; scripts/baseline {name} does it")
        lowered = read_json(ZOO / "baseline.json").get(name)
        if lowered is None:
            raise Failure(f"not lowered; scripts/baseline {name} does it")
        program = Program(file, name, threads, scratch)
        program.properties |= {
            "version": executorch_release(), "delegates": lowered["delegates"],
            "permutes": lowered["transposes"], "permuted_bytes": lowered.get("transposed_bytes"),
        }  # fmt: skip
        return program, file, lowered["lowering_seconds"]
    conversions = [convert(*step) for step in conversions_to(name, FORMATS[runtime])]
    for conversion in conversions:
        if "error" in conversion:
            raise Failure(f"conversion: {conversion['error']}")
    file = CONVERTED / f"{name}.{FORMATS[runtime]}"
    seconds = sum(conversion["seconds"] for conversion in conversions)
    return Peer(runtime, file, name, threads), file, seconds


def measure(name, threads, arguments, scratch, progress):
    """The entry of peers.json for a model."""
    running, result = {}, {}
    largest = LARGEST_ERROR_INT8 if is_int8(name) else LARGEST_ERROR
    try:
        for runtime in tables.RUNTIMES:
            try:
                program, file, seconds = start(runtime, name, threads, scratch)
                running[runtime] = program
                if not program.properties["error"] <= largest:
                    running.pop(runtime).close()
                    raise Failure(f"an output is off by {program.properties['error']:.0e}")
            except Failure as failure:
                if runtime == "layline":
                    sys.exit(f"bench-peers: {name}: {failure}")
                result[runtime] = {"failure": str(failure)}
                continue
            result[runtime] = program.properties | {
                "bytes": size_of(file), "convert_seconds": seconds, "rounds_ms": []
            }  # fmt: skip
        for runtime in running:  # to warm up
            running[runtime].time(arguments.seconds / 4)
        for index in range(arguments.rounds):
            progress.show(index / arguments.rounds, f"{name}, {threads} threads")
            turn = index % len(running)
            for runtime in [*running][turn:] + [*running][:turn]:
                latency = running[runtime].time(arguments.seconds)
                result[runtime]["rounds_ms"].append(round(latency, 4))
    finally:
        for program in running.values():
            program.close()
    entry = {
        "model": name,
        "int8": is_int8(name),
        "threads": threads,
        "load": round(os.getloadavg()[0], 1),
        "machine": machine(LAYLINE),
        "runtimes": result,
    }
    return entry | {"ratios": tables.ratios(entry)}


def convert_all(names):
    jobs = list(dict.fromkeys(
        step for name in names for form in FORMATS.values() for step in conversions_to(name, form)
    ))  # fmt: skip
    progress = Progress(len(jobs))
    for name, form in jobs:
        entry = convert(name, form)
        told = entry.get("error") or f"{entry['seconds']:.1f} s"
        progress.step(f"{name}.{form}: {told}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5, help="a runtime's turn in a round")
    parser.add_argument("--convert", action="store_true", help="convert the models and stop")
    parser.add_argument("--models", nargs="+", default=MODELS, metavar="NAME")
    arguments = parser.parse_args()
    # The others have no network whose scales are chosen at run time.
    names = [name for name in arguments.models if "." not in name or is_int8(name)]
    if not names:
        return
    needed = dict.fromkeys(file for name in names for file in (name, in_floats(name)))
    missing = [name for name in needed if not (ZOO / f"{name}.pt2").exists()]
    if missing:
        subprocess.run([ROOT / "scripts" / "zoo", *missing], check=True)
    CONVERTED.mkdir(exist_ok=True)
    convert_all(names)
    if arguments.convert:
        return
    if os.getloadavg()[0] > os.cpu_count() / 2:
        print("bench-peers: the machine is busy; the times will be too long", file=sys.stderr)
    results = read_json(RESULTS).get("measured", {})
    jobs = [(name, threads) for threads in arguments.threads for name in names]
    progress = Progress(len(jobs))
    with tempfile.TemporaryDirectory(dir=ZOO, prefix=".peers-") as scratch:
        for name, threads in jobs:
            result = measure(name, threads, arguments, Path(scratch), progress)
            results[f"{name}, {threads}"] = result
            write_json(RESULTS, {"measured": results, "summaries": tables.summaries(results)})
            progress.step(tables.summary(result))
    text = tables.page(results)
    print(text, end="")
    write_section(PAGE, "bench-peers", text)


if __name__ == "__main__":
    main()
