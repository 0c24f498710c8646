"""Sentences of every situation, in `tests/engine/analysis/report/verdicts.md`."""

from engine.analysis.decision.rule import RULE
from engine.analysis.report.messages.table import MESSAGES
from tests.engine.analysis.report.situations import SITUATIONS
from tests.engine.analysis.report.verdicts import GOLDEN, verdicts


def test_sentences_of_every_situation_are_those_of_the_golden_file() -> None:
    assert verdicts() == GOLDEN.read_text(), "python -m tests.engine.analysis.report.verdicts writes it again"


def test_every_row_of_the_rule_has_a_message_and_a_situation() -> None:
    rows = {(row.recommendation, row.reason) for row in RULE}
    assert set(MESSAGES) == rows
    primaries = [situation.report().primary for situation in SITUATIONS.values()]
    found = {(goal.decision.recommendation, goal.decision.reason) for goal in primaries if goal is not None}
    assert found == rows
