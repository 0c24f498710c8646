"""A marked person through every door: erased, found nowhere; another one is found where the first was."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

from api.services import Services
from engine.design.project import Project
from pipeline.assignment.project_cache import rule_of
from pipeline.clock import utc_now
from pipeline.erasure.holder import PERSONAL
from pipeline.erasure.holders import HOLDERS
from pipeline.store.catalog.schema import metadata
from pipeline.store.warehouse.erasure.segment_texts import ERASED
from pipeline.store.warehouse.incremental import event_keys
from tests.api.erasure.doors import answers
from tests.api.erasure.marked_person import (
    GONE,
    STAYS,
    TOKENS,
    Marked,
    fill_pipeline,
    fill_service,
    ids_of,
    leave_outcomes,
    opened,
    sought,
)
from tests.api.erasure.search import in_answer, places_of, tables_of
from tests.pipeline.working_store import a_working_store
from tests.source_tree import ROOT


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """The receipt of an erasure, the answers before and after it, and the places of each person after it."""

    receipt: dict[str, Any]
    answers_before: dict[str, bytes]
    answers: dict[str, bytes]
    places: dict[str, set[str]]


@pytest.fixture(scope="module", autouse=True)
def keys_of_few_events() -> Iterator[None]:
    """Write the keys of events into files from the first run on."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(event_keys, "MIN_EVENTS", 1)
        yield


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
        keep_nights_of_imports(customer.services, project)
        customer.services.snapshots.write(project.id)
        rule = rule_of(running)
        assert rule is not None
        customer.services.first_assignments.prepare(project.id, [rule]).result()
        customer.services.first_assignments.write()
    leave_outcomes(folder)
    (folder / "before-upgrade").mkdir()
    (folder / "before-upgrade" / "warehouse.wal").write_bytes(f"{GONE} {STAYS}".encode())
    return marked, places_of([*map(sought, TOKENS)], folder, copies)


def keep_nights_of_imports(services: Services, project: Project) -> None:
    """Keep a night of each experiment that an import has made, in one of which the person is not."""
    experiments = services.catalog.experiments.of_project(project.id)
    imported = [one for one in experiments if one.name.startswith("Visits")]
    assert len(imported) == len(TOKENS)
    services.nights.keep(imported, project, [utc_now().date()], run_id="run_2", now=utc_now())


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
        places=places_of([*map(sought, TOKENS)], marked.folder, marked.copies),
    )


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

    for token in TOKENS:
        shown = Counter(name.partition(" ")[0] for name in found(token, erased.answers_before))
        assert min(shown[door] for door in ("REST", "MCP", "dashboard")) > 5, (token, shown)
    assert found(GONE, erased.answers) == set()
    assert found(STAYS, erased.answers) == found(STAYS, erased.answers_before)


def test_no_byte_of_the_folder_has_the_person_and_all_places_have_another(
    erased: Erased, before: tuple[Marked, dict[str, set[str]]]
) -> None:
    assert erased.places[GONE] == set()
    # Files of a snapshot have new names, copies of the store are gone, and keys are written later.
    changed = ("snapshots/", "before-upgrade/", "event-keys/")
    is_kept = {one for one in before[1][STAYS] if not one.startswith(changed)}
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
    goal, _ = data["goals"]
    numbers = {(one.pop("dimension"), one.pop("value")): one for one in goal["segments"]}
    assert len(numbers) > 5
    return numbers
