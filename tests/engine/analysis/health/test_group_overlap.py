from dataclasses import replace

import pytest

from engine.analysis.health.group_overlap import group_overlap
from tests.builders import an_experiment, some_slots
from tests.observations import check_input, observed

EVIDENCE = observed([5_000, 5_000], [1, 1])


@pytest.mark.parametrize(("visitors", "status"), [(0, "ok"), (10, "ok"), (99, "ok"), (100, "warning")])
def test_visitors_of_two_tests_of_a_group_warn_from_one_percent(visitors: int, status: str) -> None:
    experiment = an_experiment(weights=(1, 1), group_slots=some_slots())
    found = group_overlap(check_input(experiment, replace(EVIDENCE, in_other_tests=visitors)))
    assert (found.status, found.details["visitors"]) == (status, visitors)


def test_without_a_group_or_rows_there_is_nothing_to_count() -> None:
    alone = check_input(an_experiment(weights=(1, 1)), replace(EVIDENCE, in_other_tests=5))
    unknown = check_input(an_experiment(weights=(1, 1), group_slots=some_slots()), EVIDENCE)
    assert [group_overlap(one).status for one in (alone, unknown)] == ["not_applicable", "not_applicable"]
