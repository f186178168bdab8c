"""The package and its stubs under mypy --strict; pyproject.toml has its settings."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")


def test_the_package_is_typed(tmp_path):
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "mypy", "--config-file", str(root / "pyproject.toml")]
    checked = subprocess.run(
        [*command, "--cache-dir", str(tmp_path), str(root / "python" / "layline")],
        capture_output=True, text=True,
    )
    assert checked.returncode == 0, checked.stdout


def test_users_are_told_the_types(tmp_path):
    """A script that uses the package is checked against it, where it is installed."""
    (tmp_path / "use.py").write_text(
        "import layline\n"
        "program = layline.compile('model.pt2')\n"
        "reveal_type(program.report.permutes.final)\n"
        "program.save(3)\n"
    )
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "use.py"],
        cwd=tmp_path, capture_output=True, text=True,
    )
    assert 'Revealed type is "builtins.int"' in checked.stdout, checked.stdout
    assert "use.py:4" in checked.stdout and checked.stdout.count("error:") == 1, checked.stdout
