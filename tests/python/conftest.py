import os
from pathlib import Path

import numpy
import pytest


@pytest.fixture
def data() -> Path:
    """The fixtures: models with inputs and torch's outputs."""
    return Path(os.environ["LAYLINE_TEST_DATA"])


@pytest.fixture
def arrays(data):
    def load(model: str, kind: str) -> list[numpy.ndarray]:
        with numpy.load(data / f"{model}.npz") as archive:
            names = [name for name in archive.files if name.startswith(f"{kind}_")]
            return [archive[name] for name in sorted(names, key=lambda n: int(n.rpartition("_")[2]))]

    return load


@pytest.fixture(scope="session")
def transformers():
    """The library of that name."""
    torch = pytest.importorskip("torch")
    # torchvision has no build for CPU-only torch, and transformers imports it where it is installed.
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name in ("nms", "qnms"):
        if not hasattr(torch.ops.torchvision, name):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    yield pytest.importorskip("transformers")
