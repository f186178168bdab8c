"""Exports the models that layline is measured on: torchvision's, and on request timm's and
transformers'.

    zoo.py [--list] [--base] OUTPUT_DIR [NAME | NAME.VARIANT]...

Without names, every torchvision model: first all base variants, then the others. NAME alone is the
base variant. What exists already is skipped. The layout of the files is described in export.py.
Weights are random, the same in every variant of a model: no download is needed.
"""

import argparse
import functools
import inspect
import os
import shutil
import time
from pathlib import Path

import torch

import export
import torchvision_ops  # noqa: F401  (before torchvision)

import torchvision.models

# Name and side of the square input image.
CLASSIFIERS = {
    "squeezenet1_1": 224,
    "mobilenet_v2": 224,
    "mobilenet_v3_small": 224,
    "mobilenet_v3_large": 224,
    "resnet18": 224,
    "resnet50": 224,
    "resnext50_32x4d": 224,
    "efficientnet_b0": 224,
    "densenet121": 224,
    "vgg11": 224,
    "googlenet": 224,
    "inception_v3": 299,
    "mnasnet0_5": 224,
    "regnet_x_400mf": 224,
    "shufflenet_v2_x1_0": 224,
}
SEGMENTERS = {"fcn_resnet50": 224, "deeplabv3_mobilenet_v3_large": 224}
TORCHVISION = {**CLASSIFIERS, **SEGMENTERS}

# Exported only when named.
TORCHVISION_EXTRA = {"convnext_tiny": 224, "swin_t": 224, "vit_b_16": 224, "detr_resnet50": 224}
TIMM = {
    "coat_lite_tiny": 224,
    "deit_tiny_patch16_224": 224,
    "edgenext_x_small": 256,
    "efficientformer_l1": 224,
    "efficientvit_b0": 224,
    "fastvit_t8": 256,
    "levit_128s": 224,
    "mixer_s32_224": 224,
    "mobilevit_xs": 256,
    "poolformer_s12": 224,
    "pvt_v2_b0": 224,
    "tiny_vit_5m_224": 224,
    "xcit_nano_12_p16_224": 224,
}
IMAGES = {**TORCHVISION, **TORCHVISION_EXTRA, **TIMM}

# "dynamic" has a dynamic batch, and of tokens a dynamic length; it is exported only when named.
VARIANTS = ("base", "channels_last", "batch4", "decomposed", "dynamic")
DYNAMIC_BATCHES = (2, 1, 3, 8, 5)
# Written only when named: 8-bit activations with fixed scales, or with scales chosen when the model
# runs; linears with 4-bit weights in groups.
QUANTISED = ("int8", "w8a8", "int4")


def create(name):
    if name in SEGMENTERS:
        make = getattr(torchvision.models.segmentation, name)
        return make(weights=None, weights_backbone=None)
    if name in ("googlenet", "inception_v3"):
        return getattr(torchvision.models, name)(weights=None, init_weights=False)
    if name == "detr_resnet50":
        import detection

        return detection.Detr()
    if name in TIMM:
        import timm

        return timm.create_model(name, pretrained=False)
    return getattr(torchvision.models, name)(weights=None)


def create_with_inputs(name, batch):
    """A model with random parameters, and its inputs."""
    export.seed(name)
    if name not in IMAGES:
        import hugging_face

        model, inputs = hugging_face.MODELS[name]()
        inputs = tuple(x.repeat(batch, *[1] * (x.dim() - 1)) for x in inputs)
        return export.randomise(model).eval(), inputs
    side = IMAGES[name]
    model = export.randomise(create(name))
    export.calibrate_norms(model, (torch.randn(1, 3, side, side),))
    return model, (torch.randn(batch, 3, side, side),)


def known_models():
    """Every name; those of the transformers library, which is slow to import, come last."""
    yield from IMAGES
    import hugging_face

    yield from hugging_face.MODELS


