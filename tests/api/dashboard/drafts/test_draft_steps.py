"""Steps of a draft: each field has one, and the statistics are said in a sentence."""

import pytest

from api.dashboard.drafts.choice_words import CHOICE_WORDS
from api.dashboard.drafts.draft_form import new_form
from api.dashboard.drafts.draft_steps import any_problem, statistics_sentence, steps_of
from api.dashboard.drafts.form_fields import CHOICES, FIELDS


@pytest.mark.parametrize("path", sorted(FIELDS))
def test_a_problem_of_each_field_is_told_at_its_step(path: str) -> None:
    steps = steps_of(new_form(), [path.replace("[]", "[0]")])
    assert [one.state for one in steps].count("problem") == 1


def test_a_step_is_done_once_it_has_what_it_needs() -> None:
    form = new_form()
    assert {one.anchor for one in steps_of(form, []) if one.state == "done"} == {"visitors", "judging"}
    form |= {"name": "Free returns", "goals[0].name": "Order", "plan.baseline_rate": "5"}
    assert {one.state for one in steps_of(form, [])} == {"done"}
    (problem,) = (one for one in steps_of(form, ["goals[0].config.event_name"]) if one.state == "problem")
    assert problem.anchor == "goals"


def test_the_size_is_not_a_problem_of_statistics() -> None:
    found = {one.anchor: one.state for one in steps_of(new_form(), ["statistics.minimum_effect_percent"])}
    assert (found["size"], found["judging"]) == ("problem", "done")
    assert any_problem(["statistics.prior"], "goals", "statistics")
    assert not any_problem(["statistics.prior"], "goals")


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({}, "95% confidence; look whenever you like"),
        ({"analysis_method": "bayesian", "confidence_level": "90"}, "90% chance to be better"),
        ({"statistics.sequential": "group_sequential"}, "it ends there"),
        ({"statistics.alternative": "one_sided"}, "one-sided"),
        ({"statistics.cuped": "on"}, "CUPED"),
        ({"statistics.guardrails": "non_inferior"}, "shown to be safe"),
        ({"variants[2].name": "C"}, "corrected for 2 comparisons"),
    ],
)
def test_the_sentence_tells_what_was_chosen(chosen: dict[str, str], said: str) -> None:
    assert said in statistics_sentence({**new_form(), **chosen})
    assert not chosen or said not in statistics_sentence(new_form())


def test_words_are_of_choices_that_there_are() -> None:
    for path, words in CHOICE_WORDS.items():
        assert set(words) == set(CHOICES[path])
