"""What fixtures and zoo share: random parameters, export, and the layout of the files.

A model NAME is written as

    NAME.pt2        what torch.export.save writes, untouched
    NAME.npz        what numpy.savez writes, in the order of the names:
        input_K     the K-th user input of the exported graph
        output_K    the K-th user output, as computed by torch in eval mode
        changed_K   the K-th user input after the run, if the model has changed it

A model that remembers is run several times, on inputs of their own: step_0/input_K, step_1/input_K
and so on. One of dynamic sizes is run on others too: size_1/input_K. An archive with several methods
has the arrays of each: METHOD/input_K.

K counts user inputs (outputs) in the order of the graph signature, with nested containers
flattened. An input or output that is not a tensor (None, or a number that export specialised) has
no array, and its index is skipped. Arrays are stored in logical shape and C order, whatever the
memory format of the tensor. The same arrays make the same file, byte for byte.
"""

import contextlib
import math
import re
import warnings
import zlib
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils import _pytree as pytree

from recurrent_shapes import recurrent_shapes

warnings.filterwarnings("ignore")
torch.set_num_threads(1)

_NORMS = (
    nn.modules.batchnorm._BatchNorm,
    nn.modules.instancenorm._InstanceNorm,
    nn.GroupNorm,
    nn.LayerNorm,
)


def seed(name):
    """Seeds torch from the model's name, so that adding a model changes no other one."""
    torch.manual_seed(zlib.crc32(name.encode()))


def _unit_gain(weight):
    """He initialisation: keeps the second moment of activations through conv + ReLU."""
    fan_in = weight[0].numel()
    nn.init.normal_(weight, std=math.sqrt(2.0 / max(fan_in, 1)))


def randomise(model):
    """Gives every parameter and batch-norm statistic a value no wrong compiler can hide behind:
    no zeros, no ones, different in each channel, and activations that stay of order one."""
    with torch.no_grad():
        for module in model.modules():
            is_norm = isinstance(module, _NORMS)
            for name, parameter in module.named_parameters(recurse=False):
                if is_norm and name == "weight":
                    parameter.uniform_(0.6, 1.4)
                elif parameter.dim() < 2:
                    parameter.normal_(0.0, 0.2)
                else:
                    _unit_gain(parameter)
            for name, buffer in module.named_buffers(recurse=False):
                if name == "running_mean":
                    buffer.normal_(0.0, 0.2)
                elif name == "running_var":
                    buffer.uniform_(0.6, 1.6)
    return model


def calibrate_norms(model, inputs):
    """Sets batch-norm statistics so that each norm leaves activations of order one, whatever the
    depth. One scale for all channels of a layer, times a random factor for each: statistics of the
    single channels would make a deep random network chaotic, and torch's own float32 error larger
    than the bounds that layline is tested against."""

    def calibrate(norm, arguments):
        power = arguments[0].square().mean()
        norm.running_mean.normal_(0.0, 0.2).mul_(power.sqrt())
        norm.running_var.uniform_(0.7, 1.4).mul_(power)

    norms = [m for m in model.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
    hooks = [norm.register_forward_pre_hook(calibrate) for norm in norms]
    with torch.no_grad():
        model.eval()(*inputs)
    for hook in hooks:
        hook.remove()
    return model


_CHANNELS_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}


def channels_last(value):
    """Every 4-D or 5-D tensor of a model, or of a tree of inputs, in channels-last memory format."""
    convert = lambda t: t.to(memory_format=_CHANNELS_LAST.get(t.dim(), torch.preserve_format))
    if isinstance(value, nn.Module):
        return value._apply(convert)
    return pytree.tree_map_only(torch.Tensor, convert, value)


_REPOSITORY = re.escape(str(Path(__file__).resolve().parents[2]))
_PREFIX = re.compile(rf"/[^\"\n]*/site-packages/|{_REPOSITORY}/")
_CONTAINER_FRAME = re.compile(r' *File "torch/nn/modules/container.py".*\n.*\n')


