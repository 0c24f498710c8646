from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest

from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.store.event_columns import EventRow, Sender
from pipeline.store.warehouse import identities
from pipeline.store.warehouse.visitor_export import VisitorExport, write_visitors
from tests.builders import STARTED
from tests.examples import trials
from tests.pipeline.rollup.naive_counting import tally
from tests.pipeline.working_store import WorkingStore, a_purchase, a_working_store, an_event, an_exposure


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkingStore]:
    with a_working_store(tmp_path_factory.mktemp("store")) as opened:
        yield opened


class Shop:
    """A project with one experiment, whose results are the numbers of people in it."""

    def __init__(self, store: WorkingStore) -> None:
        self.store = store
        self.project = store.add_project()
        self.experiment = store.add_experiment(self.project)

    def sees(self, *rows: EventRow) -> None:
        self.store.write(self.project, *rows)
        self.store.rollup.refresh(self.project.id)

    def exposes(self, *visitors: str, variant: int = 0, sender: Sender = "browser") -> None:
        self.sees(*(an_exposure(self.experiment, variant, one, sender=sender) for one in visitors))

    @property
    def visitors(self) -> list[int]:
        """Visitors of each variant, and then the users set aside."""
        assert self.store.rollup.rebuild(self.project.id).drifted == ()
        evidence = self.store.observe(self.experiment, self.project)
        return [*evidence.visitors.tolist(), evidence.identity_conflicts]

    @property
    def cents(self) -> list[float]:
        evidence = self.store.observe(self.experiment, self.project)
        return [float(total) for total in evidence.revenue.total.max(axis=0)]


@pytest.fixture
def shop(store: WorkingStore) -> Shop:
    return Shop(store)


@pytest.mark.many(seconds=20)
def test_any_stream_in_pieces_is_counted_as_naively(
    store: WorkingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identities, "MAX_VISITORS_OF_USER", 4)
    conflicts = 0
    for seed in range(trials(1, 10)):
        random, project = Random(seed), store.add_project()  # noqa: S311
        running = store.add_experiment(project)
        ended_at = STARTED + timedelta(minutes=random.randint(100, 900))
        ended = store.add_experiment(project, status="completed", completed_at=ended_at)
        rows = [
            # Most visitors never come back: else each piece is a full count.
            *(an_exposure(running, number % 2, f"idle{number}") for number in range(200)),
            *(a_row(random, running, ended) for _ in range(60)),
        ]
        edges = sorted({0, 200, len(rows), *(random.randint(200, len(rows)) for _ in range(3))})
        for start, end in pairwise(edges):
            store.write(project, *rows[start:end])
            store.rollup.refresh(project.id, [running.id])
            compare(store, running, project, rows[:end])
        store.rollup.refresh(project.id)
        compare(store, ended, project, rows)
        assert store.rollup.rebuild(project.id).drifted == ()
        conflicts += tally(rows, running, project).conflicts
    assert conflicts > 0


def a_row(random: Random, *experiments: Experiment) -> EventRow:
    visitor = random.choice([*(f"v{number}" for number in range(12)), "u1"])
    user = random.choice(["u1", "u2", "u3", "u4", "v1"])
    shared: dict[str, Any] = {
        "minute": random.randint(0, 1_000),
        "sender": random.choice(["browser", "browser", "server", "import", None]),
        "user_id": random.choice([None, user]),
    }
    kind = random.choice(["exposure", "exposure", "identify", "identify", "purchase", "purchase of user"])
    if kind == "exposure":
        return an_exposure(random.choice(experiments), random.choice([0, 0, 1]), visitor, **shared)
    if kind == "identify":
        return an_event("identify", visitor, **{**shared, "user_id": user})
    cents, transaction = random.randint(1, 90) * 100, random.choice([None, "t1", "t2"])
    if kind == "purchase":
        return a_purchase(visitor, cents=cents, transaction_id=transaction, **shared)
    return a_purchase(None, cents=cents, transaction_id=transaction, **{**shared, "user_id": user})


