import threading
from concurrent.futures import Future, wait
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from engine.analysis.evidence.evidence import Evidence
from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.results.filters import InvalidFilterError, SegmentFilters
from pipeline.results.observation import Observation
from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.event_ranges import newest_seq
from tests.builders import NOW, STARTED
from tests.pipeline.working_store import WorkingStore, a_purchase, a_working_store, an_exposure
from tests.waiting import wait_until

MONDAY = 60 * 24


@pytest.fixture(scope="module")
def store(module_store: WorkingStore) -> WorkingStore:
    return module_store


def test_report_is_of_the_visitors_and_their_currency(store: WorkingStore) -> None:
    project = store.add_project(settings={"revenue_currency": "EUR"})
    experiment = store.add_experiment(project)
    store.write(project, an_exposure(experiment), an_exposure(experiment, 1, "v2"), a_purchase("v2"))

    report = store.results.report(experiment, project, now=NOW)

    assert report.primary is not None
    assert [one.visitors for one in report.primary.variants] == [1, 1]
    assert [one.conversions for one in report.primary.variants] == [0, 1]
    assert report.primary.decision.revenue_currency == "EUR"


def test_every_local_day_from_the_start_to_today_is_there(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    store.write(project, an_exposure(experiment, minute=3 * MONDAY))
    daily = store.observe(experiment, project, now=STARTED + timedelta(days=5)).daily
    assert [str(day) for day in daily.days] == [f"2026-03-0{number}" for number in range(1, 7)]
    assert daily.visitors[:, 0].tolist() == [0, 0, 0, 1, 0, 0]


def test_days_of_a_completed_experiment_end_with_it(store: WorkingStore, project: Project) -> None:
    ended = STARTED + timedelta(days=2)
    experiment = store.add_experiment(project, status="completed", completed_at=ended)
    daily = store.observe(experiment, project, now=STARTED + timedelta(days=50)).daily
    assert [str(day) for day in daily.days] == ["2026-03-01", "2026-03-02", "2026-03-03"]


def test_draft_has_no_days_and_no_numbers(store: WorkingStore, project: Project) -> None:
    draft = store.add_experiment(project, status="draft")
    evidence = store.observe(draft, project)
    assert evidence.daily.days == ()
    assert evidence.visitors.tolist() == [0, 0]
    assert evidence.conversions.tolist() == [[0, 0]]


def test_filters_on_every_dimension_find_the_visitor_and_nobody_else(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    mine: dict[str, Any] = {
        "traffic_source": "paid",
        "device_type": "tablet",
        "visitor_type": "returning",
        "os": "iOS",
        "country": "DE",
        "region": "BY",
        "browser": "Safari",
        "utm_source": "google",
        "utm_medium": "cpc",
        "utm_campaign": "spring",
        "visitor_identity": "identified",
    }
    # STARTED is a Sunday.
    store.write(project, an_exposure(experiment, custom='{"plan":"pro"}', **mine))
    store.write(project, an_exposure(experiment, 1, "v2", minute=MONDAY), a_purchase(minute=1))
    weekend = {**mine, "day_of_week": "weekend"}
    custom = {"custom_dimension_key": "plan", "custom_dimension_value": "pro"}

    for name, value in weekend.items():
        assert store.observe(experiment, project, {name: value}).visitors.tolist() == [1, 0], name
    assert store.observe(experiment, project, custom).conversions.tolist() == [[1, 0]]
    assert store.observe(experiment, project, {**weekend, **custom}).conversions.tolist() == [[1, 0]]
    assert store.observe(experiment, project, {"day_of_week": "weekday"}).visitors.tolist() == [0, 1]
    assert store.observe(
        experiment, project, {"country": "DE", "device_type": "mobile"}
    ).visitors.tolist() == [0, 0]


@pytest.mark.parametrize("value", ["XX", "", "'; DROP TABLE x; --", "d\u00e9\u0000"])
def test_value_nobody_has_gives_zeros(
    store: WorkingStore, project: Project, experiment: Experiment, value: str
) -> None:
    store.write(project, an_exposure(experiment, country="DE"))
    custom = {"custom_dimension_key": value, "custom_dimension_value": value}
    for filters in ({"country": value}, {"country": value, "region": value}, custom):
        assert store.observe(experiment, project, filters).visitors.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        ({"device_type": "fridge"}, ["device_type"]),
        ({"visitor_type": "", "day_of_week": "Monday"}, ["visitor_type", "day_of_week"]),
        ({"visitor_identity": "Anonymous"}, ["visitor_identity"]),
        ({"custom_dimension_key": "plan"}, ["custom_dimension_value"]),
        ({"custom_dimension_value": "pro"}, ["custom_dimension_key"]),
    ],
)
def test_filters_that_cannot_mean_anything_name_every_problem(
    query: dict[str, str], fields: list[str]
) -> None:
    with pytest.raises(InvalidFilterError) as error:
        SegmentFilters.from_query(query)
    assert [problem.field for problem in error.value.problems] == fields


