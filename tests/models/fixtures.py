"""Writes the fixtures of the tests: small exported models with inputs and torch's outputs.

    fixtures.py [--list] [--ops] OUTPUT_DIR [NAME...]

The layout of the files is described in export.py. A variant, NAME.VARIANT.pt2, computes what NAME.pt2
does, and has no arrays of its own. Models that layline must refuse are in OUTPUT_DIR/bad, as .pt2
only.
"""

import argparse
from pathlib import Path

import torch

import activations
import attention
import bad_models
import catalogue
import custom_ops
import decoders
import dynamic
import encoder_decoders
import export
import language
import layers
import llama
import networks
import npu
import operands
import quantised
import sequences
import shapes
import states
import survey_slice
import yardstick
from cases import CASES


def write_variant(path, name, case, variant):
    export.seed(name)
    model = export.randomise(case.make_model()).eval().to(case.dtype)
    inputs = case.make_inputs()
    make_inputs = case.make_inputs
    if callable(inputs):
        make_inputs, inputs = inputs, inputs()
    steps = [inputs, *(make_inputs() for _ in range(1, case.steps))] if case.steps else None
    if variant == "channels_last":
        model, inputs = export.channels_last(model), export.channels_last(inputs)
    decomposed = variant == "decomposed"
    program = export.save_program(path, model, inputs, decomposed, case.dynamic_shapes, samples=False)
    if variant == "base":
        export.save_reference(path, model, inputs, steps, case.other_sizes)
    return program


def write_case(directory, name, show_ops):
    case = CASES[name]
    for variant in ("base", *case.also):
        suffix = "" if variant == "base" else f".{variant}"
        program = write_variant(directory / f"{name}{suffix}", name, case, variant)
        ops = export.operators(program)
        print(f"{name}{suffix}" + (f": {ops}" if show_ops else ""), flush=True)
        missing = [op for op in case.operators if f"aten.{op}" not in ops.split()]
        if variant == "base" and missing:
            raise SystemExit(f"{name}: expected but not exported: {' '.join(missing)}\nhas: {ops}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("--ops", action="store_true", help="print the ATen ops of each fixture")
    parser.add_argument("directory", type=Path)
    parser.add_argument("names", nargs="*", help="all fixtures unless given")
    arguments = parser.parse_args()
    special = {
        **networks.ARCHIVES,
        **llama.ARCHIVES,
        **states.ARCHIVES,
        **decoders.ARCHIVES,
        **encoder_decoders.ARCHIVES,
        **language.ARCHIVES,
        **bad_models.ARCHIVES,
        **quantised.ARCHIVES,
        **survey_slice.ARCHIVES,
    }
    names = [*CASES, *special]
    if arguments.list:
        print(*names, sep="\n")
        return
    unknown = sorted(set(arguments.names) - set(names))
    if unknown:
        parser.error(f"unknown fixture: {' '.join(unknown)} (see --list)")
    arguments.directory.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or names:
        if name in CASES:
            write_case(arguments.directory, name, arguments.ops)
        else:
            export.seed(name)
            special[name](arguments.directory)
            print(name, flush=True)


if __name__ == "__main__":
    main()
