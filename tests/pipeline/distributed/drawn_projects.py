"""Projects with drawn events, counted on one machine, to compare distributed counts with."""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from engine.design.analysis_settings import Statistics
from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.design.project import Project
from engine.design.units import AttributeUnit
from pipeline.distributed.event_files import SCHEMA, typed
from pipeline.distributed.output import read_output_manifest
from pipeline.distributed.output_sums import changed_since, opened_results
from pipeline.rollup.result_digest import ResultDigest
from pipeline.snapshots.manifest import Manifest
from pipeline.store.event_columns import EventRow
from pipeline.store.warehouse.connection import fetch_frame
from pipeline.store.warehouse.events import table_name
from tests.builders import STARTED
from tests.pipeline.working_store import WorkingStore, an_event


def goals(prefix: str) -> tuple[Goal, ...]:
    kinds: list[tuple[Any, dict[str, Any]]] = [
        ("revenue", {"min_cents": 200}),
        ("custom_event", {"event_name": "purchase", "window": 3}),
        ("pageview", {"url": "https://shop.example/thanks"}),
        ("custom_event", {"event_name": "purchase", "measure": "value"}),
        (
            "custom_event",
            {
                "event_name": "purchase",
                "measure": "ratio",
                "numerator": "value",
                "denominator": {"goal_type": "pageview", "url": "https://shop.example/thanks"},
            },
        ),
        (
            "pageview",
            {"url": "https://shop.example/thanks", "measure": "retained", "from_day": 1, "to_day": 3},
        ),
        (
            "custom_event",
            {
                "event_name": "purchase",
                "measure": "funnel",
                "steps": [{"goal_type": "pageview", "url": "https://shop.example/thanks"}],
            },
        ),
        ("custom_event", {"event_name": "purchase", "measure": "quantile"}),
        ("custom_event", {"event_name": "purchase", "measure": "quantile", "of": "event"}),
    ]
    return tuple(
        Goal(id=f"{prefix}_{number}", name=str(number), goal_type=kind, config=config, is_primary=number == 0)
        for number, (kind, config) in enumerate(kinds)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedProject:
    """Project with events, and the results that one machine counted."""

    store: WorkingStore
    project: Project
    experiments: list[Experiment]

    @classmethod
    def draw(
        cls, store: WorkingStore, events: int, *, visitors: int = 150, seed: int = 1
    ) -> "CountedProject":
        """Draw events of visitors who share ids, transactions and users, and count them."""
        project = store.add_project(reporting_timezone="America/New_York")
        experiments = [
            store.add_experiment(project, goals=goals("g0")),
            store.add_experiment(
                project, weights=(1, 1, 1), goals=goals("g1")[:2], statistics=Statistics(cuped=True)
            ),
            store.add_experiment(
                project,
                status="completed",
                completed_at=STARTED + timedelta(hours=26),
                goals=goals("g2")[::2],
            ),
            store.add_experiment(project, unit=AttributeUnit(attribute="plan"), goals=goals("g3")[:1]),
            store.add_experiment(project, unit="user", goals=goals("g4")[:1]),
        ]
        rng = np.random.default_rng(seed)
        store.write(project, *(draw(rng, experiments, visitors, events) for _ in range(events)))
        store.rollup.refresh(project.id)
        return cls(store=store, project=project, experiments=experiments)

    def digests(self) -> list[ResultDigest]:
        """Digest the published results."""
        with self.store.warehouse.cursor() as cursor:
            return [ResultDigest.take(cursor, one.id) for one in self.experiments]

    def digests_of(self, output: Path) -> list[ResultDigest]:
        """Digest the results of an output of files, in the same order."""
        experiments = {one.id: one for one in self.experiments}
        manifest = read_output_manifest(output)
        assert changed_since(manifest, experiments) == {}
        found = {
            one.id: ResultDigest.take(cursor, one.id)
            for cursor, group in opened_results(output, manifest, experiments)
            for one in group
        }
        return [found[one.id] for one in self.experiments]

    def events(self) -> pl.DataFrame:
        """Read the stored events."""
        with self.store.warehouse.cursor() as cursor:
            return typed(fetch_frame(cursor, f'FROM "{table_name(self.project.id)}"'), SCHEMA.names())

    def snapshot(self) -> tuple[Path, Manifest]:
        """Write a snapshot, and return its folder."""
        manifest = self.store.snapshots.write(self.project.id)
        return self.store.snapshots.folder / self.project.id, manifest


def draw(rng: np.random.Generator, experiments: list[Experiment], visitors: int, events: int) -> EventRow:
    number = int(rng.integers(visitors))
    visitor: str | None = f"v{number}"
    user = f"u{(number + (rng.random() < 0.2)) // 3}"
    kind = str(rng.choice([*["exposure"] * 3, "conversion", "custom_event", "pageview", "init", "identify"]))
    fields: dict[str, Any] = {
        "minute": int(rng.integers(-500, 6000)),
        # Some ids are used again, by other visitors and senders, too.
        "event_id": f"{experiments[0].id}-{rng.integers(events * 2)}",
        "is_bot": rng.random() < 0.1,
        "sender": str(rng.choice(["browser", "server", "import"])),
        "device_type": rng.choice(np.array([None, "mobile", "desktop"], object)),
    }
    if rng.random() < 0.1:
        # Some visitors of servers have the id of a user.
        visitor = user
    if rng.random() < 0.15 or kind == "identify":
        fields["user_id"] = user
    if kind == "exposure":
        experiment = experiments[rng.integers(len(experiments))]
        variant = experiment.variants[rng.integers(2) if rng.random() < 0.1 else number % 2]
        fields |= {"experiment_id": experiment.id, "variant_id": variant.id}
        fields["custom"] = rng.choice(np.array([None, '{"plan":"pro"}', '{"plan":"free"}'], object))
    elif kind == "conversion":
        fields |= {"event_name": "purchase", "revenue_cents": int(rng.integers(1, 9000)), "currency": "USD"}
        fields["transaction_id"] = f"t{rng.integers(events // 8)}"
        fields["is_refund"] = rng.random() < 0.1
        if rng.random() < 0.2:
            visitor, fields["user_id"] = None, user
    elif kind == "custom_event":
        fields |= {"event_name": "purchase", "value": 12.5}
    elif kind == "pageview":
        fields["url"] = "https://shop.example/thanks"
    event = an_event(kind, visitor, **fields)
    # Some arrive up to two days after they happened.
    delay = int(rng.integers(2 * 86_400_000_000)) if rng.random() < 0.2 else 0
    return event._replace(received_at=event.received_at + delay)