def compare(store: WorkingStore, experiment: Experiment, project: Project, rows: list[EventRow]) -> None:
    observed, wanted = store.observe(experiment, project), tally(rows, experiment, project)
    left_out = observed.several_variants, observed.identity_conflicts
    assert left_out == (wanted.several, wanted.conflicts)
    for place, variant in enumerate(experiment.variants):
        people = [one for one in wanted.people if one.variants == {variant.id}]
        assert observed.visitors[place] == len(people)
        for number, goal in enumerate(experiment.goals):
            assert observed.conversions[number, place] == sum(goal.id in one.converted for one in people)
            spent = sum(cents for one in people for _, cents in one.orders.get(goal.id, []))
            assert observed.daily.revenue_cents[:, number, place].sum() == spent


def test_an_export_has_a_row_of_the_person_with_the_first_visitor_id(shop: Shop, tmp_path: Path) -> None:
    shop.exposes("laptop")
    shop.sees(identify("phone", "ann"), identify("laptop", "ann"))
    export = VisitorExport(
        project_id=shop.project.id,
        experiment_id=shop.experiment.id,
        is_published=True,
        variants=[(variant.id, variant.name) for variant in shop.experiment.variants],
        goal_ids=[],
        segment={},
        units={},
        units_of_denominators={},
        quantiles=(),
        of_events=(),
        funnels=(),
        per_order=(),
        observed_until={},
    )
    with shop.store.warehouse.transaction() as cursor:
        write_visitors(cursor, export, "parquet", tmp_path / "visitors.parquet")
    assert pl.read_parquet(tmp_path / "visitors.parquet")["visitor_id"].to_list() == ["phone"]


def identify(visitor: str, user: str, sender: Sender = "browser") -> EventRow:
    return an_event("identify", visitor, user_id=user, sender=sender)


def test_a_user_with_two_devices_is_one_visitor(shop: Shop) -> None:
    shop.exposes("phone", "laptop", "other")
    assert shop.visitors == [3, 0, 0]
    shop.sees(identify("phone", "ann"), identify("laptop", "ann"))
    assert shop.visitors == [2, 0, 0]


def test_any_event_with_both_ids_joins_them(shop: Shop) -> None:
    shop.exposes("phone", "laptop")
    shop.sees(
        an_event("pageview", "phone", user_id="ann", url="https://shop.example/"),
        an_exposure(shop.experiment, 0, "laptop", user_id="ann"),
    )
    assert shop.visitors == [1, 0, 0]


def test_devices_with_different_variants_are_set_aside_and_counted(shop: Shop) -> None:
    shop.exposes("phone", "other")
    shop.exposes("laptop", variant=1)
    shop.sees(identify("phone", "ann"), identify("laptop", "ann"))
    assert shop.visitors == [1, 0, 1]


def test_one_device_with_two_variants_is_no_conflict_of_identities(shop: Shop) -> None:
    shop.exposes("phone", "laptop")
    shop.exposes("laptop", variant=1)
    shop.sees(identify("phone", "ann"), identify("laptop", "ann"))
    assert shop.visitors == [0, 0, 0]
    assert shop.store.observe(shop.experiment, shop.project).several_variants == 1


def test_purchases_of_every_device_and_of_the_user_alone_are_the_persons(shop: Shop) -> None:
    shop.exposes("phone", variant=1)
    shop.sees(identify("phone", "ann"), identify("laptop", "ann"))
    shop.sees(
        a_purchase("laptop", cents=100),
        a_purchase(None, user_id="ann", cents=20),
        a_purchase("phone", cents=3),
    )
    assert shop.visitors == [0, 1, 0]
    assert shop.cents == [0, 123]


def test_a_shared_device_does_not_join_its_users(shop: Shop) -> None:
    shop.exposes("desk", "phone of ann", "phone of bob")
    shop.sees(*(identify(f"phone of {user}", user) for user in ("ann", "bob")))
    shop.sees(*(identify("desk", user) for user in ("bob", "ann")))
    assert shop.visitors == [2, 0, 0]


