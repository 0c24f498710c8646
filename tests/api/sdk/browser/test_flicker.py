"""No frame of the original page is painted before the variant."""

import threading
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.api.sdk.browser.conftest import USER_AGENT
from tests.api.sdk.browser.site import KEY, Site, a_change, a_config, a_page, an_experiment
from tests.waiting import wait_until

BODY = "<style>body { margin: 0; background: #f00 }</style><h1>Original</h1>"
# The color in the lower right corner of a picture.
COLOR = """async (picture) => {
  const bytes = Uint8Array.from(atob(picture), (one) => one.charCodeAt(0));
  const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
  const context = canvas.getContext("2d");
  context.drawImage(bitmap, 0, 0);
  const [red, green, blue] = context.getImageData(bitmap.width - 5, bitmap.height - 5, 1, 1).data;
  return `${red},${green},${blue}`;
}"""
RED, GREEN = "255,0,0", "0,128,0"
NO_BLOCKING = "delete HTMLScriptElement.prototype.blocking"


class Film:
    """Every frame that a page paints."""

    def __init__(self, page: Page, projector: Page) -> None:
        self._frames: list[str] = []
        self._projector = projector
        self._session = page.context.new_cdp_session(page)
        self._session.on("Page.screencastFrame", self._keep)
        self._session.send("Page.startScreencast", {"format": "png", "everyNthFrame": 1})

    def _keep(self, frame: dict[str, Any]) -> None:
        self._frames.append(frame["data"])
        self._session.send("Page.screencastFrameAck", {"sessionId": frame["sessionId"]})

    def colors(self) -> list[str]:
        return [self._projector.evaluate(COLOR, frame) for frame in list(self._frames)]


@pytest.fixture
def projector(chromium: Browser) -> Any:
    context = chromium.new_context(user_agent=USER_AGENT)
    yield context.new_page()
    context.close()


def play(site: Site, page: Page, projector: Page, *, is_painted: bool = False) -> list[str]:
    """Load a page whose script comes after the rest of it; returns the colors of its frames.

    `is_painted` where the original page is expected to be seen.
    """
    script = site.gates[f"/sdk/v1/{KEY}.js"] = threading.Event()
    site.pages["/"] = a_page(BODY + "<script src='/end.js'></script>", head=site.tag())
    site.files["/end.js"] = ""
    site.config = a_config(an_experiment(changes=[a_change("modify_style", "background: #008000", "body")]))
    film = Film(page, projector)
    page.goto(f"{site.base}/", wait_until="commit")
    wait_until(lambda: page.evaluate("document.readyState") == "interactive")
    if is_painted:
        wait_until(lambda: RED in film.colors())
    # While another page is painted so often, one that may be painted is.
    projector.evaluate(PAINTED_OFTEN)
    script.set()
    page.wait_for_function("getComputedStyle(document.body).backgroundColor === 'rgb(0, 128, 0)'")
    wait_until(lambda: GREEN in film.colors())
    return film.colors()


PAINTED_OFTEN = """async () => {
  for (let frame = 0; frame < 20; frame++) await new Promise(requestAnimationFrame);
}"""


@pytest.mark.parametrize("script", ["", NO_BLOCKING], ids=["blocking", "hiding"])
def test_variant_is_the_first_that_is_painted(site: Site, page: Page, projector: Page, script: str) -> None:
    page.add_init_script(script)
    assert RED not in play(site, page, projector)


def test_plain_script_flickers(site: Site, page: Page, projector: Page) -> None:
    """Shows that the film would have found it."""
    site.stub = ""
    site.blocking = ""
    # The page waits for nothing: else it would stay the original.
    site.timeout_ms = 0
    assert RED in play(site, page, projector, is_painted=True)
