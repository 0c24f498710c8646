"""A small store, made by the version that it is named after.

Run once, with that version, from the root of the repository:

    python -m tests.data.make_store

Later versions open what this version wrote, so a folder that exists is never written again. Where a
later version changes an answer on purpose, record it with one of

    python -m tests.data.make_store sentences
    python -m tests.data.make_store answers

The first writes the sentences only, the second everything. Commit a changed answer with its reason.
"""

import gzip
import inspect
import io
import json
import secrets
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from unittest import mock

import numpy as np
import polars as pl
from fastapi.testclient import TestClient

from api.app import create_app
from pipeline.jobs.jobs import JOBS
from pipeline.settings import Settings
from tests import old_store, stored_answers
from tests.data.shop_designs import DESIGNS, PROJECT

SEED: Final = 2026
CREATED: Final = datetime(2026, 2, 9, 14, 30, tzinfo=UTC)
# Midnight in New York, whose clocks go forward on 8 March.
FIRST_DAY: Final = datetime(2026, 2, 25, 5, 0, tzinfo=UTC)
DAYS: Final = 18
VISITORS_A_DAY: Final = 270
EVENTS_A_REQUEST: Final = 400
IDEMPOTENCY_KEY: Final = "plan-the-checkout"
# Kept answers expire after a day: this one does so when no version of today is left.
KEPT_AT: Final = datetime(2199, 1, 1, tzinfo=UTC)
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
COUNTRIES: Final = (("US", "NY", 0.45), ("US", "CA", 0.2), ("CA", "ON", 0.15), ("DE", "BE", 0.2))
MOBILE: Final = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_3 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)"
)
DESKTOP: Final = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko)"
AGENTS: Final = (
    (f"{MOBILE} Version/18.3 Mobile/15E148 Safari/604.1", 0.4),
    (f"{DESKTOP} Chrome/133.0.0.0 Safari/537.36", 0.43),
    ("Mozilla/5.0 (X11; Linux x86_64; rv:135.0) Gecko/20100101 Firefox/135.0", 0.15),
    ("Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", 0.02),
)
CAMPAIGNS: Final = (
    ("", 0.6),
    ("?utm_source=newsletter&utm_medium=email&utm_campaign=spring", 0.25),
    ("?utm_source=ads&utm_medium=cpc", 0.15),
)


class Clock:
    """The time that everything is told while the store is made."""

    now = CREATED

    def nanoseconds(self) -> int:
        """The same, since 1970."""
        return int(self.now.timestamp()) * 10**9


@dataclass(frozen=True, slots=True)
class Visitor:
    """A visitor, and what each of the visitor's events says of them."""

    id: str
    arrives: datetime
    taste: float
    user_id: str | None
    page: str
    attributes: dict[str, Any] = field(default_factory=dict)


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
        scheduler = self.client.app.state.parts.scheduler  # type: ignore[attr-defined] # any ASGI app
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


def visitors_of(day: int, rng: np.random.Generator) -> list[Visitor]:
    """The visitors who arrive on a day, in order of arrival."""
    seconds = np.sort(rng.uniform(0, 86_000, VISITORS_A_DAY))
    return [_visitor(f"v{day:02d}-{place:03d}", day, float(at), rng) for place, at in enumerate(seconds)]


