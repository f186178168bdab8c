"""ONNX models through the Python package."""

from pathlib import Path

import numpy as np
import pytest

import layline

MODELS = Path(__file__).resolve().parent.parent / "data" / "onnx"


def runs(name):
    arrays = np.load(MODELS / f"{name}.npz")
    for prefix in ("", "size_1/"):
        if f"{prefix}input_0" in arrays:
            yield arrays[f"{prefix}input_0"], arrays[f"{prefix}output_0"]


def test_sizes_are_numbers_ranges_and_steps():
    program = layline.compile(
        MODELS / "convs.onnx", dims={"n": 1, "height": range(16, 65, 4), "width": "16..64:4"}
    )
    for x, expected in runs("convs"):
        np.testing.assert_allclose(program.run(x)[0], expected, atol=1e-5)


def test_a_range_is_a_pair():
    program = layline.compile(MODELS / "encoder.onnx", dims={"length": (1, 64)})
    for x, expected in runs("encoder"):
        np.testing.assert_allclose(program.run(x)[0], expected, atol=1e-5)


@pytest.mark.parametrize("rate", [16000, np.array(16000)])
def test_an_input_is_fixed_to_a_number_or_an_array(rate):
    program = layline.compile(MODELS / "branches.onnx", dims={"n": 3}, fix={"rate": rate})
    ((x, expected),) = runs("branches")
    assert len(program.report.inputs) == 1
    np.testing.assert_allclose(program.run(x)[0], expected, atol=1e-5)


def test_open_sizes_are_asked_for():
    with pytest.raises(layline.Error, match="--dim n=1"):
        layline.compile(MODELS / "convs.onnx")


def test_a_range_has_two_ends():
    with pytest.raises(layline.Error, match="two ends"):
        layline.compile(MODELS / "convs.onnx", dims={"n": (1, 2, 3)})
