"""Visitors with several tabs, alike in Chromium and in Firefox."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from playwright.sync_api import Browser, BrowserContext, Error, Page

from tests.api.sdk.browser.conftest import USER_AGENT
from tests.api.sdk.browser.firefox import Firefox


class Tab(Protocol):
    """A tab of a visitor's browser."""

    def goto(self, url: str) -> None:
        """Open a page, at least its beginning."""

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression; None while one page makes way for another."""

    def show(self) -> None:
        """Bring the tab to the front."""

    def close(self) -> None:
        """Close the tab, without asking its page."""


class Visitor(Protocol):
    """A browser with cookies and storage of its own."""

    def open_tab(self) -> Tab:
        """Open an empty tab in the front."""

    def connect(self, *, is_online: bool) -> None:
        """Take the network away from the browser, or give it back."""


NewVisitor = Callable[[], Visitor]


@dataclass(slots=True)
class ChromiumTab:
    """A page of Playwright."""

    page: Page

    def goto(self, url: str) -> None:
        self.page.goto(url, wait_until="commit")

    def evaluate(self, expression: str) -> Any:
        with suppress(Error):
            return self.page.evaluate(expression)
        return None

    def show(self) -> None:
        self.page.bring_to_front()

    def close(self) -> None:
        self.page.close()


@dataclass(slots=True)
class ChromiumVisitor:
    """A context of Playwright."""

    context: BrowserContext

    def open_tab(self) -> Tab:
        return ChromiumTab(self.context.new_page())

    def connect(self, *, is_online: bool) -> None:
        self.context.set_offline(not is_online)


def visitors_of_chromium(browser: Browser) -> NewVisitor:
    """Make visitors in one Chromium."""
    return lambda: ChromiumVisitor(browser.new_context(user_agent=USER_AGENT))


@dataclass(slots=True)
class FirefoxTab:
    """A tab that is steered over WebDriver BiDi."""

    firefox: Firefox
    tab: str
    siblings: list[str]

    def goto(self, url: str) -> None:
        self.firefox.send("browsingContext.navigate", context=self.tab, url=url, wait="none")

    def evaluate(self, expression: str) -> Any:
        with suppress(AssertionError):
            return self.firefox.evaluate(expression, self.tab)
        return None

    def show(self) -> None:
        self.firefox.send("browsingContext.activate", context=self.tab)

    def close(self) -> None:
        self.firefox.send("browsingContext.close", context=self.tab)
        self.siblings.remove(self.tab)


@dataclass(slots=True)
class FirefoxVisitor:
    """A user context, in a window of its own: the pages of the others go on."""

    firefox: Firefox
    context: str
    tabs: list[str] = field(default_factory=list)

    def open_tab(self) -> Tab:
        kind = {"type": "tab", "referenceContext": self.tabs[-1]} if self.tabs else {"type": "window"}
        created = self.firefox.send("browsingContext.create", userContext=self.context, **kind)
        self.tabs.append(created["context"])
        return FirefoxTab(self.firefox, created["context"], self.tabs)

    def connect(self, *, is_online: bool) -> None:
        conditions = None if is_online else {"type": "offline"}
        self.firefox.send(
            "emulation.setNetworkConditions", networkConditions=conditions, userContexts=[self.context]
        )


def visitors_of_firefox(firefox: Firefox) -> NewVisitor:
    """Make visitors in one Firefox."""
    return lambda: FirefoxVisitor(firefox, firefox.send("browser.createUserContext")["userContext"])
