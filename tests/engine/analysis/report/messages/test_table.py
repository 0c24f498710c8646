"""Sentences of every situation, in `tests/engine/analysis/report/verdicts.md`."""

import pytest

from engine.analysis.decision.rule import RULE
from engine.analysis.report.messages.table import MESSAGES
from tests.engine.analysis.report.situations import SITUATIONS, report_of
from tests.engine.analysis.report.verdicts import GOLDEN, verdicts


def test_sentences_of_every_situation_are_those_of_the_golden_file() -> None:
    assert verdicts() == GOLDEN.read_text(), "python -m tests.engine.analysis.report.verdicts writes it again"


def test_every_row_of_the_rule_has_a_message_and_a_situation() -> None:
    rows = {(row.recommendation, row.reason) for row in RULE}
    assert set(MESSAGES) == rows
    primaries = [report_of(name).primary for name in SITUATIONS]
    found = {(goal.decision.recommendation, goal.decision.reason) for goal in primaries if goal is not None}
    assert found == rows


def test_every_figure_of_capped_revenue_is_of_the_cap_or_says_that_it_is_not() -> None:
    goal = report_of("capped revenue that falls without the cap").goals[0]
    control, variant = goal.variants
    assert variant.details.capped is not None
    assert control.details.capped is not None
    assert variant.improvement is not None
    assert variant.improvement > 0 > (variant.details.revenue.absolute_difference or 0)
    assert variant.details.capped.mean / control.details.capped.mean - 1 == pytest.approx(variant.improvement)
    assert (variant.details.capped.projected_annual_revenue_impact_cents or 0) > 0
    assert (goal.decision.incremental_revenue_impact_cents or 0) > 0
    assert "more a year" in goal.decision.explanation
    assert "Without the cap: 14.50 USD and 15.00 USD." in goal.decision.explanation
    # The contract's formula, of the amounts as they are.
    assert (variant.details.revenue.projected_annual_revenue_impact_cents or 0) < 0


def test_one_yearly_figure_is_shrunk_where_looks_or_variants_selected_the_variant() -> None:
    shrunk = report_of("revenue, chosen among two").goals[0].decision.explanation
    assert "; shrunk, as the variant was chosen for its result" in shrunk
    alone = report_of("revenue in a file").goals[0].decision.explanation
    assert "shrunk" not in alone
    assert "a year (95% interval " in alone
