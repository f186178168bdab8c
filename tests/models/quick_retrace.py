"""Makes ExecuTorch's Arm backend propagate permutes in less time, with the same result.

Its PropagateViewCopyPermutePass interprets the whole graph anew after each step that permutes take along
it, which takes most of the hours in which it lowers a large network. `use()` replaces that by an update
in place: an op of a kind, with such operands, is interpreted once, and when the pass is done the graph is
interpreted as upstream does.
"""

import torch
from executorch.backends.transforms.propagate_view_copy_permute_pass import (
    PropagateViewCopyPermutePass as Propagation,
)
from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.pass_base import PassResult
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils import _pytree as pytree

# As ArmPass.call_operator has them: on integers they have no kernel, and keep the value's shape.
WITHOUT_KERNEL = (exir_ops.edge.aten.bmm.default, exir_ops.edge.aten.leaky_relu.default)


def told(value):
    """All that a result depends on of an operand: what is told of a tensor, or the number itself."""
    if isinstance(value, torch.Tensor):
        return tuple(value.shape), value.stride(), value.dtype, value.device
    if isinstance(value, (list, tuple)):
        return tuple(told(item) for item in value)
    return type(value), value


def value_of(node, mode, known):
    operands, options = torch.fx.node.map_arg((node.args, node.kwargs), lambda n: n.meta["val"])
    if node.target in WITHOUT_KERNEL and node.meta.get("input_qparams"):
        types = list(node.meta.get("output_qparams", {}).values())
        dtype = types[0].dtype if types else node.meta["val"].dtype
        with mode:
            return torch.empty_like(node.meta["val"], dtype=dtype)
    key = (node.target, told(operands), tuple((name, told(value)) for name, value in options.items()))
    if key not in known:
        with mode, torch._dispatch.python.enable_python_dispatcher():
            known[key] = node.target(*operands, **options)
    return known[key]


def retrace(self, graph_module):
    graph = graph_module.graph
    graph.eliminate_dead_code()
    place = {node: i for i, node in enumerate(graph.nodes)}
    fakes = (node.meta["val"] for node in graph.nodes if node.op == "placeholder")
    mode = next(value.fake_mode for value in fakes if isinstance(value, FakeTensor))
    mode.allow_non_fake_inputs = True
    for node in graph.nodes:
        # A new graph has its users in the order in which they stand.
        node.users = dict(sorted(node.users.items(), key=lambda item: place[item[0]]))
        if node.op == "call_function":
            node.meta = dict(node.meta, val=value_of(node, mode, self.__dict__.setdefault("known", {})))
            node.meta["tensor_meta"] = pytree.tree_map(lambda _: None, node.meta["val"])
    return graph_module


def use():
    whole, call = Propagation._retrace, Propagation.call

    def call_and_retrace(self, graph_module):
        result = call(self, graph_module)
        graph = whole(self, result.graph_module) if result.modified else result.graph_module
        return PassResult(graph, result.modified)

    Propagation._retrace, Propagation.call = retrace, call_and_retrace
