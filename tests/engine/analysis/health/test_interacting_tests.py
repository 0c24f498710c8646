from typing import cast

from engine.analysis.evidence.interactions import Interaction, InteractionEvidence
from engine.analysis.health.check_result import CheckResult
from engine.analysis.health.interacting_tests import interacting_tests
from engine.analysis.results.formatting import signed
from tests.builders import an_experiment
from tests.observations import check_input, observed

EXPERIMENT = an_experiment()
CLASH = Interaction(
    test_id="exp_1",
    test="Header",
    goal="Order",
    variant="Large",
    other_id="exp_2",
    other="Basket",
    other_variant="Short",
    visitors=12_000,
    alone=0.1,
    together=-0.2,
    q_value=0.004,
)


def found(evidence: InteractionEvidence | None) -> CheckResult:
    return interacting_tests(check_input(EXPERIMENT, observed([500, 500], [50, 50], interactions=evidence)))


def test_an_interaction_is_a_warning_that_names_the_other_test_and_both_effects() -> None:
    check = found(InteractionEvidence(day="2026-11-20", compared=("Basket",), found=(CLASH,)))
    assert check.status == "warning"
    assert check.message == (
        "'Header' and 'Basket' should not run together: 'Large' changes 'Order' by +10% beside the control "
        f"of 'Basket', and by {signed(-0.2)} beside 'Short' (12,000 visitors, false discovery rate 0.4%)."
    )
    told = cast("list[dict[str, object]]", check.details["interactions"])
    assert [(one["other_test_id"], one["change_together"]) for one in told] == [("exp_2", -0.2)]


def test_tests_that_cannot_be_compared_are_named() -> None:
    left_out = {"Prices": "only sums of its visitors are known, from warehouse"}
    one = found(InteractionEvidence(day="2026-11-20", compared=("Basket",), left_out=left_out))
    assert one.status == "ok"
    assert "1 other test " in one.message
    assert "'Prices' is not available: only sums of its visitors are known" in one.message
    alone = found(InteractionEvidence(day="2026-11-20", left_out=left_out))
    assert alone.status == "not_applicable"
    assert "'Prices' is not available" in alone.message


def test_data_of_no_night_and_a_test_that_is_not_compared_are_not_applicable() -> None:
    assert found(None).status == "not_applicable"
    outside = found(InteractionEvidence(day="2026-11-20", unavailable="its weights changed"))
    assert (outside.status, "its weights changed" in outside.message) == ("not_applicable", True)
