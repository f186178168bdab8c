"""The report in Model Explorer itself: its types, and its page in headless Chromium."""

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request

import dacite
import pytest
from browser import open_browser
from model_explorer.graph_builder import GraphCollection
from model_explorer.node_data_builder import GraphNodeData
from model_explorer_check import DATA, make_report

COMMAND = os.environ["LAYLINE_COMMAND"]


@pytest.mark.parametrize("model", ["mobile_block", "deit", "methods", "dynamic_batch"])
def test_files_are_of_its_types(model, tmp_path):
    report = json.loads(make_report(COMMAND, DATA / f"{model}.pt2", tmp_path).read_text())
    strict = dacite.Config(strict=True)
    collection = dacite.from_dict(
        GraphCollection, {key: report[key] for key in ("label", "graphs")}, strict
    )
    for graph in collection.graphs:
        dacite.from_dict(GraphNodeData, report[graph.id], strict)
    after = next(graph for graph in collection.graphs if graph.id.endswith(" after"))
    assert sum(node.style is not None for node in after.nodes) <= report["permutes"]["final"]


@contextlib.contextmanager
def model_explorer(*arguments):
    """Its server, without a browser of its own; the address of the page."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "model_explorer", *arguments, "--no_open_in_browser", "--port", str(port)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        address = None
        deadline = time.monotonic() + 120
        while address is None and time.monotonic() < deadline:
            line = server.stdout.readline()
            found = re.search(r"http://\S+", line)
            address = found and found.group(0)
        assert address, "the server did not say where its page is"
        urllib.request.urlopen(address.split("?")[0], timeout=60).close()
        yield address
    finally:
        server.terminate()
        server.wait()


def test_its_page_shows_the_report(tmp_path):
    report = make_report(COMMAND, DATA / "mobile_block.pt2", tmp_path)
    latency = tmp_path / "latency.json"
    subprocess.run(
        [COMMAND, "bench", tmp_path / "program", "--per-op", "--iterations", "2", "--node-data", latency],
        check=True, stdout=subprocess.DEVNULL,
    )
    with model_explorer(str(report), "--node_data_paths", f"{report},{latency}") as address:
        with open_browser() as browser:
            page = browser.new_page(viewport={"width": 1400, "height": 1000})
            problems = []
            page.on("pageerror", lambda error: problems.append(str(error)))
            page.goto(address)
            # It begins with the larger graph, and shows the data that there is for it.
            page.wait_for_selector("text=forward before", timeout=120_000)
            page.wait_for_selector("text=permutes, bytes", timeout=120_000)
            moved = json.loads(report.read_text())["forward before"]["results"].values()
            page.wait_for_selector(f"text={sum(result['value'] for result in moved)}", timeout=120_000)
            if folder := os.environ.get("LAYLINE_SCREENSHOTS"):
                page.wait_for_timeout(3000)
                page.screenshot(path=f"{folder}/model-explorer.png")
            assert "Unsupported JSON format" not in page.inner_text("body")
            assert problems == []
