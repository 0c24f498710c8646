"""Rows of lists: words of verdicts and plans, and one axis for all bars of a page."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from api.dashboard.listed_rows import Row, rows_of
from engine.analysis.results.kept_verdict import KeptVerdict
from pipeline.store.catalog.experiment_listings import ListedExperiment, ListedVerdict
from tests.api.dashboard.listed_shop import BROKEN, EARLY, ROLLBACK, SHIP, UNCLEAR, kept_of

NOW = datetime.now(UTC)


def listed(kept: KeptVerdict | None, **fields: Any) -> ListedVerdict:
    head = {"id": "exp_1", "project_id": "prj_1", "name": "Button", "status": "running", "updated_at": NOW}
    return ListedVerdict(ListedExperiment(**{**head, **fields}), kept)


def a_row(kept: KeptVerdict | None, **fields: Any) -> Row:
    (row,) = rows_of([listed(kept, **fields)], {"mem_1": "Ada"}).rows
    return row


def test_a_row_has_the_word_of_its_verdict_or_of_its_life() -> None:
    unclear = kept_of(UNCLEAR, is_finished=False)
    ship = kept_of(SHIP, is_finished=True)
    assert a_row(unclear).word.label == "Keep running"
    assert a_row(unclear, status="paused").word.label == "Paused"
    assert a_row(ship, status="paused").word.label == "Ship"
    assert a_row(None, status="draft").word.label == "Draft"
    assert a_row(None).word.label == "Too early"
    assert a_row(ship, assigned_user_ids=("mem_1", "mem_2")).owner == "Ada"


def test_only_what_is_open_and_undecided_waits_for_a_decision() -> None:
    ship = kept_of(SHIP, is_finished=True)
    decided = {"decision": "keep_control", "decided_at": NOW.isoformat()}
    assert a_row(ship).is_decidable
    assert a_row(ship, status="completed").is_decidable
    assert not a_row(ship, status="completed", conclusion=decided).is_decidable
    assert not a_row(ship, status="archived").is_decidable
    assert not a_row(kept_of(UNCLEAR, is_finished=False)).is_decidable


@pytest.mark.parametrize(
    ("decision", "verdict", "word"),
    [
        ("ship", "ship", "Shipped"),
        ("keep_control", "ship", "Not shipped"),
        ("keep_control", "rollback", "Rolled back"),
        ("inconclusive", "review", "Undecided"),
    ],
)
def test_a_decision_has_a_word(decision: str, verdict: Any, word: str) -> None:
    row = a_row(replace(kept_of(SHIP, is_finished=True), verdict=verdict), conclusion={"decision": decision})
    assert row.end is not None
    assert row.end.label == word


def test_the_plan_is_told_in_words() -> None:
    unclear, ship = kept_of(UNCLEAR, is_finished=False), kept_of(SHIP, is_finished=True)
    words, at = a_row(unclear).plan_in_words
    assert (words, at is not None and at > NOW) == ("about", True)
    assert a_row(ship).plan_in_words[0] == "waiting since"
    assert a_row(kept_of(BROKEN, is_finished=False)).plan_in_words[0] == "stopped by a check"
    review = replace(unclear, verdict="review", reason="guardrail_inconclusive")
    assert a_row(review).plan_in_words[0] == "guardrail unclear"
    established = replace(unclear, verdict="rollback")
    assert a_row(established).plan_in_words[0] == "holds at every look"
    assert a_row(None).plan_in_words[0] == "not counted yet"
    assert a_row(None, status="scheduled", scheduled_start_at=NOW).plan_in_words == ("starts", NOW)
    assert a_row(ship, status="completed", completed_at=NOW).plan_in_words == ("ended", NOW)


def test_bars_of_a_page_share_the_axis_of_what_is_clear() -> None:
    shown = rows_of([listed(kept_of(one, is_finished=False)) for one in (UNCLEAR, ROLLBACK, EARLY)], {})
    assert {row.bar.axis for row in shown.rows if row.bar} == {shown.axis.limit}
    without = rows_of([listed(kept_of(UNCLEAR, is_finished=False))], {})
    assert without.axis.limit <= shown.axis.limit < 0.5
    broken = a_row(kept_of(BROKEN, is_finished=False))
    assert (broken.bar, broken.why_no_bar) == (None, "not shown: fix the data first")
    assert a_row(kept_of(UNCLEAR, is_finished=False)).bar is not None


def test_the_axis_is_that_of_what_is_decided_where_anything_is() -> None:
    decided, young = kept_of(ROLLBACK, is_finished=True), kept_of(((600, 600), (60, 75)), is_finished=False)
    alone, both = rows_of([listed(decided)], {}), rows_of([listed(decided), listed(young)], {})
    assert both.axis == alone.axis
    assert rows_of([listed(young)], {}).axis.limit > alone.axis.limit
