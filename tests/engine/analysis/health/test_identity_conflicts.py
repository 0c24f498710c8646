import pytest

from engine.analysis.evidence.evidence import Evidence
from engine.analysis.health.identity_conflicts import identity_conflicts
from tests.builders import an_experiment
from tests.observations import check_input, observed


@pytest.mark.parametrize(
    ("evidence", "status"),
    [
        (observed([5_000, 5_000], [1, 1]), "ok"),
        (observed([100, 100], [1, 1], identity_conflicts=10), "ok"),
        (observed([5_000, 5_000], [1, 1], identity_conflicts=99), "ok"),
        (observed([5_000, 5_000], [1, 1], identity_conflicts=5_000), "warning"),
    ],
)
def test_many_conflicts_are_a_warning_and_never_an_alarm(evidence: Evidence, status: str) -> None:
    found = identity_conflicts(check_input(an_experiment(weights=(1, 1)), evidence))
    assert (found.status, found.details["visitors"]) == (status, evidence.identity_conflicts)


def test_the_message_has_the_number_and_the_share() -> None:
    found = identity_conflicts(
        check_input(an_experiment(weights=(1, 1)), observed([450, 450], [1, 1], identity_conflicts=100))
    )
    assert found.message.startswith("100 of 1,000 visitors (10%) are users with different variants")
    assert "Identify users before" in found.message
