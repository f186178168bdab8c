"""Programs on the ExecuTorch runtime, which the package carries."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from layline._compiler import Error

if TYPE_CHECKING:
    import numpy
    import torch

    Array: TypeAlias = numpy.ndarray[Any, Any] | torch.Tensor


class Session:
    """A `.pte` program, loaded. Buffers that the model changes keep their value between runs."""

    def __init__(
        self, program: str | os.PathLike[str] | bytes, methods: Sequence[str] = ("forward",)
    ) -> None:
        # Not before it is needed: who only compiles loads no runtime.
        from layline import _runtime

        self._methods = list(methods)
        if isinstance(program, bytes):
            self._session = _runtime.Session.from_bytes(program, self._methods)
        else:
            self._session = _runtime.Session.from_file(os.fspath(program), self._methods)

    def run(self, *inputs: Array, method: str | None = None, **named: Array) -> tuple[Any, ...]:
        """Runs a method (the first, unless told) and returns a tuple of its outputs.

        Inputs are NumPy arrays or torch tensors, in order or by their names. If any is a tensor of
        torch, so are the outputs. NumPy has no bfloat16: such an output is an array of uint16.
        """
        method = method or self._methods[0]
        ports = self._session.inputs(method)
        given = _arrange([p.name for p in ports if p.is_tensor], inputs, named)
        arrays = [_readable(given[p.name]) if p.is_tensor else None for p in ports]
        outputs = self._session.run(method, arrays)
        if not any(_is_torch(value) for value in given.values()):
            return tuple(outputs)
        dtypes = [port.dtype for port in self._session.outputs(method)]
        return tuple(_to_torch(array, dtype) for array, dtype in zip(outputs, dtypes))


def set_threads(count: int) -> None:
    """Kernels use `count` threads. To be called before anything runs."""
    from layline import _runtime

    _runtime.set_threads(count)


def _arrange(names: list[str], inputs: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """Inputs by their names. Error unless each is given once."""
    takes = f"the program takes {', '.join(names) or 'no inputs'}"
    if len(inputs) > len(names):
        raise Error(f"{len(inputs)} inputs are given; {takes}")
    given = dict(zip(names, inputs))
    for name, value in named.items():
        if name not in names:
            raise Error(f"there is no input `{name}`; {takes}")
        if name in given:
            raise Error(f"the input `{name}` is given twice")
        given[name] = value
    missing = [name for name in names if name not in given]
    if missing:
        raise Error(f"the input `{missing[0]}` is not given; {takes}")
    return given


def _is_torch(value: Any) -> bool:
    # A tensor exists only where torch is imported already.
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _readable(value: Any) -> Any:
    if _is_torch(value):
        return value.detach().resolve_conj().resolve_neg()
    if hasattr(value, "__dlpack__") or hasattr(value, "__array_interface__"):
        return value
    raise Error(f"an input is a NumPy array or a torch tensor, not {type(value).__name__}")


def _to_torch(array: Any, dtype: str) -> Any:
    import torch

    tensor = torch.from_numpy(array)
    return tensor.view(torch.bfloat16) if dtype == "bf16" else tensor
