"""Counts what a .pte program does, from outside: delegate calls, kernel calls, transposes.

    program_stats.py PROGRAM.pte...

It knows nothing about layline: the program is read with the flatc and the schemas of the installed
executorch package.
"""

import json
import math
import re
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import executorch

PACKAGE = Path(list(executorch.__path__)[0])
FLATC = PACKAGE / "data/bin/flatc"
PROGRAM_SCHEMA = PACKAGE / "schema/program.fbs"
XNNPACK_SCHEMA = PACKAGE / "backends/xnnpack/serialization/schema.fbs"

_TRANSPOSE_KERNEL = re.compile(r"::(permute|transpose|t)(_copy)?$")
_BARE_FLOAT = re.compile(r"([:\[,]\s*)(-?(?:inf|nan))\b")


def _read(schema, data):
    """A flatbuffer as a dict. flatc writes infinities bare; they are read as strings."""
    with tempfile.TemporaryDirectory() as folder:
        binary = Path(folder) / "buffer.bin"
        binary.write_bytes(data)
        options = ["--json", "--raw-binary", "--strict-json", "-I", schema.parent, "-o", folder]
        subprocess.run(
            [FLATC, *options, schema, "--", binary], check=True, stdout=subprocess.DEVNULL
        )
        return json.loads(_BARE_FLOAT.sub(r'\1"\2"', (Path(folder) / "buffer.json").read_text()))


def _split(program):
    """The flatbuffer of a .pte and the offset of its segments (extended header of executorch)."""
    if program[8:12] != b"eh00":
        return program, 0
    flatbuffer_size, segment_base = struct.unpack_from("<QQ", program, 16)
    return program[:flatbuffer_size], segment_base


def _xnnpack_graph(payload):
    offset, size = struct.unpack_from("<II", payload, 10)
    return _read(XNNPACK_SCHEMA, payload[offset : offset + size])


_BYTES = {"xnn_datatype_fp32": 4, "xnn_datatype_fp16": 2, "xnn_datatype_qint32": 4}  # others: 1


def _transposed_bytes(graph):
    """What the XNNPACK nodes that transpose write."""
    tensors = {}
    for value in graph["xvalues"]:
        tensor = value["xvalue_union"]
        tensor = tensor.get("tensor_value", tensor)  # a quantised one holds it
        size = _BYTES.get(tensor.get("datatype"), 1)
        tensors[tensor.get("id_out", 0)] = math.prod(tensor.get("dims", [])) * size
    return sum(
        tensors[node["xnode_union"].get("output_id", 0)]
        for node in graph["xnodes"]
        if node["xnode_union_type"] == "XNNStaticTranspose"
    )


def stats(path):
    program = Path(path).read_bytes()
    flatbuffer, segment_base = _split(program)
    root = _read(PROGRAM_SCHEMA, flatbuffer)
    delegates, kernels, nodes, transposed_bytes = 0, Counter(), Counter(), 0
    for plan in root["execution_plan"]:
        for instruction in (i for chain in plan["chains"] for i in chain.get("instructions", [])):
            if instruction["instr_args_type"] == "DelegateCall":
                delegates += 1
            elif instruction["instr_args_type"] == "KernelCall":
                index = instruction["instr_args"].get("op_index", 0)
                kernels[plan["operators"][index]["name"]] += 1
        for delegate in plan.get("delegates", []):
            if delegate["id"] == "XnnpackBackend":
                segment = root["segments"][delegate["processed"].get("index", 0)]
                start = segment_base + segment.get("offset", 0)
                graph = _xnnpack_graph(program[start : start + segment["size"]])
                nodes += Counter(node["xnode_union_type"] for node in graph["xnodes"])
                transposed_bytes += _transposed_bytes(graph)
    moved = sum(count for name, count in kernels.items() if _TRANSPOSE_KERNEL.search(name))
    return {
        "delegates": delegates,
        "kernels": sum(kernels.values()),
        "transposes": nodes["XNNStaticTranspose"] + moved,
        "transposed_bytes": transposed_bytes,
        "nodes": sum(nodes.values()),
        "kernel_names": dict(sorted(kernels.items())),
    }


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        print(argument, json.dumps(stats(argument)))
