"""Draw the moving picture of the README, a report that fills in, as a GIF, and write the finished page next to it.

python tools/moving_picture.py [docs/images/run.gif]

Runs the first example of the README and draws its report after every other evaluation in a headless Chromium.
Needs what `make test` installs, and Chromium (`make browser`).
"""

from __future__ import annotations

import io
import re
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

import tcgp
from tcgp.cli import main as command

ROOT = Path(__file__).parents[1]
SIZE, SHOWN = (1100, 760), (770, 532)  # of the browser's window, and of the picture
# The chart of the best value, at the top of the window.
CHART = (
    "[...document.querySelectorAll('section')].find(s => s.innerText.includes('Best value')).scrollIntoView()"
)
COLOURS, MILLISECONDS, LAST = 64, 600, 4000


def main() -> None:
    target = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "docs/images/run.gif")
    browser_path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]}, color_scheme="light")
        frames = []
        for html in reports(Path(folder)):
            page.goto(html.as_uri())
            page.wait_for_timeout(300)
            page.evaluate(CHART)
            frames.append(Image.open(io.BytesIO(page.screenshot())).convert("RGB").resize(SHOWN))
        browser.close()
        shutil.copy(html, target.with_suffix(".html"))  # the finished page
    palette = frames[-1].quantize(COLOURS)  # one for all: unchanged parts take no bytes
    pictures = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    durations = [MILLISECONDS] * (len(pictures) - 1) + [LAST]
    pictures[0].save(
        target, save_all=True, append_images=pictures[1:], duration=durations, loop=0, optimize=True
    )
    print(f"{target}: {len(pictures)} pictures, {target.stat().st_size / 1e3:.0f} kB")


def reports(folder: Path):
    """Reports of the README's first example, after more and more evaluations."""
    block = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)[1]
    namespace: dict[str, object] = {}
    exec(block.split("result =")[0], namespace)  # the function, its parameters and limits
    journal = folder / "beam.jsonl"
    space, limits = namespace["space"], namespace["limits"]
    optimizer = tcgp.Optimizer(space, objective="mass", constraints=limits, journal=journal, rng=0)
    for n in range(1, 31):
        x = optimizer.ask()
        optimizer.tell(x, namespace["simulate"](x))
        if n >= 4 and n % 2 == 0:
            html = folder / f"{n}.html"
            command(["report", str(journal), "--output", str(html)])
            yield html
    optimizer.close()


if __name__ == "__main__":
    main()
