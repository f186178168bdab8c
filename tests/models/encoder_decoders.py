"""Encoder-decoders of the transformers library as two methods of one program, which share weights and
caches: `encoder` fills the cross-attention caches from its input, `decoder` takes a token and its
position, and has a self-attention cache of its own. Both see the caches as buffers of the same names,
so they are the same states of the program."""

import numpy as np
import torch
from torch import nn
from torch.export.pt2_archive._package import package_pt2

import export
import torchvision_ops  # noqa: F401  (before transformers)

import transformers
from transformers.cache_utils import DynamicCache, EncoderDecoderCache, StaticCache

VOCABULARY, WIDTH, HEADS, LAYERS, PLACES, SOURCE = 40, 16, 2, 1, 12, 10


class Caches(nn.Module):
    """The keys and values that each layer of the decoder attends to: in the output of the encoder, and
    in the tokens so far."""

    def __init__(self, head_width):
        super().__init__()
        for layer in range(LAYERS):
            for kind, length in (("cross", SOURCE), ("self", PLACES)):
                for part in ("keys", "values"):
                    zeros = torch.zeros(1, HEADS, length, head_width)
                    self.register_buffer(f"{kind}_{part}_{layer}", zeros)

    def of(self, kind, layer):
        return getattr(self, f"{kind}_keys_{layer}"), getattr(self, f"{kind}_values_{layer}")


class Method(nn.Module):
    def __init__(self, model, caches):
        super().__init__()
        self.model, self.caches = model, caches


class Encoder(Method):
    def forward(self, source):
        states = self.model.get_encoder()(source).last_hidden_state
        for index, attention in enumerate(cross_attentions(self.model)):
            for project, cache in zip(key_and_value(attention), self.caches.of("cross", index)):
                rows = project(states).view(1, SOURCE, HEADS, -1)
                cache.copy_(rows.transpose(1, 2))
        return states


class Decoder(Method):
    def forward(self, token, position):
        own = StaticCache(self.model.config, max_cache_len=PLACES)
        cross = DynamicCache()
        for index in range(LAYERS):
            layer = own.layers[index]
            keys, values = self.caches.of("self", index)
            layer.lazy_initialization(keys, values)
            layer.keys, layer.values = keys, values
            layer.cumulative_length = position[0].clone()
            cross.update(*self.caches.of("cross", index), index)
        cache = EncoderDecoderCache(own, cross)
        # The caches are full, so nothing reads the output of the encoder; its shape is asked for.
        cache.is_updated = dict.fromkeys(range(LAYERS), True)
        states = self.model.get_decoder()(
            input_ids=token,
            encoder_hidden_states=torch.zeros(1, SOURCE, WIDTH),
            past_key_values=cache,
            use_cache=True,
        ).last_hidden_state
        return self.model.get_output_embeddings()(states)


def cross_attentions(model):
    for layer in model.get_decoder().layers if is_whisper(model) else model.get_decoder().block:
        yield layer.encoder_attn if is_whisper(model) else layer.layer[1].EncDecAttention


def key_and_value(attention):
    return (attention.k_proj, attention.v_proj) if hasattr(attention, "k_proj") else (
        attention.k,
        attention.v,
    )


def is_whisper(model):
    return isinstance(model, transformers.WhisperForConditionalGeneration)


def whisper():
    config = transformers.WhisperConfig(
        vocab_size=VOCABULARY,
        d_model=WIDTH,
        num_mel_bins=8,
        encoder_layers=LAYERS,
        decoder_layers=LAYERS,
        encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS,
        encoder_ffn_dim=24,
        decoder_ffn_dim=24,
        max_source_positions=SOURCE,
        max_target_positions=PLACES,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=3,
    )
    model = transformers.WhisperForConditionalGeneration(config)
    return model, torch.randn(1, 8, 2 * SOURCE), WIDTH // HEADS


def t5():
    config = transformers.T5Config(
        vocab_size=VOCABULARY,
        d_model=WIDTH,
        d_kv=6,
        d_ff=24,
        num_layers=LAYERS,
        num_heads=HEADS,
        relative_attention_num_buckets=8,
        relative_attention_max_distance=9,
        feed_forward_proj="gated-gelu",
        tie_word_embeddings=False,
        pad_token_id=0,
        eos_token_id=2,
        decoder_start_token_id=3,
    )
    model = transformers.T5ForConditionalGeneration(config)
    return model, torch.randint(3, VOCABULARY, (1, SOURCE)), 6


def torchs_tokens(model, source):
    """The first token, and what torch says after it, without a cache."""
    tokens = torch.tensor([[model.config.decoder_start_token_id]])
    with torch.no_grad():
        while tokens.shape[1] < PLACES:
            logits = model(source, decoder_input_ids=tokens, use_cache=False).logits
            tokens = torch.cat([tokens, logits[:, -1:].argmax(-1)], 1)
    return tokens[0].numpy()


def write(directory, name, make):
    """NAME.pt2, and in NAME.npz the arrays of each method on its own and the tokens that torch
    generates from what the encoder is given there."""
    path = directory / name
    model, source, head_width = make()
    model = export.randomise(model).eval()
    caches = Caches(head_width)
    methods = {
        "encoder": (Encoder(model, caches), (source,)),
        "decoder": (Decoder(model, caches), (torch.tensor([[3]]), torch.tensor([0]))),
    }
    programs, arrays = {}, {}
    for method, (module, inputs) in methods.items():
        for buffer in caches.buffers():
            buffer.zero_()
        with torch.no_grad():
            programs[method] = export.export(module, inputs)
        export.least_metadata(programs[method])
        programs[method].example_inputs = None
        arrays |= export.under(method, export.run(module, inputs))
    for buffer in caches.buffers():
        buffer.zero_()
    package_pt2(f"{path}.pt2", exported_programs=programs)
    tokens = torchs_tokens(model, source)
    export.save_arrays(path, arrays | {"generated": np.array(tokens)})
    print(name, "generates", tokens.tolist())


ARCHIVES = {
    "whisper": lambda directory: write(directory, "whisper", whisper),
    "t5": lambda directory: write(directory, "t5", t5),
}
