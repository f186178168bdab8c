"""Compares layline's programs of language models with ExecuTorch's own and with llama.cpp.

    compare.py [--models NAME,...] [--lengths L,...] [--threads N,...] [--layers N] [--rounds N]
               [--plain NAME,...] [--make]

Each model has random weights in its published shape (shapes.py), and a cache of L positions. make.py
exports it for all; what is in bench-llm/ already stays. layline compiles it with --llm, once for the stock
kernels and once with --kernels llm. Then come rounds: in each one every program decodes 16 tokens at some
positions of the cache, and reads prompts of 128 and 512 tokens, alone, in an order that turns from round to
round, so that what disturbs the machine disturbs them all. A figure is the median over the rounds of the
median in a round, and a ratio is the median over the rounds of the ratios within a round. On one thread it
is processor time, which hardly changes when others want the processor, and else wall time.

The .pte programs' logits after a prompt must agree with those of export_llm's.

Every .pte runs in ExecuTorch's Python runtime (worker.py), every .gguf in llama.cpp (llama_worker.cc). --make
only makes the files, for which the machine need not be quiet. --plain names the models that ExecuTorch's
plain lowering is measured for, too. The results go into bench-llm/results.json, and the tables of all of them
into docs/benchmarks.md. LAYLINE chooses another command than build/layline.
"""

import argparse
import filecmp
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np

import tables
from generated_section import write_section
from machine import machine
from process_cost import process_cost
from progress import Progress
from shapes import SHAPES

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "bench-llm"
RESULTS = FOLDER / "results.json"
PAGE = ROOT / "docs" / "benchmarks.md"
LAYLINE = os.environ.get("LAYLINE", str(ROOT / "build" / "layline"))
LLAMA_CPP = Path(os.environ["LLAMA_CPP"])
READ_BANDWIDTH = ROOT / "build" / "bench" / "read_bandwidth"
COMPILATIONS = 5
# Tokens that are decoded in a turn.
DECODED = 16
PROMPTS = (128, 512)
# Of a logit, relative to the largest. Activations are quantised when a program runs, and random weights
# carry on what is rounded differently.
LARGEST_DIFFERENCE = 0.1
# What llama-quantize does to a model whose embedding is its head, and to one whose head has 4 bits, too.
HEADS = {"llama.cpp": (), "llama.cpp, 4-bit head": ("--token-embedding-type", "q4_0")}


def read_json(path):
    return json.loads(path.read_text()) if path.exists() else {}


def write_json(path, value):
    path.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n")


def near_end(length):
    return length - 2 * DECODED


def workloads(length):
    """Positions to decode at, and prompts to read, by their names."""
    positions = sorted({DECODED, min(1024, near_end(length)), near_end(length)})
    decode = {f"decode at {position}": (1, position) for position in positions}
    return decode | {f"prompt of {count}": (count, 0) for count in PROMPTS if count < length}


class Maker:
    """Makes files that are not there yet, and remembers what that took."""

    def __init__(self, shape, length):
        self.shape, self.length, self.costs = shape, length, FOLDER / "costs.json"

    def file(self, kind, suffix):
        stem = self.shape.stem if kind == "gguf" else f"{self.shape.stem}-{self.length}"
        file = FOLDER / f"{stem}.{suffix}"
        if not file.exists():
            self._make(kind, file)
        return file

    def _make(self, kind, file):
        unfinished = file.with_name(f"unfinished-{file.name}")
        command = [sys.executable, str(Path(__file__).with_name("make.py")), kind, self.shape.name]
        command += [str(self.shape.layers), str(self.length), str(unfinished)]
        print(f"bench-llm: making {file.name}", file=sys.stderr)
        cost = process_cost(*command)
        unfinished.rename(file)
        told = {"seconds": cost.processor_seconds, "peak_bytes": cost.peak_bytes}
        write_json(self.costs, read_json(self.costs) | {file.name: told})

    def quantised(self, name):
        """A .gguf file in Q4_0."""
        suffix = "gguf" if name == "llama.cpp" else "4-bit-head.gguf"
        file = FOLDER / f"{self.shape.stem}.{suffix}"
        if not file.exists():
            floats = self.file("gguf", "f16.gguf")
            command = [LLAMA_CPP / "llama-quantize", *HEADS[name], floats, file, "Q4_0"]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return file

    def cost(self, file):
        return read_json(self.costs).get(file.name, {})


def compiled(model, program, *options):
    """What compiling costs beside `cp`, by turns. One warm-up round is not counted."""
    copy = program.with_suffix(".copy")
    copies, costs = [], []
    for _ in range(COMPILATIONS + 1):
        copies.append(process_cost("cp", str(model), str(copy)).seconds)
        command = [LAYLINE, "compile", str(model), "-o", str(program), "--llm", "--profile", "host", *options]
        costs.append(process_cost(*command))
        copy.unlink()
    return {
        "seconds": statistics.median(cost.seconds for cost in costs[1:]),
        "cp_seconds": statistics.median(copies[1:]),
        "peak_bytes": max(cost.peak_bytes for cost in costs[1:]),
        "model_bytes": model.stat().st_size,
    }


