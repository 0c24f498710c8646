"""Experiments as their rollouts show them."""

from dataclasses import replace

from engine.design.assignment import bucket_variant
from engine.design.conclusion import Rollout
from engine.design.rolled_out import as_rolled_out
from engine.design.variants import Change
from tests.builders import NOW, STARTED, an_experiment, variants_of

CHANGE = Change(id="chg_1", selector="h1", action="modify_text", value="Now")


def test_a_rollout_gives_everybody_one_variant_in_its_place() -> None:
    control, *others = variants_of((5, 1, 1))
    variants = (control, *(replace(one, changes=(CHANGE,)) for one in others))
    rollout = Rollout(id="rol_1", variant_id="var_2", started_at=NOW)
    tested = an_experiment(
        status="completed", variants=variants, unit="user", traffic_allocation=3, rollout=rollout
    )
    found = as_rolled_out(tested)
    assert {bucket_variant(found, f"visitor-{number}") for number in range(200)} == {2}
    assert (found.unit, [len(one.changes) for one in found.variants]) == ("visitor", [0, 0, 1])


def test_an_experiment_without_a_rollout_stays_as_it_is() -> None:
    ended = Rollout(id="rol_1", variant_id="var_1", started_at=STARTED, ended_at=NOW)
    for one in (an_experiment(), an_experiment(status="completed", rollout=ended)):
        assert as_rolled_out(one) is one
