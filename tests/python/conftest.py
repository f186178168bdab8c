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
        files = sorted((data / model).glob(f"{kind}_*.npy"), key=lambda f: int(f.stem.split("_")[1]))
        return [numpy.load(file) for file in files]

    return load