def quantised(model, inputs, variant):
    import quantise

    if variant == "int4":
        return quantise.int4(model)
    samples = [
        tuple(torch.randn_like(x) if x.is_floating_point() else x for x in inputs)
        for _ in range(2)
    ]
    return quantise.pt2e(model, inputs, variant == "w8a8", samples)


def is_tokens(x):
    return not x.is_floating_point() and x.dim() == 2


def resized(inputs, index):
    """The inputs of one image or text with another batch, and of another length."""
    batch = DYNAMIC_BATCHES[index]
    inputs = (x[:, : x.shape[1] * (index + 1) // 5] if is_tokens(x) else x for x in inputs)
    return tuple(x.repeat(batch, *[1] * (x.dim() - 1)) for x in inputs)


def dynamic_shapes(model, inputs):
    batch = torch.export.Dim("batch", min=1, max=max(DYNAMIC_BATCHES))
    length = torch.export.Dim("length", min=2, max=max(x.shape[-1] for x in inputs))
    shapes = tuple({0: batch, 1: length} if is_tokens(x) else {0: batch} for x in inputs)
    parameters = inspect.signature(model.forward).parameters.values()
    variadic = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters)
    return (shapes,) if variadic else shapes


def write_dynamic(path, name):
    """Like the fixtures of dynamic shapes: references at five sizes."""
    model, inputs = create_with_inputs(name, 1)
    shapes = dynamic_shapes(model, inputs)
    first, *others = (functools.partial(resized, inputs, i) for i in range(len(DYNAMIC_BATCHES)))
    export.save_program(path, model, first(), dynamic_shapes=shapes)
    export.save_reference(path, model, first(), other_sizes=others)


def write_variant(path, name, variant):
    if variant == "dynamic":
        return write_dynamic(path, name)
    model, inputs = create_with_inputs(name, 4 if variant == "batch4" else 1)
    if variant == "channels_last":
        model, inputs = export.channels_last(model), export.channels_last(inputs)
    if variant in QUANTISED:
        model = quantised(model, inputs, variant)
    export.save_program(path, model, inputs, decomposed=variant == "decomposed")
    export.save_reference(path, model, inputs)


def write(directory, name, variant):
    """Writes one variant; an interrupted run leaves no file that looks complete."""
    file = name if variant == "base" else f"{name}.{variant}"
    partial = directory / ".partial"
    partial.mkdir(parents=True, exist_ok=True)
    write_variant(partial / file, name, variant)
    for suffix in (".npz", ".pt2"):  # what has a .pt2 is complete
        os.replace(partial / f"{file}{suffix}", directory / f"{file}{suffix}")


def parse_name(text):
    name, _, variant = text.partition(".")
    return name, variant or "base"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("--base", action="store_true", help="only the base variants")
    parser.add_argument("directory", type=Path)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    if arguments.list:
        print(*known_models(), sep="\n")
        return
    variants = VARIANTS[:1] if arguments.base else VARIANTS[:-1]
    jobs = [parse_name(text) for text in arguments.names]
    jobs = jobs or [(name, variant) for variant in variants for name in TORCHVISION]
    for name, variant in jobs:
        if variant not in VARIANTS + QUANTISED or all(name != known for known in known_models()):
            parser.error(
                f"unknown model: {name}.{variant} (see --list; variants: {', '.join(VARIANTS + QUANTISED)})"
            )
    for index, (name, variant) in enumerate(jobs, 1):
        label = f"[{index}/{len(jobs)}] {name} {variant}"
        file = name if variant == "base" else f"{name}.{variant}"
        if (arguments.directory / f"{file}.pt2").exists():
            print(f"{label}: exists", flush=True)
            continue
        start = time.monotonic()
        write(arguments.directory, name, variant)
        print(f"{label}: {time.monotonic() - start:.1f} s", flush=True)
    shutil.rmtree(arguments.directory / ".partial", ignore_errors=True)


if __name__ == "__main__":
    main()
