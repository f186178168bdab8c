"""export.py FOLDER: exports the model of train.py with plain torch.export, in floats (float.pt2) and
with int4 weights in groups of 32 and int8 activations (8da4w.pt2)."""

import sys
from pathlib import Path

import torch
from torchao.quantization import Int8DynamicActivationIntxWeightConfig, quantize_
from torchao.quantization.granularity import PerGroup
from torchao.utils import unwrap_tensor_subclass
from transformers import GenerationConfig, LlamaForCausalLM
from transformers.integrations.executorch import TorchExportableModuleWithStaticCache

POSITIONS = 256


def load(folder):
    model = LlamaForCausalLM.from_pretrained(folder).eval()
    model.generation_config = GenerationConfig(
        use_cache=True,
        cache_implementation="static",
        cache_config=dict(batch_size=1, max_cache_len=POSITIONS),
    )
    return model


def quantise(model):
    # The embedding stays in floats: it is looked up, and not multiplied.
    model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.detach().clone())
    quantize_(
        model,
        Int8DynamicActivationIntxWeightConfig(
            weight_dtype=torch.int4, weight_granularity=PerGroup(32)
        ),
    )
    return unwrap_tensor_subclass(model)


def export(model, path):
    """One token a call, at any position of the cache."""
    step = TorchExportableModuleWithStaticCache(model, 1, POSITIONS)
    token, position = torch.zeros(1, 1, dtype=torch.long), torch.zeros(1, dtype=torch.long)
    inputs = dict(input_ids=token, cache_position=position)
    with torch.no_grad():
        torch.export.save(torch.export.export(step, (), inputs), path)


def main(folder):
    export(load(folder), Path(folder) / "float.pt2")
    export(quantise(load(folder)), Path(folder) / "8da4w.pt2")


if __name__ == "__main__":
    main(sys.argv[1])
