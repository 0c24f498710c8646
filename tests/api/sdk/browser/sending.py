"""A page that sends events, and a service that refuses them for a while."""

from typing import Any

from playwright.sync_api import Page

from tests.api.sdk.browser.site import Answer, Site, a_page, accepted

KEPT = """Object.keys(localStorage).filter((name) => name.startsWith('truelift_q.'))
  .flatMap((name) => JSON.parse(localStorage[name]).slice(1))"""


def open_page(site: Site, page: Page) -> None:
    site.pages["/"] = a_page(head=site.tag())
    site.pages["/next"] = a_page("<h1>Next</h1>")
    page.goto(f"{site.base}/")


def kept(page: Page) -> int:
    return int(page.evaluate(f"{KEPT}.length"))


def batches(site: Site) -> int:
    return sum(path.startswith("/api/v1/sdk/track") for _, path, _ in site.requests)


def refuse(status: int, *, times: int, seconds: str = "") -> Any:
    """An answer of the service: refuses the first requests."""
    left = [times]

    def answer(events: list[dict[str, Any]]) -> Answer:
        left[0] -= 1
        if left[0] < 0:
            return accepted(events)
        return status, {"Retry-After": seconds} if seconds else {}, "{}"

    return answer
