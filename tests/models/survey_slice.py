"""A slice of the survey as fixtures: networks of the classes whose placement is hard to prove, as tiny as
they can be. tests/golden/certificates.txt says what is proved of them."""

import torch

import export
import tiny_transformers
import torchvision_ops  # noqa: F401  (before timm)

from timm.models.eva import Eva
from timm.models.hiera import Hiera
from timm.models.swin_transformer import SwinTransformer
from timm.models.tnt import TNT

WIDTH = 16
# Rotary halves with shared keys, rotary pairs, norms before and after everything, experts.
ARCHITECTURES = {
    "survey_rotary": "llama",
    "survey_pairs": "gptj",
    "survey_norms": "gemma2",
    "survey_experts": "mixtral",
}
PATCHES = dict(img_size=16, patch_size=8, num_classes=3)
# The side of the image, and a network: pixels within patches, rotary pairs of an image, shifted windows,
# windows that are pooled.
IMAGES = {
    "survey_pixels": (
        16,
        lambda: TNT(**PATCHES, embed_dim=16, inner_dim=8, depth=2, num_heads_inner=2, num_heads_outer=2),
    ),
    "survey_image_pairs": (
        16,
        lambda: Eva(
            **PATCHES,
            embed_dim=16,
            depth=2,
            num_heads=2,
            use_rot_pos_emb=True,
            qkv_fused=False,
            swiglu_mlp=True,
        ),
    ),
    "survey_windows": (
        16,
        lambda: SwinTransformer(
            img_size=16, patch_size=2, embed_dim=8, depths=(2,), num_heads=(2,), window_size=4, num_classes=3
        ),
    ),
    "survey_pooled": (
        32,
        lambda: Hiera(
            img_size=(32, 32),
            embed_dim=8,
            num_heads=1,
            stages=(1, 1),
            q_pool=1,
            mask_unit_size=(4, 4),
            mask_unit_attn=(True, False),
            num_classes=3,
        ),
    ),
}


def write(directory, name):
    if name in IMAGES:
        side, make = IMAGES[name]
        model = export.randomise(make()).eval()
        inputs = (torch.randn(1, 3, side, side),)
    else:
        model, inputs, _ = tiny_transformers.make(ARCHITECTURES[name], WIDTH)
    with torch.no_grad():
        program = export.export(model, inputs)
    export.least_metadata(program)
    program.example_inputs = None
    torch.export.save(program, f"{directory / name}.pt2")
    export.save_reference(directory / name, model, inputs)


ARCHIVES = {
    name: lambda directory, name=name: write(directory, name) for name in (*ARCHITECTURES, *IMAGES)
}
