import mpmath
import numpy as np
import pytest

from engine.stats.sequential.sample_ratio import check_split, check_split_over_epochs

DAYS, SIMULATIONS = 28, 4_000


def test_p_is_the_formula_of_the_paper() -> None:
    # Lindon and Malek (2022), equation 4, by mpmath: Dirichlet-multinomial over multinomial.
    counts, shares, concentration = [5_210, 4_790, 1_020], ["0.45", "0.45", "0.10"], 10_000
    prior = [mpmath.mpf(share) * concentration for share in shares]
    factor = mpmath.loggamma(sum(prior)) - mpmath.loggamma(sum(prior) + sum(counts))
    for count, share, a in zip(counts, shares, prior, strict=True):
        factor += mpmath.loggamma(a + count) - mpmath.loggamma(a) - count * mpmath.log(mpmath.mpf(share))
    checked = check_split(counts, [0.45, 0.45, 0.10], concentrations=[concentration])
    assert checked.log_p == pytest.approx(min(0.0, -float(factor)), rel=1e-8)
    assert checked.log_p < -1


def test_several_concentrations_average_their_bayes_factors() -> None:
    counts = [[5_300, 4_700], [900, 1_300]]
    each = [check_split(counts, [1, 1], concentrations=[one]).log_p for one in (10, 100, 1_000, 10_000)]
    assert check_split(counts, [1, 1]).log_p == pytest.approx(-np.log(np.exp(-np.array(each)).mean(axis=0)))


@pytest.mark.parametrize(
    ("share", "visitors"),
    # 92:8 and 60:40; then 5%, 2% and 1% of the visitors of one arm lost.
    [(0.92, 30), (0.6, 460), (1 / 1.95, 27_500), (1 / 1.98, 172_000), (1 / 1.99, 740_000)],
)
def test_faults_alarm_after_the_visitors_that_the_concentrations_promise(share: float, visitors: int) -> None:
    arm = np.random.default_rng(4).binomial(visitors, share, 4_000)
    alarmed = check_split(np.stack([arm, visitors - arm], axis=-1), [1, 1]).log_p < np.log(0.001)
    assert 0.35 < alarmed.mean() < 0.65


@pytest.mark.parametrize("per_day", [50, 5_000])
@pytest.mark.parametrize("weights", [(1, 1), (1, 2, 7)])
def test_28_daily_looks_at_a_sound_split_stay_below_the_level(per_day: int, weights: tuple[int, ...]) -> None:
    shares = np.array(weights) / sum(weights)
    counts = np.random.default_rng(1).multinomial(per_day, shares, (DAYS, SIMULATIONS)).cumsum(axis=0)
    alarmed = (check_split(counts, weights).log_p < np.log(0.05)).any(axis=0)
    assert alarmed.mean() <= 0.05


def test_a_broken_split_is_found() -> None:
    # One visitor in fifty of an arm is lost, with 400,000 visitors.
    counts = np.random.default_rng(2).multinomial(400_000, [0.505, 0.495], 500)
    assert (check_split(counts, [1, 1]).log_p < np.log(0.001)).mean() > 0.95


def test_arms_without_weight_are_no_arms_and_their_visitors_are_noticed() -> None:
    idle, stray = check_split([5_000, 0, 5_000], [1, 0, 1]), check_split([5_000, 3, 5_000], [1, 0, 1])
    assert idle.log_p == check_split([5_000, 5_000], [1, 1]).log_p
    assert not idle.stray
    assert stray.stray


def test_weights_that_moved_are_no_alarm() -> None:
    rng = np.random.default_rng(3)
    weights = np.array([[0.5, 0.5], [0.8, 0.2]])
    counts = np.stack([rng.multinomial(20_000, share, 2_000) for share in weights], axis=1)
    assert (check_split_over_epochs(counts, weights).log_p < np.log(0.05)).mean() <= 0.05
    assert (check_split(counts.sum(axis=1), [1, 1]).log_p < np.log(0.001)).all()


def test_nobody_and_one_arm_say_nothing() -> None:
    assert check_split([0, 0], [1, 1]).log_p == 0.0
    assert check_split([900], [1]).log_p == pytest.approx(0.0, abs=1e-6)
    assert check_split([0, 0], [0, 0]).log_p == 0.0


def test_a_billion_visitors_keep_their_digits() -> None:
    counts = [500_120_000, 499_880_000]
    expected = mpmath.loggamma(10_000 + 10**9) - mpmath.loggamma(10_000) - 10**9 * mpmath.log(2)
    for count in counts:
        expected -= mpmath.loggamma(5_000 + count) - mpmath.loggamma(5_000)
    assert check_split(counts, [1, 1], concentrations=[10_000]).log_p == pytest.approx(
        float(expected), abs=1e-4
    )
    assert expected < -10
