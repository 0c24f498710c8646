import pytest

from engine.measures.measure_table import CONFIG_MEASURES, MEASURES


def test_an_outcome_is_known_once_the_days_or_the_window_are_over() -> None:
    week_two = {"from_day": 7, "to_day": 13}
    assert MEASURES["retained"].known_after(week_two) == 14
    for name in MEASURES.keys() - {"retained"}:
        assert MEASURES[name].known_after({}) is None
        assert MEASURES[name].known_after({"window": 14}) == 14


@pytest.mark.parametrize("name", CONFIG_MEASURES)
def test_only_retention_counts_events_of_later_days_alone(name: str) -> None:
    assert MEASURES[name].is_known_at_once == (name != "retained")
