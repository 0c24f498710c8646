"""Simulated traffic of a shop: what its visitors see and do in its experiments, day by day."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Final

import numpy as np
from fastapi.testclient import TestClient

from pipeline.jobs.jobs import JOBS
from tests.data.shop_designs import DESIGNS, PROJECT
from tests.data.shop_visitors import FIRST_DAY, Visitor, visitors_of

CREATED: Final = datetime(2026, 2, 9, 14, 30, tzinfo=UTC)
DAYS: Final = 18
EVENTS_A_REQUEST: Final = 400
# The share of visitors that each experiment sees, and what its variants do to the rate of orders.
SHARES: Final = {
    "checkout": (0.5, (1.0, 1.05, 1.5)),
    "banner": (0.4, (1.0, 1.1)),
    "recommendations": (1.0, (1.0, 1.1, 1.35)),
    "shipping": (0.35, (1.0, 1.3)),
    "search": (0.35, (1.0, 0.95, 1.15)),
    "footer": (0.2, (1.0, 1.0)),
    "gallery": (0.3, (1.0, 1.0, 1.0)),
    "reviews": (0.15, (1.0, 0.8)),
}
# The share of visitors that see several variants: of one experiment too many to trust it.
SEVERAL: Final = {key: 0.03 if key == "gallery" else 0.004 for key in SHARES}


class Clock:
    """The time that everything is told while the store is made."""

    now = CREATED

    def nanoseconds(self) -> int:
        """The same, since 1970."""
        return int(self.now.timestamp()) * 10**9


Event = dict[str, Any]


class Shop:
    """The service with one project, and the visitors of its site."""

    def __init__(self, client: TestClient, token: str, rng: np.random.Generator, clock: Clock) -> None:
        """Create the project and its experiments; nothing runs yet."""
        self.client, self.token, self.rng, self.clock = client, token, rng, clock
        self.project = self.call("POST", "/projects", PROJECT)
        self.path = f"/projects/{self.project['id']}/experiments"
        self.experiments = {key: self.call("POST", self.path, design) for key, design in DESIGNS.items()}
        self.numbers = iter(range(10**6))

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Send a request and return the data of its answer."""
        sent = {"Authorization": f"Bearer {self.token}", **headers}
        answer = self.client.request(method, f"/api/v1{path}", json=body, headers=sent)
        answer.raise_for_status()
        return answer.json()["data"]

    def move(self, key: str, trigger: str) -> None:
        """Drive an experiment through its lifecycle."""
        self.experiments[key] = self.call("POST", f"{self.path}/{self.experiments[key]['id']}/{trigger}")

    def run_jobs(self, *names: str) -> None:
        """Run jobs of the service now; RuntimeError where one fails."""
        scheduler = self.client.app.state.services.scheduler  # type: ignore[attr-defined] # any ASGI app
        for job in (job for job in JOBS if not names or job.name in names):
            scheduler.run_now(job)
        if scheduler.failing:
            raise RuntimeError(f"failed: {scheduler.failing}")
        for key, experiment in self.experiments.items():
            self.experiments[key] = self.call("GET", f"{self.path}/{experiment['id']}")

    def store(self, path: str, events: list[Event]) -> None:
        """Send events, and some of them again; ValueError where one is rejected."""
        repeated = [event for event in events if self.rng.random() < 0.02]
        waiting = iter([*events, *repeated])
        while batch := list(islice(waiting, EVENTS_A_REQUEST)):
            body = {"project_id": self.project["id"], "batch": batch}
            headers = {"Authorization": f"Bearer {self.token}"}
            answer = self.client.post(f"/api/v1/sdk/{path}", json=body, headers=headers).json()
            if answer["rejected"]:
                raise ValueError(str([one for one in answer["results"] if one["code"]][:3]))

    def event(self, visitor: Visitor, at: datetime, **fields: Any) -> Event:
        """An event of a visitor, with a new id."""
        event: Event = {
            "event_id": f"e{next(self.numbers):06d}",
            "visitor_id": visitor.id,
            "timestamp": at.isoformat(),
            "attributes": visitor.attributes,
            **fields,
        }
        return event if visitor.user_id is None else {**event, "user_id": visitor.user_id}

    def order(self, visitor: Visitor, at: datetime, cents: int, **fields: Any) -> Event:
        """An order."""
        return self.event(
            visitor,
            at,
            event_name="purchase",
            revenue_cents=cents,
            currency="EUR" if self.rng.random() < 0.03 else "USD",
            transaction_id=f"t{next(self.numbers):06d}",
            **fields,
        )


def send_past(shop: Shop, visitors: list[Visitor]) -> None:
    """Send what returning visitors did before any experiment started."""
    shop.clock.now = FIRST_DAY - timedelta(hours=1)
    tracked, orders = [], []
    for visitor in visitors:
        if visitor.attributes["visitor_type"] == "new":
            continue
        at = shop.clock.now - timedelta(days=float(shop.rng.uniform(0.5, 9)))
        tracked.append(shop.event(visitor, at, type="pageview", url="https://shop.example/cart"))
        if shop.rng.random() < 0.25 * visitor.taste:
            orders.append(shop.order(visitor, at, int(4_000 * visitor.taste)))
    shop.store("track", tracked)
    shop.store("convert", orders)


