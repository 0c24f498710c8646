"""A small store with a goal of each measure, made by the version before sums had names.

Run once, with that version, from the root of the repository:

    python -m tests.data.make_measures_store

It writes the store, and the answers of that version, beside that of version 0.1. Later versions open it.
"""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from unittest import mock

import numpy as np
from fastapi.testclient import TestClient

from api.app import create_app
from pipeline.settings import Settings
from tests import measures_store, old_store
from tests.data import shop_traffic
from tests.data.make_store import fixed, pack, write_json
from tests.data.shop_designs import PROJECT
from tests.data.shop_traffic import Clock, Event, Shop
from tests.data.shop_visitors import FIRST_DAY

SEED: Final = 2027
VISITORS_A_DAY: Final = 60
DAYS: Final = 9
_PAGES: Final = {"goal_type": "pageview", "url": "https://shop.example/"}
GOALS: Final[list[dict[str, Any]]] = [
    {"name": name, "goal_type": goal_type, "is_primary": place == 0, "config": config}
    for place, (name, goal_type, config) in enumerate(
        (
            ("Ordered", "custom_event", {"event_name": "purchase"}),
            ("Views", "custom_event", {"event_name": "view", "measure": "count", "cap_percentile": 90}),
            (
                "Spent",
                "ga4_event",
                {"event_name": "spend", "value_param": "net", "measure": "value", "window": 3},
            ),
            (
                "Views per page",
                "custom_event",
                {"event_name": "view", "measure": "ratio", "denominator": _PAGES},
            ),
            (
                "Net per order",
                "ga4_event",
                {
                    "event_name": "spend",
                    "value_param": "net",
                    "measure": "ratio",
                    "numerator": "value",
                    "denominator": {"goal_type": "custom_event", "event_name": "view"},
                },
            ),
            (
                "Back on days 2 to 3",
                "pageview",
                {"url": _PAGES["url"], "measure": "retained", "from_day": 2, "to_day": 3},
            ),
            ("Funnel", "custom_event", {"event_name": "view", "measure": "funnel", "steps": [_PAGES]}),
            ("Revenue", "revenue", {}),
            ("Order value", "revenue", {"per": "order", "cap_percentile": 95}),
        )
    )
]
_ARMS: Final = [{"name": name, "is_control": name == "Old", "weight": 1} for name in ("Old", "New")]
DESIGNS: Final[dict[str, dict[str, Any]]] = {
    "running": {
        "name": "Running",
        "variants": _ARMS,
        "goals": GOALS,
        "statistics": {"cuped": True, "pre_period_days": 5},
    },
    "completed": {"name": "Completed", "variants": _ARMS, "goals": GOALS, "analysis_method": "bayesian"},
    "bandit": {"name": "Bandit", "variants": _ARMS, "goals": GOALS, "traffic_strategy": "bandit"},
}


def make_data_dir(folder: Path) -> dict[str, Any]:
    """Make the store in `folder`; returns its facts."""
    rng, clock = np.random.default_rng(SEED), Clock()
    with (
        fixed(clock, rng),
        mock.patch.object(shop_traffic, "DESIGNS", DESIGNS),
        mock.patch.object(shop_traffic, "PROJECT", PROJECT),
    ):
        created = json.loads(
            old_store.truelift(
                *("init", "--data-dir", folder, "--account", "Outdoor", "--email", "owner@shop.example"),
                *("--plan", "scale", "--json"),
            )
        )
        settings = Settings(data_dir=folder, refresh_seconds=10**6, fresh_read_seconds=60, snapshot_seconds=0)
        with TestClient(create_app(settings)) as client:
            shop = Shop(client, created["token"], rng, clock)
            _run(shop)
            return {
                "token": created["token"],
                "project": shop.project["id"],
                "experiments": {key: one["id"] for key, one in shop.experiments.items()},
            }


def _run(shop: Shop) -> None:
    shop.clock.now = FIRST_DAY - timedelta(hours=1)
    seen: list[tuple[str, int, dict[str, Any]]] = []
    for key in shop.experiments:
        shop.move(key, "start")
    for day in range(DAYS):
        shop.clock.now = FIRST_DAY + timedelta(days=day + 1)
        tracked: list[Event] = []
        orders: list[Event] = []
        seen += [
            (f"v{day}-{number}", day, {"country": str(shop.rng.choice(["US", "DE"])), "plan": "pro"})
            for number in range(VISITORS_A_DAY)
        ]
        for name, first_day, attributes in seen:
            if first_day == day:
                tracked += _exposures(shop, name, day, attributes)
            if first_day == day or shop.rng.random() < 0.2:
                tracked += _activity(shop, name, day)
                if shop.rng.random() < 0.3:
                    cents = int(shop.rng.lognormal(8, 1))
                    fields = {"event_name": "purchase", "revenue_cents": cents, "currency": "USD"}
                    orders.append(_event(shop, name, day, transaction_id=f"t{next(shop.numbers)}", **fields))
        shop.store("track", tracked)
        shop.store("convert", orders)
        shop.run_jobs("refresh_results", "move_bandit_weights")
        if day == DAYS // 2:
            shop.move("completed", "complete")
    shop.clock.now = old_store.NOW - timedelta(hours=2)
    shop.run_jobs("refresh_results", "rebuild_after_midnight", "checkpoint")


def _event(shop: Shop, name: str, day: int, **fields: Any) -> Event:
    at = FIRST_DAY + timedelta(days=day, seconds=float(shop.rng.uniform(600, 86_000)))
    return {
        "event_id": f"e{next(shop.numbers):06d}",
        "visitor_id": name,
        "timestamp": at.isoformat(),
        **fields,
    }


def _exposures(shop: Shop, name: str, day: int, attributes: dict[str, Any]) -> Iterator[Event]:
    at = FIRST_DAY + timedelta(days=day, seconds=float(shop.rng.uniform(0, 500)))
    for experiment in shop.experiments.values():
        if experiment["status"] == "running":
            variants = experiment["variants"]
            weights = np.array([variant["weight"] for variant in variants])
            place = int(shop.rng.choice(len(variants), p=weights / weights.sum()))
            yield {
                **_event(shop, name, day, type="exposure", attributes=attributes),
                "timestamp": at.isoformat(),
                "experiment_id": experiment["id"],
                "variant_id": variants[place]["id"],
            }


def _activity(shop: Shop, name: str, day: int) -> Iterator[Event]:
    for _ in range(int(shop.rng.poisson(1.5))):
        yield _event(shop, name, day, type="pageview", url="https://shop.example/")
    for _ in range(int(shop.rng.poisson(1.0))):
        yield _event(shop, name, day, type="custom_event", event_name="view")
    if shop.rng.random() < 0.4:
        net = round(float(shop.rng.normal(5, 10)), 2)
        yield _event(shop, name, day, type="ga4_event", event_name="spend", attributes={"net": net})


def main() -> None:
    """Write the store, its facts, and the answers of this version."""
    # A store stays as the version that wrote it left it.
    measures_store.FOLDER.mkdir()
    with TemporaryDirectory() as folder:
        facts = make_data_dir(Path(folder))
        measures_store.ARCHIVE.write_bytes(pack(Path(folder)))
    write_json(measures_store.FACTS, facts)
    with TemporaryDirectory() as folder:
        write_json(measures_store.ANSWERS, measures_store.answers(Path(folder)))


if __name__ == "__main__":
    main()
