"""Surveys networks that nobody chose: a tiny one of every architecture of the transformers library, and
one of every module of timm. Each is exported, compiled, and compared with torch on the runtime; the
table says what is proved of its placement.

    survey.py [--jobs N] [--seconds N] [--again] [--json FILE] LAYLINE FOLDER [NAME...]

A NAME is transformers-TYPE or timm-MODULE, or a part of such names with * in it; all unless given.
FOLDER keeps NAME.pt2, NAME.npz (export.py) and NAME.json, the row of the table. A row is kept as long as
LAYLINE is the same file, and an export for ever; --again makes anew what failed.
"""

import argparse
import fnmatch
import hashlib
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import torch

import export
import tiny_timm
import tiny_transformers
from reference import error_against

FAMILIES = {"transformers": tiny_transformers, "timm": tiny_timm}
# Of the largest output. Random weights make some networks amplify torch's own rounding.
TOLERANCE = 1e-3
NICE = 5  # others may be at work
STAGES = ("built", "exported", "compiled", "right", "proved")


def family_of(name):
    family, _, rest = name.partition("-")
    return FAMILIES[family], rest


def all_names():
    return [f"{family}-{name}" for family, module in FAMILIES.items() for name in module.names()]


def one_line(error):
    return " ".join(str(error).split())[:400] or type(error).__name__


def write_row(path, row):
    partial = path.with_suffix(".row")
    partial.write_text(json.dumps(row, indent=1) + "\n")
    os.replace(partial, path.with_suffix(".json"))


def export_one(name, path):
    """Writes the program and torch's outputs. Returns what is known of the network by then."""
    module, rest = family_of(name)
    row = {"name": name, "stage": "", "why": ""}
    try:
        model, inputs, row["network"] = module.make(rest)
        row["parameters"] = sum(parameter.numel() for parameter in model.parameters())
        row["stage"] = "built"
        partial = path.with_name(path.name + ".partial")
        with torch.no_grad():
            export.save_program(partial, model, inputs, samples=False)
        export.save_reference(partial, model, inputs)
        for suffix in (".npz", ".pt2"):  # what has a .pt2 is complete
            os.replace(f"{partial}{suffix}", path.with_suffix(suffix))
        row["stage"] = "exported"
    except Exception as error:
        row["why"] = one_line(error)
    return row


def compile_one(layline, path, row):
    """Adds what the compiler says of an exported network, and how far it is from torch."""
    row = {key: row[key] for key in ("name", "network", "parameters")} | {"stage": "exported", "why": ""}
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".run-") as scratch:
        scratch = Path(scratch)
        program, report_file = scratch / "program.pte", scratch / "report.json"
        command = [layline, "compile", path.with_suffix(".pt2"), "-o", program, "--report", report_file]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True)
            report = json.loads(report_file.read_text())
            row["stage"] = "compiled"
            row["permutes"] = report["permutes"]["final"]
            row["permute_bytes"] = report["permutes"]["bytes"]
            row["delegates"] = report["delegates"]
            row["compile_ms"] = report["compile_ms"]
            portable = Counter()
            for op in report["portable_ops"]:
                portable[op["op"]] += op["count"]
            row["portable"] = dict(portable)
            placements = report["placements"]
            row["proved"] = all(placement["proved"] for placement in placements)
            row["cost_ms"] = sum(placement["cost"]["ms"] for placement in placements)
            row["bound_ms"] = sum(placement["bound"]["ms"] for placement in placements)
            row["error"] = error_against(path.with_suffix(".npz"), layline, program, report, scratch)
            if row["error"] <= TOLERANCE:
                row["stage"] = "proved" if row["proved"] else "right"
            else:
                row["why"] = f"error {row['error']:.1e}, at most {TOLERANCE:.0e}"
        except subprocess.CalledProcessError as failure:
            row["why"] = f"{failure.cmd[1]}: {one_line(failure.stderr.strip() or failure)}"
        except ValueError as failure:
            row["why"] = one_line(failure)
    return row


def survey_one(layline, compiler, name, path, again):
    row = json.loads(path.with_suffix(".json").read_text()) if path.with_suffix(".json").exists() else None
    failed = row is not None and row["why"] != ""
    if not path.with_suffix(".pt2").exists() and (row is None or (failed and again)):
        row = export_one(name, path)
        write_row(path, row)
    if not path.with_suffix(".pt2").exists():
        return
    if row.get("compiler") != compiler or (failed and again):
        write_row(path, compile_one(layline, path, row) | {"compiler": compiler})


def in_child(*arguments):
    """Runs in a process of its own group, so that the limit ends what it started, too."""
    os.setpgid(0, 0)
    os.nice(NICE)
    # Libraries say much that is not about the survey.
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    survey_one(*arguments)


