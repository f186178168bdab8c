"""The page shows what the JSON says, and answers clicks and searches."""

import json
import re
import sys
from pathlib import Path

import pytest
from browser import compile_report, open_browser, open_page

DATA = Path(__file__).parents[1] / "data"
sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
from other_script import load_script  # noqa: E402

graphs = load_script("report-curve")
MOST_IN_FOLDER = 200  # as in src/report/folders.h


@pytest.fixture(scope="module")
def browser():
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def pages(browser, tmp_path_factory):
    """Opens the page of a model; the same report in JSON goes with it."""
    folder = tmp_path_factory.mktemp("reports")

    def open_model(model, *options, fragment=""):
        report = folder / f"{model}.html"
        compile_report(DATA / f"{model}.pt2", report, *options)
        compile_report(DATA / f"{model}.pt2", folder / "report.json", *options)
        page = open_page(browser, report, fragment)
        return page, json.loads((folder / "report.json").read_text())

    return open_model


@pytest.mark.parametrize("model", ["mobile_block", "deit", "state_counter", "methods", "dynamic_batch"])
def test_numbers_are_those_of_the_json(pages, model):
    page, report = pages(model)
    shown = page.locator("[data-key]")
    assert shown.count() >= 7
    for i in range(shown.count()):
        key, text = shown.nth(i).get_attribute("data-key"), shown.nth(i).inner_text()
        value = report
        for part in key.split("."):
            value = value[part]
        if key != "compile_ms":  # differs from run to run
            assert text == str(value), key
    assert page.locator("tr[data-node]").count() == report["permutes"]["final"]
    assert page.locator("svg#before .node").count() > 1
    assert page.locator("svg#after .node").count() > 1
    assert page.locator("#memory svg .alive").count() == 1
    assert page.problems == []


def test_every_node_can_be_drawn(pages):
    page, report = pages("mobile_block")
    for _ in range(10):
        page.click("#more")
    ops = page.locator("svg#after .node:not(.boundary):not(.group)").count()
    assert ops == report["ops"]
    assert page.locator("svg#after .node.permute").count() == report["permutes"]["final"]
    permutes = report["permutes"]
    assert page.locator("svg#before .node.permute").count() == permutes["source"] + permutes["implied"]
    for _ in range(10):
        page.click("#less")
    assert page.locator("svg#after .node.group").count() > 0
    assert page.problems == []


def test_a_click_on_a_permute_shows_its_reason(pages):
    page, report = pages("mobile_block")
    for _ in range(10):
        page.click("#more")
    page.locator("svg#after .node.permute").first.dispatch_event("click")
    survivor = report["permutes"]["survivors"][0]
    details = page.inner_text("#details")
    assert survivor["shape"] in details
    assert str(survivor["bytes"]) in details
    for forced in survivor["forced_by"]:
        assert forced in details
    page.locator("svg#before .node.permute").nth(3).dispatch_event("click")
    assert page.locator("#details .why p").count() >= 2
    assert "before" in page.inner_text("#details h3")


def test_a_row_of_the_table_leads_to_its_node(pages):
    page, report = pages("deit")
    assert report["permutes"]["final"] > 1
    page.locator("tr[data-node]").nth(1).click()
    assert report["permutes"]["survivors"][1]["shape"] in page.inner_text("#details")
    assert page.locator("svg#after .node.selected").count() == 1


def test_reasons_of_ops_outside_delegates(pages):
    page, report = pages("mobile_block", "--disable", "delegate")
    rows = page.inner_text("#tables")
    assert report["portable_ops"]
    for op in report["portable_ops"]:
        assert op["why"] in rows
    assert page.locator("svg#after .node.outside").count() > 0
    assert page.locator("#memory svg .tensor").count() > 1


def test_search_and_address(pages):
    page, _ = pages("mobile_block")
    page.fill("#search input", "conv2d features.0")
    assert page.locator("#search li").count() > 0
    page.press("#search input", "Enter")
    assert page.locator("svg#after .node.selected").count() == 1
    assert page.inner_text("#details h3") == "conv after"
    fragment = re.search("#.*", page.evaluate("location.href")).group()
    again, _ = pages("mobile_block", fragment=fragment)
    assert again.inner_text("#details") == page.inner_text("#details")
    page.fill("#search input", "no such node")
    assert page.locator("#search li").count() == 0


def test_modules_open_on_both_sides(pages):
    page, _ = pages("mobile_block")
    for _ in range(10):
        page.click("#less")
    group = page.locator("svg#before .node.group").first
    name = group.locator("title").text_content()
    group.dispatch_event("click")
    for side in ("before", "after"):
        titles = page.locator(f"svg#{side} .node.group title").all_text_contents()
        assert name not in titles


def test_methods_of_a_program(pages):
    page, report = pages("methods")
    buttons = page.locator("#methods button")
    assert buttons.all_inner_texts() == report["methods"]
    first = page.locator("svg#after .node title").all_text_contents()
    buttons.nth(1).click()
    assert page.locator("svg#after .node title").all_text_contents() != first
    assert page.problems == []


@pytest.fixture
def large_page(browser, tmp_path):
    """Opens the page of a graph that is given as text."""

    def open_text(text):
        (tmp_path / "model.lay").write_text(text)
        compile_report(tmp_path / "model.lay", tmp_path / "report.html")
        return open_page(browser, tmp_path / "report.html")

    return open_text


def test_steps_of_a_recurrence_are_drawn_once(large_page):
    page = large_page(graphs.recurrence(20_000))
    steps = 20_000 // 17
    titles = page.locator("svg#after .node").all_inner_texts()
    assert len(titles) <= MOST_IN_FOLDER
    page.click("#more")
    for side in ("before", "after"):
        assert page.locator(f"svg#{side} .node.op").count() == 17
        assert page.locator(f"svg#{side} .node", has_text=f"tanh × {steps}").count() == 2
        assert page.locator(f"svg#{side} .node.group title").all_text_contents() == [f"rnn.{steps - 1} more like t0_0"]
    # A step in the middle is found, and the folders around it are opened.
    page.fill("#search input", "t777_3")
    page.press("#search input", "Enter")
    assert "t777_3" in page.inner_text("#details")
    assert page.locator("svg#after .node.selected").count() == 1
    assert page.problems == []


def test_a_large_graph_opens_closed(large_page):
    page = large_page(graphs.chain(30_000))
    for side in ("before", "after"):
        assert 1 < page.locator(f"svg#{side} .node").count() <= MOST_IN_FOLDER
    page.locator("svg#after .node.group").first.dispatch_event("click")
    assert page.locator("svg#after .node").count() <= 2 * MOST_IN_FOLDER
    assert page.locator("#memory svg .alive").count() == 1
    assert page.problems == []
