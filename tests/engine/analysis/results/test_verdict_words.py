"""Every recommendation, reason and health check has words, and a section of the docs that says them."""

import re
from pathlib import Path
from typing import get_args

import pytest

from engine.analysis.decision.rule import RULE
from engine.analysis.health.checks import CHECKS
from engine.analysis.report.messages.table import MESSAGES
from engine.analysis.results.report import Reason, Recommendation
from engine.analysis.results.verdict_words import CHECK_WORDS, OUTCOMES, PAGE, label_of, section_of, sections
from tests.engine.analysis.report.situations import report_of

ROOT = Path(__file__).parents[4]
TEXT = (ROOT / PAGE).read_text()
SECTIONS = dict(re.findall(r"^### (\w+)\n\n(.*?)(?=^##|\Z)", TEXT, re.MULTILINE | re.DOTALL))


def test_words_are_of_every_row_of_the_rule_and_of_every_check() -> None:
    assert {(row.recommendation, row.reason) for row in RULE} == set(OUTCOMES) == set(MESSAGES)
    assert {reason for _, reason in OUTCOMES if reason} == set(get_args(Reason))
    assert {recommendation for recommendation, _ in OUTCOMES} == set(get_args(Recommendation))
    assert list(CHECK_WORDS) == [check.__name__ for check in CHECKS]


@pytest.mark.parametrize("code", sections())
def test_every_code_has_a_section_with_its_sentences(code: str) -> None:
    assert SECTIONS[code].startswith("\n".join(sections()[code]))


def test_the_page_has_no_other_sections() -> None:
    assert list(SECTIONS) == sorted(SECTIONS, key=list(sections()).index)
    assert set(SECTIONS) == set(sections())


@pytest.mark.parametrize(
    "name", ["a winner at the plan", "a small variant that one visitor decides", "a broken split"]
)
def test_reports_link_to_the_sections(name: str) -> None:
    report = report_of(name)
    decision = report.goals[0].decision
    links = [decision.docs, *(check.docs for check in report.health)]
    assert decision.docs == section_of(decision.reason or decision.recommendation)
    assert all(link.removeprefix(f"{PAGE}#") in SECTIONS for link in links)
    shown = report.to_markdown()
    assert decision.docs in shown.replace("\\", "")
    for check in report.health:
        assert (check.docs in shown.replace("\\", "")) >= check.is_open


def test_recorded_looks_of_other_versions_have_a_label() -> None:
    assert label_of("review", "no_difference") == "No difference"
    assert label_of("review", "undecided") == "Review"
    assert label_of("wait", None) == "wait"
