"""Reports in headless Chromium."""

import contextlib
import os
import subprocess
from pathlib import Path

from playwright.sync_api import sync_playwright

COMMAND = os.environ["LAYLINE_COMMAND"]
CHROMIUM = os.environ.get("LAYLINE_CHROMIUM", "/usr/bin/chromium")


def compile_report(model: Path, report: Path, *options: str) -> None:
    program = report.with_suffix(".program")
    subprocess.run(
        [COMMAND, "compile", model, "-o", program, "--report", report, *options],
        check=True, stdout=subprocess.DEVNULL,
    )
    program.unlink()


@contextlib.contextmanager
def open_browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def open_page(browser, report: Path, fragment: str = ""):
    """The page, ready to use. It must ask for nothing but itself, and report no error."""
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("console", lambda message: message.type == "error" and page.problems.append(message.text))
    page.on("request", lambda request: request.url.startswith("file:") or page.problems.append(request.url))
    page.goto(report.as_uri() + fragment)
    page.wait_for_selector("body[data-ready]")
    return page
