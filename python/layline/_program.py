"""Compiling: a model in, a Program out."""

from __future__ import annotations

import html
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from layline import _compiler
from layline._compiler import Error
from layline._report import Report
from layline._session import Session

if TYPE_CHECKING:
    import onnx
    import torch

    from layline._session import Array

Constant: TypeAlias = bool | int | float


def targets() -> dict[str, str]:
    """What `compile(target=...)` takes, and what each makes; the first is the default."""
    return {target.name: target.programs for target in _compiler.targets()}


def compile(
    model: str | os.PathLike[str] | torch.export.ExportedProgram | torch.nn.Module | onnx.ModelProto,
    args: tuple[Any, ...] | None = None,
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    target: str = "xnnpack",
    accelerator: str | None = None,
    profile: str | os.PathLike[str] | None = None,
    disable: Iterable[str] = (),
    input_order: Mapping[str, str] | None = None,
    output_order: Mapping[str, str] | None = None,
    verify: bool = False,
    strip: bool = False,
    constant_methods: Mapping[str, Constant | Sequence[Constant]] | None = None,
    llm: bool = False,
    kernels: str | None = None,
    dims: Mapping[str, int | tuple[int, int] | range | str] | None = None,
    fix: Mapping[str, Constant | Array | str] | None = None,
    prove: float = 0,
) -> Program:
    """Compiles a model.

    `model` is the path of a `.pt2` file, of an `.onnx` file or of a graph as text; what
    `torch.export.export` returns; an `onnx.ModelProto`; or a module, which is then exported with
    `args`, `kwargs` and `dynamic_shapes`. The other arguments are those of `layline compile`;
    `constant_methods` are those that `--constant` adds, as ExecuTorch's own.

    `dims` are sizes that an ONNX model leaves open: `{"batch": 1, "width": (32, 960)}`, or
    `range(32, 961, 32)` for steps. `fix` makes inputs of an ONNX model constants: numbers, arrays
    or paths of `.npy` files. Raises layline.Error, which names the node and the line of your own
    code that cannot be compiled.
    """
    options = dict(
        target=target,
        accelerator=accelerator or "",
        profile=os.fspath(profile) if profile is not None else "",
        disable=list(disable),
        input_order=dict(input_order or {}),
        output_order=dict(output_order or {}),
        verify=verify,
        strip=strip,
        constant_methods={
            name: _constants(name, value) for name, value in (constant_methods or {}).items()
        },
        llm=llm,
        kernels=kernels or "",
        dims={name: _size(name, value) for name, value in (dims or {}).items()},
        fix={},
        prove=prove,
        name="",
    )
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        if args is None:
            raise Error("a module is exported first, which needs args: layline.compile(model, (x,))")
        options["name"] = type(model).__name__
        model = torch.export.export(model, args, kwargs, dynamic_shapes=dynamic_shapes)
    elif args is not None or kwargs is not None or dynamic_shapes is not None:
        raise Error("args, kwargs and dynamic_shapes are for a module; this model is exported already")
    if torch is not None and isinstance(model, torch.export.ExportedProgram):
        return _compile_exported(model, options)
    with tempfile.TemporaryDirectory(prefix="layline-") as folder:
        options["fix"] = {
            name: _fixed(Path(folder) / f"{i}.npy", value)
            for i, (name, value) in enumerate((fix or {}).items())
        }
        onnx = sys.modules.get("onnx")
        if onnx is not None and isinstance(model, onnx.ModelProto):
            path = Path(folder) / "model.onnx"
            path.write_bytes(model.SerializeToString())
            return _compile_file(str(path), {**options, "name": "ONNX model"})
        if not isinstance(model, (str, os.PathLike)):
            raise Error(
                "a model is a path, an ExportedProgram, a torch module or an onnx.ModelProto, "
                f"not {type(model).__name__}"
            )
        return _compile_file(os.fspath(model), options)


