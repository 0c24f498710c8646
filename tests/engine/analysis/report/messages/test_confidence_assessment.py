from typing import Any

import pytest

from engine.design.analysis_settings import Statistics
from engine.vocabulary import Correction
from tests.engine.analysis.report.situation import Situation


def assessment(conversions: list[int], visitors: int = 5_000, day: int = 10, **fields: Any) -> str:
    situation = Situation(visitors=[visitors] * len(conversions), conversions=conversions, day=day, **fields)
    primary = situation.report().primary
    assert primary is not None
    return primary.decision.confidence_assessment


def test_an_always_valid_p_is_not_a_share_of_tests() -> None:
    found = assessment([500, 570], statistics=Statistics(sequential="always_valid"))
    assert found.startswith("Not yet clear enough to stop: always-valid p = ")
    assert found.endswith("; 0.05 is needed.")
    assert "of tests" not in found


@pytest.mark.parametrize(("correction", "name"), [("holm", "Holm"), ("dunnett", "Dunnett")])
def test_an_adjusted_p_is_not_a_share_of_tests(correction: Correction, name: str) -> None:
    found = assessment([500, 530, 520], statistics=Statistics(correction=correction))
    assert f"adjusted for 2 variants ({name}); 0.05 is needed." in found
    assert "of tests" not in found


def test_one_variant_needs_no_adjustment() -> None:
    assert "of tests" in assessment([500, 530], statistics=Statistics(correction="holm"))


def test_a_one_sided_p_is_of_gains() -> None:
    found = assessment([500, 530], statistics=Statistics(alternative="one_sided"))
    assert "would show a gain at least this large" in found


def test_a_one_sided_loss_is_judged_by_the_opposite_test() -> None:
    found = assessment([500, 430], statistics=Statistics(alternative="one_sided"))
    # Half of 0.01594, by SciPy's chi2_contingency without a correction.
    assert found.startswith("0.8% of tests")
    assert "would show a loss at least this large" in found
    assert "below the significance level" in found


def test_a_significant_look_before_the_plan_is_not_called_a_result() -> None:
    found = assessment([500, 570])
    assert found.endswith("It counts at the plan; before it, only what holds at every look does.")


def test_untrusted_data_has_no_confidence() -> None:
    situation = Situation(visitors=[5_000, 6_000], conversions=[500, 900])
    primary = situation.report().primary
    assert primary is not None
    assert primary.decision.confidence_assessment.startswith("These results are not reliable")
