"""Small ONNX models, and what ONNX Runtime computes with them.

    python models.py FOLDER [NAME...]

NAME.onnx is the model, NAME.npz what goes in and comes out: input_0..., output_0..., and size_1/input_0...
for further sizes. tests/e2e/onnx_test.cc says with which options each is compiled. Weights are random, but
the same every time.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

rng = np.random.default_rng(24)


class Net:
    """Nodes and weights of a graph that is being written."""

    def __init__(self, opset=17):
        self.nodes, self.weights, self.opset = [], [], opset

    def weight(self, *shape, scale=None):
        scale = scale or 1 / np.sqrt(np.prod(shape[1:]) or 1)
        return self.constant((rng.standard_normal(shape) * scale).astype(np.float32))

    def constant(self, array):
        name = f"w{len(self.weights)}"
        self.weights.append(nh.from_array(np.asarray(array), name))
        return name

    def ints(self, *values):
        return self.constant(np.array(values, dtype=np.int64))

    def add(self, op, *inputs, outputs=1, **attributes):
        names = [f"{op.lower()}_{len(self.nodes)}" + ("" if i == 0 else f"_{i}") for i in range(outputs)]
        self.nodes.append(h.make_node(op, list(inputs), names, name=f"/{op}_{len(self.nodes)}", **attributes))
        return names[0] if outputs == 1 else names

    def model(self, inputs, outputs):
        """Inputs are {name: (type, shape)}, outputs names of values."""
        graph = h.make_graph(
            self.nodes, "net",
            [h.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in inputs.items()],
            [h.make_tensor_value_info(name, T.FLOAT, None) for name in outputs], self.weights)
        model = h.make_model(graph, opset_imports=[h.make_opsetid("", self.opset)], ir_version=8)
        return onnx.shape_inference.infer_shapes(model)


def floats(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def convs():
    """A network that halves and doubles its picture, as detectors do; its sizes go in steps of 4."""
    net = Net()
    x = net.add("Conv", "image", net.weight(8, 3, 3, 3), net.weight(8), pads=[1, 1, 1, 1])
    x = net.add("BatchNormalization", x, net.constant(np.abs(floats(8)) + 0.5), net.weight(8), net.weight(8),
                net.constant(np.abs(floats(8)) + 0.5))
    skip = net.add("HardSwish", x)
    x = net.add("MaxPool", skip, kernel_shape=[2, 2], strides=[2, 2])
    x = net.add("Conv", x, net.weight(16, 8, 3, 3), net.weight(16), pads=[1, 1, 1, 1], strides=[2, 2])
    x = net.add("Clip", x, net.constant(np.float32(0)), net.constant(np.float32(6)))
    gate = net.add("Sigmoid", net.add("Conv", net.add("GlobalAveragePool", x), net.weight(16, 16, 1, 1)))
    x = net.add("Mul", x, gate)
    x = net.add("Resize", x, "", net.constant(np.array([1, 1, 4, 4], np.float32)), mode="nearest",
                coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    x = net.add("Concat", x, skip, axis=1)
    x = net.add("ConvTranspose", x, net.weight(24, 2, 2, 2), strides=[2, 2])
    y = net.add("Sigmoid", x)
    sizes = [(1, 3, 32, 48), (1, 3, 16, 16)]
    return net.model({"image": (T.FLOAT, ["n", 3, "height", "width"])}, [y]), [[floats(*s)] for s in sizes]


def encoder():
    """A layer of a transformer that computes every shape from its input's."""
    net, width, heads = Net(), 16, 4
    batch, length = (net.add("Gather", net.add("Shape", "tokens"), net.ints(i)) for i in (0, 1))
    x = net.add("Gather", net.weight(50, width, scale=1), "tokens")
    places = net.add("Range", net.constant(np.int64(0)), net.add("Squeeze", length, net.ints(0)),
                     net.constant(np.int64(1)))
    x = net.add("Add", x, net.add("Gather", net.weight(64, width, scale=1), places))
    x = net.add("LayerNormalization", x, net.weight(width), net.weight(width), axis=-1)
    split = net.add("Concat", batch, length, net.ints(heads), net.ints(-1), axis=0)
    q, k, v = (net.add("Transpose", net.add("Reshape", net.add(
        "Add", net.add("MatMul", x, net.weight(width, width)), net.weight(width)), split), perm=order)
        for order in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
    scores = net.add("Div", net.add("MatMul", q, k), net.constant(np.float32(2)))
    x = net.add("Transpose", net.add("MatMul", net.add("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
    x = net.add("Reshape", x, net.add("Concat", batch, length, net.ints(width), axis=0))
    y = net.add("ReduceMean", net.add("Gemm", net.add("Reshape", x, net.ints(-1, width)),
                                      net.weight(8, width), net.weight(8), transB=1), axes=[1], keepdims=1)
    ids = [rng.integers(0, 50, (2, n)) for n in (7, 20)]
    return net.model({"tokens": (T.INT64, [2, "length"])}, [y, x]), [[i] for i in ids]


def recurrent():
    """A bidirectional LSTM with states, and a GRU behind it."""
    net = Net()
    y, h1, c1 = net.add("LSTM", "x", net.weight(2, 32, 6), net.weight(2, 32, 8), net.weight(2, 64, scale=0.2), "",
                        "h0", "c0", outputs=3, hidden_size=8, direction="bidirectional")
    y = net.add("Reshape", net.add("Transpose", y, perm=[0, 2, 1, 3]), net.ints(9, 1, 16))
    y, last = net.add("GRU", y, net.weight(1, 15, 16), net.weight(1, 15, 5), net.weight(1, 30, scale=0.2),
                      outputs=2, hidden_size=5, linear_before_reset=1)
    inputs = {"x": (T.FLOAT, [9, 1, 6]), "h0": (T.FLOAT, [2, 1, 8]), "c0": (T.FLOAT, [2, 1, 8])}
    return net.model(inputs, [y, last, h1, c1]), [[floats(9, 1, 6), floats(2, 1, 8), floats(2, 1, 8)]]


def directions():
    """Layers in both directions, whose sequences end early: each is one loop, but for the last, in which the
    directions compute differently."""
    net, sizes = Net(), {"hidden_size": 5, "direction": "bidirectional"}

    def layer(op, gates, x, width, lengths="", peepholes="", **more):
        y = net.add(op, x, net.weight(2, gates * 5, width), net.weight(2, gates * 5, 5),
                    net.weight(2, 2 * gates * 5, scale=0.2), lengths, *["", "", peepholes][: 3 if peepholes else 0],
                    outputs=3 if op == "LSTM" else 2, **sizes, **more)
        side_by_side = net.add("Reshape", net.add("Transpose", y[0], perm=[0, 2, 1, 3]), net.ints(0, 0, -1))
        return side_by_side, y[1:]

    x, states = layer("LSTM", 4, "x", 6, "lengths", net.weight(2, 15, scale=0.5))
    x, last = layer("GRU", 3, x, 10, "lengths", linear_before_reset=1)
    x, early = layer("GRU", 3, x, 10, activations=["Sigmoid", "Tanh"] * 2)
    x, plain = layer("RNN", 1, x, 10, "lengths")
    y, other = layer("GRU", 3, x, 10, activations=["Sigmoid", "Tanh", "HardSigmoid", "Tanh"])
    inputs = {"x": (T.FLOAT, ["length", 2, 6]), "lengths": (T.INT32, [2])}
    runs = [[floats(n, 2, 6), np.array([n, few], np.int32)] for n, few in ((7, 4), (1, 1), (20, 13))]
    return net.model(inputs, [y, *states, *last, *early, *plain, *other]), runs


def branches():
    """Two networks in one, chosen by a sampling rate."""
    net = Net()

    def branch(width):
        inner = Net()
        out = inner.add("Relu", inner.add("MatMul", "frames", inner.weight(width, 4)))
        return h.make_graph(inner.nodes, "branch", [], [h.make_tensor_value_info(out, T.FLOAT, ["n", 4])], inner.weights)

    is_high = net.add("Equal", "rate", net.constant(np.int64(16000)))
    y = net.add("If", is_high, then_branch=branch(8), else_branch=branch(8))
    inputs = {"frames": (T.FLOAT, ["n", 8]), "rate": (T.INT64, [])}
    model = net.model(inputs, [y])
    return model, [[floats(3, 8), np.array(16000)]]


def quantised():
    """A small convolutional network that ONNX Runtime's own tool made int8, with scales for each channel."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    net = Net(opset=13)
    x = net.add("Relu", net.add("Conv", "x", net.weight(8, 3, 3, 3), net.weight(8), pads=[1, 1, 1, 1]))
    x = net.add("Add", x, net.add("Relu", net.add("Conv", x, net.weight(8, 1, 3, 3), net.weight(8), group=8,
                                                  pads=[1, 1, 1, 1])))
    x = net.add("Flatten", net.add("GlobalAveragePool", net.add("MaxPool", x, kernel_shape=[2, 2],
                                                                strides=[2, 2])))
    y = net.add("Gemm", x, net.weight(5, 8), net.weight(5), transB=1)
    samples = [floats(1, 3, 16, 16) for _ in range(8)]

    class Samples(CalibrationDataReader):
        left = iter(samples)

        def get_next(self):
            sample = next(self.left, None)
            return None if sample is None else {"x": sample}

    with tempfile.TemporaryDirectory() as folder:
        before, after = Path(folder) / "before.onnx", Path(folder) / "after.onnx"
        onnx.save(net.model({"x": (T.FLOAT, [1, 3, 16, 16])}, [y]), before)
        quantize_static(before, after, Samples(), quant_format=QuantFormat.QDQ, per_channel=True,
                        activation_type=QuantType.QInt8, weight_type=QuantType.QInt8)
        return onnx.load(after), [[samples[0]]]


def dynamic():
    """Two layers that ONNX Runtime's own tool made int8, with scales that are chosen when the model runs."""
    from onnxruntime.quantization import quantize_dynamic

    net = Net()
    x = net.add("Relu", net.add("Add", net.add("MatMul", "x", net.weight(16, 32)), net.weight(32)))
    y = net.add("Add", net.add("MatMul", x, net.weight(32, 8)), net.weight(8))
    with tempfile.TemporaryDirectory() as folder:
        before, after = Path(folder) / "before.onnx", Path(folder) / "after.onnx"
        onnx.save(net.model({"x": (T.FLOAT, [4, 16])}, [y]), before)
        quantize_dynamic(before, after)
        return onnx.load(after), [[floats(4, 16)]]


def one_hot():
    """Products with one-hot rows, as jax and tf2onnx write embeddings: a comparison, and OneHot along a middle axis.
    Some numbers are none of the places, and OneHot counts negative ones from the end."""
    net, places = Net(), np.arange(6)
    rows = net.add("Cast", net.add("Equal", net.add("Unsqueeze", "tokens", net.ints(-1)), net.constant(places)),
                   to=T.FLOAT)
    x = net.add("Add", net.add("MatMul", rows, net.weight(6, 4)), net.weight(4))
    hot = net.add("OneHot", "tokens", net.ints(6), net.constant(np.array([-1, 2], np.float32)), axis=1)
    y = net.add("MatMul", net.add("Transpose", hot, perm=[0, 2, 1]), net.weight(6, 4))
    tokens = [np.array([[0, 5, 6, -1, 3], [-6, -7, 2**40, 1, -(2**40)]]), rng.integers(-8, 8, (2, 30))]
    return net.model({"tokens": (T.INT64, [2, "length"])}, [x, y]), [[t] for t in tokens]


def body(nodes, inputs, outputs):
    """The graph of a loop: inputs and outputs are {name: (type, shape)}, nodes "output = Op input..."."""
    made = []
    for text in nodes:
        output, call = text.split(" = ")
        op, *given = call.split()
        made.append(h.make_node(op, given, [output], **({"to": T.FLOAT} if op == "Cast" else {})))
    infos = ([h.make_tensor_value_info(name, *kind) for name, kind in side.items()] for side in (inputs, outputs))
    return h.make_graph(made, "body", *infos)


def loops():
    """A recurrent layer as tf2onnx writes it: a Loop with a counter and a mask; then a Scan from the end, with
    another loop in each step. Both read what is computed outside."""
    net, state = Net(), (T.FLOAT, [2, 8])
    zero, one, half = (net.constant(number) for number in (np.int64(0), np.int64(1), np.float32(0.5)))
    length = net.add("Gather", net.add("Shape", "x"), zero)
    scale = net.add("Sigmoid", "h0")
    step = body(
        ["e = Gather x n", f"m = Greater e {half}", "off = Not m", "fm = Cast m", "foff = Cast off",
         "p = MatMul e w", f"q = MatMul s {net.weight(8, 8)}", "r = Add p q", "t = Tanh r", "u = Mul t fm",
         "v = Mul s foff", "after = Add u v", f"each = Mul after {scale}", f"next = Add n {one}",
         f"on = Less next {length}"],
        {"i": (T.INT64, []), "c": (T.BOOL, []), "n": (T.INT64, []), "s": state, "w": (T.FLOAT, [8, 8])},
        {"on": (T.BOOL, []), "next": (T.INT64, []), "after": state, "w": (T.FLOAT, [8, 8]), "each": state})
    _, last, _, y = net.add("Loop", "", net.add("Less", zero, length), zero, "h0", net.weight(8, 8), outputs=4,
                            body=step)
    inner = body([f"a = Mul z {half}", "b = Add a g", "fj = Cast j", "d = Div b fj1", "z2 = Sin d", "go2 = Identity go"],
                 {"j": (T.INT64, []), "go": (T.BOOL, []), "z": state}, {"go2": (T.BOOL, []), "z2": state})
    inner.node.insert(3, h.make_node("Add", ["fj", net.constant(np.float32(1))], ["fj1"]))
    outer = body([f"k2 = Add z16 {scale}", "o = Identity k"], {"k": state, "g": state}, {"k2": state, "o": state})
    outer.node.insert(0, h.make_node("Loop", [net.constant(np.int64(16)), "", "k"], ["z16"], body=inner))
    end, all_steps = net.add("Scan", last, y, outputs=2, body=outer, num_scan_inputs=1, scan_input_directions=[1],
                             scan_output_axes=[1])
    return (net.model({"x": (T.FLOAT, ["length", 2, 8]), "h0": state}, [y, end, all_steps]),
            [[floats(n, 2, 8), floats(2, 8)] for n in (7, 1, 20)])


def quantised_steps():
    """A loop over a dynamic length, whose body multiplies integers."""
    net, state = Net(), (T.FLOAT, [2, 8])
    scale, zero = net.constant(np.float32(1 / 127)), net.constant(np.int8(0))
    weight = net.constant(rng.integers(-127, 127, (8, 8)).astype(np.int8))
    fine, bias = net.constant(np.float32(0.01)), net.weight(8)
    step = body([f"q = QuantizeLinear s {scale} {zero}", f"d = DequantizeLinear q {scale} {zero}",
                 f"w = DequantizeLinear {weight} {fine} {zero}", "p = MatMul d w", "a = Add p e", f"b = Add a {bias}",
                 "after = Tanh b", "o = Identity after"],
                {"s": state, "e": state}, {"after": state, "o": state})
    last, y = net.add("Scan", "h0", "x", outputs=2, body=step, num_scan_inputs=1)
    return (net.model({"h0": state, "x": (T.FLOAT, ["length", 2, 8])}, [last, y]),
            [[np.clip(floats(2, 8), -1, 1), floats(n, 2, 8)] for n in (7, 1, 20)])


MODELS = {f.__name__: f for f in (convs, encoder, recurrent, directions, branches, quantised, dynamic,
                                one_hot, loops, quantised_steps)}


def main():
    folder = Path(sys.argv[1])
    for name in sys.argv[2:] or MODELS:
        global rng
        rng = np.random.default_rng(24)
        model, runs = MODELS[name]()
        onnx.save(model, folder / f"{name}.onnx")
        session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        names, arrays = [i.name for i in session.get_inputs()], {}
        for number, inputs in enumerate(runs):
            prefix = f"size_{number}/" if number else ""
            outputs = session.run(None, dict(zip(names, inputs)))
            arrays |= {f"{prefix}input_{i}": np.asarray(array) for i, array in enumerate(inputs)}
            arrays |= {f"{prefix}output_{i}": array for i, array in enumerate(outputs)}
        np.savez(folder / f"{name}.npz", **dict(sorted(arrays.items())))


if __name__ == "__main__":
    main()
