from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import polars as pl

from engine.design.conclusion import Rollout
from engine.design.experiment import Experiment
from engine.design.holdout import SEEN_BEFORE, place_in
from engine.local_days import epoch_microseconds
from pipeline.assignment.decide import AssignmentRequest, decide, meets_any
from pipeline.assignment.targeting_attributes import Visitor
from pipeline.events.attributes import UNKNOWN_CLIENT
from pipeline.rollup.holdout_visitors import starts_of_holdouts, without_seen_before
from pipeline.store.catalog.ids import new_id
from tests.builders import NOW, STARTED, an_experiment, targeting_of
from tests.engine.design.test_holdout import a_holdout
from tests.pipeline.working_store import a_purchase, a_working_store, an_event, an_exposure


def test_only_holdouts_leave_visitors_from_before_out() -> None:
    holdout = replace(a_holdout(), id="hld_2")
    starts = starts_of_holdouts([an_experiment(status="running"), holdout])
    assert starts == {1: epoch_microseconds(NOW)}
    firsts = pl.DataFrame(
        {"experiment": [0, 0, 1, 1, 1], "visitor_key": [1, 2, 1, 2, 3], "seq": [1, 2, 3, 4, 5]},
        schema={"experiment": pl.UInt32, "visitor_key": pl.UInt64, "seq": pl.Int64},
    )
    # The second visitor has two devices, one of them from before; of the third nothing is known.
    sights = pl.DataFrame(
        {"visitor_key": [1, 2, 2], "first_seen_at": [starts[1], starts[1] + 5, starts[1] - 1]},
        schema={"visitor_key": pl.UInt64, "first_seen_at": pl.Int64},
    )
    kept = without_seen_before(firsts, sights, starts)
    assert kept["seq"].to_list() == [1, 2, 3, 5]
    assert kept.columns == firsts.columns


A, B = (an_experiment(id=f"exp_{name}", test_key=name, status="running", weights=(1, 1)) for name in "ab")
# Purchases of visitors without a treatment, and what each adds.
BASE, LIFTS = 0.3, {A.id: 0.06, B.id: 0.04}
VISITORS, SEEN_EARLIER = 1_500, 75
SOMEBODY = Visitor(visitor_id="", user_id=None, url=A.url, attributes={}, client=UNKNOWN_CLIENT)


def shipped(experiment: Experiment) -> Experiment:
    rollout = Rollout(id=f"rol_{experiment.id}", variant_id=experiment.variants[1].id, started_at=STARTED)
    return replace(experiment, status="completed", completed_at=STARTED, rollout=rollout)


def test_the_interval_of_a_programme_of_two_shipped_tests_covers_the_truth(tmp_path: Path) -> None:
    random, chances, counted = np.random.default_rng(3), list[float](), Counter[str]()
    with a_working_store(tmp_path) as store:
        project = store.add_project()
        start = STARTED + timedelta(hours=1)
        holdout = replace(a_holdout(percent=10), id=new_id("hld"), project_id=project.id, started_at=start)
        store.catalog.holdouts.create(project.id, lambda _: holdout, actor="test")
        rolled_out = [shipped(A), shipped(B)]
        rows = [an_event("pageview", f"v{number}") for number in range(SEEN_EARLIER)]
        for number in range(VISITORS):
            visitor, minute = f"v{number}", 120 + number / 10
            known = SEEN_BEFORE if number < SEEN_EARLIER else None
            place = place_in(holdout, visitor, known)
            asked = AssignmentRequest(visitor=replace(SOMEBODY, visitor_id=visitor), attributes={}, forced={})
            live = [A, B] if number < VISITORS / 2 else rolled_out
            decisions = decide(asked, live, targeting_of, {}, places=[place])
            treated = [one.experiment.id for one in decisions if one.variant and not one.variant.is_control]
            assert not (place.is_held and any(one.variant for one in decisions))
            assert meets_any(asked, live, targeting_of, holdout)
            chance = BASE + sum(LIFTS[one] for one in treated)
            # An exposure by a client that does not know of the earlier visit counts for nobody.
            arm = place.variant or holdout.variants[number % 2]
            rows.append(an_exposure(holdout, holdout.variants.index(arm), visitor, minute=minute))
            if place.variant is not None:
                counted[arm.name] += 1
                chances += [] if place.is_held else [chance]
            if random.random() < chance:
                rows.append(a_purchase(visitor, minute=minute + 1))
        store.write(project, *rows)
        report = store.results.report(holdout, project, now=NOW)
    assert report.primary is not None
    held, others = report.primary.variants
    assert {one.variant_name: one.visitors for one in (held, others)} == counted
    assert counted.total() == VISITORS - SEEN_EARLIER
    truth = sum(chances) / len(chances) / BASE - 1
    interval = others.improvement_interval
    assert interval is not None
    assert interval.low is not None
    assert interval.high is not None
    # Half of the visitors came before both were shipped.
    assert 0.2 < truth < 0.3
    assert interval.low < truth < interval.high
    assert [one.status for one in report.health if one.check == "sample_ratio"] == ["ok"]
