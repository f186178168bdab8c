"""What a compilation did: `--report FILE.json` as dataclasses. docs/report.md explains the fields."""

from __future__ import annotations

import dataclasses
import json
import typing
from dataclasses import dataclass


@dataclass(frozen=True)
class PortableOp:
    """A core op that runs on a kernel of the runtime, outside every delegate."""

    op: str
    count: int
    why: str


@dataclass(frozen=True)
class Survivor:
    """A permute that is left in the program."""

    node: str
    shape: str
    bytes: int
    forced_by: list[str]


@dataclass(frozen=True)
class Permutes:
    source: int
    implied: int
    absorbed: int
    final: int
    bytes: int
    survivors: list[Survivor]


@dataclass(frozen=True)
class Price:
    """What moving data costs by the profile: time first, at equal time the number of permutes."""

    ms: float
    permutes: int


@dataclass(frozen=True)
class PlacementProof:
    """What is proved of one method: if `proved`, no choice of loop orders costs less than `cost`."""

    method: str
    proved: bool
    cost: Price
    bound: Price
    before: Price
    written: Price


@dataclass(frozen=True)
class Moves:
    count: int
    bytes: int


@dataclass(frozen=True)
class MovesByKind:
    slice: Moves
    concat: Moves
    copy: Moves


@dataclass(frozen=True)
class BoundaryTensor:
    """An input or an output. `shape` has the upper bounds of dynamic sizes."""

    name: str
    dtype: str
    shape: list[int]
    dim_order: list[int]
    method: str
    symbolic_shape: list[str] | None = None
    scale: float | None = None
    zero_point: int | None = None


@dataclass(frozen=True)
class DynamicSize:
    method: str
    symbol: str
    name: str
    formula: str
    min: int
    max: int


@dataclass(frozen=True)
class StateTensor:
    """A buffer that the model changes and that keeps its value between runs."""

    name: str
    dtype: str
    shape: list[int]
    bytes: int
    methods: list[str]


@dataclass(frozen=True)
class Memory:
    arena_bytes: int
    arena_lower_bound_bytes: int
    state_bytes: int
    constant_bytes: int


@dataclass(frozen=True)
class PassTime:
    # `pass` is a keyword of Python.
    pass_: str = dataclasses.field(metadata={"key": "pass"})
    ms: float


@dataclass(frozen=True)
class Report:
    version: str
    model: str
    target: str
    compile_ms: float
    ops: int
    delegates: int
    portable_ops: list[PortableOp]
    permutes: Permutes
    placements: list[PlacementProof]
    moves: MovesByKind
    inputs: list[BoundaryTensor]
    outputs: list[BoundaryTensor]
    symbols: list[DynamicSize]
    states: list[StateTensor]
    memory: Memory
    kernels: list[str]
    backends: list[str]
    methods: list[str]
    passes: list[PassTime]
    profile: str | None = None  # whose costs were used; None if nothing was measured
    accelerator: str | None = None  # the NPU that the program is for

    @staticmethod
    def from_json(text: str) -> Report:
        report: Report = _read(Report, json.loads(text))
        return report


def _read(wanted: typing.Any, value: typing.Any) -> typing.Any:
    """`value`, as json gives it, in the dataclass that the annotation `wanted` names."""
    if typing.get_origin(wanted) is list:
        (item,) = typing.get_args(wanted)
        return [_read(item, element) for element in value]
    if not isinstance(wanted, type) or not dataclasses.is_dataclass(wanted):
        return value
    annotations = typing.get_type_hints(wanted)
    members = {}
    for field in dataclasses.fields(wanted):
        key = field.metadata.get("key", field.name)
        if key in value:
            members[field.name] = _read(annotations[field.name], value[key])
    return wanted(**members)
