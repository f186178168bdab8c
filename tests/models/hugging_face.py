"""Models of the transformers library, built from small configurations without weights.

MODELS maps a name to a function that returns the model and its inputs. Each model gives plain
tensors: a wrapper picks the outputs that a user of the model would read.
"""

import torch
import transformers
from torch import nn


class Outputs(nn.Module):
    """Calls a model with its inputs by name and returns the named fields of what it gives."""

    def __init__(self, model, arguments, fields):
        super().__init__()
        self.model, self.arguments, self.fields = model, arguments, fields

    def forward(self, *inputs):
        result = self.model(**dict(zip(self.arguments, inputs)), return_dict=True)
        return tuple(result[field] for field in self.fields)


def _wrap(model, arguments=("input_ids",), fields=("last_hidden_state",)):
    model.config.use_cache = False
    return Outputs(model, arguments, fields)


def _tokens(count, vocabulary):
    return torch.randint(0, vocabulary, (1, count))


def _image(side):
    return torch.randn(1, 3, side, side)


def bert_tiny(attention="sdpa"):
    config = transformers.BertConfig(
        vocab_size=1000,
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=512,
        attn_implementation=attention,
    )
    return _wrap(transformers.BertModel(config, add_pooling_layer=False)), (_tokens(128, 1000),)


def bert_tiny_eager():
    return bert_tiny("eager")


def bert_tiny_masked():
    model, (tokens,) = bert_tiny()
    model.arguments = ("input_ids", "attention_mask")
    mask = torch.ones(1, 128, dtype=torch.int64)
    mask[:, 100:] = 0
    return model, (tokens, mask)


def distilbert_tiny():
    config = transformers.DistilBertConfig(
        vocab_size=1000, dim=128, n_layers=2, n_heads=2, hidden_dim=512
    )
    return _wrap(transformers.DistilBertModel(config)), (_tokens(128, 1000),)


def _llama():
    return transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=1000,
            hidden_size=128,
            intermediate_size=344,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=256,
        )
    )


def llama_tiny():
    return _wrap(_llama(), fields=("logits",)), (_tokens(64, 1000),)


class DecodeStep(nn.Module):
    """One token at a position, with the keys and values of all layers as input and as output."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, token, position, keys, values):
        cache = transformers.StaticCache(self.model.config, max_cache_len=keys.shape[3])
        for layer, key, value in zip(cache.layers, keys.unbind(0), values.unbind(0)):
            layer.lazy_initialization(key, value)
            layer.keys, layer.values = key.clone(), value.clone()
            layer.cumulative_length = position[0].clone()
        result = self.model(
            token,
            position_ids=position[None],
            past_key_values=cache,
            use_cache=True,
            return_dict=True,
        )
        return (
            result.logits,
            torch.stack([layer.keys for layer in cache.layers]),
            torch.stack([layer.values for layer in cache.layers]),
        )


def llama_tiny_decode():
    caches = [torch.randn(2, 1, 2, 64, 32) for _ in range(2)]
    return DecodeStep(_llama()), (_tokens(1, 1000), torch.tensor([17]), *caches)


def t5_encoder_tiny():
    config = transformers.T5Config(
        vocab_size=1000, d_model=128, d_kv=32, d_ff=512, num_layers=2, num_heads=4
    )
    return _wrap(transformers.T5EncoderModel(config)), (_tokens(64, 1000),)


def whisper_tiny_encoder():
    config = transformers.WhisperConfig()
    config.d_model, config.encoder_layers, config.encoder_attention_heads = 384, 4, 6
    config.encoder_ffn_dim = 1536
    encoder = transformers.models.whisper.modeling_whisper.WhisperEncoder(config)
    return _wrap(encoder, ("input_features",)), (torch.randn(1, 80, 3000),)


def segformer_b0():
    model = transformers.SegformerForSemanticSegmentation(transformers.SegformerConfig())
    return _wrap(model, ("pixel_values",), ("logits",)), (_image(224),)


def yolos_tiny():
    config = transformers.YolosConfig(
        hidden_size=192,
        num_hidden_layers=12,
        num_attention_heads=3,
        intermediate_size=768,
        image_size=[224, 224],
        num_detection_tokens=100,
    )
    model = transformers.YolosForObjectDetection(config)
    return _wrap(model, ("pixel_values",), ("logits", "pred_boxes")), (_image(224),)


def clip_vision():
    config = transformers.CLIPVisionConfig(
        hidden_size=192, intermediate_size=768, num_hidden_layers=4, num_attention_heads=3
    )
    model = transformers.CLIPVisionModel(config)
    return _wrap(model, ("pixel_values",), ("last_hidden_state", "pooler_output")), (_image(224),)


def wav2vec2_tiny():
    config = transformers.Wav2Vec2Config(
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=512,
        conv_dim=(64,) * 7,
        num_conv_pos_embeddings=32,
        num_conv_pos_embedding_groups=8,
        apply_spec_augment=False,
    )
    return _wrap(transformers.Wav2Vec2Model(config), ("input_values",)), (torch.randn(1, 16000),)


def detr_r50():
    config = transformers.DetrConfig(
        use_timm_backbone=False,
        backbone=None,
        backbone_config=transformers.ResNetConfig(
            out_features=["stage1", "stage2", "stage3", "stage4"]
        ),
    )
    model = transformers.DetrForObjectDetection(config)
    return _wrap(model, ("pixel_values",), ("logits", "pred_boxes")), (_image(320),)


MODELS = {
    make.__name__: make
    for make in (
        bert_tiny,
        bert_tiny_eager,
        bert_tiny_masked,
        distilbert_tiny,
        llama_tiny,
        llama_tiny_decode,
        t5_encoder_tiny,
        whisper_tiny_encoder,
        segformer_b0,
        yolos_tiny,
        clip_vision,
        wav2vec2_tiny,
        detr_r50,
    )
}
