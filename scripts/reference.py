"""Runs a compiled program on what torch was given and compares with what torch computed.

A reference is an .npz file of input_I and output_I (tests/models/export.py). No numpy is needed.
"""

import array
import ast
import math
import operator
import shutil
import subprocess
import zipfile
from pathlib import Path


def read_float32_npy(path):
    """The shape and the values of a .npy file of little-endian float32 in C order."""
    data = Path(path).read_bytes()
    if data[:6] != b"\x93NUMPY":
        raise ValueError(f"{path} is not a .npy file")
    # Version 1.0 has a 2-byte header length, later versions a 4-byte one.
    width = 2 if data[6] == 1 else 4
    end = 8 + width + int.from_bytes(data[8 : 8 + width], "little")
    header = ast.literal_eval(data[8 + width : end].decode("latin1"))
    if header["descr"] != "<f4" or header["fortran_order"]:
        raise ValueError(f"{path} is not float32 in C order")
    return tuple(header["shape"]), array.array("f", data[end:])


def largest_error(actual_file, expected_file):
    """The largest difference of two arrays, relative to the largest expected value."""
    actual_shape, actual = read_float32_npy(actual_file)
    expected_shape, expected = read_float32_npy(expected_file)
    if actual_shape != expected_shape:
        raise ValueError(f"{actual_file.name}: shape {actual_shape} instead of {expected_shape}")
    differences = array.array("f", map(abs, map(operator.sub, actual, expected)))
    # max() may pass over a NaN.
    if any(map(math.isnan, differences)):
        return math.nan
    largest = max(map(abs, expected), default=0.0) or 1.0
    return max(differences, default=0.0) / largest


def unpacked(reference, folder):
    """The folder, with the .npy files of the reference and no others."""
    shutil.rmtree(folder, ignore_errors=True)
    with zipfile.ZipFile(reference) as archive:
        archive.extractall(folder)
    return folder


def numbered(folder, stem):
    """input_0.npy, input_1.npy, ... in order."""
    files = Path(folder).glob(f"{stem}_*.npy")
    return sorted(files, key=lambda f: int(f.stem.rpartition("_")[2]))


def error_against(reference, layline, program, report, scratch):
    """The largest error of any output of the program, compiled with this report."""
    arrays = unpacked(reference, Path(scratch) / "reference")
    inputs = [
        f"--input={declared['name']}={file}"
        for declared, file in zip(report["inputs"], numbered(arrays, "input"), strict=True)
    ]
    command = [layline, "run", program, *inputs, "--output-dir", scratch]
    subprocess.run(command, check=True, capture_output=True, text=True)
    outputs = zip(report["outputs"], numbered(arrays, "output"), strict=True)
    return max(
        largest_error(Path(scratch) / f"{declared['name']}.npy", file)
        for declared, file in outputs
    )
