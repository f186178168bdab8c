"""What the models of zoo/ must become. One row for each; scripts/zoo-check checks them, and
scripts/bench measures them, the transformers and hybrids in a table of their own.

Convolutional networks have no row: one delegate, no portable operator, torch's outputs within 1e-5
of the largest.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Expectation:
    tolerance: float = 1e-5
    delegates: int = 1
    portable: int = 0  # kernels outside the delegates, at most; why, in the row's comment
    permutes: int | None = None  # at most: the proven minimum where one is known


def transformer(permutes=None, portable=0, delegates=1):
    return Expectation(1e-4, delegates, portable, permutes)


# XNNPACK has no gather, so a table of embeddings is read by a portable kernel; masks and positions
# that are inputs are integers and booleans, which it does not have either.
TRANSFORMERS = {
    # torchvision
    "convnext_tiny": transformer(1),
    "swin_t": transformer(25),
    "vit_b_16": transformer(25),
    # timm
    "coat_lite_tiny": transformer(),
    "deit_tiny_patch16_224": transformer(25),
    "edgenext_x_small": transformer(7),
    "efficientformer_l1": transformer(),
    "efficientvit_b0": transformer(9),
    "fastvit_t8": transformer(1),
    "levit_128s": transformer(25),
    "mixer_s32_224": transformer(17),
    "mobilevit_xs": transformer(19),
    "poolformer_s12": transformer(1),
    "pvt_v2_b0": transformer(),
    "tiny_vit_5m_224": transformer(),
    "xcit_nano_12_p16_224": transformer(),
    # transformers
    "bert_tiny": transformer(8, portable=1),  # embedding
    "bert_tiny_eager": transformer(8, portable=1),  # embedding
    "bert_tiny_masked": transformer(8, portable=7),  # embeddings, the mask
    "clip_vision": transformer(),
    "detr_r50": transformer(),
    "distilbert_tiny": transformer(8, portable=1),  # embedding
    "llama_tiny": transformer(portable=1),  # embedding
    "llama_tiny_decode": transformer(portable=14, delegates=2),  # embedding, position, mask
    "segformer_b0": transformer(26),
    "t5_encoder_tiny": transformer(portable=1),  # embedding
    "wav2vec2_tiny": transformer(),
    "whisper_tiny_encoder": transformer(),
    "yolos_tiny": transformer(),
}


# What `make bench` measures besides them.
CNNS = [
    "densenet121", "efficientnet_b0", "mobilenet_v2", "mobilenet_v3_small", "resnet18", "resnet50",
    "shufflenet_v2_x1_0", "squeezenet1_1",
]  # fmt: skip
QUANTISED = [
    "bert_tiny.int8", "bert_tiny.w8a8", "convnext_tiny.int8", "convnext_tiny.w8a8",
    "deit_tiny_patch16_224.int8", "deit_tiny_patch16_224.w8a8", "detr_resnet50.int8",
    "detr_resnet50.w8a8", "efficientnet_b0.int8", "efficientnet_b0.w8a8", "llama_tiny.int4",
    "mobilenet_v2.int8", "mobilenet_v2.w8a8", "mobilenet_v3_small.int8", "mobilenet_v3_small.w8a8",
    "mobilevit_xs.int8", "mobilevit_xs.w8a8", "resnet18.int8", "resnet18.w8a8", "resnet50.int8",
    "resnet50.w8a8", "shufflenet_v2_x1_0.int8", "shufflenet_v2_x1_0.w8a8",
]  # fmt: skip

# XNNPACK's reshape takes one dynamic dim. Where the batch and the sequence meet in a view, as around
# the heads of each layer, a portable kernel makes it, between two delegates.
VARIANTS = {
    "bert_tiny.dynamic": transformer(8, portable=20, delegates=5),
}


def expectation(name):
    """Of a model, or of a variant of it (NAME.VARIANT)."""
    return VARIANTS.get(name, TRANSFORMERS.get(name.partition(".")[0], Expectation()))


def is_quantised(name):
    return name.partition(".")[2] in ("int8", "w8a8", "int4")
