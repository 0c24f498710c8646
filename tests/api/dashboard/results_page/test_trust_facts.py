"""Facts of the trust line: the split and the last visitor."""

from dataclasses import replace
from datetime import UTC, datetime

from api.dashboard.results_page.trust_facts import last_visitor_at, split_words
from engine.analysis.analyze import analyze
from engine.analysis.results.report import HealthCheck, Report
from tests.builders import NOW, an_experiment
from tests.observations import observed


def a_report(visitors: list[int]) -> Report:
    experiment = an_experiment(weights=(1,) * len(visitors))
    return analyze(experiment, observed(visitors, [one // 10 for one in visitors]), now=NOW)


def test_the_split_stands_beside_its_plan() -> None:
    assert split_words(a_report([5_010, 4_990])) == "50.1 : 49.9 of 50 : 50"
    assert split_words(a_report([1_000, 1_000, 1_000])) == "33.3 : 33.3 : 33.3 of 33.3 : 33.3 : 33.3"


def test_a_split_of_many_variants_or_without_a_test_is_left_out() -> None:
    assert split_words(a_report([1_000] * 5)) is None
    assert split_words(a_report([1, 0])) is None
    assert split_words(replace(a_report([5_010, 4_990]), health=())) is None


def test_the_last_visitor_is_that_of_the_check_of_freshness() -> None:
    report = a_report([5_010, 4_990])
    assert last_visitor_at(replace(report, health=())) is None
    at = datetime(2026, 11, 27, 9, tzinfo=UTC)
    check = HealthCheck(
        check="freshness", status="ok", message="", details={"last_exposure_at": at.isoformat()}
    )
    assert last_visitor_at(replace(report, health=(check,))) == at
