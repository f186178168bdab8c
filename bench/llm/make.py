"""Makes a file of a language model with random weights, for scripts/bench-llm.

    make.py KIND MODEL LAYERS LENGTH FILE

KIND is one of

    pt2         torch.export as optimum-executorch does it: int8 activations and int4 weights in groups
                of 32 in linears, int8 in the embedding, one scale for each of its rows, a length that is
                dynamic, and a cache of LENGTH positions
    export_llm  ExecuTorch's own path for language models, quantised alike, with its kernels for
                attention and cache
    plain       ExecuTorch's lowering of what pt2 saves
    gguf        llama.cpp's format, in 16 bits, before it is quantised; LENGTH has no meaning there

All have the same weights. LAYERS is 0 for all layers.
"""

import json
import sys
import tempfile
from pathlib import Path

import torch

from shapes import SHAPES

# torchvision, which transformers imports where it is installed, has no build for CPU-only torch: define
# the two ops that its Python code registers.
_LIBRARY = torch.library.Library("torchvision", "DEF")
for _name in ("nms", "qnms"):
    _LIBRARY.define(f"{_name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
GROUP = 32


def network(shape, length):
    """The model of transformers. Its head has weights of its own, because it is quantised otherwise than
    the embedding. It gives the logits of the last token only, as the others do."""
    import transformers

    config_class, model_class = {
        "llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM),
        "qwen3": (transformers.Qwen3Config, transformers.Qwen3ForCausalLM),
    }[shape.family]
    config = config_class(
        vocab_size=shape.vocabulary,
        hidden_size=shape.hidden,
        intermediate_size=shape.mlp,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.cached_heads,
        head_dim=shape.head,
        rms_norm_eps=shape.epsilon,
        max_position_embeddings=length,
        rope_parameters={"rope_type": "default", "rope_theta": shape.theta},
        tie_word_embeddings=True,
    )
    torch.manual_seed(0)
    model = model_class(config).eval()
    model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.detach().clone())
    model.generation_config = transformers.GenerationConfig(
        use_cache=True,
        cache_implementation="static",
        max_length=length,
        cache_config={"batch_size": 1, "max_cache_len": length},
    )
    return model


def quantise(model):
    from torchao.quantization import (
        Int8DynamicActivationIntxWeightConfig,
        IntxWeightOnlyConfig,
        quantize_,
    )
    from torchao.quantization.granularity import PerAxis, PerGroup
    from torchao.utils import unwrap_tensor_subclass

    embedding = IntxWeightOnlyConfig(weight_dtype=torch.int8, granularity=PerAxis(0))
    quantize_(model, embedding, lambda module, name: isinstance(module, torch.nn.Embedding))
    linear = Int8DynamicActivationIntxWeightConfig(
        weight_dtype=torch.int4, weight_granularity=PerGroup(GROUP)
    )
    quantize_(model, linear)
    return unwrap_tensor_subclass(model)


def exported(shape, length):
    from functools import partial

    from transformers.integrations.executorch import TorchExportableModuleForDecoderOnlyLM

    model = quantise(network(shape, length))
    model.forward = partial(model.forward, logits_to_keep=1)
    tokens = torch.export.Dim("seq_length_dim", max=length - 1)
    with torch.no_grad():
        return TorchExportableModuleForDecoderOnlyLM(model, 1, length).export(
            input_ids=torch.zeros(1, 4, dtype=torch.long),
            cache_position=torch.arange(4),
            dynamic_shapes={"input_ids": {1: tokens}, "cache_position": {0: tokens}},
            strict=True,
        )


def make_pt2(shape, length, file):
    torch.export.save(exported(shape, length), file)


