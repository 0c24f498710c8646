import numpy as np
import pytest

from engine.stats.contingency import Tables
from engine.stats.frequentist.cochran import stratified_score_z
from engine.stats.frequentist.two_sample import score_z

# Admitted and rejected men, admitted and rejected women, in six departments: R's UCBAdmissions.
BERKELEY = np.array(
    [
        [512, 313, 89, 19],
        [353, 207, 17, 8],
        [120, 205, 202, 391],
        [138, 279, 131, 244],
        [53, 138, 94, 299],
        [22, 351, 24, 317],
    ]
)


def test_strata_add_up_to_the_statistic_of_mantel_and_haenszel() -> None:
    admitted, rejected, women, others = BERKELEY.T
    z = stratified_score_z(Tables.of(admitted, admitted + rejected, women, women + others))
    # R: mantelhaen.test(UCBAdmissions, correct = FALSE) has 1.5246, with N - 1 in the place of N in each of
    # the variances, which are of 585 to 933 applicants.
    assert float(z) ** 2 == pytest.approx(1.5246, rel=2e-3)


def test_one_stratum_is_the_pooled_z() -> None:
    table = Tables.of([[120]], [[1000]], [[150]], [[1100]])
    assert stratified_score_z(table) == pytest.approx(score_z(table)[0])


def test_without_variation_there_is_no_z() -> None:
    assert np.isnan(stratified_score_z(Tables.of([[10]], [[10]], [[20]], [[20]]))).all()
    assert np.isnan(stratified_score_z(Tables.of([[0]], [[0]], [[5]], [[20]]))).all()
