"""Draw the picture of a report that the README shows: the example in examples/simulator, run and photographed.

.venv/bin/python tools/report_picture.py [docs/images/report.png]

It needs Playwright and Chromium, as the tests of the report do (``make test`` installs both where it can).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def main(picture: Path) -> None:
    browser = os.environ.get("TCGP_CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        run = Path(folder) / "simulator"
        shutil.copytree(
            ROOT / "examples/simulator", run, ignore=shutil.ignore_patterns("*.tcgp", "suspension")
        )
        subprocess.run(["sh", "build.sh"], cwd=run, check=True)
        command = ["minimize", "suspension.toml", "--report", "run.html", "--no-plots"]
        subprocess.run([sys.executable, "-m", "tcgp", *command], cwd=run, check=True)
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
        page = chromium.new_page(viewport={"width": 1200, "height": 900})
        page.goto((run / "run.html").as_uri())
        page.wait_for_selector("html[data-drawn=yes]")
        page.screenshot(path=picture)
        chromium.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs/images/report.png")
