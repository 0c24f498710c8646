"""Pictures of the dashboard, light and dark, taken in Chromium from the demo's store: `make pictures`.

With `--all FOLDER` every page at every width and in print, into that folder: for a comparison by eye.
"""

import argparse
import io
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

FOLDER: Final = Path(__file__).parents[1] / "pictures"
EXPERIMENT: Final = "One-page checkout"
SERVED: Final = re.compile(r"Serving on (\S+) with the key (\S+)")
SIZE: Final = {"width": 1280, "height": 900}
MOST_BYTES: Final = 60_000
# Fewer colours, until the picture is small enough.
COLOURS: Final = (256, 128, 64, 32, 16)
WIDTHS: Final = (390, 768, 1280, 1920)
# A4 at 96 points an inch.
PRINTED: Final = 794
# The ending of a picture's name, by colour scheme.
SCHEMES: Final[Mapping[str, str]] = {"light": "", "dark": "-dark"}


@dataclass(frozen=True, slots=True)
class Shown:
    """A page, or a part of one, and the element that is there once it is drawn."""

    name: str
    address: str
    drawn: str = "main h1"
    part: str | None = None


# A new page is a row; `{project}`, `{experiment}` and `{draft}` are those of the demo.
PAGES: Final = (
    Shown("today", "/", "main .tag:text('Ship')"),
    Shown("projects", "/projects"),
    Shown("experiments", "{project}", "text=One-page checkout"),
    Shown("results", "{experiment}", "svg.plot"),
    Shown("charts", "{experiment}", "svg.plot", "section[aria-labelledby=time]"),
    Shown("decide", "{experiment}/ship"),
    Shown("draft", "{draft}/edit", "main .step"),
    Shown("new-project", "/projects/new"),
    Shown("installation", "{project}/installation"),
    Shown("account", "/account"),
    Shown("audit", "/account/audit"),
    Shown("meanings", "/verdicts"),
    Shown("reference", "/docs", ".opblock-tag"),
)


# Further pages, which the documentation does not show.
FURTHER: Final = (
    Shown("broken", "{broken}", "main .broken"),
    Shown("ended", "{ended}", "svg.plot"),
    Shown("decide-no-difference", "{unchanged}/ship"),
    Shown("compare", "{project}/compare?experiment={experiment_id}&experiment={unchanged_id}"),
    Shown("programme", "{project}/programme"),
    Shown("settings", "{project}/settings"),
    Shown("webhooks", "{project}/webhooks"),
    Shown("shared", "{shared}"),
)


def main() -> None:
    """Take the pictures of the documentation, or every page into the folder that is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", type=Path, metavar="FOLDER", help="every page at every width, and in print")
    parser.add_argument("--pages", nargs="*", help="names of the pages to take; all by default")
    parser.add_argument("--service", nargs=2, metavar=("URL", "KEY"), help="a demo that is served already")
    asked = parser.parse_args()
    chosen = [
        one for one in (*PAGES, *(FURTHER if asked.all else ())) if one.name in (asked.pages or [one.name])
    ]
    folder = asked.all or FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        if asked.service:
            address, key = asked.service
        else:
            data = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            address, key = stack.enter_context(_demo(data))
        chromium = stack.enter_context(sync_playwright()).chromium
        browser = chromium.launch(executable_path=_chromium(), args=["--no-sandbox"])
        for scheme, ending in SCHEMES.items():
            page = _signed_in(browser, scheme, address, key)
            places = _places(page, address, key)
            for shown in chosen:
                page.goto(address + shown.address.format(**places))
                page.wait_for_selector(shown.drawn)
                if asked.all:
                    _take_every_width(page, shown.name + ending, folder)
                else:
                    (folder / f"{shown.name}{ending}.png").write_bytes(small(_taken(page, shown)))
        browser.close()


def _take_every_width(page: Page, name: str, folder: Path) -> None:
    """Take a whole page at every width, and as it is printed."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": SIZE["height"]})
        (folder / f"{name}-{width}.png").write_bytes(page.screenshot(full_page=True))
    page.set_viewport_size({"width": PRINTED, "height": SIZE["height"]})
    page.emulate_media(media="print")
    (folder / f"{name}-print.png").write_bytes(page.screenshot(full_page=True))
    page.emulate_media(media="screen")
    page.set_viewport_size(SIZE)  # type: ignore[arg-type]


def small(picture: bytes) -> bytes:
    """Draw a picture with so few colours that it is no larger than MOST_BYTES, with sixteen at least."""
    drawn, found = Image.open(io.BytesIO(picture)).convert("RGB"), b""
    for colours in COLOURS:
        file = io.BytesIO()
        drawn.quantize(colours, dither=Image.Dither.NONE).save(file, "PNG", optimize=True)
        found = file.getvalue()
        if len(found) <= MOST_BYTES:
            break
    return found


def _signed_in(chromium: Browser, scheme: str, address: str, key: str) -> Page:
    page = chromium.new_context(viewport=SIZE, color_scheme=scheme).new_page()  # type: ignore[arg-type]
    page.goto(f"{address}/sign-in")
    page.fill("#key", key)
    page.press("#key", "Enter")
    # Verdicts are shown as last counted, which a job does every five minutes at most.
    while page.locator(PAGES[0].drawn).count() == 0:
        page.wait_for_timeout(2_000)
        page.reload()
    return page


def _places(page: Page, address: str, key: str) -> dict[str, str]:
    """Return the addresses of the demo's project, of its experiment, and of a copy of that, a draft."""
    headers = {"Authorization": f"Bearer {key}"}
    api = f"{address}/api/v1"
    project = f"/projects/{page.request.get(f'{api}/projects', headers=headers).json()['data'][0]['id']}"
    experiments = page.request.get(f"{api}{project}/experiments", headers=headers).json()["data"]
    drafts = [one["id"] for one in experiments if one["status"] == "draft"]
    ids = {one["name"]: one["id"] for one in experiments}
    found, unchanged = ids[EXPERIMENT], ids["Free-shipping banner"]
    experiment = f"{project}/experiments/{found}"
    if not drafts:
        copied = page.request.post(f"{api}{experiment}/copy", headers=headers)
        drafts = [copied.json()["data"]["id"]]
    draft = f"{project}/experiments/{drafts[0]}"
    shared = page.request.post(f"{api}{experiment}/share_links", headers=headers, data={})
    return {
        "project": project,
        "experiment": experiment,
        "draft": draft,
        "experiment_id": found,
        "unchanged_id": unchanged,
        "unchanged": f"{project}/experiments/{unchanged}",
        "broken": f"{project}/experiments/{ids['Larger product gallery']}",
        "ended": f"{project}/experiments/{ids['Coupon field hidden']}",
        "shared": urlsplit(shared.json()["data"]["url"]).path,
    }


def _taken(page: Page, shown: Shown) -> bytes:
    return page.screenshot() if shown.part is None else page.locator(shown.part).screenshot()


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
