"""The Python of the README and the pages runs as written: all blocks of a page, one after another."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", "docs/python.md", "docs/tutorials/slow-vit.md"]


def blocks(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)


def test_no_page_is_forgotten():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    assert sorted(PAGES) == sorted(
        str(page.relative_to(ROOT)) for page in pages if blocks(str(page.relative_to(ROOT)))
    )


@pytest.mark.parametrize("page", PAGES)
def test_it_is_python(page):
    for block in blocks(page):
        compile(block, page, "exec")


@pytest.mark.parametrize("page", PAGES)
def test_it_runs(page, tmp_path, monkeypatch, capsys):
    pytest.importorskip("torch")
    if any("executorch" in block for block in blocks(page)):
        pytest.importorskip("executorch.devtools")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page):
        exec(compile(block, page, "exec"), names)
    assert capsys.readouterr().out.strip()
    if "inspector" in names:
        traces = [
            trace
            for block in names["inspector"].event_blocks
            for event in block.events
            for trace in event.stack_traces.values()
        ]
        assert traces, "the Inspector found no line of the model"