def send_day(shop: Shop, visitors: list[Visitor], day: int) -> None:
    """Send what the visitors of one day saw and did, at the end of that day."""
    shop.clock.now = FIRST_DAY + timedelta(days=day + 1)
    tracked: list[Event] = []
    orders: list[Event] = []
    for visitor in visitors:
        seen = _exposures(shop, visitor)
        lift = float(np.prod([lift for _, lift in seen]))
        tracked += [event for event, _ in seen]
        tracked += _activity(shop, visitor, lift)
        orders += _orders(shop, visitor, lift)
    shop.store("track", tracked)
    shop.store("convert", orders)


def _exposures(shop: Shop, visitor: Visitor) -> list[tuple[Event, float]]:
    found: list[tuple[Event, float]] = []
    for key, (share, lifts) in SHARES.items():
        experiment = shop.experiments[key]
        if experiment["status"] != "running" or shop.rng.random() >= share:
            continue
        variants = experiment["variants"]
        weights = np.array([variant["weight"] for variant in variants])
        places = [int(shop.rng.choice(len(variants), p=weights / weights.sum()))]
        if shop.rng.random() < SEVERAL[key]:
            places.append((places[0] + 1) % len(variants))
        for later, place in enumerate(places):
            fields = {"experiment_id": experiment["id"], "variant_id": variants[place]["id"]}
            at = visitor.arrives + timedelta(seconds=later)
            event = shop.event(visitor, at, type="exposure", url=visitor.page, **fields)
            found.append((event, lifts[place]))
    return found


def _activity(shop: Shop, visitor: Visitor, lift: float) -> Iterator[Event]:
    kinds: tuple[tuple[float, Event], ...] = (
        (0.3, {"type": "pageview", "url": "https://shop.example/cart"}),
        (0.05, {"type": "pageview", "url": "https://shop.example/cart?step=2"}),
        (0.25 * lift, {"type": "click", "selector": "#buy", "url": "https://shop.example/product"}),
        (0.08, {"type": "custom_event", "event_name": "error"}),
        (0.06, {"type": "ga4_event", "event_name": "sign_up", "value": 12.5}),
    )
    for chance, fields in kinds:
        while shop.rng.random() < chance:
            chance /= 4  # noqa: PLW2901 # each repetition is rarer
            at = visitor.arrives + timedelta(seconds=float(shop.rng.uniform(5, 390)))
            yield shop.event(visitor, at, **fields)
    if visitor.user_id is not None:
        yield shop.event(visitor, visitor.arrives + timedelta(seconds=2), type="identify")


def _orders(shop: Shop, visitor: Visitor, lift: float) -> Iterator[Event]:
    chance = 0.1 * lift * visitor.taste
    while shop.rng.random() < chance:
        chance /= 3
        at = visitor.arrives + timedelta(seconds=float(shop.rng.uniform(60, 395)))
        order = shop.order(visitor, at, int(shop.rng.lognormal(8.5 + 0.3 * visitor.taste, 0.8)))
        yield order
        if shop.rng.random() < 0.04:
            # The same order under another event id.
            yield {**order, "event_id": f"{order['event_id']}-again"}
        if shop.rng.random() < 0.06:
            amount = order["revenue_cents"] // int(shop.rng.integers(1, 3))
            fields = {"event_id": f"{order['event_id']}-refund", "kind": "refund", "revenue_cents": amount}
            yield {**order, **fields, "timestamp": (at + timedelta(seconds=3)).isoformat()}


def send_late(shop: Shop, visitors: list[Visitor], day: int) -> None:
    """Send orders and refunds of visitors who came on earlier days, some after their window has ended."""
    late = []
    for visitor in visitors:
        if shop.rng.random() >= 0.004 or visitor.arrives > shop.clock.now - timedelta(days=1):
            continue
        at = FIRST_DAY + timedelta(days=day, seconds=float(shop.rng.uniform(0, 86_000)))
        kind = "refund" if shop.rng.random() < 0.2 else "conversion"
        late.append(shop.order(visitor, at, int(shop.rng.integers(800, 9_000)), kind=kind))
    shop.store("convert", late)


def run_experiments(shop: Shop) -> None:
    """Start the experiments, send their events day by day, and end some of them on the way."""
    days = [visitors_of(day, shop.rng) for day in range(DAYS)]
    send_past(shop, [visitor for day in days for visitor in day])
    shop.clock.now = FIRST_DAY
    for key in (*SHARES, "holidays"):
        shop.move(key, "start")
    for day, visitors in enumerate(days):
        send_day(shop, visitors, day)
        send_late(shop, [visitor for past in days[:day] for visitor in past], day)
        if day % 3 == 0:
            shop.run_jobs("refresh_results")
        # The last weights are to have visitors, too.
        if day < DAYS - 3:
            shop.run_jobs("move_bandit_weights")
        change_by_hand(shop, day)


def change_by_hand(shop: Shop, day: int) -> None:
    """Pause, change and end experiments as the owner of the account does."""
    plans: dict[int, tuple[tuple[str, str], ...]] = {
        4: (("footer", "pause"),),
        6: (("gallery", "complete"),),
        7: (("gallery", "archive"),),
        13: (("banner", "complete"), ("footer", "pause")),
    }
    for key, trigger in plans.get(day, ()):
        shop.move(key, trigger)
    if day == 4:
        footer = shop.experiments["footer"]
        variants = [{**variant, "weight": 1 + 2 * place} for place, variant in enumerate(footer["variants"])]
        shop.call("PATCH", f"{shop.path}/{footer['id']}", {"variants": variants})
        shop.clock.now += timedelta(hours=2)
        shop.move("footer", "resume")
