import pytest
from scipy import stats

from engine.design.planning.stopping import Stopping, StoppingMethod


def test_a_fixed_horizon_needs_the_textbook_drift() -> None:
    expected = stats.norm.ppf(0.975) + stats.norm.ppf(0.8)
    assert Stopping("fixed").drift(0.8, 0.05) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("method", "inflation"),
    # East, gsDesign and rpact agree on 1.02 to 1.05 for O'Brien-Fleming types; always valid costs more.
    [("fixed", (1.0, 1.0)), ("group_sequential", (1.02, 1.06)), ("always_valid", (1.5, 1.8))],
)
def test_daily_looks_cost_a_known_number_of_visitors(
    method: StoppingMethod, inflation: tuple[float, float]
) -> None:
    ratio = (Stopping(method, 28).drift(0.8, 0.05) / Stopping("fixed").drift(0.8, 0.05)) ** 2
    assert inflation[0] <= ratio <= inflation[1]


@pytest.mark.parametrize("method", ["fixed", "always_valid", "group_sequential"])
def test_without_an_effect_power_is_the_error_rate(method: StoppingMethod) -> None:
    assert Stopping(method).power(0.0, 0.05) <= 0.05 + 1e-9


@pytest.mark.parametrize("method", ["fixed", "always_valid", "group_sequential"])
def test_drift_gives_the_power_that_it_was_asked_for(method: StoppingMethod) -> None:
    stopping = Stopping(method, 14)
    assert stopping.power(stopping.drift(0.9, 0.01), 0.01) == pytest.approx(0.9, rel=1e-9)


@pytest.mark.parametrize("method", ["fixed", "always_valid", "group_sequential"])
def test_a_huge_effect_is_found_for_certain(method: StoppingMethod) -> None:
    assert Stopping(method).power(35.0, 0.05) == pytest.approx(1.0, abs=1e-9)


def test_unknown_ways_to_stop_are_refused() -> None:
    with pytest.raises(ValueError, match="method is one of"):
        Stopping("peeking")  # type: ignore[arg-type]  # what a caller without types may send
    with pytest.raises(ValueError, match="looks are from 1"):
        Stopping("fixed", 0)
    with pytest.raises(ValueError, match="first_look is from 1"):
        Stopping("fixed", 7, first_look=8)
