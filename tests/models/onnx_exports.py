"""Networks that torch.onnx exports, by both of its exporters: compiled, run, and compared with torch.

    python onnx_exports.py [NAME...]

Weights are random. Runs in torch's environment, with the packages of scripts/onnx-venv --models behind it
(scripts/onnx-exports).
"""

import contextlib
import io
import logging
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.append(os.environ["LAYLINE_ONNX_PACKAGES"])

import torchvision_ops  # noqa: E402, F401  (before torchvision)
import numpy as np  # noqa: E402
import timm  # noqa: E402
import torch  # noqa: E402
import torchvision.models as tv  # noqa: E402
import transformers  # noqa: E402

LAYLINE = os.environ.get("LAYLINE", str(ROOT / "build" / "layline"))
TOLERANCE = 1e-5
# torch's older exporter has no aten::diff, which transformers uses for positions.
ONLY_DYNAMO = {"gpt2", "llama"}


class First(torch.nn.Module):
    """The first output of a language model."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x)[0]


def picture(model, size=224):
    return model, torch.randn(1, 3, size, size)


def words(model):
    return First(model), torch.randint(0, 100, (1, 12))


def sequencer():
    model = timm.create_model("sequencer2d_s")
    torch.nn.init.normal_(model.head.fc.weight)  # which are zeros
    return model


SMALL = dict(vocab_size=100, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128)

MODELS = {
    "resnet18": lambda: picture(tv.resnet18()),
    "mobilenet_v3_small": lambda: picture(tv.mobilenet_v3_small()),
    "efficientnet_b0": lambda: picture(tv.efficientnet_b0()),
    "shufflenet": lambda: picture(tv.shufflenet_v2_x1_0()),
    "squeezenet": lambda: picture(tv.squeezenet1_1()),
    "densenet121": lambda: picture(tv.densenet121()),
    "googlenet": lambda: picture(tv.googlenet(aux_logits=False, init_weights=False)),
    "lraspp": lambda: picture(tv.segmentation.lraspp_mobilenet_v3_large(weights_backbone=None), 160),
    "swin_t": lambda: picture(tv.swin_t()),
    "vit_tiny": lambda: picture(timm.create_model("vit_tiny_patch16_224")),
    "convnext_atto": lambda: picture(timm.create_model("convnext_atto")),
    "maxvit": lambda: picture(timm.create_model("maxvit_rmlp_pico_rw_256"), 256),
    "levit": lambda: picture(timm.create_model("levit_128s")),
    "mobilevit": lambda: picture(timm.create_model("mobilevit_xxs"), 256),
    "eva02": lambda: picture(timm.create_model("eva02_tiny_patch14_224")),
    "sequencer2d": lambda: picture(sequencer()),
    "lstm": lambda: (torch.nn.LSTM(16, 32, 2, bidirectional=True), torch.randn(24, 1, 16)),
    "transformer": lambda: (torch.nn.TransformerEncoder(
        torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), 2), torch.randn(1, 10, 32)),
    "bert": lambda: words(transformers.BertModel(transformers.BertConfig(**SMALL))),
    "gpt2": lambda: words(transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=100, n_embd=64, n_layer=2, n_head=4, use_cache=False))),
    "llama": lambda: words(transformers.LlamaForCausalLM(transformers.LlamaConfig(
        **SMALL, num_key_value_heads=2, use_cache=False))),
}


def first(value):
    if isinstance(value, dict):
        value = value["out"]
    return value[0] if isinstance(value, tuple) else value


def run(*command):
    return subprocess.run([LAYLINE, *map(str, command)], capture_output=True, text=True)


def check(name, dynamo, folder):
    """What became of the model: a line, and whether it is as torch has it."""
    torch.manual_seed(0)
    model, x = MODELS[name]()
    expected = first(model.eval()(x)).detach().numpy()
    path, program = folder / "model.onnx", folder / "model.pte"
    options = {} if dynamo else {"opset_version": 17}
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            torch.onnx.export(model, (x,), path, dynamo=dynamo, input_names=["x"], **options)
    except Exception as error:  # noqa: BLE001, it is torch's
        return f"torch does not export it: {str(error).splitlines()[0][:70]}", True
    compiled = run("compile", path, "-o", program)
    if compiled.returncode:
        return compiled.stderr.strip(), False
    np.save(folder / "x.npy", x.numpy())
    ran = run("run", program, "--input", f"x={folder / 'x.npy'}", "--output-dir", folder / "outputs")
    if ran.returncode:
        return ran.stderr.strip(), False
    outputs = [np.load(file) for file in (folder / "outputs").iterdir()]
    error = min((np.abs(y - expected).max() / np.abs(expected).max() for y in outputs
                 if y.shape == expected.shape), default=np.inf)
    return f"{error:.1e}  {compiled.stdout.splitlines()[1]}", bool(error <= TOLERANCE)


def main():
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    wrong = 0
    for name in sys.argv[1:] or MODELS:
        for dynamo in (False, True):
            if name in ONLY_DYNAMO and not dynamo:
                continue
            with tempfile.TemporaryDirectory(prefix="layline-onnx-") as folder:
                told, right = check(name, dynamo, Path(folder))
            wrong += not right
            print(f"{name:<20}{'dynamo' if dynamo else 'TorchScript':<13}{told}", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
