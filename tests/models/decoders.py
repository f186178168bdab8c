"""Decoders of the transformers library with a cache and a length that is dynamic: one program reads
a prompt, and then token after token. They are exported by the library's own recipe, in which the
length has no lower bound. One is quantised first, as optimum-executorch does it. Others stand for
what scripts/llm-survey asks of many architectures: windows, caps of scores, slopes, experts."""

import torch
from torch import nn
from torch.export import Dim

import export
import quantise
import torchvision_ops  # noqa: F401  (before transformers)

import transformers
from transformers.integrations.executorch import TorchExportableModuleForDecoderOnlyLM

VOCABULARY, PLACES = 32, 16
LENGTHS = (5, 1, 1, 3, 1)


COMMON = dict(
    vocab_size=VOCABULARY,
    hidden_size=32,
    intermediate_size=64,
    num_hidden_layers=1,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=PLACES,
)


def _llama():
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**COMMON))


def _capped():
    """Scores and logits have caps, and attention looks over a window of the cache."""
    config = transformers.Gemma2Config(
        **COMMON,
        head_dim=8,
        sliding_window=4,
        layer_types=["sliding_attention"],
        attn_logit_softcapping=2.0,
        final_logit_softcapping=3.0,
    )
    return transformers.Gemma2ForCausalLM(config)


def _sloped():
    """Scores fall with the distance, by a slope for each head, instead of a rotation."""
    config = transformers.BloomConfig(vocab_size=VOCABULARY, hidden_size=32, n_layer=1, n_head=4)
    return transformers.BloomForCausalLM(config)


def _experts():
    """Each token has two of four experts, and heads are normalised."""
    experts = dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16)
    config = transformers.Qwen3MoeConfig(**COMMON, **experts, head_dim=8)
    return transformers.Qwen3MoeForCausalLM(config)


def _with_cache(model):
    model = export.randomise(model).eval()
    model.generation_config = transformers.GenerationConfig(
        use_cache=True,
        cache_implementation="static",
        max_length=PLACES,
        cache_config={"batch_size": 1, "max_cache_len": PLACES},
    )
    return model


def _exported(model, strict, dynamic):
    length = Dim("length", max=PLACES - 1)
    shapes = {"input_ids": {1: length}, "cache_position": {0: length}} if dynamic else None
    tokens = 4 if dynamic else 1
    with torch.no_grad():
        program = TorchExportableModuleForDecoderOnlyLM(model, 1, PLACES).export(
            input_ids=torch.zeros(1, tokens, dtype=torch.long),
            cache_position=torch.arange(tokens),
            dynamic_shapes=shapes,
            strict=strict,
        )
    export.least_metadata(program)
    program.example_inputs = None
    return program


class _Positional(nn.Module):
    def __init__(self, program):
        super().__init__()
        self.program = program.module()

    def forward(self, tokens, places):
        return self.program(input_ids=tokens, cache_position=places)


def _steps(lengths):
    place = 0
    for length in lengths:
        yield torch.randint(0, VOCABULARY, (1, length)), torch.arange(place, place + length)
        place += length


def _write(directory, name, make=_llama, quantised=False, strict=False, dynamic=True):
    model = _with_cache(make())
    if quantised:
        quantise.int4(model)
    program = _exported(model, strict, dynamic)
    torch.export.save(program, directory / f"{name}.pt2")
    steps = _steps(LENGTHS if dynamic else [1] * sum(LENGTHS))
    export.save_reference(directory / name, _Positional(program), None, steps)


ARCHIVES = {
    "decoder": lambda directory: _write(directory, "decoder"),
    "decoder_strict": lambda directory: _write(directory, "decoder_strict", strict=True),
    "quantised_decoder": lambda directory: _write(directory, "quantised_decoder", quantised=True),
    "decoder_capped": lambda directory: _write(directory, "decoder_capped", _capped),
    "decoder_sloped": lambda directory: _write(directory, "decoder_sloped", _sloped),
    # Experts sort their tokens, of which there must be a fixed number.
    "decoder_experts": lambda directory: _write(
        directory, "decoder_experts", _experts, dynamic=False
    ),
}
