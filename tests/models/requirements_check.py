"""Every package that the scripts of tests/models, tests/onnx, bench/llm and bench/peers import is pinned in the requirements
that their environment is made from (scripts/torch-venv, scripts/onnx-venv, scripts/peers-venv)."""

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPTS = ROOT / "scripts"
# The environments, and the folders whose scripts they run.
ENVIRONMENTS = {
    "tests/models": ["requirements-torch.txt", "requirements-torch-nodeps.txt"],
    "tests/onnx": ["requirements-onnx.txt"],
    "bench/llm": ["requirements-torch.txt"],
    "bench/peers": ["requirements-peers.txt"],
}
# Modules of packages that have other names, and what scripts/tosa-venv and scripts/llama-cpp install.
NAMES = {"_tools": "mnn"}
OTHERS = {"tosa", "tosa_serializer", "gguf"}


def lines_of(file):
    return (SCRIPTS / file).read_text().splitlines()


def pinned(files):
    """What the files pin, and what they name that the pins of .venv hold for."""
    shared = {line.partition("==")[0] for line in lines_of("requirements.txt")}
    lines = [line for file in files for line in lines_of(file)]
    return {line.partition("==")[0].lower() for line in lines if "==" in line or line in shared}


def imported(file):
    """The first part of every module's name, wherever in the file it is imported."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.partition(".")[0]


def main():
    missing = []
    for folder, requirements in ENVIRONMENTS.items():
        files = sorted((ROOT / folder).rglob("*.py"))
        own = {file.stem for file in [*files, *SCRIPTS.glob("*.py")]}
        known = own | OTHERS | set(sys.stdlib_module_names)
        packages = pinned(requirements)
        for file in files:
            for module in imported(file):
                package = NAMES.get(module, module.replace("_", "-").lower())
                if module not in known and package not in packages:
                    missing.append(f"{file.relative_to(ROOT)}: {module} is not in {' or '.join(requirements)}")
    if missing:
        sys.exit("\n".join(missing))


main()
