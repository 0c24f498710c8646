import pytest

from engine.analysis.evidence.evidence import Evidence
from engine.analysis.health.several_variants import several_variants
from tests.builders import an_experiment
from tests.observations import check_input, observed


@pytest.mark.parametrize(
    ("evidence", "status"),
    [
        (observed([5_000, 5_000], [1, 1], several_variants=10), "ok"),
        (observed([5_000, 5_000], [1, 1], several_variants=200), "alarm"),
    ],
)
def test_status_follows_the_evidence(evidence: Evidence, status: str) -> None:
    assert several_variants(check_input(an_experiment(weights=(1, 1)), evidence)).status == status
