from engine.analysis.comparison.analysis_data import prepare
from engine.analysis.comparison.significance import assess_significance
from engine.analysis.report.missing_reasons import missing_reasons
from tests.builders import an_experiment
from tests.observations import observed


def reasons(visitors: list[int], conversions: list[int], **fields: object) -> list[list[str | None]]:
    data = prepare(an_experiment(weights=(1,) * len(visitors), **fields), observed(visitors, conversions))
    return missing_reasons(data, assess_significance(data))


def test_the_control_never_has_a_reason_and_a_complete_comparison_has_none() -> None:
    assert reasons([1000, 1000], [100, 120]) == [[None, None]]
    assert reasons([0, 0], [0, 0]) == [[None, "'Control' has no visitors yet"]]


def test_a_winner_that_does_not_lead_names_the_leader() -> None:
    found = reasons([20_000] * 3, [2000, 2400, 2600])
    assert found == [[None, "it beats 'Control' too, but 'Treatment 2' does better", None]]


def test_without_any_variant_there_is_no_reason_to_give() -> None:
    data = prepare(an_experiment(variants=()), observed([], [[]]))
    assert missing_reasons(data, assess_significance(data)) == [[]]
