"""Visits of a shop by chance: clicks, orders, reloads, back and forward, several tabs, no network."""

import json
import random
import threading
from collections.abc import Iterator
from typing import Any

from tests.api.sdk.browser.shop import ShopServer
from tests.api.sdk.browser.visitors import NewVisitor, Tab, Visitor
from tests.waiting import wait_until

PATHS = ("/", "/cart", "/product/shirt", "/product/hat", "/product/coat")
DEEDS = ("click", "click", "act", "act", "back", "forward", "leave", "offline", "tab", "switch", "close")
MOST_TABS = 3
AT_ONCE = 12
PAUSE_SECONDS = 0.02
TURNING_PAUSES = 25
IS_THERE = "window.shop?.isLeaving === false"
IS_AT_REST = "window.shop?.isAtRest()"
IS_SENT = """window.truelift?.loaded
  && !Object.keys(localStorage).some((name) => name.startsWith('truelift_q'))"""
LOGS = """JSON.stringify(Object.keys(localStorage)
  .filter((name) => name.startsWith('log')).map((name) => JSON.parse(localStorage[name])))"""


class Visit:
    """One visitor with the tabs that are open; the last one that was shown is in use."""

    def __init__(self, visitor: Visitor, base: str, dice: random.Random) -> None:
        self._visitor = visitor
        self._base = base
        self._dice = dice
        self._tabs: list[Tab] = []
        self._tab = self._opened()

    def deeds(self) -> Iterator[None]:
        """Do things by chance; gives way to other visitors while it waits."""
        for _ in range(self._dice.randint(3, 9)):
            # Some leave a page before they have seen it.
            is_hasty = self._dice.random() < 0.15
            yield from self._until(IS_THERE if is_hasty else IS_AT_REST)
            deed = "leave" if is_hasty else self._dice.choice(DEEDS)
            if deed == "offline":
                yield from self._act_offline()
            elif deed == "close" and len(self._tabs) > 1:
                yield from self._close()
            elif deed in {"tab", "switch"}:
                self._turn_to_another_tab(is_new=deed == "tab")
                # As long as people take, and browsers to tell a tab what another one has stored.
                for _ in range(TURNING_PAUSES):
                    yield
            else:
                self._act(deed)
        while self._tabs:
            yield from self._close()

    def _act(self, deed: str) -> None:
        if deed == "click":
            self._click(self._link())
        elif deed == "act":
            self._click("#add, #order")
        elif deed in {"back", "forward"}:
            self._move(f"history.{deed}()", f"navigation.canGo{deed.title()}")
        elif deed == "leave":
            away = f"location.assign('{self._dice.choice(PATHS)}')"
            self._move(self._dice.choice(["location.reload()", away]))

    def _act_offline(self) -> Iterator[None]:
        self._visitor.connect(is_online=False)
        self._click(self._link())
        self._click("#add, #order")
        for _ in range(self._dice.randint(1, 20)):
            yield
        self._visitor.connect(is_online=True)

    def _turn_to_another_tab(self, *, is_new: bool) -> None:
        if is_new and len(self._tabs) < MOST_TABS:
            self._tab = self._opened()
        else:
            self._tab = self._dice.choice(self._tabs)
            self._tab.show()

    def _close(self) -> Iterator[None]:
        # A browser that is steered may hang where a tab is closed while it goes to another page.
        yield from self._until(IS_THERE)
        self._tabs.remove(self._tab)
        self._tab.close()
        if self._tabs:
            self._tab = self._tabs[-1]
            self._tab.show()

    def _opened(self) -> Tab:
        tab = self._visitor.open_tab()
        tab.goto(self._base + self._dice.choice(PATHS))
        self._tabs.append(tab)
        return tab

    def _until(self, condition: str) -> Iterator[None]:
        while not self._tab.evaluate(condition):
            yield

    def _link(self) -> str:
        return f"nav button[title='{self._dice.choice(PATHS)}']"

    def _click(self, selector: str) -> None:
        self._tab.evaluate(f'document.querySelector("{selector}")?.click()')

    def _move(self, action: str, condition: str = "true") -> None:
        # Once the expression has been answered.
        self._tab.evaluate(f"if ({condition}) {{ shop.isLeaving = true; setTimeout(() => {action}) }}")


def visited(
    new_visitor: NewVisitor, server: ShopServer, base: str, *, seed: int, number: int
) -> Iterator[list[Any]]:
    """Visit by many visitors, some at once; then all come back. Yields the logs of the pages of each."""
    dice = random.Random(seed)  # noqa: S311 - repeatable visits
    visitors = [new_visitor() for _ in range(number)]
    waiting = list(visitors)
    active: list[Iterator[None]] = []
    server.network.is_calm = False
    while waiting or active:
        while waiting and len(active) < AT_ONCE:
            one = Visit(waiting.pop(), base, random.Random(dice.random()))  # noqa: S311 - repeatable
            active.append(one.deeds())
        active = [one for one in active if next(one, one) is None]
        threading.Event().wait(PAUSE_SECONDS)
    server.network.is_calm = True
    for visitor in visitors:
        yield logs_of(visitor, base)


def logs_of(visitor: Visitor, base: str) -> list[Any]:
    """Come back later, until everything has been sent."""
    tab = visitor.open_tab()
    tab.goto(f"{base}/later")
    wait_until(lambda: tab.evaluate(IS_SENT))
    logs: list[Any] = json.loads(tab.evaluate(LOGS))
    tab.close()
    return logs
