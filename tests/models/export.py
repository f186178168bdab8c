"""What fixtures and zoo share: random parameters, export, and the layout of the files.

A model NAME is written as

    NAME.pt2             what torch.export.save writes, untouched
    NAME/input_K.npy     the K-th user input of the exported graph
    NAME/output_K.npy    the K-th user output, as computed by torch in eval mode

A model that remembers is run several times, on inputs of their own, and has a folder for each:
NAME/step_0/input_K.npy. An input that the model changes is there again as changed_K.npy.

K counts user inputs (outputs) in the order of the graph signature, with nested containers
flattened. An input or output that is not a tensor (None, or a number that export specialised) has
no file, and its index is skipped. Arrays are stored in logical shape and C order, whatever the
memory format of the tensor.
"""

import math
import re
import shutil
import warnings
import zlib
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils import _pytree as pytree

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


def _lean_metadata(program):
    """Makes the file small, and independent of where and when it was written: source paths relative
    to the repository and to site-packages, no frames of nn.Sequential, no links to the nodes of the
    graph before decomposition."""
    for module in program.graph_module.modules():
        for node in module.graph.nodes if isinstance(module, torch.fx.GraphModule) else ():
            node.meta.pop("from_node", None)
            if trace := node.meta.get("stack_trace"):
                node.meta["stack_trace"] = _CONTAINER_FRAME.sub("", _PREFIX.sub("", trace))


def export(model, inputs, decomposed=False, dynamic_shapes=None):
    program = torch.export.export(model, inputs, dynamic_shapes=dynamic_shapes)
    program = program.run_decompositions() if decomposed else program
    _lean_metadata(program)
    return program


def _save_array(path, tensor):
    np.save(path, np.array(tensor.detach().numpy(), order="C"))


def _save_arrays(folder, kind, tree):
    for index, value in enumerate(pytree.tree_leaves(tree)):
        if isinstance(value, torch.Tensor):
            _save_array(folder / f"{kind}_{index}.npy", value)


def _run_step(folder, model, inputs):
    folder.mkdir(parents=True)
    _save_arrays(folder, "input", inputs)
    # The model may write into its inputs, so it gets copies, and into its buffers, so it runs once.
    copies = pytree.tree_map_only(torch.Tensor, torch.clone, inputs)
    with torch.no_grad():
        _save_arrays(folder, "output", model(*copies))
    pairs = enumerate(zip(pytree.tree_leaves(inputs), pytree.tree_leaves(copies)))
    for index, (before, after) in pairs:
        # What is not a number does not equal itself.
        if isinstance(before, torch.Tensor) and ((before != after) & (before == before)).any():
            _save_array(folder / f"changed_{index}.npy", after)


def save_reference(folder, model, inputs, steps=None):
    """Runs the model on the inputs, or on those of each step, and writes all as .npy files."""
    shutil.rmtree(folder, ignore_errors=True)
    if steps is None:
        return _run_step(folder, model, inputs)
    for index, step in enumerate(steps):
        _run_step(folder / f"step_{index}", model, step)


def save(path, model, inputs, decomposed=False, dynamic_shapes=None, samples=True, steps=None):
    """Writes path.pt2 and the folder path. Returns the program.

    samples: whether the archive also holds the inputs that the model was exported with.
    steps: the inputs of each run, for a model that remembers."""
    path = Path(path)
    program = export(model, inputs, decomposed, dynamic_shapes)
    if not samples:
        program.example_inputs = None
    torch.export.save(program, f"{path}.pt2")
    save_reference(path, model, inputs, steps)
    return program


def operators(program):
    """The distinct ops of a program, sorted, as a short text."""
    targets = {str(n.target) for n in program.graph.nodes if n.op == "call_function"}
    return " ".join(sorted(targets))
