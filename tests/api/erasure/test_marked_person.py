"""A marked person through every door: erased, found nowhere; another one is found where the first was."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import msgspec
import pytest
from fastapi.testclient import TestClient

from api.app import create_app
from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.assignment.project_cache import rule_of
from pipeline.erasure.holder import PERSONAL
from pipeline.erasure.holders import HOLDERS
from pipeline.events.hashing import hash64
from pipeline.imports.import_result import Imported
from pipeline.runs.command_imports import CommandOutcome, write_outcome
from pipeline.settings import Settings
from pipeline.sources.tables import BadRow
from pipeline.store.catalog.ids import new_id
from pipeline.store.catalog.schema import metadata
from pipeline.store.catalog.webhooks.announced_results import ObservedResults
from pipeline.store.warehouse.erasure.segment_texts import ERASED
from tests.api.customers import Customer
from tests.api.erasure.search import Sought, in_answer, places_of, tables_of
from tests.builders import NOW, a_project
from tests.pipeline.working_store import WorkingStore, a_purchase, a_working_store, an_event, an_exposure
from tests.source_tree import ROOT

NIGHT: Final = NOW.date()
# Every text of a person has its token.
GONE, STAYS = "mk7ann", "mk7bob"
TOKENS: Final = (GONE, STAYS)
QUERIES: Final[tuple[dict[str, str], ...]] = (
    {},
    {"as_of": NIGHT.isoformat()},
    {"format": "csv"},
    {"format": "parquet"},
)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """The receipt of an erasure, the answers before and after it, and the places of each person after it."""

    receipt: dict[str, Any]
    answers_before: dict[str, bytes]
    answers: dict[str, bytes]
    places: dict[str, set[str]]


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
    completed, running = store.add_experiment(project), store.add_experiment(project)
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
    store.nights.keep(completed, project, now=NOW)
    ended = store.change(completed, status="completed", completed_at=NOW - timedelta(minutes=5))
    store.rollup.refresh(project.id)
    store.nights.keep(running, project, now=NOW)
    store.snapshots.write(project.id)
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


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> tuple[Marked, dict[str, set[str]]]:
    """Write both persons through every door, and find both."""
    folder, copies = tmp_path_factory.mktemp("store"), tmp_path_factory.mktemp("copies")
    with a_working_store(folder) as store:
        account, key, project, completed, running = fill_pipeline(store)
    marked = Marked(
        folder=folder,
        copies=copies,
        account=account,
        token=key,
        project=project,
        completed=completed,
        running=running,
    )
    with opened(marked) as customer:
        customer.a_webhook(f"/projects/{project.id}", events=["experiment.health_alarm"])
        for token in TOKENS:
            fill_service(customer, marked, token)
        customer.services.snapshots.write(project.id)
        rule = rule_of(running)
        assert rule is not None
        customer.services.first_assignments.prepare(project.id, [rule]).result()
        customer.services.first_assignments.write()
    leave_outcomes(folder)
    (folder / "before-upgrade").mkdir()
    (folder / "before-upgrade" / "warehouse.wal").write_bytes(f"{GONE} {STAYS}".encode())
    return marked, {token: places_of(sought(token), folder, copies) for token in TOKENS}


@pytest.fixture(scope="module")
def erased(before: tuple[Marked, dict[str, set[str]]]) -> Erased:
    """Erase one of the two in the service, and look for both."""
    marked, _ = before
    with opened(marked) as customer:
        leave_outcomes(marked.folder)
        answered = answers(marked, customer)
        path = f"/projects/{marked.project.id}/visitors/{quote(ids_of(GONE)['visitor'], safe='')}"
        answer = customer.call("DELETE", path, headers={"Idempotency-Key": "erase"})
        assert answer.status_code == 200, answer.text
        afterwards = answers(marked, customer)
    return Erased(
        receipt=answer.json()["data"],
        answers_before=answered,
        answers=afterwards,
        places={token: places_of(sought(token), marked.folder, marked.copies) for token in TOKENS},
    )


@contextmanager
def opened(marked: Marked) -> Iterator[Customer]:
    """Open the service on the store, for its customer."""
    settings = Settings(data_dir=marked.folder, fresh_read_seconds=60, refresh_seconds=10**6)
    app = create_app(settings)
    with TestClient(app, raise_server_exceptions=False) as client:
        services = app.state.services
        yield Customer(client, services, services.catalog.accounts.get(marked.account), marked.token)


def answers(marked: Marked, customer: Customer) -> dict[str, bytes]:
    """Read every operation that reads, in every variation that tells of visitors."""
    project_id = marked.project.id
    (webhook,) = customer.get(f"/projects/{project_id}/webhooks").json()["data"]
    runs = customer.get(f"/projects/{project_id}/runs", kind="import").json()["data"]
    read = {}
    for path, operations in customer.client.get("/openapi.json").json()["paths"].items():
        if "get" not in operations or "/sdk/" in path:
            continue
        ids = [marked.completed.id, marked.running.id]
        if "/webhooks/" in path:
            ids = [webhook["id"]]
        elif "/runs/" in path:
            ids = [run["id"] for run in runs]
        elif "/experiments/" not in path:
            ids = [project_id]
        for one in ids:
            for query in QUERIES if "/results" in path else ({},):
                named = path.replace("{project_id}", project_id).replace("{id}", one)
                answer = customer.call("GET", named.removeprefix("/api/v1"), params=query)
                read[f"{named} {query}"] = answer.content
    return read


def test_every_column_of_the_store_is_declared(before: tuple[Marked, dict[str, set[str]]]) -> None:
    marked, _ = before
    catalog = {table.name: [column.name for column in table.columns] for table in metadata.sorted_tables}
    undeclared = {
        f"{table}.{column}"
        for medium, tables in (("warehouse", tables_of(marked.folder)), ("catalog", catalog))
        for table, names in tables.items()
        for column in names
        if len([one for one in of_table(medium, table) if one.text_of(column)]) != 1
    }
    assert undeclared == set()


def of_table(medium: str, table: str) -> list[Any]:
    return [one for one in HOLDERS if one.medium == medium and one.is_of(table)]


def test_every_file_of_the_store_is_declared(before: tuple[Marked, dict[str, set[str]]]) -> None:
    marked, _ = before
    files = [
        path.relative_to(marked.folder).as_posix() for path in marked.folder.rglob("*") if path.is_file()
    ]
    assert len(files) > 10
    assert [one for one in files if not of_table("file", one)] == []


def test_every_holder_of_personal_texts_is_erased_and_read_back_or_says_why_not() -> None:
    for one in HOLDERS:
        is_erased = (one.remove or one.erase) is not None
        assert is_erased == (one.left is not None), one.name
        assert one.is_personal == (is_erased or bool(one.kept)), one.name


def test_the_documentation_names_every_place_that_is_erased() -> None:
    told = (ROOT / "docs/personal-data.md").read_text()
    assert [one.name for one in HOLDERS if one.left and one.name not in told] == []


def test_a_person_is_found_only_where_it_is_declared(before: tuple[Marked, dict[str, set[str]]]) -> None:
    _, found = before
    for token in TOKENS:
        assert len(found[token]) > 25
        assert [place for place in found[token] if not is_declared(place)] == []


def test_every_place_that_is_erased_had_the_person(before: tuple[Marked, dict[str, set[str]]]) -> None:
    reached = {
        one.name
        for place in before[1][GONE]
        for medium, name in (
            ("warehouse", place.partition(".")[0]),
            ("catalog", place.partition(".")[0]),
            ("file", place),
        )
        for one in of_table(medium, name)
    }
    # All events are loaded by now.
    unreached = {one.name for one in HOLDERS if one.left} - reached
    assert unreached == {"spool of acknowledged events"}


def is_declared(place: str) -> bool:
    table, _, column = place.partition(".")
    named = [one.text_of(column) for medium in ("warehouse", "catalog") for one in of_table(medium, table)]
    return bool(PERSONAL.intersection([*named, *(one.text_of("*") for one in of_table("file", place))]))


def test_the_receipt_names_every_place_and_finds_nothing(erased: Erased) -> None:
    assert erased.receipt["is_complete"], erased.receipt
    assert {one["place"] for one in erased.receipt["read_back"]} == {one.name for one in HOLDERS if one.left}
    assert (erased.receipt["visitor_ids"], erased.receipt["user_ids"]) == (3, 1)
    assert GONE not in str(erased.receipt)


def test_no_operation_answers_with_the_person_and_some_with_another(
    erased: Erased, before: tuple[Marked, dict[str, set[str]]]
) -> None:
    def found(token: str, read: dict[str, bytes]) -> set[str]:
        copies = before[0].copies
        return {path for path, content in read.items() if in_answer(sought(token), content, copies)}

    assert len(found(GONE, erased.answers_before)) > 10
    assert found(GONE, erased.answers) == set()
    assert found(STAYS, erased.answers) == found(STAYS, erased.answers_before)


def test_no_byte_of_the_folder_has_the_person_and_all_places_have_another(
    erased: Erased, before: tuple[Marked, dict[str, set[str]]]
) -> None:
    assert erased.places[GONE] == set()
    # Files of a snapshot have new names, and copies of the whole store are gone.
    is_kept = {one for one in before[1][STAYS] if not one.startswith(("snapshots/", "before-upgrade/"))}
    assert is_kept - erased.places[STAYS] == set()
    assert any(one.startswith("snapshots/") for one in erased.places[STAYS])


def test_numbers_of_a_completed_test_stay(erased: Erased, before: tuple[Marked, dict[str, set[str]]]) -> None:
    completed = before[0].completed.id
    results = data_of(erased, f"{completed}/results {{}}")
    for data in results:
        assert data.pop("as_of")
        assert data.pop("available_segments")
    assert results[0] == results[1]
    was, now = (by_segment(data) for data in data_of(erased, f"{completed}/results/segments {{}}"))
    assert any(GONE in value for _, value in was)
    assert now == {(name, ERASED if GONE in value else value): told for (name, value), told in was.items()}


def data_of(erased: Erased, path: str) -> list[dict[str, Any]]:
    """Return what an operation answered before and after the erasure."""
    found = [
        [
            msgspec.json.decode(content.replace(f"{GONE} key".encode(), ERASED.encode()))["data"]
            for one, content in read.items()
            if one.endswith(path)
        ]
        for read in (erased.answers_before, erased.answers)
    ]
    assert [len(one) for one in found] == [1, 1]
    return [one[0] for one in found]


def by_segment(data: dict[str, Any]) -> dict[tuple[str, str], Any]:
    (goal,) = data["goals"]
    numbers = {(one.pop("dimension"), one.pop("value")): one for one in goal["segments"]}
    assert len(numbers) > 5
    return numbers