def _visitor(name: str, day: int, seconds: float, rng: np.random.Generator) -> Visitor:
    country, region, _ = COUNTRIES[rng.choice(len(COUNTRIES), p=[one[-1] for one in COUNTRIES])]
    attributes: dict[str, Any] = {
        "user_agent": AGENTS[rng.choice(len(AGENTS), p=[one[-1] for one in AGENTS])][0],
        "country": country,
        "region": region,
        "visitor_type": "returning" if rng.random() < 0.4 else "new",
    }
    if rng.random() < 0.7:
        attributes["plan"] = "pro" if rng.random() < 0.3 else "free"
    if rng.random() < 0.2:
        attributes["custom_dimensions"] = {"team_size": int(rng.integers(1, 6))}
    campaign = CAMPAIGNS[rng.choice(len(CAMPAIGNS), p=[one[-1] for one in CAMPAIGNS])][0]
    return Visitor(
        id=name,
        arrives=FIRST_DAY + timedelta(days=day, seconds=seconds),
        taste=float(rng.gamma(4, 0.25)),
        user_id=f"u-{name}" if rng.random() < 0.2 else None,
        page=f"https://shop.example/product{campaign}",
        attributes=attributes,
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


def assign_visitors(shop: Shop, sdk_key: str) -> list[str]:
    """Ask which variants some visitors see, which stores their assignments; returns the visitors."""
    visitors = [f"assigned-{number:02d}" for number in range(40)]
    for number, visitor in enumerate(visitors):
        body = {
            "visitor_id": visitor,
            "url": "https://shop.example/",
            "attributes": {"country": "US" if number % 2 else "DE"},
        }
        headers = {"X-SDK-Key": sdk_key, "Origin": "https://shop.example"}
        shop.client.post("/api/v1/sdk/init", json=body, headers=headers).raise_for_status()
    return visitors


def keep_an_answer(shop: Shop) -> None:
    """Make a request whose answer is sealed and kept, with a key that makes no other request."""
    # Keys keep when they were last used, and this one is from another time.
    name = {"name": "Planning", "scopes": ["account:read"]}
    token = shop.call("POST", "/account/api_keys", name)["token"]
    shop.clock.now = KEPT_AT
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": IDEMPOTENCY_KEY}
    shop.call("POST", "/tools/sample_size", old_store.REPEATED_REQUEST, **headers)
    shop.clock.now = old_store.NOW


def make_data_dir(folder: Path) -> dict[str, Any]:
    """Make a store in `folder`; returns its facts."""
    rng, clock = np.random.default_rng(SEED), Clock()
    with fixed(clock, rng):
        created = json.loads(
            old_store.truelift(
                *("init", "--data-dir", folder, "--account", "Outdoor", "--email", "owner@shop.example"),
                *("--plan", "scale", "--json"),
            )
        )
        named = ("--email", "analyst@shop.example", "--name", "Analyst", "--json")
        account = created["account_id"]
        old_store.truelift("members", "add", "--data-dir", folder, "--account", account, *named)
        # Jobs run when they are asked to, and not by the real time.
        settings = Settings(data_dir=folder, refresh_seconds=10**6, fresh_read_seconds=60, snapshot_seconds=0)
        with TestClient(create_app(settings)) as client:
            shop = Shop(client, created["token"], rng, clock)
            run_experiments(shop)
            clock.now = old_store.NOW - timedelta(hours=2)
            installation = shop.call("GET", f"/projects/{shop.project['id']}/installation")
            assigned = assign_visitors(shop, installation["api_key"])
            keep_an_answer(shop)
            shop.run_jobs("refresh_results", "rebuild_after_midnight")
            shop.run_jobs("write_snapshots", "checkpoint")
            return {
                "token": created["token"],
                "sdk_key": installation["api_key"],
                "project": shop.project["id"],
                "experiments": {key: one["id"] for key, one in shop.experiments.items()},
                "goals": {
                    key: [goal["id"] for goal in one["goals"]] for key, one in shop.experiments.items()
                },
                "assigned_visitors": assigned,
                "idempotency_key": IDEMPOTENCY_KEY,
            }


@contextmanager
def fixed(clock: Clock, rng: np.random.Generator) -> Iterator[None]:
    """Let the service take time from `clock` and its random ids from `rng`."""

    class FixedDatetime(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Any:
            return clock.now.astimezone(tz)

    with ExitStack() as stack:
        for name, module in list(sys.modules.items()):
            is_ours = name.partition(".")[0] in {"api", "pipeline"}
            if is_ours and "datetime.now(" in inspect.getsource(module):
                stack.enter_context(mock.patch.object(module, "datetime", FixedDatetime))
        random_bytes: Callable[[int], bytes] = rng.bytes
        stack.enter_context(mock.patch.object(secrets, "token_bytes", random_bytes))
        stack.enter_context(mock.patch.object(time, "time_ns", clock.nanoseconds))
        yield


def pack(folder: Path) -> bytes:
    """The archive of a folder: the same bytes for the same files."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = archive.gettarinfo(path, path.relative_to(folder).as_posix())
            entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = 0, 0, 0, "", ""
            with path.open("rb") as file:
                archive.addfile(entry, file)
    return gzip.compress(packed.getvalue(), mtime=0)


def make_table() -> pl.DataFrame:
    """A file of one row per visitor for the command line."""
    rng = np.random.default_rng(SEED)
    size = 600
    is_new, taste, orders = rng.random(size) < 0.5, rng.gamma(2, 20, size), rng.poisson(0.6, size)
    spend = taste * orders * np.where(is_new, 1.2, 1.0)
    return pl.DataFrame(
        {
            "group": np.where(is_new, "B", "A"),
            "converted": (orders > 0).astype(int),
            "spend": spend.round(2),
            "orders": orders,
            "spend_before": taste.round(2),
        }
    )


def write_answers(*, only_sentences: bool = False) -> None:
    """Read everything from the packed store, and write the answers and their sentences."""
    for name, answers in old_store.all_answers().items():
        write_json(stored_answers.SENTENCES / f"{name}.json", stored_answers.sentences(answers))
        if not only_sentences:
            write_json(stored_answers.ANSWERS / f"{name}.json", stored_answers.without_sentences(answers))


def write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def make_store() -> None:
    """Write the archive, the facts and the file for the command line; FileExistsError where they are."""
    # A store stays as the version that it is named after wrote it.
    stored_answers.FOLDER.mkdir()
    with TemporaryDirectory() as folder:
        facts = make_data_dir(Path(folder))
        old_store.ARCHIVE.write_bytes(pack(Path(folder)))
    old_store.FACTS.write_text(json.dumps(facts, indent=2) + "\n")
    make_table().write_csv(old_store.TABLE)


if __name__ == "__main__":
    if sys.argv[1:] not in (["answers"], ["sentences"]):
        make_store()
    write_answers(only_sentences=sys.argv[1:] == ["sentences"])
