"""screenshots.py FOLDER MODEL.pt2...: a picture of each model's page, and how long it took to open."""

import sys
import tempfile
import time
from pathlib import Path

from browser import compile_report, open_browser, open_page

folder, *models = map(Path, sys.argv[1:])
with tempfile.TemporaryDirectory() as scratch, open_browser() as browser:
    for model in models:
        report = Path(scratch) / "report.html"
        compile_report(model, report)
        start = time.monotonic()
        page = open_page(browser, report)
        seconds = time.monotonic() - start
        page.locator("tr[data-node]").first.click()
        page.evaluate("scrollTo(0, 0)")
        name = model.stem.split("_patch")[0]
        page.screenshot(path=folder / f"report-{name}.png")
        print(f"{name}: {report.stat().st_size / 1e6:.1f} MB, open in {seconds:.2f} s, {page.problems or 'no errors'}")
