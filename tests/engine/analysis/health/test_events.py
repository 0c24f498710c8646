"""Events that are those of people, and goals that still fire."""

from typing import Any

import numpy as np
import pytest

from engine.analysis.evidence.evidence import DailyEvidence, Evidence
from engine.analysis.results.report import HealthCheck
from engine.stats.moments import Moments
from tests.builders import an_experiment
from tests.observations import MONDAY, health_of, observed


def found(check: str, evidence: Evidence, **fields: Any) -> HealthCheck:
    return health_of(an_experiment(**{"status": "running", **fields}), evidence)[check]


def by_day(visitors: list[int], conversions: list[int]) -> Evidence:
    """Two arms with so many visitors and conversions each, day by day."""
    n, hits = np.array(visitors)[:, None].repeat(2, 1), np.array(conversions)[:, None, None].repeat(2, 2)
    days = tuple(MONDAY.replace(day=1 + i) for i in range(len(visitors)))
    none = np.zeros((1, 2))
    return Evidence(
        visitors=n.sum(axis=0),
        conversions=hits.sum(axis=0),
        revenue=Moments(n.sum(axis=0)[None].astype(np.float64), none, none),
        daily=DailyEvidence(days=days, visitors=n, conversions=hits, revenue_cents=0 * hits),
    )


@pytest.mark.parametrize(("bots", "status"), [(0, "ok"), (100, "ok"), (900, "warning")])
def test_many_bots_are_worth_a_look(bots: int, status: str) -> None:
    check = found("bots", observed([500, 500], [50, 50], bots=bots))
    assert check.status == status
    assert check.details["share"] == pytest.approx(bots / (bots + 1000))


def test_goal_that_stopped_is_named_with_its_last_day() -> None:
    check = found("goals_fire", by_day([1000] * 5, [50, 50, 50, 0, 0]))
    assert check.status == "warning"
    assert check.details == {"last_conversion": {"Purchase": "2026-03-03"}}
    assert "Purchase (last on 2026-03-03)" in check.message


@pytest.mark.parametrize(
    ("visitors", "conversions"),
    [
        ([1000] * 5, [50, 50, 50, 50, 0]),  # today is not over
        ([1000] * 5, [50, 50, 50, 0, 1]),  # it has come back
        ([1000, 1000, 1000, 0, 0], [50, 50, 50, 0, 0]),  # nobody came
        ([1000] * 5, [1, 0, 0, 0, 0]),  # three more would be expected: none is no wonder
        ([1000] * 5, [0, 0, 0, 0, 0]),  # it never fired, which other checks say
    ],
)
def test_silence_that_proves_nothing_is_no_warning(visitors: list[int], conversions: list[int]) -> None:
    assert found("goals_fire", by_day(visitors, conversions)).status == "ok"


def test_goals_of_what_does_not_run_need_not_fire() -> None:
    evidence = by_day([1000] * 5, [50, 50, 50, 0, 0])
    assert found("goals_fire", evidence, status="completed").status == "not_applicable"


def test_split_has_a_p_that_is_safe_to_watch() -> None:
    # Chi-square 12.1 is p = 0.0005 at one look, which a test watched daily reaches far more often than that.
    check = found("sample_ratio", observed([10_246, 9_754], [1, 1]))
    assert check.details["p_value"] < 0.001 < check.details["always_valid_p_value"]
    broken = found("sample_ratio", observed([10_600, 9_400], [1, 1]))
    assert broken.details["always_valid_p_value"] < 0.001


def test_imported_visitors_without_their_events_are_an_alarm() -> None:
    check = found("sources_imported", observed([500, 500], [50, 50], missing_sources=("calls", "orders")))
    assert (check.status, check.details) == ("alarm", {"sources": ["calls", "orders"]})
    assert "the newest events of calls, orders are not counted yet" in check.message
    assert found("sources_imported", observed([500, 500], [50, 50])).status == "ok"
