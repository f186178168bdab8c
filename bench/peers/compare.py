"""Compares layline with ExecuTorch's own programs, ONNX Runtime, OpenVINO, LiteRT and MNN.

    compare.py [--threads N] [--rounds N] [--seconds S] [--convert] [NAME...]

Each model zoo/NAME.pt2 is converted for every runtime (convert.py; kept in zoo/peers/ until the model
or the converter's version changes) and compiled by layline. Every runtime's outputs are compared with
torch's. Then come rounds: in each one every runtime runs the model for a while, alone, in an order
that turns from round to round, so that what disturbs the machine disturbs them all. A runtime's
latency is the median over the rounds of its median in a round, and its ratio the median over the
rounds of its latency over ours in the same round.

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
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np

import runtimes
import tables
from generated_section import write_section

ROOT = Path(__file__).resolve().parent.parent.parent
ZOO = ROOT / "zoo"
CONVERTED = ZOO / "peers"
CONVERSIONS = CONVERTED / "conversions.json"
RESULTS = ZOO / "peers.json"
PAGE = ROOT / "docs" / "benchmarks.md"
LAYLINE = os.environ.get("LAYLINE", str(ROOT / "build" / "layline"))
MODELS = [
    "mobilenet_v2", "mobilenet_v3_small", "resnet18", "resnet50", "efficientnet_b0", "squeezenet1_1",
    "shufflenet_v2_x1_0", "convnext_tiny", "deit_tiny_patch16_224", "mobilevit_xs", "swin_t",
    "levit_128s", "fastvit_t8", "mixer_s32_224",
]  # fmt: skip
# A runtime that is further from torch's outputs than this computes something else.
LARGEST_ERROR = 1e-3
# The file that a runtime reads, and what makes it. OpenVINO and MNN convert the .onnx file.
FORMATS = {"onnxruntime": "onnx", "openvino": "xml", "litert": "tflite", "mnn": "mnn"}
CONVERTERS = {"onnx": "onnxscript", "xml": "openvino", "tflite": "litert-torch", "mnn": "MNN"}


class Failure(Exception):
    """Why a runtime cannot run a model, in a line."""


def read_json(path):
    return json.loads(path.read_text()) if path.exists() else {}


def write_json(path, value):
    path.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n")


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "no message"


def convert(name, form):
    """What conversions.json says of the model in this format, converted now unless it was before."""
    model, target = ZOO / f"{name}.pt2", CONVERTED / f"{name}.{form}"
    key = f"{target.name} {CONVERTERS[form]} {version(CONVERTERS[form])} {model.stat().st_mtime_ns}"
    known = read_json(CONVERSIONS).get(target.name, {})
    if known.get("key") == key and ("error" in known or target.exists()):
        return known
    command = [sys.executable, Path(__file__).with_name("convert.py"), model, form, target]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0 and target.exists():
        entry = json.loads(last_line(done.stdout))
    else:
        entry = {"error": last_line(done.stderr or done.stdout)}
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
        for index, input_name in enumerate(inputs):
            command += ["--input", f"{input_name}={ZOO / name / f'input_{index}.npy'}"]
        subprocess.run([*command, "--output-dir", scratch], check=True, stdout=subprocess.DEVNULL)
        actual = [np.load(scratch / f"{output}.npy") for output in outputs]
        return runtimes.largest_error(actual, runtimes.arrays(ZOO / name, "output"))

    def time(self, seconds):
        self._bench(max(1, round(seconds * 1e3 / self.latency_ms)))
        return self.latency_ms

    def close(self):
        pass


class Peer:
    """A process of runtimes.py, which waits between its turns."""

    def __init__(self, runtime, file, name, threads):
        command = [sys.executable, Path(__file__).with_name("runtimes.py")]
        command += [runtime, file, str(threads), ZOO / name]
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


def executorch_version():
    pins = (ROOT / "scripts" / "requirements-baseline.txt").read_text().split()
    return next(pin for pin in pins if pin.startswith("executorch==")).partition("==")[2]


def start(runtime, name, threads, scratch):
    """The runtime with the model loaded, its file, and the seconds to make the file from a .pt2."""
    if runtime == "layline":
        file, report = scratch / "layline.pte", scratch / "report.json"
        command = [LAYLINE, "compile", ZOO / f"{name}.pt2", "-o", file, "--report", report]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        seconds = read_json(report)["compile_ms"] / 1e3
        return Program(file, name, threads, scratch), file, seconds
    if runtime == "executorch":
        file = ZOO / f"{name}.executorch.pte"
        if not file.exists():
            raise Failure(f"not lowered; scripts/baseline {name} does it")
        seconds = read_json(ZOO / "baseline.json")[name]["lowering_seconds"]
        program = Program(file, name, threads, scratch)
        program.properties["version"] = executorch_version()
        return program, file, seconds
    steps = ["onnx", FORMATS[runtime]] if FORMATS[runtime] in ("xml", "mnn") else [FORMATS[runtime]]
    conversions = [convert(name, form) for form in steps]
    for conversion in conversions:
        if "error" in conversion:
            raise Failure(f"conversion: {conversion['error']}")
    file = CONVERTED / f"{name}.{FORMATS[runtime]}"
    seconds = sum(conversion["seconds"] for conversion in conversions)
    return Peer(runtime, file, name, threads), file, seconds


def measure(name, arguments, scratch):
    """The entry of peers.json for a model."""
    running, result = {}, {}
    try:
        for runtime in tables.RUNTIMES:
            try:
                program, file, seconds = start(runtime, name, arguments.threads, scratch)
                running[runtime] = program
                if not program.properties["error"] <= LARGEST_ERROR:
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
            turn = index % len(running)
            for runtime in [*running][turn:] + [*running][:turn]:
                latency = running[runtime].time(arguments.seconds)
                result[runtime]["rounds_ms"].append(round(latency, 4))
    finally:
        for program in running.values():
            program.close()
    return {
        "threads": arguments.threads,
        "load": round(os.getloadavg()[0], 1),
        "machine": tables.machine(LAYLINE),
        "runtimes": result,
    }


def remaining(started, done, count):
    seconds = (time.monotonic() - started) / done * (count - done)
    return f"about {seconds / 60:.0f} min left" if seconds >= 60 else f"about {seconds:.0f} s left"


def convert_all(names):
    jobs = [(name, form) for name in names for form in CONVERTERS]
    started = time.monotonic()
    for index, (name, form) in enumerate(jobs, 1):
        entry = convert(name, form)
        told = entry.get("error") or f"{entry['seconds']:.1f} s"
        left = remaining(started, index, len(jobs))
        print(f"[{index}/{len(jobs)}] {name}.{form}: {told}; {left}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5, help="a runtime's turn in a round")
    parser.add_argument("--convert", action="store_true", help="convert the models and stop")
    parser.add_argument("names", nargs="*", default=MODELS)
    arguments = parser.parse_args()
    missing = [name for name in arguments.names if not (ZOO / f"{name}.pt2").exists()]
    if missing:
        sys.exit(f"bench-peers: not in zoo/; run: scripts/zoo {' '.join(missing)}")
    CONVERTED.mkdir(exist_ok=True)
    convert_all(arguments.names)
    if arguments.convert:
        return
    if os.getloadavg()[0] > os.cpu_count() / 2:
        print("bench-peers: the machine is busy; the times will be too long", file=sys.stderr)
    results, started = read_json(RESULTS), time.monotonic()
    with tempfile.TemporaryDirectory(dir=ZOO, prefix=".peers-") as scratch:
        for index, name in enumerate(arguments.names, 1):
            result = measure(name, arguments, Path(scratch))
            results[f"{name}, {arguments.threads}"] = {"model": name, **result}
            write_json(RESULTS, results)
            left = remaining(started, index, len(arguments.names))
            print(f"[{index}/{len(arguments.names)}] {tables.summary(name, result)}; {left}", flush=True)
    text = tables.page(results)
    print(text, end="")
    write_section(PAGE, "bench-peers", text)


if __name__ == "__main__":
    main()
