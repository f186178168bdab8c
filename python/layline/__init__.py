"""Compile PyTorch models for devices.

    import layline

    program = layline.compile(torch.export.export(model, (x,)))
    program.save("model.pte")
    (y,) = program.run(x)
    print(program.explain())
"""

from layline._compiler import Error
from layline._etrecord import etrecord
from layline._generator import Generation, Generator
from layline._program import Program, compile, targets
from layline._report import (
    BoundaryTensor,
    DynamicSize,
    Memory,
    Moves,
    MovesByKind,
    PassTime,
    Permutes,
    PortableOp,
    Report,
    StateTensor,
    Survivor,
)
from layline._session import Session, set_threads

__all__ = [
    "BoundaryTensor",
    "DynamicSize",
    "Error",
    "Generation",
    "Generator",
    "Memory",
    "Moves",
    "MovesByKind",
    "PassTime",
    "Permutes",
    "PortableOp",
    "Program",
    "Report",
    "Session",
    "StateTensor",
    "Survivor",
    "compile",
    "etrecord",
    "set_threads",
    "targets",
]
