"""What another script of this folder defines: their names have no .py to import them by."""

import importlib.machinery
import importlib.util
from pathlib import Path


def load_script(name):
    path = Path(__file__).resolve().parent / name
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module
