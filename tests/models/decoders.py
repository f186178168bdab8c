"""Decoders of the transformers library with a cache and a length that is dynamic: one program reads
a prompt, and then token after token. They are exported by the library's own recipe, in which the
length has no lower bound. One is quantised first, as optimum-executorch does it."""

import torch
from torch import nn
from torch.export import Dim

import export
import quantise

VOCABULARY, PLACES = 32, 16
LENGTHS = (5, 1, 1, 3, 1)


def _decoder():
    import transformers

    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=PLACES,
    )
    model = export.randomise(transformers.LlamaForCausalLM(config)).eval()
    model.generation_config = transformers.GenerationConfig(
        use_cache=True,
        cache_implementation="static",
        max_length=PLACES,
        cache_config={"batch_size": 1, "max_cache_len": PLACES},
    )
    return model


def _exported(model, strict):
    from transformers.integrations.executorch import TorchExportableModuleForDecoderOnlyLM

    length = Dim("length", max=PLACES - 1)
    with torch.no_grad():
        program = TorchExportableModuleForDecoderOnlyLM(model, 1, PLACES).export(
            input_ids=torch.zeros(1, 4, dtype=torch.long),
            cache_position=torch.arange(4),
            dynamic_shapes={"input_ids": {1: length}, "cache_position": {0: length}},
            strict=strict,
        )
    export.lean_metadata(program)
    for node in program.graph.nodes:
        node.meta.pop("torch_fn", None)
        node.meta.pop("source_fn_stack", None)
        if modules := node.meta.get("nn_module_stack"):
            # Strict export has the addresses of modules for keys.
            node.meta["nn_module_stack"] = {path: (path, kind) for path, kind in modules.values()}
        if trace := node.meta.get("stack_trace"):
            node.meta["stack_trace"] = trace[trace.rindex("File ") :]
    program.example_inputs = None
    return program


class _Positional(nn.Module):
    def __init__(self, program):
        super().__init__()
        self.program = program.module()

    def forward(self, tokens, places):
        return self.program(input_ids=tokens, cache_position=places)


def _steps():
    place = 0
    for length in LENGTHS:
        yield torch.randint(0, VOCABULARY, (1, length)), torch.arange(place, place + length)
        place += length


def _write(directory, name, quantised=False, strict=False):
    model = _decoder()
    if quantised:
        quantise.int4(model)
    program = _exported(model, strict)
    torch.export.save(program, directory / f"{name}.pt2")
    export.save_reference(directory / name, _Positional(program), None, _steps())


ARCHIVES = {
    "decoder": lambda directory: _write(directory, "decoder"),
    "decoder_strict": lambda directory: _write(directory, "decoder_strict", strict=True),
    "quantised_decoder": lambda directory: _write(directory, "quantised_decoder", quantised=True),
}
