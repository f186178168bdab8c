"""Makes Arm's Python packages importable beside torch, from the venv of scripts/tosa-venv."""

import importlib.machinery
import sys

NAMES = ("tosa_serializer", "tosa", "flatbuffers", "ml_dtypes")


class Finder:
    """Finds Arm's packages, and no other of that venv: its numpy is not torch's."""

    def __init__(self, folder):
        self.folder = str(folder)

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in NAMES:
            return None
        places = [self.folder] if path is None else path
        return importlib.machinery.PathFinder.find_spec(name, places)


def use(folder):
    sys.meta_path.append(Finder(folder))