def test_a_user_seen_on_a_device_of_another_only_buys_there(shop: Shop) -> None:
    shop.exposes("desk")
    shop.sees(identify("desk", "ann"), identify("desk", "bob"), a_purchase(None, user_id="bob", cents=500))
    assert shop.cents == [500, 0]
    # Bob's own device takes over his purchases.
    shop.exposes("phone", variant=1)
    shop.sees(identify("phone", "bob"))
    assert shop.cents == [0, 500]


def test_a_placeholder_such_as_guest_joins_nobody(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identities, "MAX_VISITORS_OF_USER", 3)
    people = [f"v{number}" for number in range(4)]
    shop.exposes(*people)
    shop.sees(*(identify(one, "guest") for one in people[:3]))
    assert shop.visitors == [2, 0, 0]
    shop.sees(identify(people[3], "guest"))
    assert shop.visitors == [4, 0, 0]


@pytest.mark.long(seconds=3)
def test_a_thousand_forged_links_change_nothing_for_users_whom_a_server_identified(shop: Shop) -> None:
    users = range(0, 1_000, 10)
    shop.exposes(*(f"phone {user}" for user in users), *(f"laptop {user}" for user in users))
    shop.sees(
        *(
            identify(f"{device} {user}", f"user {user}", "server")
            for user in users
            for device in ("phone", "laptop")
        ),
        *(a_purchase(None, user_id=f"user {user}", cents=100) for user in users),
    )
    assert [*shop.visitors, *shop.cents] == [100, 0, 0, 10_000, 0]
    # Visitors of the other variant claim to be each of the users, and real visitors to be one stranger.
    forged = [f"forged {number}" for number in range(1_000)]
    shop.sees(*(identify(one, f"user {number}") for number, one in enumerate(forged)))
    shop.sees(*(identify(f"phone {user}", f"stranger {user % 3}") for user in users))
    shop.exposes(*forged[:100], variant=1)
    assert [*shop.visitors, *shop.cents] == [100, 100, 0, 10_000, 0]


def test_a_visitor_id_of_a_server_that_equals_a_user_id_is_that_user(shop: Shop) -> None:
    shop.exposes("customer 1", sender="server")
    shop.exposes("forged", variant=1)
    shop.sees(identify("forged", "customer 1"), a_purchase(None, user_id="customer 1", cents=900))
    assert [*shop.visitors, *shop.cents] == [1, 1, 0, 900, 0]


def test_links_that_a_server_sends_late_replace_those_of_browsers(shop: Shop) -> None:
    shop.exposes("phone", "laptop")
    shop.exposes("forged", variant=1)
    shop.sees(identify("forged", "ann"), identify("phone", "ann"))
    assert shop.visitors == [1, 0, 1]
    shop.sees(identify("phone", "ann", "server"), identify("laptop", "ann", "server"))
    assert shop.visitors == [1, 1, 0]


def test_nothing_is_joined_after_the_end_of_an_experiment(shop: Shop) -> None:
    shop.exposes("phone", "laptop")
    ended = shop.store.observe(shop.experiment, shop.project).as_of
    shop.store.change(shop.experiment, status="completed", completed_at=ended)
    late = an_event("identify", "phone", user_id="ann", minute=60 * 24 * 400)
    shop.sees(late, late._replace(visitor_id="laptop", visitor_key=identify("laptop", "ann").visitor_key))
    assert shop.store.observe(shop.experiment, shop.project).visitors.tolist() == [2, 0]


def test_a_store_without_user_ids_has_no_identities(shop: Shop, tmp_path: Path) -> None:
    shop.exposes("phone", "laptop", "ann")
    shop.sees(a_purchase(None, user_id="ann", cents=700))
    assert shop.visitors == [3, 0, 0]
    # A visitor whose id is the user's takes the user's purchases.
    assert shop.cents == [700, 0]