def by_pairs(weight, shape):
    """Rows of queries or keys in the order of Meta's checkpoints, where the two numbers that are rotated
    together are neighbours."""
    halves = weight.view(-1, 2, shape.head // 2, shape.hidden)
    return halves.transpose(1, 2).reshape(weight.shape)


def renamed(state, shape, names, pairs):
    """The weights of a model of transformers under the names that another program has for them."""
    for name, value in state.items():
        layer, _, rest = name.removeprefix("model.layers.").partition(".")
        if name.startswith("model.layers."):
            new = names["layer"].format(layer) + names[rest]
        else:
            new = names[name]
        if pairs and rest in ("self_attn.q_proj.weight", "self_attn.k_proj.weight"):
            value = by_pairs(value, shape)
        yield new, value.detach()


CHECKPOINT_NAMES = {
    "layer": "layers.{}.",
    "model.embed_tokens.weight": "tok_embeddings.weight",
    "model.norm.weight": "norm.weight",
    "lm_head.weight": "output.weight",
    "self_attn.q_proj.weight": "attention.wq.weight",
    "self_attn.k_proj.weight": "attention.wk.weight",
    "self_attn.v_proj.weight": "attention.wv.weight",
    "self_attn.o_proj.weight": "attention.wo.weight",
    "self_attn.q_norm.weight": "attention.q_norm_fn.weight",
    "self_attn.k_norm.weight": "attention.k_norm_fn.weight",
    "input_layernorm.weight": "attention_norm.weight",
    "post_attention_layernorm.weight": "ffn_norm.weight",
    "mlp.gate_proj.weight": "feed_forward.w1.weight",
    "mlp.down_proj.weight": "feed_forward.w2.weight",
    "mlp.up_proj.weight": "feed_forward.w3.weight",
}
MODEL_CLASSES = {"SmolLM2-135M": "smollm2", "Qwen3-0.6B": "qwen3_0_6b", "Llama-3.2-1B": "llama3_2"}


def make_export_llm(shape, length, file):
    from executorch.examples.models.llama.export_llama_lib import export_llama
    from executorch.extension.llm.export.config.llm_config import LlmConfig, ModelType

    parameters = {
        "dim": shape.hidden,
        "hidden_dim": shape.mlp,
        "n_layers": shape.layers,
        "n_heads": shape.heads,
        "n_kv_heads": shape.cached_heads,
        "head_dim": shape.head,
        "vocab_size": shape.vocabulary,
        "norm_eps": shape.epsilon,
        "rope_theta": shape.theta,
        "use_scaled_rope": False,
    }
    is_qwen3 = shape.family == "qwen3"
    if is_qwen3:
        parameters |= {"use_hf_rope": True, "use_qk_norm": True, "qk_norm_before_rope": True}
    config = LlmConfig()
    config.base.model_class = ModelType(MODEL_CLASSES[shape.name])
    config.model.use_kv_cache = True
    config.model.use_sdpa_with_kv_cache = True
    config.export.max_seq_length = length
    config.export.max_context_length = length
    config.export.output_name = str(file)
    config.quantization.qmode = "8da4w"
    config.quantization.group_size = GROUP
    config.quantization.embedding_quantize = "8,0"
    config.quantization.use_hqq = False
    config.backend.xnnpack.enabled = True
    config.backend.xnnpack.extended_ops = True
    with tempfile.TemporaryDirectory(dir=file.parent, prefix=".checkpoint-") as folder:
        checkpoint, parameter_file = Path(folder) / "checkpoint.pth", Path(folder) / "params.json"
        state = network(shape, length).state_dict()
        torch.save(dict(renamed(state, shape, CHECKPOINT_NAMES, not is_qwen3)), checkpoint)
        parameter_file.write_text(json.dumps(parameters))
        config.base.checkpoint, config.base.params = str(checkpoint), str(parameter_file)
        export_llama(config)


def make_plain(shape, length, file):
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower

    program = exported(shape, length)
    edge = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
    # Without the option, a quantised embedding has no kernel.
    config = ExecutorchBackendConfig(do_quant_fusion_and_const_prop=True)
    with file.open("wb") as out:
        edge.to_executorch(config).write_to_file(out)


GGUF_NAMES = {
    "layer": "blk.{}.",
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "lm_head.weight": "output.weight",
    "self_attn.q_proj.weight": "attn_q.weight",
    "self_attn.k_proj.weight": "attn_k.weight",
    "self_attn.v_proj.weight": "attn_v.weight",
    "self_attn.o_proj.weight": "attn_output.weight",
    "self_attn.q_norm.weight": "attn_q_norm.weight",
    "self_attn.k_norm.weight": "attn_k_norm.weight",
    "input_layernorm.weight": "attn_norm.weight",
    "post_attention_layernorm.weight": "ffn_norm.weight",
    "mlp.gate_proj.weight": "ffn_gate.weight",
    "mlp.down_proj.weight": "ffn_down.weight",
    "mlp.up_proj.weight": "ffn_up.weight",
}


def make_gguf(shape, length, file):
    """Without a head of its own: llama.cpp takes the embedding, as it does for the published models. It
    has no words, either: its bench takes random tokens."""
    from gguf import GGUFWriter

    writer = GGUFWriter(file, shape.family)
    writer.add_vocab_size(shape.vocabulary)
    writer.add_context_length(131072)
    writer.add_embedding_length(shape.hidden)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.mlp)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.cached_heads)
    writer.add_key_length(shape.head)
    writer.add_value_length(shape.head)
    writer.add_rope_dimension_count(shape.head)
    writer.add_rope_freq_base(shape.theta)
    writer.add_layer_norm_rms_eps(shape.epsilon)
    writer.add_tokenizer_model("none")
    state = network(shape, 2048).state_dict()
    del state["lm_head.weight"]
    for name, value in renamed(state, shape, GGUF_NAMES, shape.family == "llama"):
        writer.add_tensor(name, (value.half() if value.dim() == 2 else value).numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    kind, model, layers, length, file = sys.argv[1:]
    make = {"pt2": make_pt2, "export_llm": make_export_llm, "plain": make_plain, "gguf": make_gguf}[kind]
    make(SHAPES[model].with_layers(int(layers)), int(length), Path(file))


if __name__ == "__main__":
    main()