def _size(name: str, value: int | tuple[int, int] | range | str) -> str:
    if isinstance(value, range):
        return f"{value[0]}..{value[-1]}:{value.step}"
    if isinstance(value, tuple):
        if len(value) != 2:
            raise Error(f"dims: '{name}' is {value!r}, but a range has two ends")
        return f"{value[0]}..{value[1]}"
    return str(value)


def _fixed(path: Path, value: Constant | Array | str) -> str:
    if isinstance(value, (bool, int, float)):
        return str(value).lower() if isinstance(value, bool) else repr(value)
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    import numpy

    numpy.save(path, numpy.asarray(value))
    return str(path)


def _constants(name: str, value: Constant | Sequence[Constant]) -> list[Constant]:
    values = [value] if isinstance(value, (bool, int, float)) else list(value)
    if isinstance(value, str) or not all(isinstance(v, (bool, int, float)) for v in values):
        raise Error(f"constant method '{name}': {value!r} is no number, bool or list of them")
    return values


def _compile_exported(model: torch.export.ExportedProgram, options: dict[str, Any]) -> Program:
    import torch

    with tempfile.TemporaryDirectory(prefix="layline-") as folder:
        path = Path(folder) / "model.pt2"
        torch.export.save(model, path)
        return _compile_file(str(path), {**options, "name": options["name"] or "exported program"})


def _compile_file(path: str, options: dict[str, Any]) -> Program:
    return Program(_compiler.compile(path, **options))


class Program:
    """A compiled model."""

    def __init__(self, compiled: _compiler.CompiledModel) -> None:
        self._compiled = compiled
        self._report = Report.from_json(compiled.report_json())
        self._session: Session | None = None

    @property
    def report(self) -> Report:
        """What the compilation did."""
        return self._report

    @property
    def buffer(self) -> bytes:
        """What the file holds that `save` writes."""
        return self._compiled.bytes()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the program; the file appears whole or not at all."""
        self._compiled.save(os.fspath(path))

    def save_report(self, path: str | os.PathLike[str]) -> None:
        """Writes the report: as JSON, or as a page to look at if `path` ends in .html."""
        page = Path(path).suffix == ".html"
        text = self._compiled.report_html() if page else self._compiled.report_json()
        Path(path).write_text(text, encoding="utf-8")

    def run(self, *inputs: Array, method: str | None = None, **named: Array) -> tuple[Any, ...]:
        """Runs the program here, on ExecuTorch; see Session.run. States live as long as this."""
        target = next(t for t in _compiler.targets() if t.name == self._report.target)
        if target.extension != ".pte":
            raise Error(f"a program for {target.name} does not run on this machine")
        if self._session is None:
            self._session = Session(self.buffer, self._report.methods)
        return self._session.run(*inputs, method=method, **named)

    def reset(self) -> None:
        """Gives states their first values again."""
        self._session = None

    def explain(self, node: str | None = None) -> str:
        """Why each permute is there and what is not delegated; or the story of one node."""
        return self._compiled.explain() if node is None else self._compiled.explain(node)

    def __repr__(self) -> str:
        report = self._report
        permutes = report.permutes
        return (
            f"<layline.Program for {report.target}: {report.ops} ops, {report.delegates} delegates, "
            f"{permutes.final} of {permutes.source + permutes.implied} permutes left>"
        )

    def _repr_html_(self) -> str:
        report = self._report
        permutes = report.permutes
        rows = {
            "target": report.target,
            "ops": report.ops,
            "delegates": report.delegates,
            "ops outside delegates": sum(op.count for op in report.portable_ops),
            "permutes": f"{permutes.final} of {permutes.source + permutes.implied} left, "
            f"{permutes.bytes} bytes",
            "placement": "proved" if all(p.proved for p in report.placements) else "not proved",
            "constants": f"{report.memory.constant_bytes} bytes",
            "compiled in": f"{report.compile_ms:.1f} ms",
        }
        cells = "".join(
            f"<tr><th>{html.escape(key)}</th><td>{html.escape(str(value))}</td></tr>"
            for key, value in rows.items()
        )
        return f"<table>{cells}</table><pre>{html.escape(self.explain())}</pre>"
