"""A marked person, and another one, in a store and through every door of its service."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import msgspec
from fastapi.testclient import TestClient

from api.app import create_app
from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.design.project import Project
from pipeline.clock import utc_now
from pipeline.events.hashing import hash64
from pipeline.imports.import_result import Imported
from pipeline.runs.command_imports import CommandOutcome, write_outcome
from pipeline.runs.night_work import NIGHTLY
from pipeline.settings import Settings
from pipeline.sources.tables import BadRow
from pipeline.store.catalog.ids import new_id
from pipeline.store.catalog.webhooks.announced_results import ObservedResults
from tests.api.customers import Customer
from tests.api.erasure.search import Sought
from tests.builders import NOW, a_goal, a_project
from tests.pipeline.working_store import WorkingStore, a_purchase, an_event, an_exposure

# Every text of a person has its token.
GONE, STAYS = "mk7ann", "mk7bob"
TOKENS: Final = (GONE, STAYS)


def ids_of(token: str) -> dict[str, str]:
    return {
        "visitor": f"{token}-laptop",
        "phone": f"{token}-phone",
        "user": f"{token}@mail.example",
        "file": f"{token}-file",
    }


def sought(token: str) -> Sought:
    return Sought(token=token, keys=[hash64(one) for one in ids_of(token).values()])


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """A store into which both persons were written."""

    folder: Path
    copies: Path
    account: str
    token: str
    project: Project
    completed: Experiment
    running: Experiment


def attributes_of(token: str) -> dict[str, Any]:
    """Every free text that an event can have about its visitor."""
    return {
        "mail": f"{token}@mail.example",
        "country": f"{token}land",
        "region": f"{token} region",
        "utm_source": f"{token} source",
        "utm_campaign": f"{token} campaign",
    }


def fill_pipeline(store: WorkingStore) -> tuple[str, str, Project, Experiment, Experiment]:
    """Write events, two nights, results of a completed and of a running experiment, and a snapshot."""
    account, _, key = store.catalog.accounts.create("Shop", "owner@shop.example", "scale")
    project = store.catalog.projects.create(
        a_project(id=new_id("prj"), account_id=account.id, sdk_key=new_id("pk")), actor="test"
    )
    spent = Goal(id="goal_spent", name="Spent", goal_type="revenue")
    completed, running = (store.add_experiment(project, goals=(a_goal(), spent)) for _ in range(2))
    rows = [an_exposure(completed, number % 2, f"v{number}", country="DE") for number in range(30)]
    for token in TOKENS:
        ids = ids_of(token)
        texts = {
            "custom": f'{{"mail":"{token}@mail.example","plan":"pro"}}',
            "region": f"{token} region",
            "country": f"{token}land",
            "url": f"https://shop.example/{token}",
            "user_id": ids["user"],
            # Where a server has linked a user, links of browsers do not count.
            "sender": "server",
        }
        rows += [
            an_exposure(completed, 0, ids["visitor"], event_id=f"{token}-e1", **texts),
            an_exposure(running, 1, ids["phone"], event_id=f"{token}-e2", **texts),
            an_event("pageview", ids["visitor"], selector=f"#{token}", event_name=f"{token} name"),
            a_purchase(ids["visitor"], transaction_id=f"{token}-order", user_id=ids["user"]),
            a_purchase(ids["visitor"], minute=1500, transaction_id=f"{token}-order2"),
        ]
    rows.append(an_exposure(completed, 1, "v-shared", custom='{"plan":"pro"}'))
    # A project keeps 200 keys, and names the last that it dropped.
    many = {f"z{number}": "x" for number in range(200)}
    store.write(project, *rows)
    for keys in (many, {f"{GONE} key": "x"}):
        store.write(project, an_event("pageview", ids_of(GONE)["visitor"], custom=json.dumps(keys)))
    store.nights.keep([completed], project, [NOW.date()], run_id="run_1", now=NOW)
    ended = store.change(completed, status="completed", completed_at=NOW - timedelta(minutes=5))
    store.rollup.refresh(project.id)
    store.nights.keep([running], project, [NOW.date()], run_id="run_1", now=NOW)
    store.snapshots.write(project.id)
    # The service makes the nights at another time, which may be that of the tests.
    store.catalog.job_records.note_done(NIGHTLY, project.id, utc_now().date().isoformat())
    refused = store.settings.refused_events_path
    refused.mkdir()
    for number, token in enumerate(TOKENS):
        event = an_event("pageview", ids_of(token)["visitor"])._asdict()
        content = {"project_id": project.id, "first_seq": number, "events": [event]}
        (refused / f"{number}.json").write_bytes(msgspec.json.encode(content))
    return account.id, key, project, ended, running


def leave_outcomes(folder: Path) -> None:
    """Leave the outcomes of imports for commands, which a start of the service removes."""
    settings = Settings(data_dir=folder)
    settings.command_imports_path.mkdir(exist_ok=True)
    for token in TOKENS:
        bad = BadRow(3, f"invalid_type: type '{ids_of(token)['visitor']}' is none", "events.csv")
        write_outcome(settings, f"left-{token}", CommandOutcome(files=Imported(rejected=1, bad_rows=(bad,))))


def fill_service(customer: Customer, marked: Marked, token: str) -> None:
    """Write one person through the doors of the service."""
    ids, project = ids_of(token), marked.project
    headers = {"X-SDK-Key": project.sdk_key}
    shown = {
        "event_id": f"{token}-live",
        "type": "exposure",
        "visitor_id": ids["visitor"],
        "user_id": ids["user"],
        "experiment_id": marked.running.id,
        "variant_id": marked.running.variants[0].id,
        "url": f"https://shop.example/?who={token}",
        "attributes": attributes_of(token),
    }
    sent = customer.client.post("/api/v1/sdk/track", json={"batch": [shown]}, headers=headers)
    assert sent.json()["rejected"] == 0, sent.text
    order = {
        "event_id": f"{token}-sale",
        "visitor_id": ids["visitor"],
        "event_name": "purchase",
        "revenue_cents": 500,
        "transaction_id": f"{token}-live-order",
    }
    assert customer.client.post("/api/v1/sdk/convert", json={"batch": [order]}, headers=headers).is_success
    lines = (
        "type,event_id,visitor_id,user_id,url,mail,timestamp\n"
        f"pageview,{token}-f1,{ids['file']},{ids['user']},https://x.example/{token},{token}@b.example,"
        "2026-03-01T10:00:00Z\n"
        f"{ids['visitor']},{token}-f2,{ids['file']},{ids['user']},,,2026-03-01T10:00:00Z\n"
    )
    answer = customer.call(
        "POST",
        f"/projects/{project.id}/imports",
        content=lines.encode(),
        params={"file_name": f"{ids['visitor']}.csv"},
        headers={"Content-Type": "text/csv", "Idempotency-Key": f"import {token}"},
    )
    assert answer.status_code == 202, answer.text
    run = customer.ended_run(f"/projects/{project.id}", answer.json()["data"])
    assert (run["status"], run["result"]["rows"]["rejected"]) == ("done", 1), run
    visitors = f"who,page,bought,mail\n{ids['file']},A,1,{token}@c.example\nv-{token[-3:]},B,0,\n"
    answer = customer.call(
        "POST",
        f"/projects/{project.id}/imports",
        content=visitors.encode(),
        params={
            "name": f"Visits {TOKENS.index(token)}",
            "variant": "page",
            "control": "A",
            "goals": "bought",
            "visitor": "who",
            "segments": "mail",
        },
        headers={"Content-Type": "text/csv"},
    )
    run = customer.ended_run(f"/projects/{project.id}", answer.json()["data"])
    assert (run["status"], run["result"]["rows"]["new"]) == ("done", 2), run
    customer.services.catalog.announced_results.note(
        marked.running,
        ObservedResults(
            recommendation="insufficient_data",
            decision={},
            alarms={f"segment_sample_ratio_{TOKENS.index(token)}": f"in mail '{token}@mail.example'"},
        ),
        now=NOW,
    )


@contextmanager
def opened(marked: Marked) -> Iterator[Customer]:
    """Open the service on the store, for its customer."""
    settings = Settings(data_dir=marked.folder, fresh_read_seconds=60, refresh_seconds=10**6)
    app = create_app(settings)
    with TestClient(app, raise_server_exceptions=False) as client:
        services = app.state.services
        yield Customer(client, services, services.catalog.accounts.get(marked.account), marked.token)
