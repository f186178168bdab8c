"""The tables of scripts/bench-peers in docs/benchmarks.md, from the entries of zoo/peers.json."""

import statistics

RUNTIMES = {
    "layline": "layline",
    "executorch": "ExecuTorch",
    "onnxruntime": "ONNX Runtime",
    "openvino": "OpenVINO",
    "litert": "LiteRT",
    "mnn": "MNN",
}
PEERS = [runtime for runtime in RUNTIMES if runtime != "layline"]
LEVEL = 0.95  # the least ratio that is level with a peer


def ran(result):
    """The runtimes that ran the model."""
    return {runtime: r for runtime, r in result["runtimes"].items() if "failure" not in r}


def latency(entry):
    return statistics.median(entry["rounds_ms"])


def ratio(result, runtime):
    """How many times as long as ours the runtime takes: the median over the rounds."""
    entries = result["runtimes"]
    pairs = zip(entries[runtime]["rounds_ms"], entries["layline"]["rounds_ms"], strict=True)
    return statistics.median(theirs / ours for theirs, ours in pairs)


def best(result):
    """The fastest of the other runtimes, and its ratio."""
    return min(
        ((runtime, ratio(result, runtime)) for runtime in ran(result) if runtime != "layline"),
        key=lambda item: item[1],
    )


def ratios(result):
    return {runtime: round(ratio(result, runtime), 3) for runtime in ran(result)}


def summary(result):
    runtime, least = best(result)
    ours = latency(result["runtimes"]["layline"])
    return f"{result['model']}, {result['threads']} threads: {ours:.2f} ms; the best other is {RUNTIMES[runtime]}, {least:.2f}× our time"


def table(head, rows):
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines)


def worst_first(results):
    return sorted(results, key=lambda result: best(result)[1])


def each(result, show):
    """A cell for every runtime."""
    return [show(r) if (r := ran(result).get(runtime)) else "–" for runtime in RUNTIMES]


def latency_table(results):
    def cell(entry):
        rounds = entry["rounds_ms"]
        spread = (max(rounds) - min(rounds)) / 2 / latency(entry)
        return f"{latency(entry):.2f} ±{spread:.0%}"

    rows = []
    for result in worst_first(results):
        runtime, least = best(result)
        mark = "**" if least < LEVEL else ""
        rows.append(
            [result["model"], *each(result, cell), f"{mark}{least:.2f}×{mark} {RUNTIMES[runtime]}"]
        )
    return table(["model", *(f"{title}, ms" for title in RUNTIMES.values()), "best other / ours"], rows)


def standing(results):
    """How we stand: on how many models ahead of the best other or level, and the geometric means."""
    least = [best(result)[1] for result in results]
    means = {}
    for runtime in PEERS:
        of = [ratio(result, runtime) for result in results if runtime in ran(result)]
        if of:
            means[runtime] = {"mean": statistics.geometric_mean(of), "models": len(of)}
    return {
        "models": len(least),
        "ahead": sum(x > 1 for x in least),
        "level": sum(x >= LEVEL for x in least),
        "geometric_means": means,
    }


def verdict(results):
    """How we stand in a sentence or two."""
    found = standing(results)
    means = [
        f"{RUNTIMES[runtime]} {of['mean']:.2f}× ({of['models']} of {found['models']})"
        for runtime, of in found["geometric_means"].items()
    ]
    return (
        f"\nAgainst the best of the others: ahead on {found['ahead']} of {found['models']} models, at"
        f" least level ({LEVEL}×) on {found['level']}. Geometric means of their times over ours:"
        f" {', '.join(means)}.\n"
    )


def groups(results):
    """The results that belong into one table, by its title."""
    found = {}
    for result in sorted(results, key=lambda result: (result["int8"], result["threads"])):
        threads = f"{result['threads']} thread{'s' if result['threads'] > 1 else ''}"
        found.setdefault(threads + (", int8" if result["int8"] else ""), []).append(result)
    return found


def summaries(entries):
    return {title: standing(results) for title, results in groups(entries.values()).items()}


def figures_table(results, show):
    return table(
        ["model", *RUNTIMES.values()],
        [[result["model"], *each(result, show)] for result in results],
    )


def failures(results):
    """What a runtime or its converter could not do."""
    lines = [
        f"- {result['model']}, {RUNTIMES[runtime]}: `{entry['failure']}`\n"
        for result in results
        for runtime, entry in result["runtimes"].items()
        if "failure" in entry
    ]
    return "".join(["### Not run\n\n", *lines]) if lines else ""


def versions(results):
    found = {}
    for result in results:
        for runtime, entry in ran(result).items():
            if "version" in entry:
                found.setdefault(runtime, set()).add(entry["version"])
    return ", ".join(f"{RUNTIMES[r]} {' and '.join(sorted(v))}" for r, v in sorted(found.items()))


def page(entries):
    results = list(entries.values())
    load = max(result["load"] for result in results)
    sections = [
        f"{'; '.join(sorted({result['machine'] for result in results}))}; {versions(results)}."
        f" Load average while measuring, one of it ours for each thread: at most {load:.1f}.\n"
    ]
    for title, chosen in groups(results).items():
        sections += [
            f"### Latency beside other runtimes, {title}\n",
            latency_table(chosen) + verdict(chosen),
        ]
    # The figures below hardly depend on threads: those of the fewest are shown.
    by_model = {}
    for result in sorted(results, key=lambda result: -result["threads"]):
        by_model[result["model"]] = result
    chosen = [by_model[model] for model in sorted(by_model)]
    sections += [
        "### From the exported program to a file, s\n",
        figures_table(chosen, lambda r: f"{r['convert_seconds']:.2f}"),
        "### Loading, ms\n",
        figures_table(chosen, lambda r: f"{r['load_ms']:.1f}"),
        "### Resident memory added by loading and the first run, MB\n",
        figures_table(chosen, lambda r: f"{r['memory_bytes'] / 1e6:.0f}"),
        "### Size of the file, MB\n",
        figures_table(chosen, lambda r: f"{r['bytes'] / 1e6:.1f}"),
        "### Largest error of an output, relative to torch's largest\n",
        figures_table(chosen, lambda r: f"{r['error']:.0e}"),
        failures(chosen),
    ]
    return "\n".join(section for section in sections if section)
