import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from engine.stats.frequentist.multiple_testing import benjamini_hochberg, holm, prefer_primary
from engine.stats.log_p_values import log_p_normal

# The fifteen p values of Benjamini and Hochberg (1995), section 4, neonatal myocardial infarction.
THEIR_P = np.array(
    [
        0.0001,
        0.0004,
        0.0019,
        0.0095,
        0.0201,
        0.0278,
        0.0298,
        0.0344,
        0.0459,
        0.3240,
        0.4262,
        0.5719,
        0.6528,
        0.7590,
        1.0,
    ]
)


def test_their_own_example_finds_what_its_authors_found() -> None:
    # Their text: familywise methods at 0.05 reject three hypotheses, controlling the FDR rejects four.
    assert (benjamini_hochberg(np.log(THEIR_P)) <= np.log(0.05)).sum() == 4
    assert (holm(np.log(THEIR_P)) <= np.log(0.05)).sum() == 3


@pytest.mark.parametrize(("ours", "theirs"), [(holm, "holm"), (benjamini_hochberg, "fdr_bh")])
def test_adjusted_p_are_those_of_statsmodels(ours: object, theirs: str) -> None:
    assert callable(ours)
    p = np.random.default_rng(1).uniform(0, 0.3, (6, 11))
    expected = [multipletests(row, method=theirs)[1] for row in p]
    np.testing.assert_allclose(np.exp(ours(np.log(p))), expected, rtol=1e-12)
    np.testing.assert_allclose(np.exp(ours(np.log(p.T), axis=0)).T, expected, rtol=1e-12)


def test_one_family_may_have_any_shape() -> None:
    log_p = np.log(np.random.default_rng(2).uniform(0, 1, (3, 4, 5)))
    np.testing.assert_allclose(
        benjamini_hochberg(log_p, axis=None).ravel(), benjamini_hochberg(log_p.ravel())
    )


def test_comparisons_that_were_not_made_count_for_nothing() -> None:
    made = np.log([0.01, 0.04])
    with_gaps = np.array([np.nan, made[0], np.nan, made[1]])
    for adjust in (holm, benjamini_hochberg):
        adjusted = adjust(with_gaps)
        assert np.isnan(adjusted[[0, 2]]).all()
        np.testing.assert_allclose(adjusted[[1, 3]], adjust(made))
    assert np.isnan(holm(np.full(3, np.nan))).all()
    assert benjamini_hochberg(np.zeros(0)).size == 0


def test_tiny_p_values_stay_above_zero() -> None:
    np.testing.assert_allclose(holm(np.array([-5000.0, -3.0])), [-5000 + np.log(2), -3.0])


def test_the_primary_goal_pays_for_no_other() -> None:
    log_p = np.log(np.array([[0.04, 0.9], [0.03, 0.2], [0.02, 0.6]]))
    judged = prefer_primary(log_p, np.array([False, True, False]), axis=0)
    np.testing.assert_allclose(np.exp(judged[1]), [0.03, 0.2])
    # The two secondary goals: 0.02 · 2/1 = 0.04 and 0.04 · 2/2 = 0.04.
    np.testing.assert_allclose(np.exp(judged[[0, 2], 0]), [0.04, 0.04])


def test_false_discoveries_stay_at_their_rate() -> None:
    rng = np.random.default_rng(3)
    z = rng.standard_normal((4_000, 50)) + np.where(np.arange(50) < 10, 3.0, 0.0)
    called = benjamini_hochberg(log_p_normal(z)) <= np.log(0.1)
    false_share = called[:, 10:].sum(axis=1) / np.maximum(called.sum(axis=1), 1)
    assert false_share.mean() == pytest.approx(0.08, abs=0.01)
