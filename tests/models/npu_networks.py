"""Exports whole networks for scripts/tosa-networks: in float (NAME.tosafp), and as Arm's own quantiser
makes them, with 8-bit weights and activations of 8 bits (NAME.tosa8) or of 16 (NAME.tosa16).

    npu_networks.py PACKAGES OUTPUT_DIR [NAME.VARIANT]...

PACKAGES is the folder of Arm's serializer, which its quantiser imports. Weights are random, and images
of 64 x 64 pixels, because Arm's reference model is slow. What exists already is skipped.
"""

import sys
from pathlib import Path

import arm_packages

if __name__ == "__main__":
    arm_packages.use(sys.argv[1])

import torch

import export
import npu
import npu_quantised
import zoo

VARIANTS = {"tosafp": None, "tosa8": "quantised_tosa_", "tosa16": "quantised_tosa16_"}
SPECIFICATIONS = {variant: npu_quantised.ACTIVATIONS[prefix][0] if prefix else "TOSA-1.0+FP"
                  for variant, prefix in VARIANTS.items()}
SIDE = 64
SMALL = {"unet": (npu.UNet, (1, 3, SIDE, SIDE)), "lstm": (npu.Lstm, (1, 6, 8))}
# The first blocks of a network whose whole ExecuTorch takes too long to lower (docs/benchmarks.md).
SHALLOW = {"deit_tiny_2_blocks": ("deit_tiny_patch16_224", {"depth": 2})}
NAMES = """mobilenet_v2 resnet18 mobilenet_v3_small unet lstm deit_tiny_patch16_224 deit_tiny_2_blocks
efficientnet_b0 convnext_tiny""".split()


def create(name):
    export.seed(name)
    if name in SMALL:
        make, shape = SMALL[name]
        return export.randomise(make()).eval(), (torch.randn(shape),)
    name, settings = SHALLOW.get(name, (name, {}))
    if name in zoo.TIMM:
        import timm

        model = timm.create_model(name, pretrained=False, img_size=SIDE, **settings)
    else:
        model = zoo.create(name)
    model = export.randomise(model)
    inputs = (torch.randn(1, 3, SIDE, SIDE),)
    return export.calibrate_norms(model, inputs), inputs


def main():
    directory = Path(sys.argv[2])
    for name in sys.argv[3:] or [f"{name}.{variant}" for variant in VARIANTS for name in NAMES]:
        base, variant = name.split(".")
        if (directory / f"{name}.pt2").exists():
            continue
        model, inputs = create(base)
        if VARIANTS[variant]:
            model = npu_quantised.quantised(model, inputs, VARIANTS[variant])
            npu_quantised.drop_traces(model)
        export.save_program(directory / name, model, inputs, samples=False)
        export.save_reference(directory / name, model, inputs)
        print(name, flush=True)


if __name__ == "__main__":
    main()
