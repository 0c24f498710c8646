from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from engine.design.experiment import Experiment
from engine.local_days import epoch_microseconds
from pipeline.rollup.counting_rules import CountingRules, fingerprint
from pipeline.rollup.due import GRACE, find_due, is_over
from pipeline.store.warehouse.published import Published
from tests.builders import NOW, a_goal, a_project, an_experiment

RULES = CountingRules.of(a_project())


def published(experiment: Experiment, *, is_final: bool = False, covered_seq: int = 10) -> Published:
    return Published(
        experiment_id=experiment.id,
        fingerprint=fingerprint(experiment, RULES),
        rules=RULES.to_json(),
        covered_seq=covered_seq,
        as_of=epoch_microseconds(NOW),
        last_exposed_at=None,
        variants=("var_0", "var_1"),
        goals=("goal_1",),
        dimensions=(),
        is_final=is_final,
    )


def due(
    experiment: Experiment, known: Published | None, rules: CountingRules = RULES, now: datetime = NOW
) -> list[str]:
    """Say of each experiment that is due how it is to be counted."""
    found = find_due([experiment], {experiment.id: known} if known else {}, rules, 10, now)
    return ["anew" if one.before is None else "carry on" for one in found]


def test_experiment_without_results_is_counted_anew_once_it_has_started() -> None:
    assert due(an_experiment(status="running"), None) == ["anew"]
    assert due(an_experiment(status="draft"), None) == []


def test_newer_events_are_counted_on_top() -> None:
    running = an_experiment(status="running")
    assert due(running, published(running, covered_seq=9)) == ["carry on"]
    assert due(running, published(running, covered_seq=10)) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"goals": (a_goal(config={"event_name": "signup"}),)},
        {"goals": (a_goal(), a_goal(id="goal_2", is_primary=False))},
        {"started_at": NOW - timedelta(days=9)},
        {"status": "completed", "completed_at": NOW},
    ],
)
def test_what_changes_the_count_has_everything_counted_anew(changes: dict[str, Any]) -> None:
    running = an_experiment(status="running")
    assert due(replace(running, **changes), published(running)) == ["anew"]


@pytest.mark.parametrize("changes", [{"name": "Other"}, {"hypothesis": "x"}, {"confidence_level": 90}])
def test_what_changes_no_count_changes_nothing(changes: dict[str, Any]) -> None:
    running = an_experiment(status="running")
    assert due(replace(running, **changes), published(running)) == []


def test_other_rules_have_everything_counted_anew_while_it_runs() -> None:
    running = an_experiment(status="running")
    assert due(running, published(running), replace(RULES, timezone="Asia/Tokyo")) == ["anew"]
    assert due(running, published(running), replace(RULES, bot_filtering=False)) == ["anew"]


def test_final_results_heed_only_the_calendar() -> None:
    ended = an_experiment(status="completed")
    final = published(ended, is_final=True, covered_seq=1)
    assert due(ended, final) == []
    assert due(ended, final, replace(RULES, bot_filtering=False, currency="EUR")) == []
    found = find_due(
        [ended], {ended.id: final}, replace(RULES, timezone="Asia/Tokyo", currency="EUR"), 10, NOW
    )
    assert [(one.rules.timezone, one.rules.currency) for one in found] == [("Asia/Tokyo", "USD")]


def test_results_become_final_when_what_was_being_written_at_the_end_is_in() -> None:
    ended = an_experiment(status="completed", completed_at=NOW)
    assert not is_over(ended, NOW + GRACE / 2)
    assert is_over(ended, NOW + GRACE)
    assert due(ended, published(ended), now=NOW + GRACE / 2) == []
    assert due(ended, published(ended), now=NOW + GRACE) == ["carry on"]
