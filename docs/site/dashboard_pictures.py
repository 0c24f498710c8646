"""Pictures of the dashboard, light and dark, taken in Chromium from the demo's store: `make pictures`."""

import io
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

FOLDER: Final = Path(__file__).parents[1] / "pictures"
EXPERIMENT: Final = "One-page checkout"
SERVED: Final = re.compile(r"Serving on (\S+) with the key (\S+)")
SIZE: Final = {"width": 1280, "height": 900}
MOST_BYTES: Final = 60_000
# Fewer colours, until the picture is small enough.
COLOURS: Final = (256, 128, 64, 32, 16)
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


def main() -> None:
    """Take every picture into docs/pictures."""
    FOLDER.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        _demo(Path(folder)) as (address, key),
        sync_playwright() as it,
    ):
        chromium = it.chromium.launch(executable_path=_chromium(), args=["--no-sandbox"])
        for scheme, ending in SCHEMES.items():
            page = _signed_in(chromium, scheme, address, key)
            places = _places(page, address, key)
            for shown in PAGES:
                page.goto(address + shown.address.format(**places))
                page.wait_for_selector(shown.drawn)
                (FOLDER / f"{shown.name}{ending}.png").write_bytes(small(_taken(page, shown)))
        chromium.close()


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
    found = next(one["id"] for one in experiments if one["name"] == EXPERIMENT)
    experiment = f"{project}/experiments/{found}"
    if not drafts:
        copied = page.request.post(f"{api}{experiment}/copy", headers=headers)
        drafts = [copied.json()["data"]["id"]]
    draft = f"{project}/experiments/{drafts[0]}"
    return {"project": project, "experiment": experiment, "draft": draft}


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
