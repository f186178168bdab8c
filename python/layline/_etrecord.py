"""ExecuTorch's Inspector on layline's programs: what its traces mean, in the user's own lines.

    record = layline.etrecord("model.pte", exported_program, "model.etdump")
    inspector = executorch.devtools.Inspector(etdump_path="model.etdump", etrecord=record)
"""

from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from layline._compiler import Error, ProgramSources

if TYPE_CHECKING:
    import torch
    from executorch.devtools import ETRecord

_METHOD = "forward"  # the only one that the Inspector looks at


def etrecord(
    program: str | os.PathLike[str] | bytes,
    exported_program: torch.export.ExportedProgram,
    etdump: str | os.PathLike[str] | bytes,
) -> ETRecord:
    """What ExecuTorch's Inspector needs to tell the lines of the model that a trace is about.

    `program` is a `.pte` that layline compiled from `exported_program`; `etdump` is a trace of it.
    What XNNPACK calls the operators that it runs depends on the device, so the record is one of
    this trace: take another for the trace of another device. Needs the package executorch.
    """
    from executorch.devtools import ETRecord
    from executorch.devtools.etdump.serialize import deserialize_from_etdump_flatcc

    code = program if isinstance(program, bytes) else Path(program).read_bytes()
    name = "the program" if isinstance(program, bytes) else os.fspath(program)
    sources = ProgramSources.read(code, name, _METHOD)
    if not sources.places:
        raise Error(f"'{name}' does not say where it comes from; compile it with layline, unstripped")

    # The Inspector wants one handle for each node of the model, of which a program may have several.
    nodes = list(dict.fromkeys(place.node for place in sources.places))
    numbers = {node: number for number, node in enumerate(nodes, 1) if node}
    record_handles = [0, *(numbers.get(place.node, 0) for place in sources.places)]

    dump = etdump if isinstance(etdump, bytes) else Path(etdump).read_bytes()
    instructions = _instructions(deserialize_from_etdump_flatcc(dump))
    handles: dict[str, list[int]] = {}
    delegates: dict[str, dict[str, Any]] = {}
    for instruction, operators in instructions.items():
        key = str(instruction)
        found = [record_handles[handle] for handle in sources.operators(instruction, operators)]
        names = {op: [handle] for op, handle in zip(operators, found) if handle}
        if names:
            delegates[key] = {"name": "XnnpackBackend", "delegate_map": names}
        kernel = record_handles[sources.kernel(instruction)]
        handles[key] = [kernel] if kernel else sorted(set(found) - {0})
    return ETRecord(
        edge_dialect_program=_numbered(exported_program, numbers),
        _debug_handle_map={_METHOD: handles},
        _delegate_map={_METHOD: delegates},
        _instruction_id_to_num_outs_map={_METHOD: {}},
    )


def _instructions(dump: Any) -> dict[int, list[str]]:
    """The instructions that the trace is about; of those that call XNNPACK, what it ran, in order."""
    found: dict[int, list[str]] = {}
    for run in dump.run_data:
        for event in run.events or []:
            profile = event.profile_event
            if profile is None or profile.instruction_id < 0:
                continue
            operators = found.setdefault(profile.instruction_id, [])
            operator = profile.delegate_debug_id_str
            if operator and operator not in operators:
                operators.append(operator)
    return found


def _numbered(
    exported_program: torch.export.ExportedProgram, handles: dict[str, int]
) -> torch.export.ExportedProgram:
    """The same program, not its weights again, with handles at its nodes."""
    tensors = [*exported_program.state_dict.values(), *exported_program.constants.values()]
    numbered = copy.deepcopy(exported_program, {id(tensor): tensor for tensor in tensors})
    for node in numbered.graph.nodes:
        if node.name in handles:
            node.meta["debug_handle"] = handles[node.name]
    return numbered
