from datetime import timedelta
from typing import Any

import msgspec
import pytest

from engine.analysis.analyze import analyze
from engine.analysis.evidence.recorded_looks import RecordedLook, plan_look
from tests.builders import STARTED, a_goal, an_experiment
from tests.observations import observed

RUNNING = an_experiment(status="running", started_at=STARTED)


def due(
    conversions: list[int], *, day: float, visitors: int = 5_000, looks: Any = (), experiment: Any = RUNNING
) -> RecordedLook | None:
    now = STARTED + timedelta(days=day)
    evidence = observed([visitors] * 2, conversions, days=max(int(day), 1))
    return analyze(experiment, evidence, now=now, looks=looks).due_look


def recorded(*args: Any, **kwargs: Any) -> RecordedLook:
    look = due(*args, **kwargs)
    assert look is not None
    return look


def test_one_look_a_running_day_is_due() -> None:
    assert due([500, 510], day=0.9) is None
    first = recorded([500, 510], day=1.1)
    assert not first.is_at_plan
    assert due([500, 510], day=1.9, looks=[first]) is None
    assert due([500, 510], day=2.0, looks=[first]) is not None


def test_news_are_due_at_once_and_only_once() -> None:
    first = recorded([500, 510], day=9.1)
    news = recorded([500, 650], day=9.2, looks=[first])
    assert news.comparisons["goal_1"]["var_1"].wins
    assert due([500, 650], day=9.3, looks=[first, news]) is None


def test_the_look_at_the_plan_is_due_once() -> None:
    look = recorded([2_000, 2_130], day=10, visitors=20_000)
    assert look.is_at_plan
    assert plan_look((look,)) is look
    assert due([2_000, 2_130], day=10.5, visitors=20_000, looks=[look]) is None
    after = recorded([2_000, 2_130], day=11, visitors=20_000, looks=[look])
    assert not after.is_at_plan


def test_nothing_is_due_without_visitors() -> None:
    assert due([0, 0], visitors=0, day=3) is None


def test_a_look_holds_its_plan_and_its_numbers() -> None:
    look = recorded([500, 570], day=10)
    found = look.comparisons["goal_1"]["var_1"]
    assert found.n == 5_000
    assert found.mean == pytest.approx(0.114)
    assert found.m2 == pytest.approx(5_000 * 0.114 * 0.886)
    assert found.m3 == pytest.approx(5_000 * 0.114 * 0.886 * (1 - 2 * 0.114))
    assert found.z is not None
    # By hand: .014 / sqrt(.107 · .893 · 2 / 5000).
    assert found.z == pytest.approx(2.2646, abs=1e-3)
    assert look.plan.source == "blinded"
    assert look.plan.mean == pytest.approx(0.107)
    assert look.plan.variants == 2
    assert look.plan.equivalence_margins == {"goal_1": 0.1}


def test_a_look_survives_its_way_through_json() -> None:
    look = recorded([500, 570], day=10)
    assert msgspec.json.decode(msgspec.json.encode(look), type=RecordedLook) == look


def test_a_goal_that_is_newer_than_a_look_has_no_findings() -> None:
    look = recorded([500, 650], day=10)
    newer = an_experiment(
        status="running",
        started_at=STARTED,
        goals=(a_goal(), a_goal(id="goal_2", is_primary=False, config={"event_name": "x"})),
    )
    evidence = observed([5_000] * 2, [[500, 650], [0, 0]], days=10)
    report = analyze(newer, evidence, now=STARTED + timedelta(days=10.1), looks=[look])
    assert report.goals[0].decision.recommendation == "ship"