class Survey:
    def __init__(self, options):
        self.options = options
        self.compiler = hashlib.sha256(Path(options.layline).read_bytes()).hexdigest()[:16]
        self.running = {}  # process: name, path, when it must end

    def path(self, name):
        return self.options.folder / name

    def is_done(self, name):
        file = self.path(name).with_suffix(".json")
        if not file.exists():
            return False
        row = json.loads(file.read_text())
        if row["why"] and self.options.again:
            return False
        return not self.path(name).with_suffix(".pt2").exists() or row.get("compiler") == self.compiler

    def start(self, name):
        options, path = self.options, self.path(name)
        # A fork has the libraries loaded already.
        process = multiprocessing.get_context("fork").Process(
            target=in_child, args=(options.layline, self.compiler, name, path, options.again)
        )
        process.start()
        self.running[process] = (name, path, time.monotonic() + options.seconds)

    def wait(self, most):
        """Until no more than `most` are running."""
        while len(self.running) > most:
            for process, (name, path, end) in list(self.running.items()):
                late = process.is_alive() and time.monotonic() > end
                if late:
                    os.killpg(process.pid, signal.SIGKILL)
                if process.is_alive() and not late:
                    continue
                process.join()
                del self.running[process]
                if process.exitcode != 0:
                    why = f"not done in {self.options.seconds} s" if late else f"ended by signal {-process.exitcode}"
                    self.record_end(name, path, why)
                self.show(name)
            time.sleep(0.05)

    def record_end(self, name, path, why):
        row = {"name": name, "stage": "", "why": why}
        if path.with_suffix(".json").exists():
            row = json.loads(path.with_suffix(".json").read_text()) | {"why": why}
        if path.with_suffix(".pt2").exists():
            row = {"network": name, "parameters": 0} | row | {"stage": "exported", "compiler": self.compiler}
        write_row(path, row)

    def row(self, name):
        return json.loads(self.path(name).with_suffix(".json").read_text())

    ROW = "{:<44} {:>8} {:>7} {:>8} {:>9} {:>9}  {}"

    def show(self, name):
        row = self.row(name)
        if "permutes" not in row:
            print(f"{name:<44} {row['stage'] or 'not built'}: {row['why']}", flush=True)
            return
        portable = ", ".join(f"{count} {op}" for op, count in sorted(row["portable"].items()))
        gap = "" if row["proved"] or not row["cost_ms"] else f"{1 - row['bound_ms'] / row['cost_ms']:.0%}"
        cells = ("yes" if row["proved"] else "no", gap, row["permutes"], row["delegates"])
        error = f"{row['error']:.0e}" if "error" in row else "-"
        print(self.ROW.format(name, *cells, error, portable).rstrip(), flush=True)
        if row["why"]:
            print(f"  {row['why']}", flush=True)

    def run(self, names):
        self.options.folder.mkdir(parents=True, exist_ok=True)
        print(self.ROW.format("network", "proved", "gap", "permutes", "delegates", "error", "portable ops"))
        for name in names:
            if self.is_done(name):
                self.show(name)
                continue
            self.wait(self.options.jobs - 1)
            self.start(name)
        self.wait(0)
        return [self.row(name) for name in names]


def reached(rows, stage):
    """The rows that came at least so far. What is proved but wrong counts as compiled."""
    return [row for row in rows if row["stage"] and STAGES.index(row["stage"]) >= STAGES.index(stage)]


def summary(rows):
    counts = {stage: len(reached(rows, stage)) for stage in STAGES}
    compiled = reached(rows, "compiled")
    counts["proved"] = sum(row["proved"] for row in compiled)
    share = f"{counts['proved'] / len(compiled):.0%}" if compiled else "none"
    return counts, (
        f"{len(rows)} networks: {counts['built']} built, {counts['exported']} exported, "
        f"{counts['compiled']} compiled, {counts['right']} as torch, {counts['proved']} proved ({share})"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2, help="networks at a time")
    parser.add_argument("--seconds", type=int, default=300, help="limit for each network")
    parser.add_argument("--again", action="store_true", help="make anew what failed")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("--json", type=Path, help="write the rows here, too")
    parser.add_argument("layline", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", help="all networks unless given")
    options = parser.parse_intermixed_args()
    names = all_names()
    if options.names:
        chosen = []
        for pattern in options.names:
            found = fnmatch.filter(names, pattern)
            if not found:
                parser.error(f"unknown network: {pattern} (see --list)")
            chosen += found
        names = list(dict.fromkeys(chosen))
    if options.list:
        print(*names, sep="\n")
        return
    rows = Survey(options).run(names)
    counts, text = summary(rows)
    print(text)
    if options.json:
        options.json.write_text(json.dumps({"summary": counts, "networks": rows}, indent=1) + "\n")
    # What was exported must compile, and compute what torch does.
    sys.exit(counts["right"] != counts["exported"])


if __name__ == "__main__":
    main()
