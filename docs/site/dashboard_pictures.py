"""Pictures of the dashboard, taken in Chromium from the demo's store: `make pictures`."""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from playwright.sync_api import Page, sync_playwright

FOLDER: Final = Path(__file__).parents[1] / "pictures"
EXPERIMENT: Final = "One-page checkout"
SERVED: Final = re.compile(r"Serving on (\S+) with the key (\S+)")
SIZE: Final = {"width": 1280, "height": 900}


def main() -> None:
    """Take every picture into docs/pictures."""
    FOLDER.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        _demo(Path(folder)) as (address, key),
        sync_playwright() as it,
    ):
        chromium = it.chromium.launch(executable_path=_chromium(), args=["--no-sandbox"])
        page = chromium.new_context(viewport=SIZE, color_scheme="light").new_page()  # type: ignore[arg-type]
        page.goto(f"{address}/sign-in")
        page.fill("#key", key)
        page.press("#key", "Enter")
        # Verdicts are shown as last counted, which a job does every five minutes at most.
        while page.locator("main .tag:text('Ship')").count() == 0:
            page.wait_for_timeout(2_000)
            page.reload()
        _take(page, "today")
        page.click("nav >> text=Experiments")
        page.wait_for_selector(f"text={EXPERIMENT}")
        _take(page, "experiments")
        page.click(f"text={EXPERIMENT}")
        page.wait_for_selector("svg.plot")
        _take(page, "results")
        page.locator("section[aria-labelledby=time]").screenshot(path=FOLDER / "charts.png")
        chromium.close()


def _take(page: Page, name: str) -> None:
    page.screenshot(path=FOLDER / f"{name}.png")


def _chromium() -> str:
    path = shutil.which("chromium")
    if path is None:
        sys.exit("needs Chromium: apt-get install chromium")
    return path


@contextmanager
def _demo(folder: Path) -> Iterator[tuple[str, str]]:
    """Serve the demo from a folder; its address and key."""
    truelift = Path(sys.executable).with_name("truelift")
    command = [str(truelift), "demo", "--data-dir", str(folder / "demo"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as demo:  # noqa: S603 - our own command
        try:
            served = next(found for line in demo.stdout or () if (found := SERVED.search(line)))
            yield served[1], served[2]
        finally:
            demo.terminate()


if __name__ == "__main__":
    main()
