import pytest

from engine.analysis.comparison.analysis_data import prepare
from tests.builders import an_experiment
from tests.observations import observed, observed_by_epoch


def test_pairs_are_the_rates_of_the_control_and_of_each_variant() -> None:
    pairs = prepare(an_experiment(), observed([100, 200], [10, 30])).pairs
    assert pairs is not None
    assert pairs.control.value.tolist() == [[0.1, 0.1]]
    assert pairs.variant.value.tolist() == [[0.1, 0.15]]


def test_days_are_those_from_the_first_to_the_last_with_a_visitor() -> None:
    assert prepare(an_experiment(), observed([100, 200], [10, 30], days=7)).days == 7
    assert prepare(an_experiment(), observed([100, 200], [10, 30])).days == 0


def test_expected_shares_average_the_epochs_by_their_visitors() -> None:
    evidence = observed_by_epoch([[1, 1], [1, 3]], [[50, 50], [75, 225]], [[5, 5], [7, 20]])
    shares = prepare(an_experiment(traffic_strategy="bandit"), evidence).expected_shares
    # A quarter of the visitors came at 50%, the others at 25%.
    assert shares.tolist() == pytest.approx([0.3125, 0.6875])