def lean_metadata(program):
    """Makes the file small, and independent of where and when it was written: source paths relative
    to the repository and to site-packages, no frames of nn.Sequential, no links to the nodes of the
    graph before decomposition."""
    for module in program.graph_module.modules():
        for node in module.graph.nodes if isinstance(module, torch.fx.GraphModule) else ():
            node.meta.pop("from_node", None)
            if trace := node.meta.get("stack_trace"):
                node.meta["stack_trace"] = _CONTAINER_FRAME.sub("", _PREFIX.sub("", trace))


def least_metadata(program):
    """What lean_metadata leaves, and of that only the last source line: models of the transformers
    library are called through many."""
    lean_metadata(program)
    for node in program.graph.nodes:
        node.meta.pop("torch_fn", None)
        node.meta.pop("source_fn_stack", None)
        if modules := node.meta.get("nn_module_stack"):
            # Strict export has the addresses of modules for keys.
            node.meta["nn_module_stack"] = {path: (path, kind) for path, kind in modules.values()}
        if trace := node.meta.get("stack_trace"):
            node.meta["stack_trace"] = trace[trace.rindex("File ") :]


def export(model, inputs, decomposed=False, dynamic_shapes=None):
    with recurrent_shapes() if dynamic_shapes else contextlib.nullcontext():
        program = torch.export.export(model, inputs, dynamic_shapes=dynamic_shapes)
    program = program.run_decompositions() if decomposed else program
    lean_metadata(program)
    return program


def _array(tensor):
    return np.array(tensor.detach().numpy(), order="C")


def _numbered(kind, tree):
    leaves = enumerate(pytree.tree_leaves(tree))
    return {f"{kind}_{k}": _array(leaf) for k, leaf in leaves if isinstance(leaf, torch.Tensor)}


def under(prefix, arrays):
    return {f"{prefix}/{name}": array for name, array in arrays.items()}


def run(model, inputs):
    """The arrays of one run, by their names."""
    # The model may write into its inputs, so it gets copies, and into its buffers, so it runs once.
    copies = pytree.tree_map_only(torch.Tensor, torch.clone, inputs)
    with torch.no_grad():
        arrays = _numbered("input", inputs) | _numbered("output", model(*copies))
    pairs = enumerate(zip(pytree.tree_leaves(inputs), pytree.tree_leaves(copies)))
    for index, (before, after) in pairs:
        # What is not a number does not equal itself.
        if isinstance(before, torch.Tensor) and ((before != after) & (before == before)).any():
            arrays[f"changed_{index}"] = _array(after)
    return arrays


def save_arrays(path, arrays):
    np.savez(f"{path}.npz", **dict(sorted(arrays.items())))


def save_reference(path, model, inputs, steps=None, other_sizes=()):
    """Runs the model on the inputs, or on those of each step, and writes path.npz.

    steps: the inputs of each run, for a model that remembers.
    other_sizes: functions that give inputs of other sizes."""
    if steps is None:
        arrays = run(model, inputs)
    else:
        arrays = {}
        for index, step in enumerate(steps):
            arrays |= under(f"step_{index}", run(model, step))
    for index, make_other in enumerate(other_sizes):
        arrays |= under(f"size_{index + 1}", run(model, make_other()))
    save_arrays(path, arrays)


def save_program(path, model, inputs, decomposed=False, dynamic_shapes=None, samples=True):
    """Writes path.pt2. Returns the program.

    samples: whether the archive also holds the inputs that the model was exported with."""
    program = export(model, inputs, decomposed, dynamic_shapes)
    if not samples:
        program.example_inputs = None
    torch.export.save(program, f"{path}.pt2")
    return program


def operators(program):
    """The distinct ops of a program, sorted, as a short text."""
    targets = {str(n.target) for n in program.graph.nodes if n.op == "call_function"}
    return " ".join(sorted(targets))
