from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from api.schemas.sdk import (
    ShownChange,
    ShownExperiment,
    ShownGoal,
    ShownGroupHoldout,
    ShownHoldout,
    VisitAnswer,
)
from api.sdk.visit_answer import encode_answer
from engine.design.goal import Goal
from engine.design.holdout import HoldoutPlace
from engine.design.pages import covers_page
from engine.design.variants import Change, Variant
from pipeline.assignment.decide import VariantDecision
from pipeline.assignment.project_cache import CachedProject, ProjectCache
from tests.engine.design.test_holdout import a_holdout
from tests.pipeline.working_store import WorkingStore, a_working_store

PAGE = "https://shop.example/checkout"
# Every character that JSON escapes, and some that it need not.
ANY_TEXT = "".join(map(chr, range(1, 0x100))) + "\u2028\u2029é漢\U0001f600"
VARIANTS = (
    Variant(id="var_0", name="Control", is_control=True),
    Variant(
        id="var_1",
        name='Tom & "Jerry" </script> é',
        changes=(
            Change(id="chg_1", selector="#a > b", action="modify_text", value="line 1\nline\t2 \u2028 \\"),
            Change(id="chg_2", selector=".x", action="remove"),
        ),
        payload={"text": "</script> é \u2028", "numbers": [1, 2.5, None], "": False},
    ),
)
GOALS = (
    Goal(id="goal_1", name="Order", goal_type="revenue", is_primary=True, config={"cap_percentile": 99.5}),
    Goal(id="goal_2", name="Signup é", goal_type="custom_event", config={"event_name": "sign\u2028up"}),
)


def by_schema(visitor_id: str, decisions: list[VariantDecision], **holdouts: Any) -> bytes:
    """Encode the answer by the schemas of the OpenAPI document."""
    assignments = [
        ShownExperiment(
            experiment_id=one.experiment.id,
            test_key=one.experiment.test_key,
            variant_id=one.variant.id if one.variant else None,
            variant_name=one.variant.name if one.variant else None,
            status=one.status,
            reason=one.reason,
            covers_page=covers_page(one.experiment, PAGE),
            changes=[ShownChange(**asdict(change)) for change in one.variant.changes] if one.variant else [],
            payload=one.variant.payload if one.variant else None,
            redirect_url=one.redirect_url,
        )
        for one in decisions
    ]
    goals = [
        ShownGoal(experiment_id=one.experiment.id, **asdict(goal))
        for one in decisions
        for goal in one.experiment.goals
    ]
    answer = VisitAnswer(visitor_id=visitor_id, assignments=assignments, rollouts=[], goals=goals, **holdouts)
    # Without holdouts in force there are none.
    return answer.model_dump_json(exclude={"holdout", "group_holdouts"} - holdouts.keys()).encode()


def a_project(store: WorkingStore) -> CachedProject:
    project = store.add_project()
    for goals in (GOALS, GOALS[:1]):
        store.add_experiment(project, variants=VARIANTS, goals=goals, public_variants=True)
    return ProjectCache(store.catalog).with_id(project.id)


def test_the_answer_is_that_of_the_schema_byte_by_byte(tmp_path: Path) -> None:
    with a_working_store(tmp_path) as store:
        cached = a_project(store)
    first, second = cached.experiments
    decisions = [
        VariantDecision(first, VARIANTS[1], "new", ANY_TEXT, "https://shop.example/a?b=1&c=é"),
        VariantDecision(second, VARIANTS[0], "existing", "kept", None),
        VariantDecision(second, None, "excluded", "outside", None),
    ]
    for chosen in (decisions, decisions[::-1], decisions[:1], []):
        for visitor_id in ("v1", ANY_TEXT):
            assert encode_answer(cached, visitor_id, chosen, PAGE) == by_schema(visitor_id, chosen)


def test_the_place_in_a_holdout_is_told_while_it_is_in_force(tmp_path: Path) -> None:
    with a_working_store(tmp_path) as store:
        cached = a_project(store)
    holdout = a_holdout()
    for variant in (*holdout.variants, None):
        place = HoldoutPlace(holdout, variant, is_known=True)
        told: dict[str, Any] = {
            "holdout_id": holdout.id,
            "variant_id": variant.id if variant else None,
            "is_held_out": variant is not None and variant.is_control,
        }
        shown = ShownHoldout(**told)
        assert encode_answer(cached, "v1", [], PAGE, [place]) == by_schema("v1", [], holdout=shown)
        of_group = replace(place, holdout=replace(holdout, held_group_id="grp_1"))
        both = {"holdout": shown, "group_holdouts": [ShownGroupHoldout(**told, group_id="grp_1")]}
        assert encode_answer(cached, "v1", [], PAGE, [of_group, place]) == by_schema("v1", [], **both)


def test_a_changed_project_is_answered_as_it_is_now(tmp_path: Path) -> None:
    with a_working_store(tmp_path) as store:
        cached = a_project(store)
        before = [VariantDecision(cached.experiments[0], VARIANTS[1], "new", "", None)]
        encode_answer(cached, "v1", before, PAGE)
        store.change(cached.experiments[0], goals=(replace(GOALS[0], name="Purchase"),))
        cached = ProjectCache(store.catalog).with_id(cached.project.id)
    after = [VariantDecision(cached.experiments[0], VARIANTS[1], "new", "", None)]
    assert encode_answer(cached, "v1", after, PAGE) == by_schema("v1", after)
    assert b"Purchase" in encode_answer(cached, "v1", after, PAGE)
