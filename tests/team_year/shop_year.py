"""Year of a shop: visitors, the team and the service, over REST and with a clock that the test sets."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from fastapi.testclient import TestClient

from api.app import create_app
from api.routes import groups, holdouts
from engine.design.assignment import assign
from pipeline import clock
from pipeline.assignment.frame_assignment import assign_frame
from pipeline.jobs.jobs import JOBS
from pipeline.jobs.scheduler import Scheduler
from pipeline.requests import experiments
from pipeline.settings import Settings
from tests.api.customers import Customer, a_customer_of
from tests.pipeline.webhooks.receiving_endpoint import LOOPBACK, Endpoint
from tests.team_year.cast import GROUPS, PAIR, PURCHASE, SALE, TOGETHER, WEEKS_A_TEST, Role, draft_of, starts

BEGIN = datetime(2026, 1, 5, 10, tzinfo=UTC)
WEEK = timedelta(days=7)
BASE_RATE = 0.2
HELD_PERCENT = 5
# Of the visitors whom the broken test gives its variant, so many are never reported.
LOST = 0.3
_BATCH = 500
# They work on files that nobody reads here.
_NOT_RUN = {"write_snapshots", "write_event_files", "verify_catalog", "checkpoint", "give_back_memory"}
_WEEKS_A_RECOUNT = 4
# What the team decides at each verdict; at others it waits.
_DECISIONS = {
    "ship": "ship",
    "rollback": "keep_control",
    "no_difference": "keep_control",
    "review": "inconclusive",
    "fix_data": "inconclusive",
}


@dataclass(frozen=True, slots=True)
class Told:
    """Something that the team was told of on a day: a message with its type, or a check of a test by name."""

    day: str
    subject: str
    text: str

    def __str__(self) -> str:
        """Write it on one line."""
        return f"{self.day} {self.subject:<18} {self.text}"


@dataclass
class ShopYear:
    """The shop, what its team did, and what it was told."""

    folder: Path
    endpoint: Endpoint
    visitors_a_week: int
    rng: np.random.Generator
    now: datetime = BEGIN
    restarts: int = 0
    roles: dict[str, Role] = field(default_factory=dict)
    # By the name of a test: its path, its first week and that of its end, and the visitors who were reported.
    paths: dict[str, str] = field(default_factory=dict)
    begun: dict[str, int] = field(default_factory=dict)
    ended: dict[str, int] = field(default_factory=dict)
    exposed: Counter[str] = field(default_factory=Counter)
    # Expected purchases and visitors, by whether they are held out.
    expected: dict[bool, tuple[float, int]] = field(default_factory=lambda: {True: (0.0, 0), False: (0.0, 0)})
    # Messages that the team was sent, by id, and the first warning of each test that interacts, by its name.
    told: dict[str, Told] = field(default_factory=dict)
    interacting: dict[str, Told] = field(default_factory=dict)
    project: str = ""
    holdout: str = ""
    channel: str = ""
    groups: dict[str, str] = field(default_factory=dict)
    _tokens: tuple[str, str] = ("", "")
    _mia: Customer | None = None

    def set_clock(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let the service read its time here, and run its jobs when it is told."""
        monkeypatch.setattr(clock, "datetime", SimpleNamespace(now=lambda _: self.now))
        monkeypatch.setattr(
            clock, "time", SimpleNamespace(time_ns=lambda: int(self.now.timestamp() * 1e6) * 1_000)
        )
        monkeypatch.setattr(Scheduler, "start", lambda _: None)
        # Of the ids come the salts: otherwise each run would assign other visitors.
        numbers = count(1)
        for module in (experiments, groups, holdouts):
            monkeypatch.setattr(module, "new_id", lambda prefix: f"{prefix}_{next(numbers):020}")

    @contextmanager
    def served(self) -> Iterator[None]:
        """Serve the store until the end of the block; the first time, open the account and its project."""
        settings = Settings(data_dir=self.folder, webhook_networks=LOOPBACK, fresh_read_seconds=60)
        with TestClient(create_app(settings), client=("127.0.0.1", 50_000)) as client:
            if self._mia is None:
                self._open(a_customer_of(client))
            else:
                self.restarts += 1
                services = client.app.state.services  # type: ignore[attr-defined] # typed as any ASGI app
                self._mia = Customer(client, services, self.mia.account, self._tokens[0])
            yield

    def _open(self, owner: Customer) -> None:
        self._mia, self._tokens = owner, (owner.token, owner.as_colleague().token)
        owner.services.catalog.accounts.update(owner.account.id, rate_limit=10**6, max_projects=9)
        self.project = owner.a_project(settings={"review": "required", "keep_nights": 0})
        self.channel = self._created("notification_channels", kind="slack", url=self.endpoint.url)
        self.groups = {name: self._created("groups", name=name) for name in GROUPS}
        self.holdout = self._created("holdouts", name="Year", percent=HELD_PERCENT, goals=[PURCHASE])

    def _created(self, collection: str, **fields: Any) -> str:
        found: str = _done(self.mia.post(f"{self.project}/{collection}", fields))["data"]["id"]
        return found

    @property
    def mia(self) -> Customer:
        """The member who asks for reviews, starts and ships."""
        assert self._mia is not None
        return self._mia

    @property
    def bo(self) -> Customer:
        """The member who approves."""
        return Customer(self.mia.client, self.mia.services, self.mia.account, self._tokens[1])

    def live(self, week: int, groups: tuple[str | None, ...]) -> None:
        """End what is over, start what is due, let visitors come, run the jobs, and decide by verdicts."""
        self.now = BEGIN + week * WEEK
        for name in [one for one, begun in self.begun.items() if week - begun >= WEEKS_A_TEST]:
            if name not in self.ended:
                self._conclude(name, "inconclusive", week, note="Its weeks are over.")
        for first_week, role in starts():
            if first_week == week and role.group in groups:
                self._start(role, week)
        self._visit(week)
        self.now += timedelta(hours=17)
        scheduler = Scheduler(self.mia.services, jobs=())
        has_pair = {one.name for one in PAIR} <= self.begun.keys() - self.ended.keys()
        # Interactions are looked for at night.
        is_recounted = (week + 1) % _WEEKS_A_RECOUNT == 0 or has_pair
        skipped = _NOT_RUN if is_recounted else {*_NOT_RUN, "rebuild_after_midnight"}
        for job in (one for one in JOBS if one.name not in skipped):
            scheduler.run_now(job)
        assert scheduler.failing == []
        # Queued by the last ones.
        scheduler.run_now(next(one for one in JOBS if one.name == "deliver_messages"))
        self.now += timedelta(hours=6)
        if has_pair:
            self._separate(week)
        self._decide(week)
        self._read_messages()

    def _start(self, role: Role, week: int) -> None:
        """Draft a test, have it approved and start it; without the yes it does not start."""
        path = self.mia.an_experiment(self.project, **draft_of(role, self.groups.get(role.group or "")))
        assert self.mia.post(f"{path}/start").status_code == 422
        self._review(path, {"purpose": "start"})
        _done(self.mia.post(f"{path}/start"))
        self.roles[role.name], self.paths[role.name], self.begun[role.name] = role, path, week

    def _visit(self, week: int) -> None:
        """Let new visitors come once, by the configuration that the service gives to clients."""
        ids = [f"v{week}-{number}" for number in range(self.visitors_a_week * (2 if week in SALE else 1))]
        project_id = self.project.rpartition("/")[2]
        config = _done(self.mia.get("/sdk/config", project_id=project_id))
        held, events = self._held_out(project_id, ids)
        tests_of = {group: np.zeros(len(ids), int) for group in (*GROUPS, None)}
        rate, frame = np.full(len(ids), BASE_RATE), pl.DataFrame({"visitor_id": ids})
        in_pair: list[Any] = []
        for shown in (*config["experiments"], *config["rollouts"]):
            role = self.roles[shown["definition"]["name"]]
            names = assign_frame(frame, shown)["assigned_variant"].to_numpy()
            has_variant = (names == role.name) & ~held
            rate = np.where(has_variant, rate * (1 + role.effect), rate)
            in_pair += [has_variant] if role in PAIR else []
            if shown in config["experiments"]:
                tests_of[role.group] += names != None  # noqa: E711 - of each visitor
                events += self._exposures(shown, role, [*zip(ids, names, held, strict=True)])
        if len(in_pair) == len(PAIR):
            alone = np.prod([1 + one.effect for one in PAIR])
            rate = np.where(np.all(in_pair, axis=0), rate / alone * (1 + TOGETHER), rate)
        # Tests of a group share no visitor.
        assert all(tests_of[group].max() <= 1 for group in GROUPS)
        self._send(project_id, events)
        self.now += timedelta(hours=1)
        buyers = [one for one, bought in zip(ids, self.rng.random(len(ids)) < rate, strict=True) if bought]
        purchase = {"type": "custom_event", "event_name": "purchase"}
        self._send(project_id, [{**purchase, "event_id": f"p-{one}", "visitor_id": one} for one in buyers])
        for arm, (purchases, visitors) in self.expected.items():
            self.expected[arm] = (purchases + rate[held == arm].sum(), visitors + int((held == arm).sum()))

    def _held_out(self, project_id: str, ids: list[str]) -> tuple[Any, list[dict[str, Any]]]:
        """Return who is held out, by the assignment of the service, and the exposures to the holdout."""
        holdout = self.mia.services.catalog.holdouts.get(project_id, self.holdout)
        assigned = [assign(holdout, one).variant for one in ids]
        control = holdout.control
        assert control is not None
        events = [
            _exposure(holdout.id, one.id, visitor)
            for one, visitor in zip(assigned, ids, strict=True)
            if one is not None
        ]
        return np.array([one is not None and one.id == control.id for one in assigned]), events

    def _exposures(
        self, shown: Mapping[str, Any], role: Role, visits: list[tuple[str, str | None, bool]]
    ) -> Iterator[dict[str, Any]]:
        variants = {one["name"]: one["id"] for one in shown["definition"]["variants"]}
        for visitor, name, is_held in visits:
            is_lost = role.kind == "broken" and name == role.name and self.rng.random() < LOST
            if name is not None and not is_held and not is_lost:
                self.exposed[role.name] += 1
                yield _exposure(shown["id"], variants[name], visitor)

    def _send(self, project_id: str, events: list[dict[str, Any]]) -> None:
        for first in range(0, len(events), _BATCH):
            body = {"project_id": project_id, "batch": events[first : first + _BATCH]}
            answer = _done(self.mia.post("/sdk/track", body))
            assert (answer["rejected"], answer["accepted"]) == (0, len(body["batch"])), answer

    def _separate(self, week: int) -> None:
        """Read of the running tests that should not run together, and end the later one of the pair."""
        for name in self.begun.keys() - self.ended.keys():
            checks = self.mia.data_of(f"{self.paths[name]}/results")["health"]
            check = next(one for one in checks if one["check"] == "interacting_tests")
            if check["status"] == "warning":
                self.interacting.setdefault(name, Told(f"{self.now:%Y-%m-%d}", name, check["message"]))
        if {one.name for one in PAIR} <= self.interacting.keys():
            self._conclude(PAIR[-1].name, "inconclusive", week, note="As the check of interactions says.")

    def _decide(self, week: int) -> None:
        for one in _done(self.mia.get(f"{self.project}/verdicts"))["data"]:
            if one["conclusion"] is not None:
                self.ended.setdefault(one["name"], week)
            elif one["verdict"] and (decision := _DECISIONS.get(one["verdict"]["verdict"])):
                self._conclude(one["name"], decision, week)

    def _conclude(self, name: str, decision: str, week: int, *, note: str = "As the verdict says.") -> None:
        """End a test, so that its slots are free, and decide; a variant is not shipped without the yes."""
        path, body = self.paths[name], {"decision": decision, "note": note}
        if self.mia.data_of(path)["status"] != "completed":
            _done(self.mia.post(f"{path}/complete"))
        if decision == "ship":
            body["variant_id"] = self.mia.data_of(path)["variants"][1]["id"]
            assert self.mia.post(f"{path}/ship", body).status_code == 422
            self._review(path, {"purpose": "ship", "variant_id": body["variant_id"]})
        _done(self.mia.post(f"{path}/ship", body))
        self.ended[name] = week

    def _review(self, path: str, asked: dict[str, Any]) -> None:
        _done(self.mia.post(f"{path}/review", asked))
        _done(self.bo.post(f"{path}/approve", {"purpose": asked["purpose"]}))

    def conclusions(self) -> dict[str, dict[str, Any]]:
        """Return the conclusions of the tests by name."""
        return {name: self.mia.data_of(path)["conclusion"] for name, path in self.paths.items()}

    def _read_messages(self) -> None:
        """Note the messages of the week, which the service forgets after a month."""
        path = f"{self.project}/notification_channels/{self.channel}/deliveries"
        found = _done(self.mia.get(path, per_page=100))["data"]
        assert not {one["status"] for one in found} & {"failed"}
        for one in found:
            data = one["message"]["data"]
            text = " ".join([data["title"], *data["paragraphs"]])
            self.told[one["id"]] = Told(one["created_at"][:10], one["type"], text)


def _exposure(experiment_id: str, variant_id: str, visitor: str) -> dict[str, Any]:
    return {
        "event_id": f"{variant_id}-{visitor}",
        "type": "exposure",
        "visitor_id": visitor,
        "experiment_id": experiment_id,
        "variant_id": variant_id,
    }


def _done(answer: Any) -> Any:
    assert answer.status_code in {200, 201}, answer.text
    return answer.json()
