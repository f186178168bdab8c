"""The tables of scripts/bench-llm in docs/benchmarks.md, from the entries of bench-llm/results.json."""

import statistics

from shapes import SHAPES

OURS, OURS_LLM = "layline", "layline, LLM kernels"
EXECUTORCH = ("export_llm", "ExecuTorch, plain")
LLAMA_CPP = ("llama.cpp", "llama.cpp, 4-bit head")
PROGRAMS = (OURS, OURS_LLM, *EXECUTORCH, *LLAMA_CPP)
# Bytes of a weight: 4 bits, and a scale of 16 bits for each 32 of them.
WEIGHT = 4.5 / 8


def shape_of(result):
    return SHAPES[result["model"]].with_layers(result["layers"])


def is_step(workload):
    return workload.startswith("decode at ")


def number_of(workload):
    """The position of a step, or the tokens of a prompt."""
    return int(workload.rpartition(" ")[2])


def tokens_of(workload):
    return 1 if is_step(workload) else number_of(workload)


def speed(workload, milliseconds):
    """Tokens a second, the median over the rounds."""
    return tokens_of(workload) * 1e3 / statistics.median(milliseconds)


def ratio(rounds, ours, theirs):
    """How many times as fast as one of theirs our program is: the least over them, each the median over the
    rounds. None where either did not run."""
    ratios = [
        statistics.median(b / a for a, b in zip(rounds[ours], rounds[name], strict=True))
        for name in theirs if name in rounds and ours in rounds
    ]  # fmt: skip
    return min(ratios) if ratios else None


def step_bytes(result, position):
    """What our step has to read: the weights, and the cache in 32 bits as far as it is filled."""
    shape = shape_of(result)
    return shape.linear_weights * WEIGHT + shape.cached_numbers(position) * 4


def share_of_bandwidth(result, workload, program):
    rounds = result["milliseconds"][workload]
    if program not in rounds:
        return None
    read = step_bytes(result, number_of(workload))
    return statistics.median(
        read / (milliseconds / 1e3) / bandwidth
        for milliseconds, bandwidth in zip(rounds[program], result["bandwidths"], strict=True)
    )


def shown(value, form):
    return "–" if value is None else format(value, form)


def times(value):
    return "–" if value is None else f"{value:.2f}×"


def table(head, rows):
    lines = [head, ["---"] * 2 + ["---:"] * (len(head) - 2), *rows]
    return "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines)


def summary(result):
    """A line for each workload, for the one who waits."""
    lines = [f"{shape_of(result).title}, cache {result['length']}, {result['threads']} thread(s)"]
    for workload, rounds in result["milliseconds"].items():
        figures = (f"{name} {statistics.median(ms):.2f} ms" for name, ms in rounds.items())
        lines.append(f"  {workload}: {', '.join(figures)}")
    return "\n".join(lines)


def speed_table(results, of_steps):
    """Of steps, or of prompts."""

    def chosen(workload):
        return is_step(workload) == of_steps

    rows = []
    for result in results:
        for workload in sorted(filter(chosen, result["milliseconds"]), key=number_of):
            rounds = result["milliseconds"][workload]
            speeds = [shown(speed(workload, rounds[p]) if p in rounds else None, ".1f") for p in PROGRAMS]
            ratios = [times(ratio(rounds, ours, theirs))
                      for ours in (OURS, OURS_LLM) for theirs in (EXECUTORCH, LLAMA_CPP)]
            model = f"{shape_of(result).title}, {result['length']}"
            row = [model, number_of(workload), *speeds, *ratios]
            if of_steps:
                row += [shown(share_of_bandwidth(result, workload, ours), ".0%") for ours in (OURS, OURS_LLM)]
            rows.append(row)
    head = ["model, cache", "position" if of_steps else "tokens", *PROGRAMS,
            "over ExecuTorch", "over llama.cpp", "LLM kernels over ExecuTorch", "over llama.cpp",
            *(["of bandwidth", "LLM kernels"] if of_steps else [])]
    return table(head, rows)


def compile_table(results):
    rows = []
    for result in results:
        for ours in (OURS, OURS_LLM):
            if not (cost := result["programs"].get(ours)):
                continue
            seconds, copy = cost["seconds"], cost["cp_seconds"]
            theirs = result["programs"]["export_llm"]
            rows.append([
                f"{shape_of(result).title}, {result['length']}", ours, f"{cost['model_bytes'] / 1e6:.0f}",
                f"{seconds:.2f}", f"{copy:.2f}", f"{seconds / copy:.2f}",
                f"{cost['peak_bytes'] / 1e6:.0f}",
                shown(theirs.get("seconds"), ".0f"),
                "–" if "peak_bytes" not in theirs else f"{theirs['peak_bytes'] / 1e6:.0f}",
            ])  # fmt: skip
    head = ["model, cache", "program", "archive, MB", "s", "`cp`, s", "ratio", "peak, MB",
            "export_llm, s", "its peak, MB"]
    return table(head, rows)


def size_table(results):
    rows = []
    for result in results:
        for key, title in (("bytes", "file"), ("memory_bytes", "memory")):
            figures = [
                "–" if p not in result["programs"] else f"{result['programs'][p][key] / 1e6:.0f}"
                for p in PROGRAMS
            ]  # fmt: skip
            rows.append([f"{shape_of(result).title}, {result['length']}", f"{title}, MB", *figures])
    return table(["model, cache", "", *PROGRAMS], rows)


def page(entries):
    order = [*SHAPES]
    results = sorted(entries.values(), key=lambda r: (order.index(r["model"]), r["layers"], r["length"]))
    sections = [f"{'; '.join(sorted({result['machine'] for result in results}))}.\n"]
    by_threads = {}
    for result in results:
        by_threads.setdefault(result["threads"], []).append(result)
    for threads, chosen in sorted(by_threads.items()):
        counted = f"{threads} thread" + "s" * (threads > 1)
        bandwidth = statistics.median(b for result in chosen for b in result["bandwidths"])
        load = max(result["load"] for result in chosen)
        sections += [
            f"### Decoding, tokens a second, {counted}\n",
            speed_table(chosen, True)
            + f"\nMemory is read at {bandwidth / 1e9:.1f} GB/s. Load average while measuring, {threads} of it"
            f" ours: at most {load:.1f}.\n",
            f"### Reading prompts, tokens a second, {counted}\n",
            speed_table(chosen, False),
        ]
    # The figures below hardly depend on threads: those of the fewest are shown.
    fewest = by_threads[min(by_threads)]
    sections += [
        "### Compiling language models\n", compile_table(fewest),
        "### Files and memory of language models\n", size_table(fewest),
    ]  # fmt: skip
    return "\n".join(sections)
