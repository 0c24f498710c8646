"""The decision rule, row by row."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from engine.analysis.decision.rule import RULE, Situation, choose_row, choose_variant

# A letter a variant: Wins, Crosses its boundary in the first week, Loses, Equivalent, open (.); then b for a
# broken guardrail, u for one that is not known yet, j for one that can't be judged, m for one beyond its
# margin by now, i for one not shown to be within it; h for another harm.
CONTROL = "-"


@dataclass(frozen=True)
class Row:
    variants: str
    action: str
    facts: str = ""


TABLE = {
    "nothing yet": Row(".", "keep_running"),
    "nothing at the plan": Row(".", "review undecided", "reached"),
    "nothing, ended before the plan": Row(".", "review ended_early", "ended"),
    "nothing, ended after the plan": Row(".", "review undecided", "reached ended"),
    "too little data": Row(".", "insufficient_data", "no_data"),
    "too little data, ended": Row(".", "insufficient_data", "no_data ended"),
    "a winner": Row("W", "ship 1"),
    "a winner in wrong data": Row("W", "fix_data 1", "alarm"),
    "a winner of a segment": Row("W", "review exploratory 1", "segment"),
    "nothing yet in a segment": Row(".", "keep_running", "segment"),
    "a segment at the plan": Row(".", "review exploratory", "segment reached"),
    "a winner and an open variant": Row(". W", "ship 2"),
    "a winner and a loser": Row("L W", "ship 2"),
    "two winners, the second better": Row("W W", "ship 2"),
    "two winners, the better breaks a guardrail": Row("W Wb", "ship 1"),
    "two winners, the better harms a goal": Row("W Wh", "ship 1"),
    "a winner that breaks a guardrail": Row("Wb", "review guardrail_broken 1"),
    "a winner that harms a goal": Row("Wh", "review goal_harmed 1"),
    "a winner that does both": Row("Wbh", "review guardrail_broken 1"),
    "one ahead in the first week": Row("C", "keep_running 1"),
    "one ahead in the first week that breaks a guardrail": Row("Cb", "review guardrail_broken 1"),
    "one ahead that breaks a guardrail, and one that may still ship": Row("Cb C", "keep_running"),
    "one ahead at an earlier look, equal by now": Row("CE", "review no_difference"),
    "one ahead that lost at another look and breaks a guardrail": Row("CLb", "rollback"),
    "one ahead that breaks a guardrail, in a segment": Row("Cb", "review exploratory 1", "segment"),
    "a winner with an unknown guardrail": Row("Wu", "keep_running guardrail_unknown 1"),
    "a winner with an unknown guardrail at the plan": Row("Wu", "review guardrail_unknown 1", "reached"),
    "a winner with a guardrail that can't be judged": Row("Wj", "review guardrail_unjudged 1"),
    "a winner with a guardrail beyond its margin": Row("Wm", "keep_running 1"),
    "a winner with a guardrail beyond its margin at the plan": Row("Wm", "ship 1", "reached"),
    "a winner with a guardrail beyond its margin, ended": Row("Wm", "ship 1", "ended"),
    "a winner with a guardrail not shown within its margin": Row("Wi", "keep_running 1"),
    "the same at the plan": Row("Wi", "review guardrail_inconclusive 1", "reached"),
    "the same, ended": Row("Wi", "review guardrail_inconclusive 1", "ended"),
    "the same, and not known yet": Row("Wiu", "review guardrail_unknown 1", "reached"),
    "the same, and broken": Row("Wib", "review guardrail_broken 1", "reached"),
    "two winners, one shown within its margins": Row("W Wi", "ship 1", "reached"),
    "two winners, the better with an unknown guardrail": Row("W Wu", "ship 1"),
    "two winners, the better beyond a margin": Row("W Wm", "ship 1"),
    "a loser with an unknown guardrail": Row("Lu", "rollback"),
    "no difference, with an unknown guardrail": Row("Eu", "review no_difference"),
    "a loser": Row("L", "rollback"),
    "a loser without enough data for a single look": Row("L", "rollback", "no_data"),
    "a loser in wrong data": Row("L", "fix_data", "alarm"),
    "a loser and an open variant": Row("L .", "keep_running"),
    "a loser and an open variant at the plan": Row("L .", "review undecided", "reached"),
    "losers only": Row("L L", "rollback"),
    "an open variant that breaks a guardrail": Row(".b", "rollback"),
    "an open variant that harms a goal": Row(".h", "keep_running"),
    "a loser, and one that breaks a guardrail": Row("L .b", "rollback"),
    "no difference": Row("E", "review no_difference"),
    "no difference, ended early": Row("E", "review no_difference", "ended"),
    "no difference in one of two": Row("E .", "keep_running"),
    "no difference in all": Row("E E", "review no_difference"),
    "no difference, and a loser": Row("E L", "review no_difference 1"),
    "no difference, and a winner": Row("E W", "ship 2"),
    "no difference, but a broken guardrail": Row("Eb", "rollback"),
    "won at one look and lost at another": Row("WL", "keep_running"),
    "a winner by one visitor": Row("W1", "review one_visitor"),
    "a winner by one visitor, and a sound one": Row("W1 W", "ship 2"),
    "a loser by one visitor": Row("L1", "review one_visitor"),
    "a loser by one visitor, and a sound one": Row("L1 L", "review one_visitor"),
    "a winner by one visitor that breaks a guardrail": Row("W1b", "review guardrail_broken"),
    "a winner, measured of other visitors": Row("W", "review measured_differs", "measured_differs"),
    "a segment, measured of other visitors": Row(".", "keep_running", "measured_differs segment"),
    "no variant to compare": Row("", "insufficient_data", "no_data"),
    "no outcome known yet": Row(".", "keep_running", "no_data open"),
    "no outcome known when it ended": Row(".", "insufficient_data", "no_data open ended"),
    "no outcome known, and no variant to compare": Row("", "insufficient_data", "no_data open"),
}


def situation(row: Row) -> Situation:
    variants = [CONTROL, *row.variants.split()]

    def flags(letter: str) -> Any:
        return np.array([letter in variant for variant in variants])

    def fact(name: str) -> Any:
        return np.asarray(name in row.facts.split())

    return Situation(
        is_compared=~flags(CONTROL),
        crosses=flags("W") | flags("C"),
        wins=flags("W"),
        loses=flags("L"),
        is_equivalent=flags("E"),
        is_broken=flags("b"),
        is_harmed=flags("h"),
        is_unknown=flags("u"),
        is_unjudged=flags("j"),
        is_beyond_margin=flags("m"),
        rests_on_one=flags("1"),
        is_inconclusive=flags("i"),
        gain=np.array([np.nan, *range(1, len(variants))], np.float64),
        has_alarm=fact("alarm"),
        measured_differs=fact("measured_differs"),
        has_data=~fact("no_data"),
        is_outcome_open=fact("open"),
        is_reached=fact("reached"),
        has_ended=fact("ended"),
        is_exploratory=fact("segment"),
    )


@pytest.mark.parametrize("row", TABLE.values(), ids=TABLE)
def test_action_of_each_situation(row: Row) -> None:
    found = RULE[int(choose_row(situation(row)))]
    words = row.action.split()
    assert found.recommendation == words[0]
    assert found.reason == (words[1] if len(words) > 1 and not words[1].isdigit() else None)
    if words[-1].isdigit():
        assert int(choose_variant(situation(row))) == int(words[-1])


def test_every_row_of_the_rule_is_in_the_table() -> None:
    assert {int(choose_row(situation(row))) for row in TABLE.values()} == set(range(len(RULE)))


def test_many_situations_at_once_are_judged_like_each_alone() -> None:
    rows = [row for row in TABLE.values() if len(row.variants.split()) == 2]
    together = Situation.stack([situation(row) for row in rows])
    assert choose_row(together).tolist() == [int(choose_row(situation(row))) for row in rows]
    assert choose_variant(together).tolist() == [int(choose_variant(situation(row))) for row in rows]


def test_without_variants_there_is_none_to_choose() -> None:
    empty = situation(TABLE["nothing yet"])
    none = Situation(
        **{
            name: getattr(empty, name)[..., :0] if getattr(empty, name).ndim else getattr(empty, name)
            for name in Situation.__dataclass_fields__
        }
    )
    assert int(choose_variant(none)) == -1
