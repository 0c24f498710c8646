"""Deeds of a shop's visitors: what the logs of its pages say they were shown, told and counted for."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

# Before and after the change.
TEXTS = ("Delivery in three days", "Delivery today")


@dataclass(slots=True)
class Deeds:
    """What visitors did, by test and variant, and what their pages did wrong."""

    counts: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    wrong: list[Any] = field(default_factory=list)

    def add(self, pages: list[Any]) -> None:
        """Add what the pages of a visitor have logged."""
        variants: dict[str, int] = {}
        done: set[tuple[str, str]] = set()
        orders: set[str] = set()
        for entry in self._entries(pages):
            if entry["kind"] == "exposure":
                self._check(entry, variants.setdefault(entry["test"], entry["index"]) == entry["index"])
            elif entry["kind"] == "told":
                self._count(entry, variants, done, orders)
            elif entry["kind"] == "shown":
                self._check(entry, TEXTS.index(entry["text"]) == variants.get("delivery"))
            elif entry["kind"] == "feature":
                self._check(entry, entry["index"] is not None)
                self._check(entry, entry["index"] == variants.get("free-shipping"))
            elif entry["kind"] == "failure":
                self.wrong.append(entry)
        for test, index in variants.items():
            self.counts[test, "visitors", index] += 1

    def _check(self, entry: Any, is_right: bool) -> None:  # noqa: FBT001 - a condition
        if not is_right:
            self.wrong.append(entry)

    def _count(
        self, entry: Any, variants: dict[str, int], done: set[tuple[str, str]], orders: set[str]
    ) -> None:
        """Count a conversion once a visitor, and an order once, for tests that the visitor was in before."""
        event, order = entry["event"], entry.get("order")
        if order in orders:
            return
        if order:
            orders.add(order)
        for test, index in variants.items():
            self.counts[test, event, index] += (test, event) not in done
            self.counts[test, "cents", index] += entry.get("revenue", 0)
            done.add((test, event))

    def _entries(self, pages: list[Any]) -> list[Any]:
        """Return the entries of pages whose script came, in the order in which it took them."""
        entries = []
        for page in pages:
            arrival = next((one for one in page if one["kind"] == "script"), None)
            if arrival is None or not arrival["isLoaded"]:
                continue
            exposed = {one["test"] for one in page if one["kind"] == "exposure"}
            self._check(arrival, not arrival["path"].startswith("/product/") or "delivery" in exposed)
            for entry in page:
                # What is told before waits for the script, which first decides.
                time = max(entry["time"], arrival["time"])
                entries.append((time, entry["kind"] != "exposure", entry["number"], entry))
        return [entry for *_, entry in sorted(entries, key=lambda one: one[:3])]
