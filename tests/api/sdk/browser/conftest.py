"""Chromium, and a site that is served once for a module and reset for each test."""

import shutil
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from functools import cache

import pytest
from playwright.sync_api import Browser, Page, Playwright, sync_playwright

from api.app import create_app
from pipeline.settings import Settings
from tests.api.customers import Customer, a_customer
from tests.api.sdk.browser.debug_shop import Shop, a_strict_shop
from tests.api.sdk.browser.site import Site, served_site
from tests.api.serving import served as served_app
from tests.pasted_lines import free_port

# One of a person: headless browsers and automation are bots.
USER_AGENT = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"
)
# The name is of the whole browser: that of a page does not hold for beacons that outlive it.
ARGUMENTS = ("--disable-blink-features=AutomationControlled", f"--user-agent={USER_AGENT}")


def chromium_path(*names: str) -> str:
    """Return the path of the first that is installed; the shell draws no window of its own."""
    found = [
        path for name in names or ("chromium-headless-shell", "chromium") if (path := shutil.which(name))
    ]
    assert found, "needs Chromium: apt-get install chromium chromium-headless-shell"
    return found[0]


_opened = ExitStack()


@cache
def _playwright() -> Playwright:
    return _opened.enter_context(sync_playwright())


@cache
def open_chromium(path: str) -> Browser:
    """Open a browser for this test and those after it in its folder."""
    browser = launch_chromium(_playwright(), path)
    _opened.callback(browser.close)
    return browser


def launch_chromium(playwright: Playwright, path: str) -> Browser:
    return playwright.chromium.launch(
        executable_path=path, args=list(ARGUMENTS), ignore_default_args=["--disable-back-forward-cache"]
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, object, object]:
    """Close browsers after the tests of a folder: no other event loop can begin beside Playwright's."""
    try:
        return (yield)
    finally:
        if nextitem is None or nextitem.path.parent != item.path.parent:
            _opened.close()
            _playwright.cache_clear()
            open_chromium.cache_clear()


@pytest.fixture
def chromium() -> Browser:
    return open_chromium(chromium_path())


@pytest.fixture(scope="module")
def served() -> Iterator[Site]:
    with served_site() as site:
        yield site


@pytest.fixture
def site(served: Site) -> Iterator[Site]:
    served.reset()
    yield served
    served.reset()


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """A page of a new visitor."""
    context = chromium.new_context(user_agent=USER_AGENT)
    yield context.new_page()
    context.close()


@pytest.fixture(scope="module")
def customer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Customer]:
    """A customer of the service itself, on a port of its own."""
    port = free_port()
    folder = tmp_path_factory.mktemp("store")
    settings = Settings(data_dir=folder, base_url=f"http://127.0.0.1:{port}", fresh_read_seconds=60)
    app = create_app(settings)
    with served_app(app, settings, port=port) as client:
        yield a_customer(client, app.state.services)


@pytest.fixture
def shop(customer: Customer, site: Site) -> Shop:
    """A shop whose pages have the snippet of the service, and a strict policy."""
    return a_strict_shop(customer, site)
