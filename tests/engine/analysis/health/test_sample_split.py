import pytest
from scipy import stats

from engine.analysis.comparison.analysis_data import prepare
from engine.analysis.health.sample_split import split_visitors
from tests.builders import an_experiment
from tests.observations import observed, observed_by_epoch


def test_without_epochs_all_visitors_are_one_row() -> None:
    split = split_visitors(prepare(an_experiment(weights=(1, 3)), observed([260, 740], [1, 1])))
    assert split.visitors.tolist() == [[260, 740]]
    assert split.test.statistic[0] == pytest.approx(stats.chisquare([260, 740], [250, 750]).statistic)


def test_epochs_have_their_own_shares_and_settled_visitors() -> None:
    evidence = observed_by_epoch(
        [[1, 1], [1, 3]], [[50, 50], [30, 70]], [[1, 1], [1, 1]], settled=[[50, 50], [25, 65]]
    )
    split = split_visitors(prepare(an_experiment(traffic_strategy="bandit"), evidence))
    assert split.visitors.tolist() == [[50, 50], [25, 65]]
    assert split.shares.tolist() == [[0.5, 0.5], [0.25, 0.75]]
