"""Export of recurrent layers whose number of steps is dynamic."""

import contextlib

import torch
from torch._C import DispatchKey

_OPS = ("lstm", "gru", "rnn_tanh", "rnn_relu")
_KEYS = (DispatchKey.CompositeImplicitAutograd, DispatchKey.Autograd)


def _shapes(x, states, _params, _has_biases, _layers, _dropout, _train, bidirectional, _batch_first):
    """Results of the right shapes; an export needs no more."""
    several = isinstance(states, (list, tuple))
    states = states if several else [states]
    width = states[0].shape[-1] * (2 if bidirectional else 1)
    return x.new_empty([*x.shape[:-1], width]), *(torch.empty_like(state) for state in states)


@contextlib.contextmanager
def recurrent_shapes():
    """Lets torch.export keep recurrent layers as they are. Without this it runs them step by step, and
    the number of steps is fixed, though the exported program has one op for all of them."""
    ops = [getattr(torch.ops.aten, name).input for name in _OPS]
    saved = [dict(op.py_kernels) for op in ops]
    for op in ops:
        op.py_kernels.update({key: _shapes for key in _KEYS if key in op.py_kernels})
        op._dispatch_cache.clear()
    try:
        yield
    finally:
        for op, kernels in zip(ops, saved):
            op.py_kernels.clear()
            op.py_kernels.update(kernels)
            op._dispatch_cache.clear()