def programs_of(shape, length, with_plain):
    """The files to run by the names of the programs, and what making each cost."""
    maker = Maker(shape, length)
    model = maker.file("pt2", "pt2")
    stock, with_kernels = (model.with_suffix(f".{name}.pte") for name in ("layline", "layline-llm"))
    files = {tables.OURS: stock}
    costs = {tables.OURS: compiled(model, stock)}
    cost = compiled(model, with_kernels, "--kernels", "llm")
    if not filecmp.cmp(stock, with_kernels, shallow=False):
        files[tables.OURS_LLM], costs[tables.OURS_LLM] = with_kernels, cost
    files["export_llm"] = maker.file("export_llm", "export_llm.pte")
    if with_plain:
        files["ExecuTorch, plain"] = maker.file("plain", "plain.pte")
    for name in HEADS:
        files[name] = maker.quantised(name)
    return {name: {"file": file, **costs.get(name, maker.cost(file))} for name, file in files.items()}


class Program:
    """A file in a process of its own, which waits between its turns."""

    def __init__(self, file, threads, length):
        is_gguf = file.suffix == ".gguf"
        worker = [sys.executable, Path(__file__).with_name("worker.py")]
        command = [*([LLAMA_CPP / "llama_worker"] if is_gguf else worker), file, str(threads)]
        self.file, self.threads, self.log = file, threads, file.with_suffix(".log")
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )
        self._answer()
        # What it needs at most, and no turn has to wait for.
        self.milliseconds(1, near_end(length))
        self.milliseconds(max(count for count in PROMPTS if count < length), 0)
        told = self._ask("")
        self.memory_bytes, self.logits = told["memory_bytes"], told.get("logits")

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"bench-llm: {self.file.name} does not run; {self.log} tells why")
        return json.loads(line)

    def _ask(self, question):
        self.process.stdin.write(f"{question}\n")
        self.process.stdin.flush()
        return self._answer()

    def milliseconds(self, count, position):
        """The time of a call, after one that is not counted."""
        calls = DECODED if count == 1 else 1
        timed = self._ask(f"{calls + 1} {count} {position}")[1:]
        return statistics.median(processor if self.threads == 1 else wall for wall, processor in timed)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def check(running):
    """All .pte programs compute the same, but for how they round."""
    expected = np.array(running["export_llm"].logits)
    for name, program in running.items():
        if program.logits:
            difference = np.abs(np.array(program.logits) - expected).max() / np.abs(expected).max()
            if not difference <= LARGEST_DIFFERENCE:
                sys.exit(f"bench-llm: a logit of {name} is {difference:.0%} off export_llm's")


def measure(shape, length, threads, programs, rounds, progress):
    """The entry of results.json for a model, a length of the cache and a number of threads."""
    running = {name: Program(program["file"], threads, length) for name, program in programs.items()}
    check(running)
    times = {workload: {name: [] for name in running} for workload in workloads(length)}
    bandwidths = []
    for index in range(rounds):
        bandwidth = subprocess.check_output([READ_BANDWIDTH, str(threads)])
        bandwidths.append(float(bandwidth))
        turn = index % len(running)
        order = [*running][turn:] + [*running][:turn]
        for workload, (count, position) in workloads(length).items():
            progress.show(index / rounds, f"{shape.title}, {length}, {threads} threads: {workload}")
            for name in order:
                times[workload][name].append(running[name].milliseconds(count, position))
    for program in running.values():
        program.close()
    told = {
        name: {
            **{key: value for key, value in program.items() if key != "file"},
            "bytes": program["file"].stat().st_size,
            "memory_bytes": running[name].memory_bytes,
        }
        for name, program in programs.items()
    }
    return {
        "model": shape.name,
        "layers": shape.layers,
        "length": length,
        "threads": threads,
        "load": round(os.getloadavg()[0], 1),
        "machine": machine(LAYLINE),
        "bandwidths": bandwidths,
        "programs": told,
        "milliseconds": times,
    }


def numbers(text):
    return [int(part) for part in text.split(",")]


def names(text):
    found = text.split(",") if text else []
    unknown = [name for name in found if name not in SHAPES]
    if unknown:
        raise argparse.ArgumentTypeError(f"no model {', '.join(unknown)}; there are {', '.join(SHAPES)}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=names, default=[*SHAPES], metavar="NAME,...")
    parser.add_argument("--lengths", type=numbers, default=[256, 2048, 8192], metavar="L,...")
    parser.add_argument("--threads", type=numbers, default=[1, 2], metavar="N,...")
    parser.add_argument("--layers", type=int, default=0, help="of each model; without it, all")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--plain", type=names, default=["SmolLM2-135M"], metavar="NAME,...")
    parser.add_argument("--make", action="store_true", help="make the files and stop")
    arguments = parser.parse_args()
    jobs = [(SHAPES[name].with_layers(arguments.layers), length)
            for name in arguments.models for length in arguments.lengths]
    programs = {job: programs_of(*job, job[0].name in arguments.plain) for job in jobs}
    if arguments.make:
        return
    if os.getloadavg()[0] > os.cpu_count() / 2:
        print("bench-llm: the machine is busy; the times will be too long", file=sys.stderr)
    results = read_json(RESULTS)
    progress = Progress(len(jobs) * len(arguments.threads))
    for shape, length in jobs:
        for threads in arguments.threads:
            result = measure(shape, length, threads, programs[shape, length], arguments.rounds, progress)
            results[f"{shape.title}, {length}, {threads}"] = result
            write_json(RESULTS, results)
            progress.step(tables.summary(result))
    text = tables.page(results)
    print(text, end="")
    write_section(PAGE, "bench-llm", text)


if __name__ == "__main__":
    main()
