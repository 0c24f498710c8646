"""Revisions of experiments change what is given, and nothing else."""

from tests.builders import NOW, STARTED, an_experiment
from tests.engine.design.drafts import GOAL, draft, problems_of, revise


def test_a_revision_changes_what_is_given_and_only_that() -> None:
    before = an_experiment()
    after = revise(before, {"name": "New", "stop_conditions": {"visitor_limit": 100}})
    assert (after.name, after.stop_conditions.visitor_limit, after.updated_at) == ("New", 100, NOW)
    assert (after.variants, after.goals, after.url) == (before.variants, before.goals, before.url)
    assert after.created_at == STARTED


def test_a_part_with_an_id_keeps_what_is_not_given() -> None:
    before = an_experiment()
    after = revise(before, {"variants": [{"id": "var_0", "weight": 3}, {"id": "var_1"}]})
    assert (after.variants[0].name, after.variants[0].weight, after.variants[0].is_control) == (
        "Control",
        3,
        True,
    )
    assert after.variants[1] == before.variants[1]


def test_in_a_draft_variants_come_and_go() -> None:
    after = revise(an_experiment(), {"variants": [{"id": "var_0"}, {"name": "New"}]})
    assert [variant.name for variant in after.variants] == ["Control", "New"]


def test_variants_stay_in_order_of_creation_however_they_are_sent() -> None:
    sent = [{"name": "New"}, {"id": "var_2"}, {"id": "var_0"}, {"id": "var_1"}]
    after = revise(an_experiment(weights=(1, 1, 1)), {"variants": sent})
    assert [variant.name for variant in after.variants] == ["Control", "Treatment 1", "Treatment 2", "New"]
    wrong = problems_of({"variants": [{"name": ""}, {"id": "var_0"}]}, an_experiment())
    assert set(wrong) == {"variants[0].name"}


def test_an_id_that_nothing_has_is_refused() -> None:
    problems = problems_of({"variants": [{"id": "var_x", "name": "A"}]}, an_experiment())
    assert problems["variants[0].id"] == "no variant has the id 'var_x'; leave the id out to add one"


def test_an_update_does_not_change_the_status() -> None:
    assert "status" in problems_of({"status": "running"}, an_experiment())
    assert revise(an_experiment(), {"status": "draft"}).status == "draft"


def test_the_test_key_of_a_revision_is_a_slug() -> None:
    assert "test_key" in problems_of({"test_key": "Not a slug"}, an_experiment())
    assert revise(an_experiment(), {"test_key": "other"}).test_key == "other"


def test_without_a_start_a_scheduled_experiment_is_a_draft_again() -> None:
    after = revise(an_experiment(status="scheduled"), {"scheduled_start_at": None})
    assert (after.status, after.scheduled_start_at) == ("draft", None)


def test_a_scheduled_experiment_stays_one_that_can_start() -> None:
    scheduled = an_experiment(status="scheduled")
    assert revise(scheduled, {"scheduled_start_at": "2027-01-01T00:00:00Z"}).status == "scheduled"
    assert set(problems_of({"goals": []}, scheduled)) == {"goals"}


def test_a_whole_experiment_can_be_sent_back_as_it_was() -> None:
    before = draft({"name": "x", "variants": [{"name": "A"}, {"name": "B"}], "goals": [GOAL]})
    fields = {name: getattr(before, name) for name in ("name", "test_key", "url", "targeting_rules")}
    assert revise(before, fields) == before