def test_unknown_parameters_and_absent_ones_filter_nothing() -> None:
    filters = SegmentFilters.from_query({"colour": "red", "country": None, "os": "iOS"})
    assert filters.given == {"os": "iOS"}


def test_available_segments_are_the_values_visitors_have(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    store.write(
        project,
        an_exposure(experiment, country="US", custom='{"plan":"pro","loyalty_tier":"gold"}'),
        an_exposure(experiment, 1, "v2", country="DE", custom='{"plan":"free"}'),
    )
    store.rollup.refresh(project.id)
    segments = store.results.available_segments(experiment)
    assert segments["countries"] == ["DE", "US"]
    assert segments["day_of_weeks"] == ["weekend"]
    assert segments["operating_systems"] == segments["visitor_identities"] == []
    assert segments["custom_dimensions"] == [
        {"key": "loyalty_tier", "label": "Loyalty tier", "values": ["gold"]},
        {"key": "plan", "label": "Plan", "values": ["free", "pro"]},
    ]


def test_available_segments_of_an_experiment_without_results_are_empty_lists(
    store: WorkingStore, experiment: Experiment
) -> None:
    # The names are those of the contract's `available_segments`.
    assert store.results.available_segments(experiment) == {
        "traffic_sources": [],
        "device_types": [],
        "visitor_types": [],
        "operating_systems": [],
        "day_of_weeks": [],
        "countries": [],
        "regions": [],
        "browsers": [],
        "utm_sources": [],
        "utm_mediums": [],
        "languages": [],
        "utm_campaigns": [],
        "visitor_identities": [],
        "custom_dimensions": [],
    }


def test_read_counts_newer_events_first(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    store.write(project, an_exposure(experiment))
    assert store.observe(experiment, project).visitors.tolist() == [1, 0]
    store.write(project, an_exposure(experiment, 1, "v2"))
    assert store.observe(experiment, project).visitors.tolist() == [1, 1]


def test_read_that_would_wait_too_long_says_how_old_its_answer_is(tmp_path: Path) -> None:
    with a_working_store(tmp_path, fresh_read_seconds=0.05) as store:
        project = store.add_project()
        experiment = store.add_experiment(project)
        store.write(project, an_exposure(experiment))
        store.rollup.refresh(project.id)
        store.write(project, an_exposure(experiment, 1, "v2"))
        with store.rollup.pause():
            stale = store.observe(experiment, project, now=NOW + timedelta(hours=1))
        store.rollup.refresh(project.id)
        fresh = store.observe(experiment, project, now=NOW + timedelta(hours=1))
    assert (stale.visitors.tolist(), stale.as_of) == ([1, 0], NOW)
    assert (fresh.visitors.tolist(), fresh.as_of) == ([1, 1], NOW + timedelta(hours=1))


def test_readers_who_wait_share_one_run_and_one_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read, reads = Observation.of_visitors, list[Observation]()
    waiting: dict[threading.Thread, Future[object]] = {}
    begun, go_on = threading.Event(), threading.Event()

    def noted_wait(runs: tuple[Future[object], ...], **options: Any) -> object:
        waiting[threading.current_thread()] = runs[0]
        return wait(runs, **options)

    def held_refresh(warehouse: Warehouse, project_id: str) -> int | None:
        begun.set()
        go_on.wait()
        return newest_seq(warehouse, project_id)

    def noted_read(observation: Observation, *args: Any, **kwargs: Any) -> Evidence:
        reads.append(observation)
        return read(observation, *args, **kwargs)

    monkeypatch.setattr(Observation, "of_visitors", noted_read)
    with a_working_store(tmp_path, clock=lambda: NOW) as store:
        project = store.add_project()
        experiment = store.add_experiment(project)
        store.write(project, an_exposure(experiment))
        readers = [threading.Thread(target=store.observe, args=(experiment, project)) for _ in range(8)]
        monkeypatch.setattr("pipeline.rollup.turns.wait", noted_wait)
        monkeypatch.setattr("pipeline.rollup.run.newest_seq", held_refresh)
        other = threading.Thread(target=store.rollup.refresh, args=(project.id,))
        other.start()
        assert begun.wait(60)
        for reader in readers:
            reader.start()
        wait_until(lambda: waiting.keys() >= set(readers) and len({waiting[one] for one in readers}) == 1)
        run = waiting[readers[0]]
        assert not run.done()
        go_on.set()
        other.join()
        for reader in readers:
            reader.join()
    assert run.exception() is None
    assert len(reads) == 1


@pytest.mark.long(seconds=4)
def test_reader_never_sees_half_of_a_publication(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    store.write(
        project,
        *(an_exposure(experiment, number % 2, f"v{number}", country="DE", os="iOS") for number in range(300)),
    )
    store.rollup.refresh(project.id)
    ended = threading.Event()
    seen = set()

    def read() -> None:
        while not ended.is_set():
            for filters in ({}, {"country": "DE"}, {"country": "DE", "os": "iOS"}):
                seen.add(tuple(store.observe(experiment, project, filters).visitors.tolist()))

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(5):
        store.rollup.rebuild(project.id)
    ended.set()
    reader.join()
    assert seen == {(150, 150)}


def test_events_received_while_the_clock_was_ahead_are_numbered_and_counted_like_others(
    store: WorkingStore,
) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project)
    store.write(project, an_exposure(experiment, 0, "v1"))
    first = store.ingest.last_seq_of(project.id)
    store.write(project, an_exposure(experiment, 1, "v2", minute=24 * 60))
    store.write(project, an_exposure(experiment, 1, "v3", minute=1))
    assert store.ingest.last_seq_of(project.id) == first + 2
    store.rollup.refresh(project.id)
    now = STARTED + timedelta(minutes=5)
    report = store.results.report(experiment, project, now=now)
    assert store.observe(experiment, project, now=now).visitors.tolist() == [1, 2]
    assert report.as_of == now


def test_other_is_no_value_of_a_closed_set_where_visitors_are_counted_here(
    store: WorkingStore, project: Project
) -> None:
    experiment = store.add_experiment(project)
    store.write(project, an_exposure(experiment))
    with pytest.raises(InvalidFilterError, match="desktop, mobile, tablet"):
        store.results.report(experiment, project, SegmentFilters({"device_type": "other"}), now=NOW)


def test_days_choose_visitors_by_first_exposure_with_all_their_outcomes(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    for day, variant in ((0, 0), (1, 0), (1, 1), (2, 1)):
        visitor = f"v{day}{variant}"
        store.write(project, an_exposure(experiment, variant, visitor, minute=day * MONDAY))
        store.write(project, a_purchase(visitor, minute=3 * MONDAY))

    def chosen(first: date | None, last: date | None, **given: str) -> Evidence:
        return store.results.evidence(
            experiment, project, SegmentFilters(given, first, last), now=STARTED + timedelta(days=5)
        )

    monday, tuesday = date(2026, 3, 2), date(2026, 3, 3)
    middle = chosen(monday, monday)
    assert (middle.visitors.tolist(), middle.conversions.tolist()) == ([1, 1], [[1, 1]])
    assert [str(day) for day in middle.daily.days[:2]] == ["2026-03-02", "2026-03-03"]
    assert chosen(monday, None).visitors.tolist() == [1, 2]
    assert chosen(None, monday).visitors.tolist() == [2, 1]
    assert chosen(tuesday, tuesday, day_of_week="weekend").visitors.tolist() == [0, 0]
    assert chosen(None, date(2026, 2, 1)).visitors.tolist() == [0, 0]
    # Kept reads of other days do not answer for these.
    assert chosen(None, None).visitors.tolist() == [2, 2]


def test_no_action_and_no_look_rests_on_chosen_days(store: WorkingStore, project: Project) -> None:
    experiment = store.add_experiment(project)
    for number in range(400):
        visitor, variant = f"v{number}", number % 2
        store.write(project, an_exposure(experiment, variant, visitor))
        if variant or number % 20 == 0:
            store.write(project, a_purchase(visitor, minute=1))
    later = STARTED + timedelta(days=60)
    filters = SegmentFilters(first_day=STARTED.date())
    part = store.results.report(experiment, project, filters, now=later)
    assert part.primary is not None
    assert part.primary.variants[1].visitors == 200
    assert (part.primary.decision.reason, part.is_exploratory, part.due_look) == ("exploratory", True, None)
    assert store.catalog.recorded_looks.of(experiment.id) == ()
    whole = store.results.report(experiment, project, now=later)
    assert whole.primary is not None
    assert (whole.primary.decision.recommendation, whole.is_exploratory) == ("ship", False)
    assert store.catalog.recorded_looks.of(experiment.id)
