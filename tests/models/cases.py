"""The table of fixtures. A case module registers its models with the decorator `case`."""

from dataclasses import dataclass, field

import torch

CASES = {}


@dataclass
class Case:
    make_model: type
    make_inputs: object
    also: tuple = ()
    dynamic_shapes: object = None
    dtype: torch.dtype = torch.float32
    operators: tuple = field(default=())
    other_sizes: tuple = ()
    steps: int = 0


def case(
    name,
    inputs,
    also=(),
    dynamic_shapes=None,
    dtype=torch.float32,
    expect="",
    other_sizes=(),
    steps=0,
):
    """Registers a module class as fixture `name`.

    inputs: a function that returns the tuple of inputs, called with torch seeded.
    also:   further variants to write, "channels_last" or "decomposed", as NAME.VARIANT.
    expect: ATen ops, separated by spaces, that the exported graph must contain, so that a fixture
            cannot silently stop testing what it was written for.
    other_sizes: functions like `inputs`, which make inputs of other sizes that dynamic_shapes allow;
            what they give is written as size_1, size_2...
    steps:  how often to run the model, for one that remembers; `inputs` then gives a function that
            gives the inputs of each step, or is itself that function.
    """

    def register(model):
        assert name not in CASES, name
        operators = tuple(expect.split())
        CASES[name] = Case(
            model, inputs, also, dynamic_shapes, dtype, operators, tuple(other_sizes), steps
        )
        return model

    return register


def randn(*shapes):
    """Inputs of normally distributed floats, one for each shape."""
    return lambda: tuple(torch.randn(shape) for shape in shapes)
