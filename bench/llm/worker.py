"""Runs a .pte of a language model in ExecuTorch's Python runtime, as a process of its own.

    worker.py PROGRAM THREADS

Every program runs here, whether or not it needs the kernels for language models, which only this runtime
has. Memory comes from its plain allocator, and the threads are those of its one pool.

Prints {} when the program is loaded. Then it reads lines of three numbers, a count of calls, a count of
tokens and a position. For each it calls the program that often with that many tokens, the first at that
position, and prints a JSON list with the wall time and the processor time of each call in milliseconds. An
empty line asks for memory_bytes, what loading and running has added to the resident set until then, and for
some of the last logits. Tokens depend on the position only, so that all programs read the same.
"""

import json
import os
import re
import sys
import time
from pathlib import Path

import executorch.kernels.quantized  # noqa: F401
import torch
from executorch.extension.llm.custom_ops import custom_ops  # noqa: F401
from executorch.extension.pybindings import portable_lib


def resident_bytes():
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1)) * 1024


class Model:
    def __init__(self, program):
        self.program = program
        self.module = portable_lib._load_for_executorch(program)
        meta = self.module.method_meta("forward")
        self.has_one_position = meta.input_tensor_meta(1).sizes() == (1,)

    def inputs(self, count, position):
        """Tokens and their positions, or that of the first."""
        generator = torch.Generator().manual_seed(position)
        tokens = torch.randint(0, 32000, (1, count), generator=generator)
        last = position + (1 if self.has_one_position else count)
        return tokens, torch.arange(position, last)

    def timed(self, calls, count, position):
        inputs, times = self.inputs(count, position), []
        for _ in range(calls):
            wall, processor = time.perf_counter(), time.process_time()
            (self.logits,) = self.module.forward(inputs, clone_outputs=False)
            times.append([(time.perf_counter() - wall) * 1e3, (time.process_time() - processor) * 1e3])
        if not self.logits.isfinite().all():
            sys.exit(f"{self.program}: not all logits at position {position} are finite")
        return times


def main():
    # What the runtime itself prints must not stand between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(value):
        print(json.dumps(value), file=answers, flush=True)

    torch.set_num_threads(1)
    portable_lib._unsafe_reset_threadpool(int(sys.argv[2]))
    before = resident_bytes()
    model = Model(sys.argv[1])
    answer({})
    for line in sys.stdin:
        if line.strip():
            answer(model.timed(*map(int, line.split())))
        else:
            logits = model.logits.flatten()[:1024].tolist()
            answer({"memory_bytes": resident_bytes() - before, "logits": logits})


main()
