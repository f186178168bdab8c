"""One network of every module of timm, with random weights: of those with the smallest image the one with
the fewest parameters."""

import torch

import export
import torchvision_ops  # noqa: F401  (before timm)

import timm


def names():
    return sorted(timm.list_modules())


def parameters(variant):
    with torch.device("meta"):
        return sum(p.numel() for p in timm.create_model(variant, pretrained=False).parameters())


def image_of(variant):
    return timm.get_pretrained_cfg(variant).input_size


def variant_of(module):
    # Those that timm tests itself with are too small to be networks.
    variants = [v for v in timm.list_models(module=module) if not v.startswith("test_")]
    if not variants:
        raise ValueError("the module has no network of its own")
    side = min(image_of(variant)[-1] for variant in variants)
    return min((v for v in variants if image_of(v)[-1] == side), key=lambda v: (parameters(v), v))


def make(module):
    """A model, its inputs, and what it is called."""
    variant = variant_of(module)
    export.seed(variant)
    model = export.randomise(timm.create_model(variant, pretrained=False))
    image = image_of(variant)
    export.calibrate_norms(model, (torch.randn(1, *image),))
    return model.eval(), (torch.randn(1, *image),), variant
