import pytest

from engine.analysis.comparison.analysis_data import prepare
from engine.analysis.comparison.power import assess_power
from engine.design.analysis_settings import Statistics
from tests.builders import an_experiment
from tests.observations import observed


def test_days_left_are_those_to_the_planned_sample_at_the_pace_so_far() -> None:
    experiment = an_experiment(statistics=Statistics(planned_sample=50_000))
    # 20,000 visitors in 14 days, so 30,000 in 21.
    assert assess_power(prepare(experiment, observed([10_000] * 2, [500, 510], days=14))).days_left == 21


def test_without_a_plan_days_lead_to_the_sample_that_shows_a_tenth() -> None:
    # R's power.prop.test: 31,234 visitors an arm detect 5% against 5.5% with 80% power.
    power = assess_power(prepare(an_experiment(), observed([31_234] * 2, [1562, 1562], days=10)))
    assert power.days_left == 0
    assert power.detectable_change == pytest.approx(0.1, rel=1e-3)


@pytest.mark.parametrize("evidence", [observed([0, 0], [0, 0]), observed([500, 500], [0, 0])])
def test_without_conversions_there_is_no_power(evidence: object) -> None:
    power = assess_power(prepare(an_experiment(), evidence))  # type: ignore[arg-type]
    assert (power.detectable_change, power.days_left) == (None, None)
